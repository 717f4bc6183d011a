"""Decode Gemini's finish reasons and usage."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.finish_words import worded_finish
from agent_ls.llm.providers.wire_json import count_at
from agent_ls.llm.requests import FinishKind, FinishReason, Usage

_FINISHES: Mapping[str, FinishKind] = {
    "STOP": "stop",
    # Only proxies and test servers send FUNCTION_CALL. Gemini itself ends an answer with calls by STOP.
    "FUNCTION_CALL": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "LANGUAGE": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",  # the answer contains the call, but it is not run
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "MALFORMED_RESPONSE": "error",
}


def finish_reason(raw: str, *, has_calls: bool, is_blocked: bool = False) -> FinishReason:
    """Return the finish reason. `has_calls` is needed because an answer with calls ends with STOP as well.

    `is_blocked`: `raw` is the reason why the prompt was blocked, which may be an unknown one.
    """
    unknown = "content_filter" if is_blocked or raw.startswith("IMAGE_") else worded_finish(raw)
    kind = _FINISHES.get(raw, unknown)
    return FinishReason("tool_calls" if kind == "stop" and has_calls else kind, raw)


def usage(wire: JsonObject) -> Usage:
    """Convert token counts. Gemini's prompt count includes cached tokens, but not the tokens of built-in tools.

    Gemini's candidate count excludes thoughts.
    """
    thoughts = count_at(wire, "thoughtsTokenCount")
    return Usage(
        input_tokens=(count_at(wire, "promptTokenCount") or 0)
        + (count_at(wire, "toolUsePromptTokenCount") or 0),
        output_tokens=(count_at(wire, "candidatesTokenCount") or 0) + (thoughts or 0),
        reasoning_tokens=thoughts,
        cache_read_tokens=count_at(wire, "cachedContentTokenCount"),
    )
