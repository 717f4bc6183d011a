"""The recordings of Chat Completions servers, where they lie beside the repository: every fact holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import facts_lookup
from agent_ls.llm.messages import ReasoningPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.providers.wire_json import arguments_object
from agent_ls.llm.requests import Request, Response, ToolDefinition
from tests.support.codec_runs import CHAT, HEAD, ask, body_of, cut, events_of, response_of
from tests.support.recordings import FOLDER, NEEDS_RECORDINGS, recordings, same, wire_bytes

pytestmark = NEEDS_RECORDINGS


def entries(*kinds: str) -> list[Any]:
    return recordings({"chat"}, *kinds)


STREAMS = [p for p in entries("chat") if "error" not in p.values[0]["facts"]]
FAILED = [p for p in entries("chat") if "error" in p.values[0]["facts"]]


def check(response: Response, facts: dict[str, Any]) -> None:
    assert (response.id, response.model) == (facts["id"], facts["model"])
    text = response.text
    if same_start(facts["text"], "<think>"):
        text = f"<think>\n{response.reasoning}</think>\n{text}"  # the manifest's decoder leaves the tags in
    assert same(text, facts.get("refusal", facts["text"]))
    thought = facts.get("reasoning_content", facts.get("reasoning"))
    if thought is not None:
        assert same(response.reasoning, thought)
    calls = facts.get("tool_calls", [])
    assert [(c.name, arguments_object(c.arguments)) for c in response.tool_calls] == [
        (c["name"], c["args"]) for c in calls
    ]
    for found, fact in zip(response.tool_calls, calls, strict=True):
        assert found.id
        assert fact["id"] in (None, found.id)
    if "refusal" in facts:
        assert response.finish_reason.kind == "content_filter"
    else:
        assert response.finish_reason.raw == facts["finish_reason"]
        assert response.finish_reason.kind == ("tool_calls" if calls else "stop")
    if "usage" in facts:
        assert response.usage.input_tokens == facts["usage"]["prompt_tokens"]
        assert response.usage.output_tokens == facts["usage"]["completion_tokens"]
        assert response.usage.reported_cost_usd == facts["usage"].get("cost")


def same_start(fact: Any, start: str) -> bool:
    return str(fact.get("head", "") if isinstance(fact, dict) else fact).startswith(start)


@pytest.mark.req("U2", "U3", "P5")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    check(response_of(CHAT, wire_bytes(entry)), entry["facts"])


@pytest.mark.req("U3")
@pytest.mark.parametrize("entry", STREAMS)
def test_recorded_stream_however_cut_gives_the_same_events(entry: dict[str, Any]) -> None:
    data = wire_bytes(entry)
    expected = events_of(CHAT, [data])
    for ending in (b"\n", b"\r\n", b"\r"):
        wire = data.replace(b"\n", ending)
        assert events_of(CHAT, cut(wire, [7] * (len(wire) // 7))) == expected


@pytest.mark.parametrize("entry", entries("chat-json"))
def test_recorded_whole_answer_decodes_to_its_facts(entry: dict[str, Any]) -> None:
    check(CHAT.decode(ask(), HEAD, (FOLDER / entry["file"]).read_bytes()), entry["facts"])


MIDSTREAM: dict[str, type[e.LlmError]] = {
    "chat/groq/midstream-error": e.InvalidRequestError,
    "chat/llama-box/midstream-error": e.ContextLengthError,
    "chat/openrouter/midstream-error": e.ProviderError,
}


@pytest.mark.req("U8")
@pytest.mark.parametrize("entry", FAILED)
def test_recorded_stream_that_fails_raises_its_class(entry: dict[str, Any]) -> None:
    with pytest.raises(e.LlmError) as raised:
        events_of(CHAT, [wire_bytes(entry)])
    assert type(raised.value) is MIDSTREAM[entry["id"]]


ERRORS: dict[str, type[e.LlmError]] = {
    "chat/azure/429-retry-after": e.RateLimitError,
    "chat/deepseek/400-context": e.ContextLengthError,
    "chat/groq/400-tool-use-failed": e.InvalidRequestError,
    "chat/llama-cpp/400-context": e.ContextLengthError,
    "chat/openai/429-rate-limit": e.RateLimitError,
    "chat/openrouter/429": e.RateLimitError,
}


@pytest.mark.req("U8")
@pytest.mark.parametrize("entry", entries("error"))
def test_recorded_error_is_of_its_class(entry: dict[str, Any]) -> None:
    http = entry.get("http", {})
    head = ReplyHead(http.get("status") or entry["facts"]["body"]["error"]["code"], http.get("headers", {}))
    error = CHAT.decode_error(ask(), head, (FOLDER / entry["file"]).read_bytes())
    assert type(error) is ERRORS[entry["id"]]
    if entry["id"] == "chat/openai/429-rate-limit":
        assert error.retry_after_s == 1.146


@pytest.mark.req("U4")
def test_history_that_openrouter_accepted_is_sent_again_as_it_was() -> None:
    sent = json.loads((FOLDER / "chat/replay/openrouter-reasoning-details.request.json").read_text())
    question, answer, result = sent["messages"]
    whole = {"id": "x", "choices": [{"message": answer, "finish_reason": "tool_calls"}]}
    answered = CHAT.decode(ask(sent["model"]), HEAD, json.dumps(whole).encode()).message
    assert any(isinstance(part, ReasoningPart) for part in answered.parts)
    results = tool_results([ToolResultPart(result["tool_call_id"], "f", result["content"])])
    tool = sent["tools"][0]["function"]
    request = Request(
        sent["model"],
        (user(question["content"]), answered, results),
        tools=(ToolDefinition(tool["name"], tool["description"], tool["parameters"]),),
        provider_options={"openrouter": {"auto_cache": False, "reasoning": sent["reasoning"]}},
    )
    body = body_of(CHAT.encode(request, stream=True))
    assert body.pop("messages") == [question, answer, result]
    assert body == {key: value for key, value in sent.items() if key != "messages"}


@pytest.mark.req("U4")
def test_history_of_one_server_is_not_signed_for_another() -> None:
    other: Codec = ChatCodec("groq", facts_lookup("groq"))
    entry = next(p.values[0] for p in STREAMS if p.id == "chat/openrouter/reasoning")
    message = response_of(CHAT, wire_bytes(entry)).message
    sent = body_of(other.encode(Request("m", (user("hi"), message, user("go on"))), stream=True))
    assert sent["messages"][1] == {"role": "assistant", "content": message.text}
