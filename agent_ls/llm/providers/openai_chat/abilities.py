"""Ask a model server whether its model can call tools. Some servers drop the tools of a request without a word."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.base import Probe
from agent_ls.llm.providers.wire_json import object_at, parse_object, text_at

NO_TOOLS = (
    "The server says that this model cannot call tools by the API. agent-ls describes the tools as text instead; "
    "a model made for tool calls works better."
)

_LLAMA_CPP = Probe("/props")
_SGLANG = Probe("/get_server_info")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def probes_of(provider: str, model: str, base_url: str) -> Sequence[Probe]:
    """Return what to ask a server; nothing for a service, which refuses tools that a model cannot use."""
    match provider:
        case "llamacpp":
            return (_LLAMA_CPP,)
        case "ollama":
            return (Probe("/api/show", {"model": model}),)
        case "compatible" if urlsplit(base_url).hostname in _LOCAL_HOSTS:
            return (_LLAMA_CPP, _SGLANG)
    return ()


def calls_tools(body: bytes) -> bool | None:
    """Return whether the model can call tools according to a server's answer; None if the answer does not say."""
    told = parse_object(body) or {}
    template = object_at(told, "chat_template_caps")  # llama.cpp
    if isinstance(able := template.get("supports_tools"), bool):
        return able or template.get("supports_tool_calls") is True
    if isinstance(abilities := told.get("capabilities"), list) and abilities:  # Ollama
        return "tools" in abilities
    if "tool_call_parser" in told and text_at(told, "model_path"):  # SGLang
        parser: JsonValue = told["tool_call_parser"]
        return bool(parser)
    return None
