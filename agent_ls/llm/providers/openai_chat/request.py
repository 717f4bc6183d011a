"""Encode a Chat Completions request. The differences between servers are listed in servers.py.

Servers cache equal prefixes of requests by themselves. Only OpenRouter needs cache marks, which it passes on to
Anthropic's models. Unless the option `auto_cache` is false, marks are set at the end of the system text and at the
end of the last message of role `user` or `tool`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import WireRequest
from agent_ls.llm.providers.openai_chat.history import ChatHistory
from agent_ls.llm.providers.openai_chat.servers import Server
from agent_ls.llm.providers.options import merge_options
from agent_ls.llm.providers.plain_schemas import with_properties
from agent_ls.llm.providers.strict import fits_strict
from agent_ls.llm.providers.text_tools import in_own_form, tool_instructions
from agent_ls.llm.providers.wire_json import encode_body, encode_json
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolChoice, ToolDefinition

PATH = "/chat/completions"

_OWN_OPTIONS = ("auto_cache", "text_tools")
_MARK: JsonObject = {"type": "ephemeral"}
_CACHING_MODELS = ("anthropic/", "~anthropic/")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of body and messages after a refusal."""

    fit: Callable[[dict[str, JsonValue]], dict[str, JsonValue]]
    adapt: Callable[[Sequence[bytes]], list[bytes]]


def encode_request(
    provider: str,
    server: Server,
    request: Request,
    history: ChatHistory,
    *,
    textual: bool,
    stream: bool,
    changes: Changes | None = None,
) -> WireRequest:
    """Encode the request. `history` contains its encoded messages. `textual`: describe the tools in the system
    text. `changes` are made for a server that has refused a request.
    """
    options = request.provider_options.get(provider, {})
    body: dict[str, JsonValue] = {
        "model": request.model,
        **({"stream": True} if stream else {}),
        **({"stream_options": {"include_usage": True}} if stream and server.asks_usage else {}),
        **({} if textual else _tools(provider, server, request)),
        **_effort(server, request.reasoning_effort),
        **_limits(server, request),
        **_format(server, request.response_format),
    }
    whole = merge_options(
        changes.fit(body) if changes else body,
        {key: value for key, value in options.items() if key not in _OWN_OPTIONS},
    )
    caches = (
        server.caches and request.model.startswith(_CACHING_MODELS) and options.get("auto_cache") is not False
    )
    system = _system(server, request, history, textual=textual, marked=caches)
    messages = [*history.messages]
    if caches:
        messages = _mark_last(messages)
    sent = [*system, *messages]
    return WireRequest(PATH, {}, encode_body(whole, "messages", changes.adapt(sent) if changes else sent))


def _system(
    server: Server, request: Request, history: ChatHistory, *, textual: bool, marked: bool
) -> list[bytes]:
    asked = [tool_instructions(request.tools, request.tool_choice)] if textual else []
    described = [_describe_schema(request.response_format)] if not server.json_schema else []
    said = [in_own_form(part) for part in history.system] if textual else history.system
    text = "\n\n".join(part for part in (*said, *asked, *described) if part)
    if not text:
        return []
    content: JsonValue = [{"type": "text", "text": text, "cache_control": _MARK}] if marked else text
    return [encode_json({"role": server.system_role, "content": content})]


def _mark_last(messages: list[bytes]) -> list[bytes]:
    """Return the messages with a cache mark at the end of the last message that may have a mark."""
    for at in range(len(messages) - 1, -1, -1):
        message: dict[str, Any] = json.loads(messages[at])
        content = message.get("content")
        if message["role"] not in ("user", "tool") or not content:
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message["content"] = [*parts[:-1], {**parts[-1], "cache_control": _MARK}]
        return [*messages[:at], encode_json(message), *messages[at + 1 :]]
    return messages


def _tools(provider: str, server: Server, request: Request) -> JsonObject:
    if not request.tools:
        return {}
    choice = _tool_choice(provider, server, request.tool_choice)
    return {"tools": [_tool(tool) for tool in request.tools], **choice}


def _tool(tool: ToolDefinition) -> JsonObject:
    function: JsonObject = {
        "name": tool.name,
        "description": tool.description or tool.name,
        "parameters": with_properties(tool.parameters),
    }
    return {"type": "function", "function": function}


def _tool_choice(provider: str, server: Server, choice: ToolChoice) -> JsonObject:
    match choice:
        case "auto":
            return {}
        case NamedToolChoice(name):
            if server.choice == "words":
                raise ConfigurationError(
                    f"{server.title} cannot be forced to call one particular tool",
                    provider=provider,
                    hint="Pass that tool alone, and set the tool choice to required.",
                )
            return {"tool_choice": {"type": "function", "function": {"name": name}}}
        case word:
            return {"tool_choice": word}


def _effort(server: Server, effort: str | None) -> JsonObject:
    if effort is None:
        return {}
    if server.effort == "reasoning":
        return {"reasoning": {"enabled": False} if effort == "none" else {"effort": effort}}
    if server.effort == "thinking" and effort == "none":
        return {"thinking": {"type": "disabled"}}
    thinking = {"thinking": {"type": "enabled"}} if server.effort == "thinking" else {}
    return {**thinking, "reasoning_effort": server.efforts.get(effort, effort)}


def _limits(server: Server, request: Request) -> JsonObject:
    fields: dict[str, JsonValue] = {
        server.max_tokens_key: request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": [*request.stop_sequences] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _format(server: Server, wanted: JsonFormat | None) -> JsonObject:
    if wanted is None:
        return {}
    if not server.json_schema or not wanted.schema:
        return {"response_format": {"type": "json_object"}}
    strict = {"strict": True} if wanted.strict and fits_strict(wanted.schema) else {}
    schema: JsonObject = {"name": wanted.name, "schema": wanted.schema, **strict}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _describe_schema(wanted: JsonFormat | None) -> str:
    """Describe the schema in words, for a server that only supports JSON mode."""
    if wanted is None:
        return ""
    if not wanted.schema:
        return "Answer with one JSON object."
    return f"Answer with one JSON object that fits this JSON Schema: {json.dumps(wanted.schema, ensure_ascii=False)}"
