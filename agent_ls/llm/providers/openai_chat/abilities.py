"""Ask a model server whether its model can call tools. Some servers drop the tools of a request without a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_ls.addresses import split_address
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import ListedModel, Probe
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, parse_object, text_at

MAX_DESCRIBED = 20
"""Models of Ollama that are asked about, one request each."""

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
        case "compatible" if split_address(base_url).hostname in _LOCAL_HOSTS:
            return (_LLAMA_CPP, _SGLANG)
    return ()


def describing_probes(provider: str, models: Sequence[ListedModel], base_url: str) -> Sequence[Probe]:
    """Return what to ask a local server about the models that it lists."""
    match provider:
        case "lmstudio":
            return (Probe("/api/v0/models"),)
        case "ollama":
            return [Probe("/api/show", {"model": model.id}) for model in models[:MAX_DESCRIBED]]
        case "vllm":
            return (
                _SGLANG,
            )  # the usual port of vLLM may be that of SGLang, and vLLM does not tell its options
    return probes_of(provider, "", base_url)


def describe(models: Sequence[ListedModel], probe: Probe, body: bytes) -> Sequence[ListedModel]:
    """Return the models with the window and the ability to call tools that an answer states."""
    facts = parse_object(body) or {}
    if probe.path == "/api/v0/models":  # LM Studio, which describes the tools itself to other models
        rows = {text_at(row, "id"): row for row in objects_at(facts, "data")}
        return [_with_row(model, rows.get(model.id, {})) for model in models]
    asked = probe.body["model"] if probe.body else None
    window = int_at(object_at(facts, "default_generation_settings"), "n_ctx")  # llama.cpp
    return [
        replace(
            model,
            calls_tools=calls_tools(body),
            context_window_tokens=window or model.context_window_tokens,
        )
        if asked in (None, model.id)
        else model
        for model in models
    ]


def _with_row(model: ListedModel, row: JsonObject) -> ListedModel:
    abilities = row.get("capabilities")
    able = "tool_use" in abilities if isinstance(abilities, list) else None
    window = int_at(row, "loaded_context_length") or model.context_window_tokens
    return replace(model, calls_tools=able, context_window_tokens=window)


def calls_tools(body: bytes) -> bool | None:
    """Return whether the model can call tools according to a server's answer; None if the answer does not say."""
    facts = parse_object(body) or {}
    template = object_at(facts, "chat_template_caps")  # llama.cpp
    if isinstance(able := template.get("supports_tools"), bool):
        return able or template.get("supports_tool_calls") is True
    if isinstance(abilities := facts.get("capabilities"), list) and abilities:  # Ollama
        return "tools" in abilities
    if "tool_call_parser" in facts and text_at(facts, "model_path"):  # SGLang
        parser: JsonValue = facts["tool_call_parser"]
        return bool(parser)
    return None
