"""Recorded histories, which the real services accepted, are encoded again exactly as they were sent.

The recordings are optional: a folder next to the repository.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import Message, ReasoningPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request, ToolDefinition
from tests.llm.recordings import FOLDER, NEEDS_RECORDINGS, recordings, wire_bytes
from tests.llm.wire_facts import candidate_parts, decoded_stream
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, HEAD, OPENAI, ask, body_of, response_of

pytestmark = NEEDS_RECORDINGS


def recorded_request(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.req("U4")
@pytest.mark.parametrize("name", ["parallel-results", "thinking-tool"])
def test_history_that_anthropic_accepted_is_encoded_exactly_as_sent(name: str) -> None:
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
def test_history_that_openai_accepted_is_encoded_exactly_as_sent() -> None:
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


@pytest.mark.req("U4")
@pytest.mark.parametrize("name", ["signature-tool", "signature-gemini3"])
def test_history_that_gemini_accepted_is_encoded_exactly_as_sent(name: str) -> None:
    sent = recorded_request(f"gemini/replay/{name}.request.json")
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
    told = [part["functionResponse"] for part in results["parts"]]
    given = [part["functionResponse"] for part in contents[2]["parts"]]
    assert contents[2]["role"] == results["role"]
    assert [(g["name"], g.get("id")) for g in given] == [(t["name"], t.get("id")) for t in told]


# --- streamed answers are sent back unchanged


def sent_again(codec: Codec, message: Message, *, goes_on: bool = False) -> dict[str, Any]:
    """Return the body of the next request. `goes_on`: no message of the user follows, as after a pause."""
    results = tool_results([ToolResultPart(call.id, call.name, "x") for call in message.tool_calls])
    options = {"anthropic": {"auto_cache": False}}
    after = () if goes_on else (user("go on"),)
    history = (user("hi"), message, *([results] if message.tool_calls else []), *after)
    return body_of(codec.encode(Request("m", history, provider_options=options), stream=True))


def streams(provider: str, kind: str) -> list[Any]:
    found = recordings({provider}, kind)
    whole = [p for p in found if not {"error", "responses"} & {*p.values[0]["facts"]}]
    return [p for p in whole if p.values[0]["framing"] not in ("json", "json-array")]


@pytest.mark.req("U4")
@pytest.mark.parametrize("entry", streams("openai-responses", "responses"))
def test_items_of_openai_are_sent_back_unchanged(entry: dict[str, Any]) -> None:
    found = decoded_stream(OPENAI, ask(), [wire_bytes(entry)])
    done = [p for p in found.payloads if p["type"] == "response.output_item.done"]
    came = [p["item"] for p in sorted(done, key=lambda p: p["output_index"])]
    items = sent_again(OPENAI, found.message)["input"]
    is_lost = [item["type"] == "reasoning" and not item.get("encrypted_content") for item in came]
    # Plain reasoning cannot be sent back; the item after it is sent without the id that links them.
    kept = [
        item
        for item, lost, led in zip(came, is_lost, [False, *is_lost], strict=False)
        if not lost and not led
    ]
    assert [item for item in items if item in came] == kept


@pytest.mark.req("U4")
@pytest.mark.parametrize("entry", streams("anthropic", "anthropic"))
def test_signed_blocks_of_anthropic_are_sent_back_unchanged(entry: dict[str, Any]) -> None:
    found = decoded_stream(ANTHROPIC, ask(), [wire_bytes(entry)])
    is_paused = found.response is not None and found.response.finish_reason.kind == "pause"
    begun = {p["index"]: p["content_block"] for p in found.payloads if p["type"] == "content_block_start"}
    ended = [p["index"] for p in found.payloads if p["type"] == "content_block_stop"]
    wanted = [begun[at]["type"] for at in ended]
    while wanted and "thinking" in wanted[-1]:
        wanted.pop()  # a message may not end with one
    answers = [
        m["content"]
        for m in sent_again(ANTHROPIC, found.message, goes_on=is_paused)["messages"]
        if m["role"] == "assistant"
    ]
    blocks = answers[0] if answers else []
    assert [block["type"] for block in blocks] == wanted
    if is_paused:  # what waits for its result is refused once a message of the user follows
        messages = sent_again(ANTHROPIC, found.message)["messages"]
        answered = {block.get("tool_use_id") for block in messages[1]["content"]}
        waiting = [
            it
            for it in messages[1]["content"]
            if it["type"] == "server_tool_use" and it["id"] not in answered
        ]
        assert waiting == []
    deltas = [p["delta"] for p in found.payloads if p["type"] == "content_block_delta"]
    signatures = [delta["signature"] for delta in deltas if delta["type"] == "signature_delta"]
    assert [block["signature"] for block in blocks if block.get("signature")] == signatures[: len(blocks)]
    for block in blocks:
        if block["type"].endswith("_tool_result"):
            assert block in begun.values()


@pytest.mark.req("U4")
@pytest.mark.parametrize("entry", streams("gemini", "gemini"))
def test_parts_of_gemini_are_sent_back_with_their_signatures(entry: dict[str, Any]) -> None:
    found = decoded_stream(GEMINI, ask(), [wire_bytes(entry)])
    came = [part for part in candidate_parts(found) if not part.get("thought")]
    answers = [c["parts"] for c in sent_again(GEMINI, found.message)["contents"] if c["role"] == "model"]
    parts = answers[0] if answers else []
    assert "".join(p.get("text", "") for p in parts) == "".join(p.get("text", "") for p in came)
    signed = [
        part
        for part in came
        if "thoughtSignature" in part and "willContinue" not in part.get("functionCall", {})
    ]
    for part in signed:
        assert part in parts


@pytest.mark.req("U4")
def test_history_that_openrouter_accepted_is_encoded_exactly_as_sent() -> None:
    sent = recorded_request("chat/replay/openrouter-reasoning-details.request.json")
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
def test_reasoning_details_of_one_chat_server_are_not_sent_to_another_server() -> None:
    other: Codec = ChatCodec("groq", capabilities_lookup("groq"))
    entry = next(p.values[0] for p in recordings({"chat"}, "chat") if p.id == "chat/openrouter/reasoning")
    message = response_of(CHAT, wire_bytes(entry)).message
    sent = body_of(other.encode(Request("m", (user("hi"), message, user("go on"))), stream=True))
    assert sent["messages"][1] == {"role": "assistant", "content": message.text}
