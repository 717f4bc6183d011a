"""Decode Anthropic's blocks, stop reasons and usage, for complete answers and streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from agent_ls.llm.messages import (
    Citation,
    ContentPart,
    JsonObject,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    SearchPart,
    Source,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.providers.anthropic.errors import NAME, http_error
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.finish_words import worded_finish
from agent_ls.llm.providers.rate_limits import parse_count
from agent_ls.llm.providers.wire_json import (
    arguments_at,
    count_at,
    json_text,
    object_at,
    objects_at,
    parse_object,
    text_at,
    valid_text,
)
from agent_ls.llm.requests import (
    CHARS_PER_TOKEN,
    FinishKind,
    FinishReason,
    RateLimit,
    Request,
    Response,
    Usage,
)

_STOPS: Mapping[str, FinishKind] = {
    "end_turn": "stop",
    "stop": "stop",  # words of Chat Completions, from a proxy
    "length": "length",
    "tool_calls": "tool_calls",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "pause_turn": "pause",
}

_SEARCHES = ("web_search", "web_fetch")

# A call with only these keys is rebuilt from the fields of ToolCallPart. A call with other keys (or with a caller that
# is not "direct") is stored verbatim.
_PLAIN_CALL_KEYS = {"type", "id", "name", "input", "caller"}


def decode_response(request: Request, head: ReplyHead, body: bytes) -> Response:
    """Decode a complete answer.

    Raises:
        LlmError: the body is an error, or not a message.
    """
    message = parse_object(body)
    if message is None or message.get("type") == "error" or message.get("error") or "content" not in message:
        raise http_error(request.model, ReplyHead(200), body)
    parts = tuple(block_part(block, request.model) for block in objects_at(message, "content"))
    answer = Message(Role.ASSISTANT, parts)
    return Response(
        id=text_at(message, "id"),
        provider=NAME,
        model=text_at(message, "model") or request.model,
        message=answer,
        finish_reason=finish_reason(text_at(message, "stop_reason"), has_calls=bool(answer.tool_calls)),
        usage=usage(object_at(message, "usage"), len(answer.reasoning)),
        warnings=stop_warnings(object_at(message, "stop_details")),
        rate_limit=rate_limit(head),
        raw=message,
    )


def block_part(block: JsonObject, model: str, arguments: str = "") -> ContentPart:
    """Decode one complete block. `model` is the requested model; signatures in the block are valid for no other model.

    `arguments` are the arguments of a call as the model wrote them; "" derives them from the block's `input`.
    """
    origin = Origin(NAME, model, block)
    match text_at(block, "type"):
        case "text":
            text = valid_text(text_at(block, "text"))
            cited = tuple(_citation(row, text) for row in objects_at(block, "citations"))
            return TextPart(
                text, origin if cited else None, cited
            )  # the text alone is sent back, so only citations need an origin
        case "thinking":
            # Thinking without a signature was truncated. The service would refuse it in a later request.
            signed = bool(text_at(block, "signature"))
            return ReasoningPart(valid_text(text_at(block, "thinking")), origin if signed else None)
        case "redacted_thinking":
            return ReasoningPart("", origin)
        case "tool_use":
            return ToolCallPart(
                text_at(block, "id"),
                text_at(block, "name"),
                valid_text(arguments) or json_text(arguments_at(block, "input")),
                None if _is_plain_call(block) else origin,
            )
        case "server_tool_use" if text_at(block, "name") in _SEARCHES:
            query = text_at(object_at(block, "input"), "query")
            return SearchPart((query,) if query else (), (), origin)
        case "web_search_tool_result":
            return SearchPart((), tuple(_source(row) for row in objects_at(block, "content")), origin)
        case "web_fetch_tool_result" if text_at(object_at(block, "content"), "url"):
            page = object_at(block, "content")
            title = text_at(object_at(page, "content"), "title")
            return SearchPart((), (Source(text_at(page, "url"), title),), origin)
    return OpaquePart(origin)


def _citation(row: JsonObject, text: str) -> Citation:
    """Return a citation that covers its whole block."""
    return Citation(_source(row), 0, len(text), text_at(row, "cited_text"))


def _source(row: JsonObject) -> Source:
    return Source(
        text_at(row, "url") or text_at(row, "source"), text_at(row, "title") or text_at(row, "document_title")
    )


def finish_reason(raw: str, *, has_calls: bool) -> FinishReason:
    kind = _STOPS.get(raw) or worded_finish(raw)
    if kind == "tool_calls" and not has_calls:
        return FinishReason("error", raw)  # the call was lost on the way
    return FinishReason("tool_calls" if kind == "stop" and has_calls else kind, raw)


def stop_warnings(details: JsonObject) -> tuple[str, ...]:
    """Return the service's explanation of a refusal, or else its category, if there is one."""
    said = text_at(details, "explanation") or text_at(details, "category")
    return (said,) if said else ()


def usage(wire: JsonObject, thinking_chars: int = 0) -> Usage:
    """Convert token counts. Add cache reads and writes to the input, because the service does not include them.

    With server-side compaction, only the field `iterations` has the real counts. `thinking_chars` is the length of the
    received reasoning: reasoning tokens are estimated from it if the service reports none.
    """
    counted = _counted(wire)
    if counted.reasoning_tokens is not None or not thinking_chars:
        return counted
    estimate = min(-(-thinking_chars // CHARS_PER_TOKEN), counted.output_tokens)
    return replace(counted, reasoning_tokens=estimate)


def _counted(wire: JsonObject) -> Usage:
    rounds = list(objects_at(wire, "iterations"))
    if any(text_at(row, "type") == "compaction" for row in rounds):
        return sum((_counted({**row, "iterations": []}) for row in rounds), Usage())
    read, write = count_at(wire, "cache_read_input_tokens"), count_at(wire, "cache_creation_input_tokens")
    return Usage(
        input_tokens=(count_at(wire, "input_tokens") or 0) + (read or 0) + (write or 0),
        output_tokens=count_at(wire, "output_tokens") or 0,
        reasoning_tokens=count_at(object_at(wire, "output_tokens_details"), "thinking_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=write,
    )


def rate_limit(head: ReplyHead) -> RateLimit | None:
    """Read the `anthropic-ratelimit-*` headers; None if there are none."""
    limits = {
        key.removeprefix("anthropic-ratelimit-"): value
        for key, value in head.headers.items()
        if key.startswith("anthropic-ratelimit-")
    }
    if not limits:
        return None
    return RateLimit(
        remaining_requests=parse_count(limits.get("requests-remaining", "")),
        remaining_tokens=parse_count(limits.get("tokens-remaining", "")),
        reset_s=_seconds_until(
            limits.get("tokens-reset") or limits.get("requests-reset", ""), head.received_at_s
        ),
        limit_requests=parse_count(limits.get("requests-limit", "")),
        limit_tokens=parse_count(limits.get("tokens-limit", "")),
    )


def _is_plain_call(block: JsonObject) -> bool:
    direct = text_at(object_at(block, "caller"), "type") in ("", "direct")
    return direct and set(block) <= _PLAIN_CALL_KEYS


def _seconds_until(moment: str, now_s: float) -> float | None:
    try:
        return max(0.0, datetime.fromisoformat(moment).timestamp() - now_s)
    except (ValueError, OverflowError):
        return None
