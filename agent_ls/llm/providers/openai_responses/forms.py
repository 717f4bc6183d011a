"""Change input items of this API for servers and proxies that refuse a usual form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.call_names import short_call_id
from agent_ls.llm.providers.refused_forms import NO_TEXT, NOT, SHORT_IDS, SINGLE, without_fields
from agent_ls.llm.providers.wire_json import encode_json
from agent_ls.patterns import regex

_ORDER = "Follow the instructions in the messages."
FIELDS = ("status", "phase", "annotations", "logprobs", "detail", "namespace", "caller", "id")
REFUSALS: Mapping[str, re.Pattern[str]] = {
    # Codex: System messages are not allowed / other servers: unknown variant `developer`, expected one of `system`, …
    "userly": regex(
        r"(system|developer)\W? (messages?|roles?)\b.{0,40}not|role\b.{0,60}developer|(variant|value)\W{0,3}developer"
    ),
    # llama.cpp: Cannot determine type of 'item' / item['content'] is not an array
    # vLLM: body -> input -> 1 -> ResponseOutputMessageParam -> id Field required
    # OpenRouter: path [1, "id"] expected string, received undefined / another: `input[87]` missing required field
    "whole": regex(
        r"type of .item|item\[.content.\]|responseoutput\w+|easyinputmessage|invalid_union|\bannotations\b"
        r"|invalid responses api request|\bbody\W+input\W+str\b"
        r"|\b(id|status|type)\b.{0,60}(required|undefined|missing|expected)"
        r"|(required|missing).{0,60}\b(id|status|type)\b|\binput\W{0,2}\d+\W{0,3}missing required"
    ),
    "single": SINGLE,
    "short_ids": SHORT_IDS,
    "filled": regex(r"\b(output|content)\b.{0,60}(missing|required|null|empty|blank|at least (1|one))"),
    "texts": regex(
        r"\b(content|output)\b.{0,80}\b(valid|a|an|expected|type) (str|string|text)\b"
        r"|invalid type: sequence, expected a string|only (string|text) content"
        r"|cannot unmarshal array into .{0,60}content"
    ),
    # Codex, of a request without instructions, or with those of another program: Instructions are required
    "ordered": regex(r"\binstructions\b.{0,30}\b(required|missing|empty|blank|provided)"),
    # the instructions are sent as a message
    "instructed": regex(
        rf"\binstructions\b.{{0,60}}({NOT}|unknown|extra inputs)"
        r"|(unknown|unsupported|unexpected|unrecogni[sz]ed).{0,30}\binstructions\b"
    ),
}


def adapt_body(body: dict[str, JsonValue], chosen: frozenset[str]) -> dict[str, JsonValue]:
    """Return the fields beside the input in the forms that the server accepts."""
    out = {key: value for key, value in body.items() if key != "instructions" or "instructed" not in chosen}
    return {**out, "instructions": _ORDER} if "ordered" in chosen and "instructions" not in out else out


def adapt_items(items: Sequence[bytes], instructions: str, chosen: frozenset[str]) -> list[bytes]:
    """Return the encoded input items in the forms that the server accepts."""
    if not chosen:
        return [*items]
    if "instructed" in chosen and instructions:
        said: JsonValue = {
            "type": "message",
            "role": "system",
            "content": [{"type": "input_text", "text": instructions}],
        }
        items = [encode_json(said), *items]
    out = without_fields([_adapt(item, at, chosen) for at, item in enumerate(items)], chosen)
    return _one_call_each(out) if "single" in chosen else out


@lru_cache(maxsize=4096)  # the items of a conversation are the same bytes in each request
def _adapt(encoded: bytes, at: int, chosen: frozenset[str]) -> bytes:
    item: dict[str, Any] = json.loads(encoded)
    if "userly" in chosen and item.get("role") in ("developer", "system"):
        item["role"] = "user"
    if "short_ids" in chosen and "call_id" in item:
        item["call_id"] = short_call_id(item["call_id"])
    if "filled" in chosen and item.get("output") == "":
        item["output"] = NO_TEXT
    for key in ("content", "output") if "texts" in chosen and item.get("type") != "reasoning" else ():
        parts = item.get(key)
        if isinstance(parts, list) and all("text" in part for part in parts):
            item[key] = "\n".join(part["text"] for part in parts)
    return encode_json(_whole(item, at) if "whole" in chosen else item)


def _whole(item: dict[str, Any], at: int) -> dict[str, Any]:
    """Return an item of the model with all fields that the service itself writes."""
    if item.get("role") == "assistant":
        said = item["content"]
        parts = [{"type": "output_text", "text": said}] if isinstance(said, str) else said
        content: JsonValue = [
            {"annotations": [], **part} if part["type"] == "output_text" else part for part in parts
        ]
        return {"id": f"msg_{at}", "status": "completed", **item, "type": "message", "content": content}
    if item.get("type") == "function_call":
        return {"id": f"fc_{at}", "status": "completed", **item}
    return {"summary": [], **item} if item.get("type") == "reasoning" else item


def _one_call_each(items: Sequence[bytes]) -> list[bytes]:
    """Let each call be followed by its output."""
    parsed: list[dict[str, Any]] = [json.loads(item) for item in items]
    outputs = {
        item["call_id"]: at for at, item in enumerate(parsed) if "output" in item and "call_id" in item
    }
    out: list[bytes] = []
    for encoded, item in zip(items, parsed, strict=True):
        if "output" in item and "call_id" in item:
            continue
        out.append(encoded)
        if (at := outputs.get(item.get("call_id", ""))) is not None:
            out.append(items[at])
    return out
