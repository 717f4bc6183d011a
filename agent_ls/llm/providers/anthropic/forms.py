"""Change messages of this API for servers and proxies that refuse a usual form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.call_names import short_call_id
from agent_ls.llm.providers.refused_forms import NO_TEXT, SHORT_IDS, SINGLE, without_fields
from agent_ls.llm.providers.wire_json import encode_json
from agent_ls.patterns import regex

FIELDS = ("is_error", "title", "citations")
REFUSALS: Mapping[str, re.Pattern[str]] = {
    # DeepSeek: The `content[].thinking` in the thinking mode must be passed back to the API.
    # Moonshot: thinking is enabled but reasoning_content is missing in assistant tool call message
    "thoughtful": regex(
        r"(thinking|reasoning_content)\b[^\]]{0,60}(must be passed back|is missing)|missing thinking block"
    ),
    # a gateway: messages.1.content.0.type: Invalid discriminator value. Expected 'text' | 'tool_use' | 'tool_result'
    # Anthropic: unexpected `tool_use_id` found in `advisor_tool_result` blocks
    "plain": regex(
        r"(discriminator|variant|tag)\b(?!.*expected.*thinking).{0,60}expected.{0,20}\btext\b"
        r"|(unknown|unsupported|unrecogni[sz]ed|invalid) (content )?(block|part|type)\b.{0,30}thinking"
        r"|server_tool_use|srvtoolu_|\b(?!mcp_)\w+_tool_result\b"
    ),
    # Bedrock: A text block must be included when using documents.
    "captioned": regex(r"text\b.{0,30}\b(must|required|needed|include)\b.{0,60}documents?\b"),
    "blankless": regex(
        r"non-?whitespace|\btext\b.{0,60}\bis blank|\btext\b.{0,40}\b(be|is) (non-?empty|empty|null or empty)"
    ),
    # Conversation blocks and tool result blocks cannot be provided in the same turn.
    "apart": regex(
        r"conversation blocks and tool result blocks|tool_?results?\b.{0,60}(alone|mixed|combined|same (turn|message))"
    ),
    "single": SINGLE,
    "short_ids": SHORT_IDS,
    "filled": regex(
        r"tool_?results?\b.{0,80}(empty|blank|missing|required|null|at least (1|one))"
        r"|\bcontent\b.{0,40}(missing|required|null|(cannot|must not|not) be empty)"
    ),
    "unmarked": regex(
        r"\bsystem\b\W{0,3}.{0,30}\b(valid|a|expected) string|invalid type: sequence, expected a string"
    ),
    "texts": regex(r"\bcontent\b(?!\.).{0,60}(should|must|expected).{0,20}\b(str|string|text)\b"),
    "lists": regex(
        r"\b(content|system)\b.{0,60}(should|must|expected|valid).{0,20}\b(list|array|sequence)\b"
        r"|invalid type: string, expected a sequence"
    ),
    # the system text is sent as the user's
    "systemless": regex(
        r"\bsystem\b\W{0,3}.{0,60}(extra inputs|not (be )?(supported|permitted|allowed)|unknown|unsupported|unrecogni)"
        r"|(unknown|unsupported|unexpected|unrecogni[sz]ed) \W?(field|parameter|argument|name|key)\W{0,3}.{0,10}"
        r"\bsystem\b"
    ),
}
_PLAIN = ("text", "image", "document", "tool_use", "tool_result")


def adapt_body(body: dict[str, JsonValue], chosen: frozenset[str]) -> dict[str, JsonValue]:
    """Return the fields beside the messages in the forms that the server accepts."""
    system = body.get("system")
    if "systemless" in chosen:
        return {key: value for key, value in body.items() if key != "system"}
    if "lists" in chosen and isinstance(system, str):
        return {**body, "system": [{"type": "text", "text": system}]}
    return body


def adapt_messages(messages: Sequence[bytes], system: Sequence[str], chosen: frozenset[str]) -> list[bytes]:
    """Return the encoded messages in the forms that the server accepts."""
    if not chosen:
        return [*messages]
    out = without_fields([_adapt(message, chosen) for message in messages], chosen)
    if "systemless" in chosen and system:
        out = _with_system(out, "\n\n".join(system))
    out = _one_call_each(out) if "single" in chosen else out
    out = _with_answers(out) if "apart" in chosen else out
    return [*map(_as_text, out)] if "texts" in chosen else out


@lru_cache(maxsize=4096)  # the messages of a conversation are the same bytes in each request
def _adapt(encoded: bytes, chosen: frozenset[str]) -> bytes:
    message: dict[str, Any] = json.loads(encoded)
    blocks = [block for block in message["content"] if "plain" not in chosen or block["type"] in _PLAIN]
    kinds = {block["type"] for block in blocks}
    if not blocks or ("captioned" in chosen and "document" in kinds and "text" not in kinds):
        blocks.append({"type": "text", "text": NO_TEXT})
    return encode_json({**message, "content": [_adapt_block(block, chosen) for block in blocks]})


def _adapt_block(block: dict[str, Any], chosen: frozenset[str]) -> dict[str, Any]:
    out = dict(block)
    if "short_ids" in chosen:
        out |= {key: short_call_id(out[key]) for key in ("id", "tool_use_id") if key in out}
    if block["type"] != "tool_result":
        return out
    content = out.get("content")
    if "filled" in chosen and not content:
        content = NO_TEXT
    if "texts" in chosen and isinstance(content, list) and all(part["type"] == "text" for part in content):
        content = "\n\n".join(part["text"] for part in content)
    if "lists" in chosen and isinstance(content, str):
        content = [{"type": "text", "text": content or NO_TEXT}]
    return {**out, "content": content}


def _as_text(encoded: bytes) -> bytes:
    """Return a message whose content is one text, if it has only texts."""
    message = json.loads(encoded)
    if any(block["type"] != "text" for block in message["content"]):
        return encoded
    return encode_json({**message, "content": "\n\n".join(block["text"] for block in message["content"])})


def _with_system(messages: list[bytes], text: str) -> list[bytes]:
    first = json.loads(messages[0])
    first["content"] = [{"type": "text", "text": text}, *first["content"]]
    return [encode_json(first), *messages[1:]]


def _one_call_each(messages: Sequence[bytes]) -> list[bytes]:
    """Give each call an answer of its own, which its result follows."""
    out: list[bytes] = []
    waiting: list[dict[str, Any]] = []
    for encoded in messages:
        message: dict[str, Any] = json.loads(encoded)
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        if len(calls) > 1:
            first = [block for block in message["content"] if block not in calls[1:]]
            out.append(encode_json({**message, "content": first}))
            waiting = calls[1:]
        elif waiting:
            out += _answered_each(waiting, message["content"])
            waiting = []
        else:
            out.append(encoded)
    return out


def _answered_each(calls: Sequence[dict[str, Any]], blocks: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the results in messages of their own, with the calls but the first between them, and the rest."""
    ids = [call["id"] for call in calls]
    own = {block.get("tool_use_id"): block for block in blocks if block.get("tool_use_id") in ids}
    first = [block for block in blocks if block["type"] == "tool_result" and block not in own.values()]
    out = [first, *([call] if at == 0 else [own[call["id"]]] for call in calls for at in (0, 1))]
    out[-1] = [*out[-1], *(block for block in blocks if block["type"] != "tool_result")]
    return [
        encode_json({"role": ("user", "assistant")[at % 2], "content": each}) for at, each in enumerate(out)
    ]


def _with_answers(messages: Sequence[bytes]) -> list[bytes]:
    """Let an answer come between results and what the user says after them."""
    out: list[bytes] = []
    for encoded in messages:
        message: dict[str, Any] = json.loads(encoded)
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        said = [block for block in message["content"] if block["type"] != "tool_result"]
        if results and said and message["role"] == "user":
            answer = {"role": "assistant", "content": [{"type": "text", "text": NO_TEXT}]}
            out += map(encode_json, ({**message, "content": results}, answer, {**message, "content": said}))
        else:
            out.append(encoded)
    return out
