"""The recordings of real services, where they lie beside the repository: every fact of the manifest holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ReasoningPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.wire_json import arguments_object
from agent_ls.llm.requests import Request, Response
from tests.support.codec_runs import ANTHROPIC, HEAD, OPENAI, ask, body_of, cut, events_of, response_of
from tests.support.recordings import FOLDER, NEEDS_RECORDINGS, recordings, same, wire_bytes

CODECS = {"anthropic": ANTHROPIC, "openai-responses": OPENAI}
TERMINAL = ("message_stop", "response.completed", "response.incomplete", "response.failed")

pytestmark = NEEDS_RECORDINGS


def entries(*kinds: str) -> list[Any]:
    return recordings(CODECS, *kinds)


STREAMS = [p for p in entries("anthropic", "responses") if "error" not in p.values[0]["facts"]]
FAILED = [p for p in entries("anthropic", "responses") if "error" in p.values[0]["facts"]]


def answers(data: bytes) -> Iterator[bytes]:
    """A file may hold several answers, one after the other."""
    part: list[bytes] = []
    for frame in data.split(b"\n\n"):
        part.append(frame + b"\n\n")
        payload = frame.partition(b"data: ")[2]
        if payload.startswith(b"{") and json.loads(payload)["type"] in TERMINAL:
            yield b"".join(part)
            part = []


def check(response: Response, facts: dict[str, Any]) -> None:
    assert same(response.text, facts["text"])
    assert response.model == facts["model"]
    if not facts.get("item_id_differs_between_added_and_done"):  # else each event has ids of its own
        assert response.id == facts.get("message_id", facts.get("response_id"))
    calls = [call for call in facts.get("tool_calls", []) if not call.get("args_incomplete")]
    assert [(c.id, c.name, arguments_object(c.arguments)) for c in response.tool_calls] == [
        (c.get("id") or c["call_id"], c["name"], c.get("args", {"input": c.get("input")})) for c in calls
    ]
    usage = facts.get("usage_merged") or facts["usage"]
    if not any(row["type"] == "compaction" for row in usage.get("iterations", ())):
        cached = [usage.get(f"cache_{kind}_input_tokens", 0) for kind in ("read", "creation")]
        assert response.usage.input_tokens == usage["input_tokens"] + sum(cached)
        assert response.usage.output_tokens == usage["output_tokens"]
    if "stop" in facts:
        assert response.finish_reason.raw == facts["stop"]["stop_reason"]
    check_reasoning(response, facts)


def check_reasoning(response: Response, facts: dict[str, Any]) -> None:
    """What must be sent back is what came: signatures and encrypted items, byte for byte."""
    kinds = ("thinking", "redacted_thinking", "reasoning")
    told = [b for b in facts.get("blocks", facts.get("items", [])) if b["type"] in kinds]
    parts = [part for part in response.message.parts if isinstance(part, ReasoningPart)]
    assert len(parts) == len(told)
    for part, fact in zip(parts, told, strict=True):
        for key in ("signature", "encrypted_content", "data"):
            if key in fact and fact.get("status") != "incomplete":
                assert part.origin is not None
                assert same(str(part.origin.raw[key]), fact[key])


@pytest.mark.req("U2", "U3", "U4")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    codec = CODECS[entry["provider"]]
    data = wire_bytes(entry)
    facts = entry["facts"].get("responses", [entry["facts"]])
    found = list(answers(data))
    assert len(found) == len(facts)
    for part, fact in zip(found, facts, strict=True):
        check(response_of(codec, part), fact)


@pytest.mark.req("U3")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_however_cut_gives_the_same_events(entry: dict[str, Any]) -> None:
    codec = CODECS[entry["provider"]]
    data = next(answers(wire_bytes(entry)))
    expected = events_of(codec, [data])
    for ending in (b"\n", b"\r\n", b"\r"):
        wire = data.replace(b"\n", ending)
        assert events_of(codec, cut(wire, [7] * (len(wire) // 7))) == expected


@pytest.mark.parametrize("entry", entries("anthropic-json", "responses-json"))
def test_recorded_whole_answer_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    codec = CODECS[entry["provider"]]
    check(codec.decode(ask(), HEAD, (FOLDER / entry["file"]).read_bytes()), entry["facts"])


@pytest.mark.parametrize("entry", FAILED)
def test_recorded_stream_that_fails_raises_its_class(entry: dict[str, Any]) -> None:
    expected = {"anthropic": e.OverloadedError, "openai-responses": e.QuotaExceededError}[entry["provider"]]
    with pytest.raises(expected):
        events_of(CODECS[entry["provider"]], [wire_bytes(entry)])


ERRORS: dict[str, type[e.LlmError]] = {
    "anthropic/errors/400-context": e.ContextLengthError,
    "anthropic/errors/404-model": e.NotFoundError,
    "anthropic/errors/429-rate-limit": e.RateLimitError,
    "anthropic/errors/500-api-error": e.ServerError,
    "anthropic/errors/529-overloaded": e.OverloadedError,
    "openai-responses/errors/400-context": e.ContextLengthError,
    "openai-responses/errors/400-min-output-tokens": e.InvalidRequestError,
    "openai-responses/errors/400-orphan-reasoning": e.InvalidRequestError,
    "openai-responses/errors/400-previous-response": e.InvalidRequestError,
    "openai-responses/errors/404-model": e.NotFoundError,
    "openai-responses/errors/429-quota": e.QuotaExceededError,
}


@pytest.mark.req("U8")
@pytest.mark.parametrize("entry", entries("error"))
def test_recorded_error_is_of_its_class(entry: dict[str, Any]) -> None:
    codec: Codec = CODECS[entry["provider"]]
    body = (FOLDER / entry["file"]).read_bytes()
    error = codec.decode_error(ask(), ReplyHead(entry["http"]["status"]), body)
    assert type(error) is ERRORS[entry["id"]]


def recorded_request(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.req("U4")
@pytest.mark.parametrize("name", ["parallel-results", "thinking-tool"])
def test_history_that_anthropic_accepted_is_sent_again_as_it_was(name: str) -> None:
    sent = recorded_request(f"anthropic/replay/{name}.request.json")
    question, answer, results = sent["messages"]
    answered = ANTHROPIC.decode(ask(), HEAD, json.dumps({"content": answer["content"]}).encode())
    history = (
        user(question["content"][0]["text"]),
        answered.message,
        tool_results(
            [ToolResultPart(block["tool_use_id"], "f", block["content"]) for block in results["content"]]
        ),
    )
    request = Request("m", history, provider_options={"anthropic": {"auto_cache": False}})
    assert body_of(ANTHROPIC.encode(request, stream=True))["messages"] == sent["messages"]


@pytest.mark.req("U4")
def test_history_that_openai_accepted_is_sent_again_as_it_was() -> None:
    sent = recorded_request("openai-responses/replay/encrypted-reasoning.request.json")
    question, reasoning, call, result = sent["input"]
    answered = OPENAI.decode(ask(), HEAD, json.dumps({"output": [reasoning, call]}).encode())
    results = tool_results([ToolResultPart(call["call_id"], call["name"], result["output"])])
    request = Request("m", (user(question["content"]), answered.message, results))
    body = body_of(OPENAI.encode(request, stream=True))
    items = body["input"]
    assert isinstance(items, list)
    assert items[1:] == [reasoning, call, result]
    assert (body["store"], body["include"]) == (sent["store"], sent["include"])
