"""Decode finish reasons and usage of Chat Completions, and convert a complete answer to one chunk."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.finish_words import worded_finish
from agent_ls.llm.providers.wire_json import count_at, object_at, text_at
from agent_ls.llm.requests import FinishKind, FinishReason, Usage
from agent_ls.patterns import regex

_FINISHES: Mapping[str, FinishKind] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "complete": "stop",
    "completed": "stop",
    "null": "stop",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "max_length": "length",
    "model_context_window_exceeded": "length",  # Z.ai
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "refusal": "content_filter",
    "error": "error",
    "network_error": "error",  # Z.ai
    "malformed_function_call": "error",
    "insufficient_system_resource": "error",  # DeepSeek
    "abort": "error",
}
CUT = ("length", "content_filter", "error")
"""After these kinds of ends, an unfinished call was cut off."""
# The other names are of Bedrock, Gemini, Ollama and llama.cpp, whose counts some proxies pass on.
_PROMPT = ("prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidatesTokenCount",
    "eval_count",
    "predicted_n",
)
# prompt_cache_hit_tokens, cached_tokens, cache_read_input_tokens, num_cached_tokens
_READ = regex(
    r"(?!.*(?<![a-z])(miss|creat|writ|non|un|not))\w*(?<!un)cached?(_\w+)?_tokens"
    r"|cache_n|cachedContentTokenCount|cacheReadInputTokens"
)
_WRITTEN = regex(r"\w*cache_(creation|write|written)(_\w+)?_tokens")


def finish_kind(raw: str) -> FinishKind:
    return _FINISHES.get(raw.lower()) or (worded_finish(raw) if raw else "stop")


def finish_reason(raw: str, *, has_calls: bool, has_refusal: bool) -> FinishReason:
    """Return the finish reason. If there are calls, ignore "stop", an unknown or a missing reason."""
    kind = finish_kind(raw)
    if has_refusal and kind == "stop":
        return FinishReason("content_filter", "refusal")
    if kind in ("stop", "tool_calls", "other"):
        kind = "tool_calls" if has_calls else ("other" if kind == "other" else "stop")
    return FinishReason(kind, raw)


def usage(wire: JsonObject) -> Usage:
    """Convert token counts. The prompt count includes cached tokens, the completion count includes reasoning."""
    wire = object_at(wire, "tokens") or wire  # Cohere
    sent, made = object_at(wire, "prompt_tokens_details"), object_at(wire, "completion_tokens_details")
    sent, made = (
        sent or object_at(wire, "input_tokens_details"),
        made or object_at(wire, "output_tokens_details"),
    )
    # Some servers have the counts beside the details, and some proxies have a zero in the details.
    read, written = _most(_READ, wire, sent), _most(_WRITTEN, wire, sent)
    prompt = count_at(wire, *_PROMPT) or 0
    if (fresh := count_at(wire, "prompt_n")) is not None:  # llama.cpp: what was not cached
        prompt = fresh + (count_at(wire, "cache_n") or 0)
    output = count_at(wire, *_OUTPUT) or 0
    reasoning = count_at(made, "reasoning_tokens")
    if reasoning and prompt + output + reasoning == count_at(wire, "total_tokens"):
        output += reasoning  # xAI
    cached = (read or 0) + (written or 0)
    if cached and prompt + cached + output == count_at(wire, "total_tokens"):
        prompt += cached  # some models of OpenRouter: what was not cached
    return Usage(
        input_tokens=max(prompt, cached),
        output_tokens=output,
        reasoning_tokens=reasoning if reasoning is None else min(reasoning, output),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reported_cost_usd=_number(wire, "cost"),
    )


def _most(name: re.Pattern[str], *holders: JsonObject) -> int | None:
    """Return the largest count whose name fits: servers name it in many ways."""
    found = (count_at(holder, key) for holder in holders for key in holder if name.fullmatch(key))
    return max((one for one in found if one is not None), default=None)


def _number(wire: JsonObject, key: str) -> float | None:
    found = wire.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if 0 <= found < 1e6 else None


def counts_in(event: JsonObject, known: JsonObject) -> JsonObject:
    """Return the token counts of an event, `known` if it has none."""
    found = (
        object_at(event, "usage") or object_at(event, "x_groq", "usage") or object_at(event, "usageMetadata")
    )
    if found or known:
        return found or known
    return event if "prompt_eval_count" in event else object_at(event, "timings")  # Ollama, llama.cpp


def ending(choice: JsonObject) -> str:
    """Return the finish reason of a choice, which is an object in the engine of SGLang."""
    return text_at(choice, "finish_reason") or text_at(object_at(choice, "finish_reason"), "type")


def unwrapped(event: JsonObject) -> JsonObject:
    """Return the answer within an envelope, such as `data` or `result`; else `event` itself."""
    if event.get("choices") or event.get("error"):
        return event
    inner = (value for value in event.values() if isinstance(value, Mapping) and value.get("choices"))
    return next(inner, event)


def as_chunk(body: JsonObject) -> JsonObject:
    """Return a complete answer as one stream chunk with a single large delta."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping):
        return {**body, "choices": []}
    delta = object_at(first, "message") or object_at(first, "delta")  # Foundry Local
    return {**body, "choices": [{"delta": delta, "finish_reason": text_at(first, "finish_reason") or "stop"}]}
