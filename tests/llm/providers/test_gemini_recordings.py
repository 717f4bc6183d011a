"""The recordings of Gemini, where they lie beside the repository: every fact holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.wire_json import arguments_object
from agent_ls.llm.requests import Request, Response
from tests.support.codec_runs import GEMINI, HEAD, ask, body_of, cut, events_of, response_of
from tests.support.recordings import FOLDER, NEEDS_RECORDINGS, recordings, same, wire_bytes

pytestmark = NEEDS_RECORDINGS

ANSWERS = recordings({"gemini"}, "gemini")
STREAMS = [p for p in ANSWERS if p.values[0]["framing"] in ("sse", "jsonl")]
BODIES = [p for p in ANSWERS if p.values[0]["framing"] in ("json", "json-array")]


def check(response: Response, facts: dict[str, Any]) -> None:
    assert same(response.text, facts["text"])
    assert same(response.reasoning, facts.get("thought_text", ""))
    calls = facts.get("tool_calls_assembled", facts.get("tool_calls", []))
    assert [(c.name, arguments_object(c.arguments)) for c in response.tool_calls] == [
        (c["name"], c["args"]) for c in calls
    ]
    for found, fact in zip(response.tool_calls, calls, strict=True):
        assert fact.get("id") in (None, found.id)
    finish = facts.get("finish_reason") or facts["prompt_feedback"]["blockReason"]
    assert response.finish_reason.raw == finish
    if usage := facts.get("usage_last"):
        assert response.usage.total_tokens == usage["totalTokenCount"]
        assert response.usage.reasoning_tokens == usage.get("thoughtsTokenCount")
    signed = [
        part
        for kept in response.message.parts
        for part in (kept.origin.raw.get("parts", []) if getattr(kept, "origin", None) else [])  # type: ignore[union-attr]
        if isinstance(part, dict) and "thoughtSignature" in part
    ]
    told = facts.get("thought_signatures", [])
    assert len(signed) == len(told)
    for part, fact in zip(signed, told, strict=True):
        assert same(part["thoughtSignature"], fact["sig"])


@pytest.mark.req("U2", "U3", "U4")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    check(response_of(GEMINI, wire_bytes(entry)), entry["facts"])


@pytest.mark.req("U3")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_however_cut_gives_the_same_events(entry: dict[str, Any]) -> None:
    data = wire_bytes(entry).replace(b"\r\n", b"\n")
    expected = events_of(GEMINI, [data])
    for ending in (b"\n", b"\r\n", b"\r"):
        wire = data.replace(b"\n", ending)
        assert events_of(GEMINI, cut(wire, [7] * (len(wire) // 7))) == expected


@pytest.mark.parametrize("entry", BODIES)
def test_recorded_whole_answer_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    check(GEMINI.decode(ask(), HEAD, (FOLDER / entry["file"]).read_bytes()), entry["facts"])


def test_recorded_stream_that_fails_raises_in_the_middle() -> None:
    with pytest.raises(e.ProviderError, match="cancelled"):
        events_of(GEMINI, [(FOLDER / "gemini/errors/midstream.sse").read_bytes()])


ERRORS: dict[str, tuple[type[e.LlmError], float | None]] = {
    "gemini/errors/400-context": (e.ContextLengthError, None),
    "gemini/errors/404-model": (e.NotFoundError, None),
    "gemini/errors/429-quota": (e.QuotaExceededError, None),
    "gemini/errors/429-retry-info": (e.RateLimitError, 48.0),
    "gemini/errors/503-overloaded": (e.OverloadedError, None),
}


@pytest.mark.req("U8")
@pytest.mark.parametrize("entry", recordings({"gemini"}, "error"))
def test_recorded_error_is_of_its_class(entry: dict[str, Any]) -> None:
    status = entry.get("http", {}).get("status") or entry["facts"]["body"]["error"]["code"]
    error = GEMINI.decode_error(ask(), ReplyHead(status), (FOLDER / entry["file"]).read_bytes())
    assert (type(error), error.retry_after_s) == ERRORS[entry["id"]]


@pytest.mark.req("U4")
def test_history_that_gemini_accepted_is_sent_again_as_it_was() -> None:
    sent = json.loads((FOLDER / "gemini/replay/signature-tool.request.json").read_text(encoding="utf-8"))
    question, answer, results = sent["contents"]
    whole = {"candidates": [{"content": answer, "finishReason": "STOP"}]}
    answered = GEMINI.decode(ask("m"), HEAD, json.dumps(whole).encode())
    history = (
        user(question["parts"][0]["text"]),
        answered.message,
        tool_results([ToolResultPart(call.id, call.name, "x") for call in answered.tool_calls]),
    )
    contents = body_of(GEMINI.encode(Request("m", history), stream=True))["contents"]
    assert contents[:2] == [question, answer]
    assert contents[2]["role"] == results["role"]
    assert [p["functionResponse"]["name"] for p in contents[2]["parts"]] == ["weather"]
