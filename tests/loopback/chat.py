"""The Chat Completions wire of a loopback provider: refuses what strict servers refuse, and renders scripted answers.

Reasoning comes with `reasoning_details` whose signature names their text: a changed one is refused.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.loopback.script import (
    FAILURES,
    CutStream,
    DropConnection,
    ErrorReply,
    Event,
    Gate,
    Json,
    MidStreamError,
    PromptCache,
    Reasoning,
    Reply,
    Text,
    ToolCall,
    Violation,
    pieces_of,
    text_of,
    with_following,
)

_ERRORS = {
    401: ("invalid_api_key", "No auth credentials found"),
    404: ("model_not_found", "No such model."),
    429: ("rate_limit_exceeded", "Rate limit reached."),
    500: ("server_error", "The server had an error."),
    503: ("service_unavailable", "The server is overloaded."),
}
_KEYS = {
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
    "max_completion_tokens", "temperature", "top_p", "stop", "response_format", "reasoning_effort", "reasoning",
    "thinking", "seed", "user", "prompt_cache_key",
}  # fmt: skip
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ChatWire:
    """Wire format of the loopback server; LoopbackProvider shows its use. `tools` False: the model cannot
    call tools."""

    name = "chat"
    path = "/v1/chat/completions"
    base_path = "/v1"

    def __init__(self, *, tools: bool = True) -> None:
        self._cache = PromptCache()
        self._tools = tools

    def key_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "Bearer none").removeprefix("Bearer ")

    def error_body(self, error: ErrorReply) -> Json:
        code, message = _ERRORS.get(error.status, ("invalid_request_error", "Error"))
        fields = {"message": error.message or message, "type": "invalid_request_error", "param": None}
        return {"error": {**fields, "code": error.kind or code}}

    # --- requests that a server refuses

    def check(self, body: Json, headers: Mapping[str, str]) -> None:
        for key in body:
            if key not in _KEYS:
                raise Violation(f"Unrecognized request argument: {key}")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise Violation("you must provide a model parameter")
        if not body.get("messages"):
            raise Violation("'messages' is required")
        if body.get("tools") and not self._tools:
            # Not a violation by the client, which can only find this out by asking.
            raise Violation(f"registry/{body['model']} does not support tools", status=422)
        for tool in body.get("tools", []):
            if not _TOOL_NAME.fullmatch(tool.get("function", {}).get("name", "")):
                raise Violation("Invalid 'tools[0].function.name'")
            if tool["function"].get("parameters", {}).get("type") != "object":
                raise Violation("schema must be of type object")
        if body.get("tool_choice") and not body.get("tools"):
            raise Violation("'tool_choice' is only allowed when 'tools' are specified")
        _check_messages(body["messages"])

    # --- answers

    def whole(self, reply: Reply, body: Json) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        calls: list[Json] = []
        for item in reply.items:
            match item:
                case Text():
                    message["content"] = (message["content"] or "") + text_of(item)
                case Reasoning():
                    message["reasoning"] = text_of(item)
                    message["reasoning_details"] = [_detail(text_of(item))]
                case ToolCall():
                    calls.append(_call(item))
                case _:
                    pass
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return {**self._head(body), "choices": [choice], "usage": self._usage(reply, body)}

    def steps(self, reply: Reply, body: Json) -> Iterator[bytes | Gate | CutStream | DropConnection]:
        head = {**self._head(body), "object": "chat.completion.chunk"}

        def frame(data: Json) -> bytes:
            return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()

        def delta(fields: Json, finish: str | None = None) -> bytes:
            return frame({**head, "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})

        yield b": PROCESSING\n\n"
        yield delta({"role": "assistant", "content": ""})
        number = -1
        for item, following in with_following(reply.items):
            match item:
                case Event(data):
                    yield frame(data)
                case Gate():
                    yield item
                case CutStream() | DropConnection():
                    yield item
                    return
                case MidStreamError(kind, message):
                    yield frame({"error": {"code": kind or "server_error", "message": message}})
                    return
                case Text(pieces=pieces):
                    for piece in pieces:
                        yield piece if isinstance(piece, Gate) else delta({"content": piece})
                case Reasoning(pieces=pieces):
                    for piece in pieces:
                        yield piece if isinstance(piece, Gate) else delta(_thought(piece))
                    if not isinstance(following, FAILURES):
                        yield delta({"reasoning_details": [{**_detail(text_of(item)), "text": ""}]})
                case ToolCall():
                    number += 1
                    for step in _call_steps(number, _call(item)):
                        yield delta({"tool_calls": [step]})
        yield delta({}, _finish(reply))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield frame({**head, "choices": [], "usage": self._usage(reply, body)})
        yield b"data: [DONE]\n\n"

    def _head(self, body: Json) -> Json:
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex[:20]}",
            "object": "chat.completion",
            "model": body["model"],
        }

    def _usage(self, reply: Reply, body: Json) -> Json:
        blocks = [json.dumps(b, sort_keys=True) for b in [body.get("tools", []), *body["messages"]]]
        read, _, total = self._cache.look(blocks, len(blocks))
        thought = sum(len(text_of(item)) for item in reply.items if isinstance(item, Reasoning)) // 4
        made = thought + sum(len(text_of(item)) for item in reply.items if isinstance(item, Text)) // 4 + 1
        return {
            "prompt_tokens": total,
            "prompt_tokens_details": {"cached_tokens": read},
            "completion_tokens": made,
            "completion_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": total + made,
            **reply.usage,
        }


# --- checks


def _check_messages(messages: list[Json]) -> None:
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if open_calls and role != "tool":
            raise Violation(
                "An assistant message with 'tool_calls' must be followed by tool messages: "
                + ", ".join(open_calls)
            )
        match role:
            case "system" | "user":
                if not content:
                    raise Violation(f"Invalid 'messages[{place}].content'")
            case "assistant":
                open_calls = [call["id"] for call in message.get("tool_calls") or []]
                if not content and not open_calls:
                    raise Violation("either 'content' or 'tool_calls' must be set")
                _check_assistant(message)
            case "tool":
                if message.get("tool_call_id") not in open_calls:
                    raise Violation("messages with role 'tool' must be a response to a preceding message")
                if not isinstance(content, str):
                    raise Violation("the content of a tool message is text")
                open_calls.remove(message["tool_call_id"])
            case _:
                raise Violation(f"Invalid value: '{role}'")
    if open_calls:
        raise Violation(f"tool messages are missing for {', '.join(open_calls)}")


def _check_assistant(message: Json) -> None:
    for call in message.get("tool_calls") or []:
        try:
            good = isinstance(json.loads(call["function"]["arguments"]), dict)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise Violation("Invalid 'arguments' of a function: not a JSON object.")
    for detail in message.get("reasoning_details", []):
        if detail.get("signature") != f"signed:{len(detail.get('text', ''))}":
            raise Violation("Invalid `signature` in `thinking` block")


# --- rendering


def _finish(reply: Reply) -> str:
    if any(isinstance(item, ToolCall) and item.unfinished for item in reply.items):
        return "length"
    has_calls = any(isinstance(item, ToolCall) for item in reply.items)
    return reply.stop or ("tool_calls" if has_calls else "stop")


def _detail(text: str) -> Json:
    return {"type": "reasoning.text", "text": text, "signature": f"signed:{len(text)}", "index": 0}


def _thought(piece: str) -> Json:
    return {
        "reasoning": piece,
        "reasoning_details": [{"type": "reasoning.text", "text": piece, "index": 0}],
    }


def _call(item: ToolCall) -> Json:
    text = (
        item.arguments if isinstance(item.arguments, str) else json.dumps(item.arguments, ensure_ascii=False)
    )
    function = {"name": item.name, "arguments": text[: len(text) // 2] if item.unfinished else text}
    return {"id": item.id or f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}


def _call_steps(number: int, call: Json) -> Iterator[Json]:
    function = call["function"]
    yield {"index": number, **call, "function": {**function, "arguments": ""}}
    for piece in pieces_of(function["arguments"]):
        yield {"index": number, "function": {"arguments": piece}}
