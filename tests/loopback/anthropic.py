"""The Messages wire of a loopback provider: refuses what the real service refuses, and renders scripted answers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.loopback.script import (
    FAILURES,
    CutStream,
    DropConnection,
    ErrorReply,
    Event,
    Gate,
    Item,
    Json,
    MidStreamError,
    PromptCache,
    Reasoning,
    Reply,
    Text,
    ToolCall,
    Violation,
    is_base64,
    pieces_of,
    text_of,
    with_following,
)

_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
    500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
_MESSAGES = {
    401: "invalid x-api-key", 404: "model: no-such-model", 429: "This request would exceed your rate limit.",
    500: "Internal server error", 529: "Overloaded",
}  # fmt: skip
_KEYS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control",
    "stop_sequences", "metadata", "service_tier", "stream", "temperature", "top_p", "top_k", "container", "speed",
    "diagnostics", "context_management", "mcp_servers",
}  # fmt: skip
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_REASONING = ("thinking", "redacted_thinking")


def signature(thinking: str) -> str:
    """Return a signature that any loopback server can verify, so that sessions survive a restart of the server."""
    return base64.b64encode(hashlib.sha256(b"loopback" + thinking.encode()).digest()).decode()


class AnthropicWire:
    """Wire format of the loopback server; LoopbackProvider shows its use."""

    name = "anthropic"
    path = "/v1/messages"
    base_path = ""

    def __init__(self) -> None:
        self._cache = PromptCache()
        self._thought: dict[str, tuple[str, str]] = {}
        """By call id: the signed thinking before the call, which must be sent back with the call."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key", "") or headers.get("authorization", "").removeprefix("Bearer ")

    def error_body(self, error: ErrorReply) -> Json:
        return {
            "type": "error",
            "error": {
                "type": error.kind or _KINDS.get(error.status, "api_error"),
                "message": error.message or _MESSAGES.get(error.status, "Error"),
            },
            "request_id": "req_loopback",
        }

    # --- requests that the service refuses

    def check(self, body: Json, headers: Mapping[str, str]) -> None:
        if not headers.get("anthropic-version"):
            raise Violation("anthropic-version: header is required")
        for key in body:
            if key not in _KEYS:
                raise Violation(f"{key}: Extra inputs are not permitted")
        for key, kind in (("model", str), ("max_tokens", int), ("messages", list)):
            if not isinstance(body.get(key), kind) or not body[key]:
                raise Violation(f"{key}: Field required")
        self._check_tools(body)
        self._check_thinking(body)
        self._check_messages([_with_blocks(message) for message in body["messages"]])
        if _thinks(body):
            self._check_thought(body["model"], body["messages"])
        if json.dumps(body).count('"cache_control"') > 4:
            raise Violation("A maximum of 4 blocks with cache_control may be provided.")

    def _check_tools(self, body: Json) -> None:
        tools = body.get("tools", [])
        names = [tool.get("name") for tool in tools]
        if len(set(names)) != len(names):
            raise Violation("tools: Tool names must be unique.")
        for tool in tools:
            if "type" in tool and tool["type"] != "custom":
                continue
            if not _TOOL_NAME.fullmatch(tool.get("name", "")):
                raise Violation("tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
            if tool.get("input_schema", {}).get("type") != "object":
                raise Violation("tools.0.custom.input_schema.type: Field required")
        choice = body.get("tool_choice")
        if choice is not None and (not isinstance(choice, dict) or not tools):
            raise Violation("tool_choice: Input should be an object, and needs tools")
        if isinstance(choice, dict) and choice.get("type") == "tool" and choice.get("name") not in names:
            raise Violation(f"Tool '{choice.get('name')}' not found in provided tools")
        if isinstance(choice, dict) and choice.get("type") in ("any", "tool") and _thinks(body):
            raise Violation("Thinking may not be enabled when tool_choice forces tool use.")

    def _check_thinking(self, body: Json) -> None:
        thinking = body.get("thinking", {})
        if (
            thinking.get("type") == "enabled"
            and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]
        ):
            raise Violation("`max_tokens` must be greater than `thinking.budget_tokens`.")

    def _check_thought(self, model: str, messages: list[Json]) -> None:
        """Refuse a request in which the thinking before a call is not sent back unchanged to the model that
        wrote it.
        """
        last = next((m for m in reversed(messages) if m["role"] == "assistant"), {})
        blocks = last.get("content") if messages[-1]["role"] == "user" else None
        for call in blocks if isinstance(blocks, list) else []:
            thinker, seal = self._thought.get(call.get("id", ""), ("", ""))
            if thinker == model and not any(
                seal in (block.get("signature"), block.get("data")) for block in blocks or []
            ):
                raise Violation("Expected `thinking` or `redacted_thinking`, but found `tool_use`.")

    def _sealed(self, reply: Reply, model: str) -> Reply:
        """Give each call an id, and remember it with the thinking before it."""
        items: list[Item] = []
        for item in reply.items:
            if isinstance(item, ToolCall):
                item = replace(item, id=item.id or _call_id())
                if seal := next((signature(text_of(i)) for i in items if isinstance(i, Reasoning)), ""):
                    self._thought[item.id] = (model, seal)
            items.append(item)
        return replace(reply, items=items)

    def _check_messages(self, messages: list[Json]) -> None:
        joined: list[dict[str, Any]] = []
        for message in messages:
            if message["role"] not in ("user", "assistant"):
                raise Violation(f'messages: Unexpected role "{message["role"]}".')
            # The service joins adjacent messages of one role.
            if joined and joined[-1]["role"] == message["role"]:
                joined[-1]["content"] += message["content"]
            else:
                joined.append({"role": message["role"], "content": list(message["content"])})
        if joined[0]["role"] != "user":
            raise Violation("messages: first message must use the user role")
        last = joined[-1]
        if last["role"] == "assistant" and not last["content"][-1]["type"].endswith(
            ("_tool_use", "_tool_result")
        ):
            raise Violation("This model does not support assistant message prefill.")
        for index, message in enumerate(joined):
            for block in message["content"]:
                _check_block(block, message["role"])
            before = joined[index - 1]["content"] if index else []
            after = joined[index + 1]["content"] if index + 1 < len(joined) else None
            _check_order(message, index)
            _check_pairs(message["content"], before, after, index)

    # --- answers

    def whole(self, reply: Reply, body: Json) -> Json:
        reply = self._sealed(reply, body["model"])
        content = [_block(item) for item in reply.items if isinstance(item, Text | Reasoning | ToolCall)]
        return {
            **self._message(body, self._usage(reply, body)),
            "content": content,
            "stop_reason": _stop(reply),
        }

    def steps(self, reply: Reply, body: Json) -> Iterator[bytes | Gate | CutStream | DropConnection]:
        reply = self._sealed(reply, body["model"])
        usage = self._usage(reply, body)
        first = {**usage, "output_tokens": 1}
        yield _frame({"type": "message_start", "message": self._message(body, first)})
        yield _frame({"type": "ping"})
        index = 0
        for item, following in with_following(reply.items):
            if isinstance(item, Event):
                yield _frame(item.data)
            elif isinstance(item, Gate | CutStream | DropConnection):
                yield item
            elif isinstance(item, MidStreamError):
                error = ErrorReply(200, kind=item.kind or "overloaded_error", message=item.message)
                yield _frame(self.error_body(error))
                return
            else:
                yield from _block_steps(index, item, leave_open=isinstance(following, FAILURES))
                index += 1
            if isinstance(item, CutStream | DropConnection):
                return
        yield _frame(
            {
                "type": "message_delta",
                "delta": {"stop_reason": _stop(reply), "stop_sequence": None},
                "usage": {"output_tokens": usage["output_tokens"]},
            }
        )
        yield _frame({"type": "message_stop"})

    def _message(self, body: Json, usage: Json) -> Json:
        return {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def _usage(self, reply: Reply, body: Json) -> dict[str, Any]:
        blocks, marks = _flat(body)
        cached = len(blocks) if body.get("cache_control") else max(marks, default=0)
        read, written, total = self._cache.look(blocks, cached)
        thought = sum(len(text_of(i)) // 4 + 1 for i in reply.items if isinstance(i, Reasoning))
        made = sum(
            len(json.dumps(_block(i))) for i in reply.items if isinstance(i, Text | Reasoning | ToolCall)
        )
        return {
            "input_tokens": total - read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "output_tokens": made // 4 + 1,
            "output_tokens_details": {"thinking_tokens": thought},
            **reply.usage,
        }


def _thinks(body: Json) -> bool:
    return body.get("thinking", {}).get("type") in ("enabled", "adaptive")


def _with_blocks(message: Json) -> Json:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content:
        raise Violation("messages: content must be non-empty")
    return {"role": message.get("role"), "content": content}


def _check_block(block: Json, role: str) -> None:
    kind = block.get("type")
    if kind == "text" and not block.get("text"):
        raise Violation("messages: text content blocks must be non-empty")
    if kind == "text" and role == "user" and not block["text"].strip():
        raise Violation("messages: text content blocks must contain non-whitespace text")
    if kind in (*_REASONING, "tool_use") and role != "assistant":
        raise Violation(f"messages: `{kind}` blocks can only be in assistant messages")
    if kind in ("image", "document"):
        _check_source(block.get("source", {}))
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        raise Violation("messages: tool_use.input: Input should be an object")
    if kind == "thinking" and block.get("signature") != signature(block.get("thinking", "")):
        raise Violation("messages: Invalid `signature` in `thinking` block")
    if kind == "redacted_thinking" and not block.get("data"):
        raise Violation("messages: redacted_thinking.data: Field required")


def _check_source(source: Json) -> None:
    match source.get("type"):
        case "base64":
            if not source.get("media_type") or not is_base64(source.get("data")):
                raise Violation("messages: source.base64: the data or its media type is invalid")
        case "url":
            if not str(source.get("url", "")).startswith("https://"):
                raise Violation("messages: source.url: Only HTTPS URLs are supported.")
        case "text":
            pass
        case kind:
            raise Violation(f"messages: source.type: Input tag {kind!r} is not expected")


def _check_order(message: Json, index: int) -> None:
    kinds = [block["type"] for block in message["content"]]
    if message["role"] == "assistant" and kinds[-1] in _REASONING:
        raise Violation(f"messages.{index}: The final block in an assistant message cannot be `thinking`.")
    results = [place for place, kind in enumerate(kinds) if kind == "tool_result"]
    if results and results != list(range(len(results))):
        raise Violation(f"messages.{index}: `tool_result` blocks must come before other content")


def _check_pairs(content: list[Json], before: list[Json], after: list[Json] | None, index: int) -> None:
    calls = [block["id"] for block in content if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in after or [] if block["type"] == "tool_result"]
    if len(set(calls)) != len(calls):
        raise Violation("messages: `tool_use` ids must be unique")
    open_calls = [call for call in calls if call not in answered]
    if open_calls:
        raise Violation(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            + ", ".join(open_calls)
        )
    known = {block["id"] for block in before if block["type"] == "tool_use"}
    given = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise Violation(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {unknown[0]}"
        )
    if len(set(given)) != len(given):
        raise Violation(f"messages.{index}: each tool_use must have a single result")


def _flat(body: Json) -> tuple[list[str], list[int]]:
    """Return the request as blocks in cache order, and the number of blocks up to each breakpoint."""
    system = body.get("system", [])
    blocks = [*body.get("tools", []), *([{"text": system}] if isinstance(system, str) else system)]
    for message in body["messages"]:
        blocks += [{"role": message["role"], **block} for block in _with_blocks(message)["content"]]
    marks = [place + 1 for place, block in enumerate(blocks) if "cache_control" in block]
    plain = [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]
    return [json.dumps(block, sort_keys=True) for block in plain], marks


def _stop(reply: Reply) -> str:
    calls = [item for item in reply.items if isinstance(item, ToolCall)]
    if any(call.unfinished for call in calls):
        return reply.stop or "max_tokens"
    return reply.stop or ("tool_use" if calls else "end_turn")


def _block(item: Item) -> dict[str, Any]:
    match item:
        case Text():
            return {"type": "text", "text": text_of(item)}
        case Reasoning(redacted=True):
            return {"type": "redacted_thinking", "data": signature(text_of(item))}
        case Reasoning():
            return {"type": "thinking", "thinking": text_of(item), "signature": signature(text_of(item))}
        case ToolCall(name, arguments, call_id):
            whole = _parsed(arguments) if isinstance(arguments, str) and not item.unfinished else arguments
            return {"type": "tool_use", "id": call_id or _call_id(), "name": name, "input": whole}
    raise TypeError(item)


def _parsed(arguments: str) -> Any:
    """Return the arguments as an object; {} for broken JSON, which only the deltas of a stream can contain."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _call_id() -> str:
    return f"toolu_{uuid.uuid4().hex[:20]}"


def _block_steps(index: int, item: Item, *, leave_open: bool) -> Iterator[bytes | Gate]:
    def delta(kind: str, **fields: str) -> bytes:
        return _frame({"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}})

    def start(block: Json) -> bytes:
        return _frame({"type": "content_block_start", "index": index, "content_block": block})

    match item:
        case Text(pieces=pieces):
            yield start({"type": "text", "text": ""})
            for piece in pieces:
                yield piece if isinstance(piece, Gate) else delta("text_delta", text=piece)
        case Reasoning(redacted=True):
            yield start(_block(item))
        case Reasoning(pieces=pieces):
            yield start({"type": "thinking", "thinking": "", "signature": ""})
            for piece in pieces:
                yield piece if isinstance(piece, Gate) else delta("thinking_delta", thinking=piece)
            if not leave_open:
                yield delta("signature_delta", signature=signature(text_of(item)))
        case ToolCall(name, arguments, call_id):
            yield start({"type": "tool_use", "id": call_id or _call_id(), "name": name, "input": {}})
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            whole = text if arguments else ""  # the service sends "" for no arguments
            pieces_sent = pieces_of(whole[: len(whole) // 2] if item.unfinished else whole)
            for json_piece in ["", *pieces_sent]:
                yield delta("input_json_delta", partial_json=json_piece)
    if not (leave_open or (isinstance(item, ToolCall) and item.unfinished)):
        yield _frame({"type": "content_block_stop", "index": index})


def _frame(data: Json) -> bytes:
    # The real service pads its data lines with blanks.
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}   \n\n".encode()
