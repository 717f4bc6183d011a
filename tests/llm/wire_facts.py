"""Check every fact of a recording's manifest against the decoded recording. There is one function per fact,
with the fact's name; a fact without a function fails. Facts about events (counts, keys) are compared with the
frames, all others with the answer, or with its part before an error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.errors import LlmError, ProviderError, StreamError
from agent_ls.llm.messages import (
    ContentPart,
    Message,
    OpaquePart,
    ReasoningPart,
    SearchPart,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.providers.wire_json import arguments_object
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import SseDecoder
from agent_ls.llm.stream import StreamEvent
from tests.llm.recordings import same
from tests.support.codec_runs import HEAD

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Decoded:
    """A decoded recording. `response` None: it ended with `error`."""

    message: Message
    response: Response | None
    error: LlmError | None
    payloads: Sequence[dict[str, Any]]
    events: Sequence[StreamEvent] = ()
    has_done: bool = False

    @property
    def whole(self) -> Response:
        assert self.response is not None, self.error
        return self.response


def decoded_stream(codec: Codec, request: Request, chunks: Sequence[bytes]) -> Decoded:
    lines, decoder, folded = SseDecoder(), codec.stream_decoder(request, HEAD), Accumulator(codec.name)
    frames = [frame for chunk in chunks for frame in lines.feed(chunk)] + lines.close()
    events: list[StreamEvent] = []
    error: LlmError | None = None
    try:
        for frame in frames:
            events += decoder.feed(frame)
        events += decoder.close()
    except LlmError as raised:
        error = raised
    for event in events:
        folded.feed(event)
    response = None if error else folded.response()
    told = [frame.data for frame in frames if frame.data != "[DONE]"]
    has_done = len(told) < len(frames)
    return Decoded(folded.message, response, error, [*map(json.loads, told)], events, has_done)


def decoded_body(codec: Codec, request: Request, body: bytes) -> Decoded:
    response, payload = codec.decode(request, HEAD, body), json.loads(body)
    return Decoded(response.message, response, None, payload if isinstance(payload, list) else [payload], ())


def check_facts(found: Decoded, facts: Facts) -> None:
    for name, fact in facts.items():
        if name not in NOT_OURS:
            CHECKS[name](found, fact, facts)


NOT_OURS = {
    "comments",  # agent-ls does not report comments
    "sse_comments",
    "quirks",  # prose
    "item_id_differs_between_added_and_done",  # not a fact itself: it qualifies other facts
    "only_the_terminal_frame_was_kept",
    "responses_in_file",
    "error_is_bare_json_not_in_a_data_line",
}


def parts_of(message: Message, *kinds: type[ContentPart]) -> list[Any]:
    return [part for part in message.parts if isinstance(part, kinds)]


def raw_of(part: Any) -> Mapping[str, Any]:
    return part.origin.raw if part.origin is not None else {}


# --- facts of all wires


def text(found: Decoded, fact: Any, facts: Facts) -> None:
    said = found.message.text
    head = str(fact.get("head", "") if isinstance(fact, dict) else fact)
    if head.startswith("<think>"):  # the manifest's decoder leaves the tags in
        said = f"<think>\n{found.message.reasoning}</think>\n{said}"
    assert same(said, facts.get("refusal", fact))


def model(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.response is None or found.response.model == fact


def response_id(found: Decoded, fact: Any, facts: Facts) -> None:
    ids_change = facts.get("item_id_differs_between_added_and_done")  # each event then has another id
    assert found.response is None or ids_change or found.response.id == fact


def tool_calls(found: Decoded, fact: Any, facts: Facts) -> None:
    wanted = [call for call in facts.get("tool_calls_assembled", fact) if not call.get("args_incomplete")]
    calls = found.message.tool_calls
    assert [(c.name, arguments_object(c.arguments)) for c in calls] == [
        (c["name"], c.get("args", {"input": c.get("input")})) for c in wanted
    ]
    for call, told in zip(calls, wanted, strict=True):
        known = told.get("call_id") or told.get("id")
        assert call.id == known if known else call.id
    assert len({call.id for call in calls}) == len(calls)


def error(found: Decoded, fact: Any, facts: Facts) -> None:
    told = fact.get("message") or fact["detail"]
    assert found.error is not None
    assert type(found.error) is not StreamError
    assert told[:200] in str(found.error)


def ends_with(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.payloads[-1]["type"] == fact


def event_counts(found: Decoded, fact: Any, facts: Facts) -> None:
    assert Counter(payload["type"] for payload in found.payloads) == fact


def done_sentinel(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.has_done == fact


def chunks_before_error(found: Decoded, fact: Any, facts: Facts) -> None:
    assert [("error" in payload) for payload in found.payloads] == [False] * fact + [True]


def error_code(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.payloads[-1]["error"]["code"] == fact


def error_status(found: Decoded, fact: Any, facts: Facts) -> None:
    assert isinstance(found.error, ProviderError)
    assert found.error.code == fact


def chunks(found: Decoded, fact: Any, facts: Facts) -> None:
    in_field_of_its_own = facts.get("error", {}).get(
        "detail"
    )  # an `error:` line, which the manifest's decoder skips
    assert len(found.payloads) - bool(in_field_of_its_own) == fact


# --- Anthropic


def blocks(found: Decoded, fact: Any, facts: Facts) -> None:
    wanted = [b for b in fact if not b.get("unclosed") or b["type"] == "text"]
    assert len(found.message.parts) == len(wanted)
    for part, block in zip(found.message.parts, wanted, strict=True):
        _block(part, block)


def _block(part: ContentPart, block: dict[str, Any]) -> None:
    match part:
        case TextPart(said):
            assert block["type"] == "text"
            assert same(said, block["text"])
            assert len(raw_of(part).get("citations", ())) == block.get("citations", 0)
            assert len(part.citations) == block.get("citations", 0)
        case ReasoningPart(thought):
            assert block["type"] in ("thinking", "redacted_thinking")
            assert same(thought, block.get("thinking", ""))
            for key in ("signature", "data"):
                assert key not in block or same(raw_of(part)[key], block[key])
        case ToolCallPart(call_id, name, arguments):
            assert (block["type"], block["id"], block["name"]) == ("tool_use", call_id, name)
            assert arguments_object(arguments) == block["input"]
        case OpaquePart():
            _opaque_block(raw_of(part), block)
        case SearchPart():
            _opaque_block(raw_of(part), block)
            found = len(part.sources)
            assert block.get("content_kind", "list:0") in (f"list:{found}", "web_search_tool_result_error")
        case _:
            raise AssertionError(part)


def _opaque_block(raw: Mapping[str, Any], block: dict[str, Any]) -> None:
    for key in ("type", "id", "name", "input", "tool_use_id"):
        assert key not in block or raw[key] == block[key]
    assert "keys" not in block or sorted(raw) == sorted(block["keys"])
    if told := block.get("content_kind"):
        content = raw["content"]
        assert told == (f"list:{len(content)}" if isinstance(content, list) else content["type"])


def stop(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.whole.finish_reason.raw == fact["stop_reason"]


def usage_merged(found: Decoded, fact: Any, facts: Facts) -> None:
    if found.response is None:
        return
    rows = fact.get("iterations") or ()
    rows = rows if any(row["type"] == "compaction" for row in rows) else [fact]
    inputs = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage_ = found.response.usage
    assert usage_.input_tokens == sum(row.get(key) or 0 for row in rows for key in inputs)
    assert usage_.output_tokens == sum(row["output_tokens"] for row in rows)
    assert (usage_.cache_read_tokens or 0) == sum(row.get(inputs[1]) or 0 for row in rows)
    assert (usage_.cache_write_tokens or 0) == sum(row.get(inputs[2]) or 0 for row in rows)


def usage_in_message_delta(found: Decoded, fact: Any, facts: Facts) -> None:
    assert [p["usage"] for p in found.payloads if p["type"] == "message_delta"] == [fact]


# --- Responses


def items(found: Decoded, fact: Any, facts: Facts) -> None:
    assert len(found.message.parts) == len(fact)
    for part, item in zip(found.message.parts, fact, strict=True):
        _item(part, item)


def _item(part: ContentPart, item: dict[str, Any]) -> None:
    kinds = {"message": TextPart, "reasoning": ReasoningPart, "web_search_call": SearchPart}
    assert isinstance(part, kinds.get(item["type"], ToolCallPart))
    if isinstance(part, TextPart):
        assert same(part.text, item["text"])
    raw = raw_of(part)
    if not raw:  # not sent back: an incomplete item, or reasoning without encrypted content
        assert item.get("status") == "incomplete" or "encrypted_content" not in item
        return
    for key in ("type", "id", "status", "phase", "call_id", "name", "input"):
        assert key not in item or raw[key] == item[key]
    assert "encrypted_content" not in item or same(raw["encrypted_content"], item["encrypted_content"])
    for found, fact in zip(raw.get("summary") or (), item.get("summary", ()), strict=True):
        assert same(found["text"], fact)
    assert "arguments" not in item or json.loads(raw["arguments"]) == item["arguments"]
    assert "action" not in item or raw["action"]["type"] == item["action"]


def usage(found: Decoded, fact: Any, facts: Facts) -> None:
    names = ("prompt", "completion") if "prompt_tokens" in fact else ("input", "output")
    sent, made = (fact.get(f"{name}_tokens_details") or {} for name in names)
    counted = found.whole.usage if found.response else None
    if counted is None:
        return
    assert counted.input_tokens == fact[f"{names[0]}_tokens"]
    assert counted.output_tokens == fact[f"{names[1]}_tokens"]
    cached = [at.get(key) for at in (sent, fact) for key in ("cached_tokens", "prompt_cache_hit_tokens")]
    assert counted.cache_read_tokens == next((count for count in cached if count is not None), None)
    assert counted.cache_write_tokens == sent.get("cache_write_tokens")
    assert counted.reasoning_tokens == made.get("reasoning_tokens")
    assert counted.reported_cost_usd == (fact.get("cost") if names[0] == "prompt" else None)


def status(found: Decoded, fact: Any, facts: Facts) -> None:
    kinds = {"completed": ("stop", "tool_calls"), "incomplete": ("length",)}
    assert (found.response is None) == (fact == "failed")
    assert found.response is None or found.response.finish_reason.kind in kinds[fact]


def incomplete_details(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.whole.finish_reason.raw == fact["reason"]


def response_error(found: Decoded, fact: Any, facts: Facts) -> None:
    assert found.error is not None
    assert fact["message"] in str(found.error)


def sequence_numbers(found: Decoded, fact: Any, facts: Facts) -> None:
    numbers = [payload["sequence_number"] for payload in found.payloads]
    assert (numbers == [*range(len(numbers))]) == fact


def other_blob_at_the_end(found: Decoded, fact: Any, facts: Facts) -> None:
    """Check that the blob of the item is kept, not the different one in the last frame (`items`)."""
    final = [i for i in found.payloads[-1]["response"]["output"] if i.get("encrypted_content")]
    for item, told in zip(final, fact, strict=True):
        assert same(item["encrypted_content"], told)
    kept = {raw_of(part).get("encrypted_content") for part in parts_of(found.message, ReasoningPart)}
    assert kept.isdisjoint(item["encrypted_content"] for item in final)


def reasoning_deltas(found: Decoded, fact: Any, facts: Facts) -> None:
    """Compare the reasoning texts, which agent-ls separates by a blank line."""
    kinds = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
    joined = "".join(p["delta"] for p in found.payloads if p["type"] in kinds)
    assert same(joined, fact)
    assert "".join(found.message.reasoning.split()) == "".join(joined.split())


def reasoning(found: Decoded, fact: Any, facts: Facts) -> None:
    assert same(found.message.reasoning, fact)


def responses(found: Decoded, fact: Any, facts: Facts) -> None:
    raise AssertionError("a file of several answers is taken apart before")


# --- Chat Completions


def chat_finish(found: Decoded, fact: Any, facts: Facts) -> None:
    if found.response is None:
        return
    finish = found.response.finish_reason
    if "refusal" in facts:
        assert (finish.kind, finish.raw) == ("content_filter", "refusal")
    else:
        raw = facts.get("prompt_feedback", {}).get("blockReason", fact)
        assert finish.raw == raw


def refusal(found: Decoded, fact: Any, facts: Facts) -> None:
    assert same(found.message.text, fact)


def reasoning_details(found: Decoded, fact: Any, facts: Facts) -> None:
    pieces = [d for p in found.payloads for c in p.get("choices", ()) for d in _details(c)]
    assert Counter(piece["type"] for piece in pieces) == fact
    if found.response is not None:
        kept = [d for part in found.message.parts for d in raw_of(part).get("reasoning_details", ())]
        assert {piece["type"] for piece in kept} == set(fact)


def _details(choice: dict[str, Any]) -> list[dict[str, Any]]:
    message: dict[str, Any] = choice.get("delta") or choice.get("message") or {}
    return message.get("reasoning_details") or []


def delta_keys(found: Decoded, fact: Any, facts: Facts) -> None:
    keys = {
        key
        for payload in found.payloads
        for choice in payload.get("choices", ())
        for key in choice.get("delta") or choice.get("message") or {}
    }
    assert keys == set(fact)


def usage_chunks(found: Decoded, fact: Any, facts: Facts) -> None:
    counted = [p for p in found.payloads if p.get("usage") or (p.get("x_groq") or {}).get("usage")]
    assert Counter("with-choices" if p.get("choices") else "empty-choices" for p in counted) == fact


# --- Gemini


def candidate_parts(found: Decoded) -> Iterator[dict[str, Any]]:
    for payload in found.payloads:
        for candidate in payload.get("candidates", ()):
            yield from candidate.get("content", {}).get("parts", ())


def parts(found: Decoded, fact: Any, facts: Facts) -> None:
    assert len([*candidate_parts(found)]) == fact


def part_kinds(found: Decoded, fact: Any, facts: Facts) -> None:
    def kind(part: dict[str, Any]) -> str:
        name = next(key for key in part if key not in ("thought", "thoughtSignature"))
        return f"thought:{name}" if part.get("thought") else name

    assert Counter(map(kind, candidate_parts(found))) == fact


def chunks_with_usage(found: Decoded, fact: Any, facts: Facts) -> None:
    assert sum("usageMetadata" in payload for payload in found.payloads) == fact


def chunks_without_candidates(found: Decoded, fact: Any, facts: Facts) -> None:
    assert sum("candidates" not in payload for payload in found.payloads) == fact


def chunks_without_parts(found: Decoded, fact: Any, facts: Facts) -> None:
    contents = [c.get("content", {}) for p in found.payloads for c in p.get("candidates", ())]
    assert sum("parts" not in content for content in contents) == fact


def finish_message(found: Decoded, fact: Any, facts: Facts) -> None:
    is_trouble = found.whole.finish_reason.raw != "STOP"
    assert found.whole.warnings == ((fact,) if is_trouble else ())


def grounding_chunks(found: Decoded, fact: Any, facts: Facts) -> None:
    told = [
        c["groundingMetadata"] for p in found.payloads for c in p["candidates"] if "groundingMetadata" in c
    ]
    kept = [
        raw_of(part)["groundingMetadata"]
        for part in found.message.parts
        if "groundingMetadata" in raw_of(part)
    ]
    assert len(told) == fact
    assert kept == [grounding for grounding in told if grounding]
    assert [len(s.sources) for s in found.message.searches] == [len(g["groundingChunks"]) for g in kept]
    cited = sum(len(s["groundingChunkIndices"]) for g in kept for s in g["groundingSupports"])
    assert sum(len(part.citations) for part in parts_of(found.message, TextPart)) == cited


def thought_signatures(found: Decoded, fact: Any, facts: Facts) -> None:
    """Check that each signature is unchanged and on the part that had it."""
    kept = [piece for part in found.message.parts for piece in raw_of(part).get("parts", ())]
    signed = [piece for piece in kept if "thoughtSignature" in piece]
    for piece, told in zip(signed, fact, strict=True):
        name, _, is_empty = told["on"].partition(":")
        assert bool(piece[name]) != bool(is_empty)
        assert same(piece["thoughtSignature"], told["sig"])


def usage_last(found: Decoded, fact: Any, facts: Facts) -> None:
    counted = found.whole.usage
    assert counted.total_tokens == fact["totalTokenCount"]
    assert counted.reasoning_tokens == fact.get("thoughtsTokenCount")
    assert counted.cache_read_tokens == fact.get("cachedContentTokenCount")


def prompt_feedback(found: Decoded, fact: Any, facts: Facts) -> None:
    finish = found.whole.finish_reason
    assert (finish.kind, finish.raw) == ("content_filter", fact["blockReason"])


CHECKS: Mapping[str, Callable[[Decoded, Any, Facts], None]] = {
    "text": text,
    "model": model,
    "model_version": model,
    "id": response_id,
    "message_id": response_id,
    "response_id": response_id,
    "tool_calls": tool_calls,
    "tool_calls_assembled": tool_calls,
    "error": error,
    "ends_with": ends_with,
    "event_counts": event_counts,
    "done_sentinel": done_sentinel,
    "chunks": chunks,
    "blocks": blocks,
    "stop": stop,
    "usage_merged": usage_merged,
    "usage_in_message_delta": usage_in_message_delta,
    "items": items,
    "usage": usage,
    "status": status,
    "incomplete_details": incomplete_details,
    "response_error": response_error,
    "sequence_numbers_contiguous_from_0": sequence_numbers,
    "encrypted_content_in_final_output_differs": other_blob_at_the_end,
    "reasoning_summary_deltas_join": reasoning_deltas,
    "reasoning_text_deltas_join": reasoning_deltas,
    "responses": responses,
    "finish_reason": chat_finish,
    "refusal": refusal,
    "reasoning": reasoning,
    "reasoning_content": reasoning,
    "thought_text": reasoning,
    "reasoning_details_types": reasoning_details,
    "delta_keys": delta_keys,
    "usage_chunks": usage_chunks,
    "parts": parts,
    "part_kinds": part_kinds,
    "chunks_with_usage": chunks_with_usage,
    "chunks_without_candidates": chunks_without_candidates,
    "chunks_without_parts": chunks_without_parts,
    "finish_message": finish_message,
    "grounding_chunks": grounding_chunks,
    "thought_signatures": thought_signatures,
    "usage_last": usage_last,
    "prompt_feedback": prompt_feedback,
    "text_before_error": text,
    "sse_chunks_before_error": chunks_before_error,
    "error_code": error_code,
    "error_status": error_status,
}
