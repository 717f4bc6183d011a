"""Decode output items, status and usage of the Responses API, for complete answers and streams."""

from __future__ import annotations

import json
from collections.abc import Mapping

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
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.citations import url_citations
from agent_ls.llm.providers.finish_words import worded_finish
from agent_ls.llm.providers.openai_responses.errors import NAME, http_error, response_error
from agent_ls.llm.providers.rate_limits import openai_rate_limit
from agent_ls.llm.providers.wire_json import (
    count_at,
    json_text,
    object_at,
    objects_at,
    parse_object,
    text_at,
    valid_text,
)
from agent_ls.llm.requests import FinishKind, FinishReason, Request, Response, Usage

_INCOMPLETE: Mapping[str, FinishKind] = {"max_output_tokens": "length", "content_filter": "content_filter"}

CALL_TYPES = ("function_call", "custom_tool_call")


def decode_response(request: Request, head: ReplyHead, body: bytes) -> Response:
    """Decode a complete answer.

    Raises:
        LlmError: the body is an error, or not a response.
    """
    wire = parse_object(body)
    if wire is None or not ("output" in wire or "status" in wire):
        raise http_error(request.model, ReplyHead(200), body)
    if text_at(wire, "status") == "failed" or object_at(wire, "error"):
        raise response_error(request.model, wire)
    items = list(objects_at(wire, "output"))
    message = Message(
        Role.ASSISTANT, tuple(item_part(item, request) for item in items if not is_cut_call(item))
    )
    return Response(
        id=text_at(wire, "id"),
        provider=NAME,
        model=text_at(wire, "model") or request.model,
        message=message,
        finish_reason=finish_reason(
            wire, has_calls=bool(message.tool_calls), has_refusal=any(map(is_refusal, items))
        ),
        usage=usage(object_at(wire, "usage")),
        warnings=tuple(cut_warning(text_at(item, "name")) for item in items if is_cut_call(item)),
        rate_limit=openai_rate_limit(head),
        raw=wire,
        cut_calls=tuple(map(_cut_call, filter(is_cut_call, items))),
    )


def item_part(item: JsonObject, request: Request) -> ContentPart:
    """Decode one complete output item of the answer to `request`.

    The part gets an origin only if the item can be sent back: the item is complete, and a reasoning item has
    encrypted content. Only the requested model can read that content.
    """
    model = request.model
    whole = Origin(NAME, model, item) if text_at(item, "status") in ("", "completed") else None
    match text_at(item, "type"):
        case "message":
            return TextPart(message_text(item), whole, _citations(item))
        case "reasoning":
            return ReasoningPart(reasoning_text(item), whole if text_at(item, "encrypted_content") else None)
        case "function_call":
            arguments = text_at(item, "arguments").strip() or json_text(object_at(item, "arguments"))
            return ToolCallPart(_call_id(item), text_at(item, "name"), valid_text(arguments), whole)
        case "custom_tool_call":  # the free text is converted to JSON arguments with one member
            name, text = text_at(item, "name"), valid_text(text_at(item, "input"))
            opening = free_text_opening(name, request)
            return ToolCallPart(_call_id(item), name, f'{opening}{free_text_piece(text)}"}}', whole)
        case "web_search_call":
            return _search(object_at(item, "action"), Origin(NAME, model, item))
    return OpaquePart(Origin(NAME, model, item))


def free_text_opening(name: str, request: Request) -> str:
    """Return the JSON text before the free text of a custom call, for example `{"input": "`."""
    named = (tool.free_text for tool in request.tools if tool.name == name and tool.free_text)
    argument = next((text.argument for text in named), "input")
    return f'{{{json.dumps(argument)}: "'


def free_text_piece(text: str) -> str:
    """Escape a piece of free text for a JSON string. The escaped pieces can be joined."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _citations(item: JsonObject) -> tuple[Citation, ...]:
    """Return the citations of an item, with positions in `message_text(item)`.

    The API counts positions from the start of each content part.
    """
    found: list[Citation] = []
    before = 0
    for part in objects_at(item, "content"):
        text = valid_text(text_at(part, "text") or text_at(part, "refusal"))
        found += url_citations(objects_at(part, "annotations"), text, before)
        before += len(text)
    return tuple(found)


def _search(action: JsonObject, origin: Origin) -> SearchPart:
    """Decode a search action. A `search` has one or more queries, and sources if requested. `open_page` has a
    URL.
    """
    listed = action.get("queries")
    several = tuple(query for query in listed if isinstance(query, str)) if isinstance(listed, list) else ()
    query = text_at(action, "query")
    rows = objects_at(action, "sources")  # a source that is not a web page has only a name
    sources = [Source(text_at(row, "url"), text_at(row, "title") or text_at(row, "name")) for row in rows]
    page = [Source(text_at(action, "url"))] if text_at(action, "url") else []
    return SearchPart(several or ((query,) if query else ()), (*sources, *page), origin)


def _call_id(item: JsonObject) -> str:
    return text_at(item, "call_id") or text_at(item, "id")


def message_text(item: JsonObject) -> str:
    """Return the text of all content parts. A refusal counts as text, because the user should read it."""
    if isinstance(item.get("content"), str):  # from a proxy
        return valid_text(text_at(item, "content"))
    return valid_text(
        "".join(text_at(part, "text") or text_at(part, "refusal") for part in objects_at(item, "content"))
    )


def reasoning_text(item: JsonObject) -> str:
    """Return the summary and the plain reasoning, separated by a blank line. Some servers send one text as both."""
    texts = (text_at(part, "text") for key in ("summary", "content") for part in objects_at(item, key))
    return valid_text("\n\n".join(dict.fromkeys(filter(None, texts))))


def is_cut_call(item: JsonObject) -> bool:
    """Return True for a call whose arguments were truncated by the output limit. Such a call is neither run
    nor recorded.
    """
    return text_at(item, "type") in CALL_TYPES and text_at(item, "status") == "incomplete"


def _cut_call(item: JsonObject) -> ToolCallPart:
    return ToolCallPart(_call_id(item), text_at(item, "name"), valid_text(text_at(item, "arguments")))


def cut_warning(name: str) -> str:
    return f"the model did not finish its call of {name}, so the call was dropped"


def is_refusal(item: JsonObject) -> bool:
    return any(text_at(part, "type") == "refusal" for part in objects_at(item, "content"))


def finish_reason(response: JsonObject, *, has_calls: bool, has_refusal: bool) -> FinishReason:
    status = text_at(response, "status")
    if status == "completed":
        if has_refusal:
            return FinishReason("content_filter", "refusal")
        return FinishReason("tool_calls" if has_calls else "stop", status)
    if status == "incomplete":
        reason = text_at(object_at(response, "incomplete_details"), "reason")
        return FinishReason(_INCOMPLETE.get(reason) or worded_finish(reason), reason or status)
    return FinishReason("other", status)


def usage(wire: JsonObject) -> Usage:
    """Convert token counts. The input count includes cached tokens, the output count includes reasoning."""
    sent, made = object_at(wire, "input_tokens_details"), object_at(wire, "output_tokens_details")
    return Usage(
        input_tokens=count_at(wire, "input_tokens") or 0,
        output_tokens=count_at(wire, "output_tokens") or 0,
        reasoning_tokens=count_at(made, "reasoning_tokens"),
        cache_read_tokens=count_at(sent, "cached_tokens"),
        cache_write_tokens=count_at(sent, "cache_write_tokens"),
    )
