"""The Responses wire of a loopback provider: refuses what the real service refuses, and renders scripted answers.

Encrypted reasoning names the item that must follow it and which of the three blobs it is (only the one of
`output_item.done` is accepted); ids of followers name their reasoning item. So any server can check any history.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from lark import Lark
from lark.exceptions import LarkError

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
    is_base64,
    pieces_of,
    text_of,
    with_following,
)

_ERRORS = {
    401: ("invalid_api_key", "invalid_request_error", "Incorrect API key provided."),
    404: (
        "model_not_found",
        "invalid_request_error",
        "The model does not exist or you do not have access to it.",
    ),
    429: ("rate_limit_exceeded", "requests", "Rate limit reached."),
    500: ("server_error", "server_error", "The server had an error while processing your request."),
    503: ("server_is_overloaded", "server_error", "The server is overloaded."),
}
_KEYS = {
    "model", "input", "instructions", "stream", "stream_options", "store", "include", "max_output_tokens", "reasoning",
    "text", "tools", "tool_choice", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "temperature",
    "previous_response_id", "truncation", "context_management", "service_tier", "safety_identifier", "metadata",
    "top_p", "background",
}  # fmt: skip
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CALL_ID_CHARS = 64
_OUTPUT_TYPES = ("message", "function_call", "custom_tool_call")


class OpenAIResponsesWire:
    """Wire format of the loopback server; LoopbackProvider shows its use."""

    name = "openai"
    path = "/v1/responses"
    base_path = "/v1"

    def __init__(self) -> None:
        self._cache = PromptCache()

    def key_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def error_body(self, error: ErrorReply) -> Json:
        code, kind, message = _ERRORS.get(error.status, (None, "invalid_request_error", "Error"))
        return {
            "error": {
                "message": error.message or message,
                "type": kind,
                "param": None,
                "code": error.kind or code,
            }
        }

    # --- requests that the service refuses

    def check(self, body: Json, headers: Mapping[str, str]) -> None:
        for key in body:
            if key not in _KEYS:
                raise Violation(f"Unknown parameter: '{key}'.", "unknown_parameter")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise Violation("Missing required parameter: 'model'.", "missing_required_parameter")
        if not body.get("input"):
            raise Violation("Missing required parameter: 'input'.", "missing_required_parameter")
        if 0 < (body.get("max_output_tokens") or 16) < 16:
            raise Violation(
                "Invalid 'max_output_tokens': integer below minimum value.", "integer_below_min_value"
            )
        for tool in body.get("tools", []):
            _check_tool(tool)
        kinds = ("function", "custom")
        names = [tool.get("name") for tool in body.get("tools", []) if tool.get("type") in kinds]
        if len(set(names)) != len(names):
            raise Violation("Duplicate function name in tools.", "invalid_value")
        if isinstance(body["input"], list):
            _check_items(body["input"], stored=body.get("store", True))

    # --- answers

    def whole(self, reply: Reply, body: Json) -> Json:
        items = [_done(raw) for _, raw in _items(reply, body)]
        return self._response(body, _status(reply), reply, items, self._usage(reply, body))

    def steps(self, reply: Reply, body: Json) -> Iterator[bytes | Gate | CutStream | DropConnection]:
        number = 0

        def frame(kind: str, data: Json) -> bytes:
            nonlocal number
            number += 1
            event = {"type": kind, **data, "sequence_number": number - 1}
            return f"event: {kind}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()

        usage = self._usage(reply, body)
        started = self._response(body, "in_progress", reply, [], None)
        yield frame("response.created", {"response": started})
        yield frame("response.in_progress", {"response": started})
        raws = {id(item): (index, raw) for index, (item, raw) in enumerate(_items(reply, body))}
        for item, following in with_following(reply.items):
            match item:
                case Event(data):
                    yield frame(data["type"], data)
                case Gate():
                    yield item
                case CutStream() | DropConnection():
                    yield item
                    return
                case MidStreamError(kind, message):
                    error = {"code": kind or "server_error", "message": message}
                    yield frame("error", {"error": {"type": kind or "server_error", **error, "param": None}})
                    failed = {**self._response(body, "failed", reply, [], None), "error": error}
                    yield frame("response.failed", {"response": failed})
                    return
                case Text() | Reasoning() | ToolCall():
                    index, raw = raws[id(item)]
                    for step in _item_steps(index, item, raw, leave_open=isinstance(following, FAILURES)):
                        yield step if isinstance(step, Gate) else frame(*step)
        status = _status(reply)
        final = [_final(raw) for _, raw in _items(reply, body, raws)]
        yield frame(f"response.{status}", {"response": self._response(body, status, reply, final, usage)})

    def _response(
        self, body: Json, status: str, reply: Reply, output: list[Json], usage: Json | None
    ) -> Json:
        reason = reply.stop if reply.stop not in ("", "completed") else "max_output_tokens"
        return {
            "id": f"resp_{uuid.uuid4().hex[:24]}",
            "object": "response",
            "status": status,
            "model": body["model"],
            "error": None,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "output": output,
            "usage": usage,
        }

    def _usage(self, reply: Reply, body: Json) -> Json:
        items = body["input"] if isinstance(body["input"], list) else [body["input"]]
        prefix = [body.get("tools", []), body.get("instructions", "")]
        blocks = [json.dumps(block, sort_keys=True) for block in [*prefix, *items]]
        read, written, total = self._cache.look(blocks, len(blocks))
        thought = sum(len(text_of(item)) for item in reply.items if isinstance(item, Reasoning)) // 4
        made = thought + sum(len(json.dumps(raw)) for _, raw in _items(reply, body)) // 4 + 1
        return {
            "input_tokens": total,
            "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": total + made,
            **reply.usage,
        }


# --- checks


def _check_tool(tool: Json) -> None:
    if tool.get("type") == "custom":
        _check_custom(tool)
    if tool.get("type") != "function":
        return
    if "function" in tool or not _TOOL_NAME.fullmatch(tool.get("name", "")):
        raise Violation("Missing required parameter: 'tools[0].name'.", "missing_required_parameter")
    if tool.get("parameters", {}).get("type") != "object":
        raise Violation(f"Invalid schema for function '{tool['name']}': schema must be of type object")
    if tool.get("strict"):
        _check_strict(tool["parameters"], tool["name"])


def _check_custom(tool: Json) -> None:
    if not _TOOL_NAME.fullmatch(tool.get("name", "")) or "parameters" in tool or "strict" in tool:
        raise Violation("Unknown parameter: 'tools[0].parameters'.", "unknown_parameter")
    written = tool.get("format", {"type": "text"})
    if written != {"type": "text"} and (written.get("type"), written.get("syntax")) != ("grammar", "lark"):
        raise Violation("Invalid value: 'tools[0].format'.", "invalid_value")
    if written["type"] == "grammar":
        try:
            Lark(written["definition"])
        except LarkError as error:
            raise Violation(f"Invalid grammar of the tool '{tool['name']}': {error}") from None


def _check_strict(schema: Json, name: str) -> None:
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            raise Violation(f"Invalid schema for function '{name}': 'additionalProperties' must be false.")
        if set(schema.get("required", [])) != set(schema.get("properties", {})):
            raise Violation(f"Invalid schema for function '{name}': 'required' must list every property.")
    for inner in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
        _check_strict(inner, name)
    if isinstance(schema.get("items"), dict):
        _check_strict(schema["items"], name)


def _check_items(items: list[Json], *, stored: bool) -> None:
    calls: set[str] = set()
    ends = ("function_call_output", "custom_tool_call_output")
    outputs = [item["call_id"] for item in items if item.get("type") in ends]
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else {}
        match item.get("type", "message"):
            case "reasoning":
                _check_reasoning(item, following, stored=stored)
            case "function_call" | "custom_tool_call" as kind:
                _check_call(item, place)
                calls.add(f"{kind} {item['call_id']}")
                if item["call_id"] not in outputs:
                    raise Violation(f"No tool output found for function call {item['call_id']}.")
                if kind == "function_call":
                    _check_arguments(item["arguments"])
                elif not isinstance(item.get("input"), str):
                    raise Violation(
                        f"Missing required parameter: 'input[{place}].input'.", "missing_required_parameter"
                    )
                _check_follower(item, items[:place])
            case "function_call_output" | "custom_tool_call_output" as kind:
                if f"{kind.removesuffix('_output')} {item['call_id']}" not in calls:
                    raise Violation(
                        f"No tool call found for function call output with call_id {item['call_id']}."
                    )
            case "message":
                if item.get("role") not in ("user", "system", "developer", "assistant") or not item.get(
                    "content"
                ):
                    raise Violation(f"Invalid value: 'input[{place}]'.", "invalid_value")
                _check_follower(item, items[:place])
                for part in item["content"] if isinstance(item["content"], list) else []:
                    _check_media(part)
    if len(set(outputs)) != len(outputs):
        raise Violation("Duplicate item found: function_call_output.")


def _check_call(item: Json, place: int) -> None:
    if not 0 < len(item.get("call_id", "")) <= _CALL_ID_CHARS:
        raise Violation(
            f"Invalid 'input[{place}].call_id': string too long, or empty.", "string_above_max_length"
        )
    prefix = "fc" if item["type"] == "function_call" else "ctc"
    if not item.get("id", prefix).startswith(prefix):
        raise Violation(
            f"Invalid 'input[{place}].id': Expected an ID that begins with '{prefix}'.", "invalid_value"
        )
    if not _TOOL_NAME.fullmatch(item.get("name", "")):
        raise Violation(f"Invalid 'input[{place}].name': string does not match pattern.", "invalid_value")


def _check_media(part: Json) -> None:
    for key in ("image_url", "file_data"):
        url = part.get(key)
        head, _, data = (url or "").partition(";base64,")
        if url is not None and not (
            url.startswith("https://") or (head.startswith("data:") and is_base64(data))
        ):
            raise Violation(f"Invalid 'input[0].content[0].{key}'. Expected a valid URL.", "invalid_value")


def _check_arguments(arguments: Any) -> None:
    try:
        good = isinstance(json.loads(arguments), dict)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise Violation("Invalid 'arguments' of a function_call: not a JSON object.", "invalid_value")


def _check_reasoning(item: Json, following: Json, *, stored: bool) -> None:
    if not isinstance(item.get("summary"), list):
        raise Violation("Missing required parameter: 'input[0].summary'.", "missing_required_parameter")
    if not stored and not item.get("encrypted_content"):
        raise Violation(
            f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is false."
        )
    try:
        sealed = json.loads(base64.b64decode(item["encrypted_content"]))
    except (KeyError, ValueError):
        sealed = {}
    if sealed.get("stage") != "done":
        raise Violation("The encrypted content could not be verified.", "invalid_encrypted_content")
    kind, role = following.get("type", "message" if following else ""), following.get("role", "assistant")
    is_follower = kind in (*_OUTPUT_TYPES, "reasoning") and role == "assistant"
    if not is_follower or sealed["next"] != following.get("id", sealed["next"]):
        raise Violation(
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
        )


def _check_follower(item: Json, before: list[Json]) -> None:
    needed = item.get("id", "").partition("_after_")[2]
    if needed and (
        not before or before[-1].get("id", needed) != needed or before[-1].get("type") != "reasoning"
    ):
        raise Violation(
            f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
            f"'reasoning' item: '{needed}'."
        )


# --- rendering


def _items(
    reply: Reply, body: Json, known: Mapping[int, tuple[int, Json]] | None = None
) -> list[tuple[Text | Reasoning | ToolCall, Json]]:
    """Return the output items as in `output_item.done`. `known` are items built before, which keep their
    ids."""
    parts = [item for item in reply.items if isinstance(item, Text | Reasoning | ToolCall)]
    if known is not None:
        return [(part, known[id(part)][1]) for part in parts]
    out: list[tuple[Text | Reasoning | ToolCall, Json]] = []
    custom = {tool["name"] for tool in body.get("tools", []) if tool.get("type") == "custom"}
    pending = ""  # the id of the reasoning item before this one
    for part in parts:
        prefix = {Text: "msg", Reasoning: "rs", ToolCall: "fc"}[type(part)]
        is_custom = isinstance(part, ToolCall) and part.name in custom
        prefix = "ctc" if is_custom else prefix
        item_id = f"{prefix}_{uuid.uuid4().hex[:16]}" + (f"_after_{pending}" if pending else "")
        if out and pending:
            out[-1] = (out[-1][0], {**out[-1][1], "next": item_id})
        raw = _raw(part, is_last=part is parts[-1], has_calls=_has_calls(reply))
        out.append((part, {"id": item_id, **(_as_custom(raw) if is_custom else raw)}))
        pending = item_id if isinstance(part, Reasoning) else ""
    return out


def _raw(part: Text | Reasoning | ToolCall, *, is_last: bool, has_calls: bool) -> Json:
    match part:
        case Text():
            content = [{"type": "output_text", "text": text_of(part), "annotations": []}]
            phase = "commentary" if has_calls and not is_last else "final_answer"
            return {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
                "phase": phase,
            }
        case Reasoning(redacted=redacted):
            summary = [] if redacted else [{"type": "summary_text", "text": text_of(part)}]
            return {"type": "reasoning", "summary": summary, "next": ""}
        case ToolCall(name, arguments, call_id, unfinished):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            return {
                "type": "function_call",
                "status": "incomplete" if unfinished else "completed",
                "call_id": call_id or f"call_{uuid.uuid4().hex[:20]}",
                "name": name,
                "arguments": text[: len(text) // 2] if unfinished else text,
            }


def _as_custom(raw: Json) -> Json:
    """Return the call with its one argument as free text. Arguments that are not a JSON object are the free
    text itself."""
    arguments = raw["arguments"]
    try:
        (text,) = json.loads(arguments).values()
    except ValueError:
        text = arguments
    kept = {key: value for key, value in raw.items() if key not in ("type", "arguments")}
    return {"type": "custom_tool_call", **kept, "input": text}


def _has_calls(reply: Reply) -> bool:
    return any(isinstance(item, ToolCall) for item in reply.items)


def _sealed(raw: Json, stage: str) -> Json:
    if raw["type"] != "reasoning":
        return raw
    blob = base64.b64encode(json.dumps({"stage": stage, "next": raw["next"]}).encode()).decode()
    return {**{key: value for key, value in raw.items() if key != "next"}, "encrypted_content": blob}


def _done(raw: Json) -> Json:
    return _sealed(raw, "done")


def _final(raw: Json) -> Json:
    return _sealed(raw, "final")


def _status(reply: Reply) -> str:
    unfinished = any(isinstance(item, ToolCall) and item.unfinished for item in reply.items)
    return "incomplete" if unfinished or reply.stop not in ("", "completed") else "completed"


def _item_steps(
    index: int, part: Text | Reasoning | ToolCall, raw: Json, *, leave_open: bool
) -> Iterator[tuple[str, Json] | Gate]:
    at: Json = {"output_index": index, "item_id": raw["id"]}
    match part:
        case Text(pieces=pieces):
            empty = {**raw, "status": "in_progress", "content": []}
            yield "response.output_item.added", {"output_index": index, "item": empty}
            blank = {"type": "output_text", "text": "", "annotations": []}
            yield "response.content_part.added", {**at, "content_index": 0, "part": blank}
            for piece in pieces:
                delta = {**at, "content_index": 0, "delta": piece}
                yield piece if isinstance(piece, Gate) else ("response.output_text.delta", delta)
        case Reasoning(pieces=pieces, redacted=redacted):
            yield (
                "response.output_item.added",
                {"output_index": index, "item": _sealed({**raw, "summary": []}, "added")},
            )
            for piece in pieces:
                if isinstance(piece, Gate):
                    yield piece
                elif not redacted:
                    yield "response.reasoning_summary_text.delta", {**at, "summary_index": 0, "delta": piece}
        case ToolCall():
            is_custom = raw["type"] == "custom_tool_call"
            key = "input" if is_custom else "arguments"
            kind = f"response.{'custom_tool_call_input' if is_custom else 'function_call_arguments'}"
            added = {**raw, "status": "in_progress", key: ""}
            yield "response.output_item.added", {"output_index": index, "item": added}
            for json_piece in pieces_of(raw[key]):
                yield f"{kind}.delta", {**at, "delta": json_piece}
            if not leave_open:
                yield f"{kind}.done", {**at, key: raw[key]}
    if not leave_open:
        yield "response.output_item.done", {"output_index": index, "item": _done(raw)}
