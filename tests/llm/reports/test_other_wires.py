"""Reports of users about Anthropic, Responses, Gemini and their proxies: histories and odd streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request, Response, ToolDefinition
from tests.llm.providers.test_anthropic_stream import block, end, sse, start, text_block
from tests.llm.providers.test_gemini_stream import chunk, wire
from tests.llm.providers.test_openai_stream import CALL, CREATED, added, done, final, sse as responses_sse
from tests.llm.reports.chat import codec, say
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, body_of, response_of
from tests.support.reports import reported

TOOLS = (ToolDefinition("f", "", {"type": "object"}),)
ASK = Request("m", (user("hi"),), tools=TOOLS)


def called(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCallPart(one, "f", "{}") for one in ids))


def given(*ids: str) -> Message:
    return tool_results([ToolResultPart(one, "f", "x") for one in ids])


HISTORIES: list[Any] = [
    reported("anthropics/claude-code#3639", (user("a"), called("c1", "c2"), given("c1"), user("go on")),
        id="a result is missing"),
    reported("MayDay-wpf/snow-cli#68", (user("a"), called("c1"), user("stop, do this instead")), id="interrupted"),
    reported("lidge-jun/opencodex#620",
        (user("a"), Message(Role.ASSISTANT, (ReasoningPart(""), *called("c1").parts)), user("b")), id="only calls"),
    reported("anthropics/claude-code#14936", (user("a"), given("c9"), user("b")), id="result without call"),
    reported("leookun/cursor-byok#307",
        (user("a"), Message(Role.ASSISTANT, (*called("c1").parts, TextPart("I look."))), given("c1"), user("b")),
        id="text after a call"),
    reported("openai/openai-agents-python#673",
        (user("a"), called("c1"), Message(Role.ASSISTANT, (TextPart("Done."),)), user("b")), id="never answered"),
    reported("google-gemini/gemini-cli#3814", (user("a"), called("c1", "c2", "c3"), given("c3", "c1"), user("b")),
        id="fewer responses than calls"),
]  # fmt: skip


@pytest.mark.parametrize("messages", HISTORIES)
def test_each_call_of_a_history_has_its_result_on_every_wire(messages: tuple[Message, ...]) -> None:
    request = Request("m", messages, tools=TOOLS)
    sent = body_of(ANTHROPIC.encode(request, stream=True))["messages"]
    for at, message in enumerate(sent):
        made = [it["id"] for it in message["content"] if it["type"] == "tool_use"]
        if made:
            following = [it for it in sent[at + 1]["content"] if it["type"] == "tool_result"]
            assert sorted(it["tool_use_id"] for it in following) == sorted(made)
    results = [it for message in sent for it in message["content"] if it["type"] == "tool_result"]
    calls = [it for message in sent for it in message["content"] if it["type"] == "tool_use"]
    assert len(results) == len(calls)
    items = body_of(OPENAI.encode(request, stream=True))["input"]
    for kind in ("function_call", "function_call_output"):
        assert len([it for it in items if it.get("type") == kind]) == len(calls)
    contents = body_of(GEMINI.encode(request, stream=True))["contents"]
    for at, content in enumerate(contents):
        count = sum("functionCall" in part for part in content["parts"])
        if count:
            assert sum("functionResponse" in part for part in contents[at + 1]["parts"]) == count


@pytest.mark.report("1jehuang/jcode#276")
def test_parallel_results_with_images_stay_in_one_message() -> None:
    image = ImagePart(data=b"x", media_type="image/png")
    results = tool_results([ToolResultPart(one, "f", "x", images=(image,)) for one in ("c1", "c2")])
    sent = body_of(ANTHROPIC.encode(Request("m", (user("a"), called("c1", "c2"), results)), stream=True))
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]


@pytest.mark.report("can1357/oh-my-pi#5614")
def test_no_beta_header_is_sent_by_default() -> None:
    assert "anthropic-beta" not in ANTHROPIC.encode(ASK, stream=True).headers


def answer(*events: Any) -> Response:
    return response_of(ANTHROPIC, sse(*events), ASK)


def delta(index: int, **fields: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def opened(index: int, kind: str, **fields: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def stopped(index: int) -> Any:
    return {"type": "content_block_stop", "index": index}


STREAMS: list[Any] = [
    reported(
        "BerriAI/litellm#32357",
        [
            start(),
            start(),
            opened(0, "text", text=""),
            delta(0, type="thinking_delta", thinking="hm"),
            delta(0, type="text_delta", text="Hi"),
            stopped(0),
            *end(),
        ],
        ("Hi", "hm"),
        id="thinking in a text block",
    ),
    reported(
        "Alishahryar1/free-claude-code#209",
        [
            {"type": "message_start", "message": {"id": "m1", "model": "x"}},
            *text_block(0, "Hi"),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ],
        ("Hi", ""),
        id="no usage",
    ),
    reported(
        "enricoros/big-AGI#917", [start(), *text_block(2, "Hi"), *end()], ("Hi", ""), id="first index 2"
    ),
    reported(
        "router-for-me/CLIProxyAPI#3720",
        [start(), *text_block(0, "H"), delta(0, type="text_delta", text="i"), *end()],
        ("Hi", ""),
        id="piece after the end",
    ),
]


@pytest.mark.parametrize(("events", "said"), STREAMS)
def test_odd_streams_of_proxies_are_read(events: list[Any], said: tuple[str, str]) -> None:
    flat = [one for event in events for one in (event if isinstance(event, list | tuple) else [event])]
    response = answer(*flat)
    assert (response.text, response.reasoning) == said


@pytest.mark.report("orangeboyChen/codebuddy2api#11")
def test_a_call_may_begin_before_the_text_ends() -> None:
    call = opened(1, "tool_use", id="t", name="f", input={})
    response = answer(
        start(), opened(0, "text", text=""), delta(0, type="text_delta", text="I look."), call,
        delta(1, type="input_json_delta", partial_json='{"a": 1}'), stopped(0), stopped(1), *end("tool_use"),
    )  # fmt: skip
    assert response.text == "I look." and json.loads(response.tool_calls[0].arguments) == {"a": 1}


@pytest.mark.parametrize(
    "part",
    [
        {"function_call": {"name": "f", "args": {"a": 1}}, "thought_signature": "s"},
        {"functionCall": {"name": "f", "args": {"a": 1}}},
    ],
)
def test_calls_of_gemini_in_snake_case_run(part: Any) -> None:
    response = response_of(GEMINI, wire(chunk(part, finish="STOP")), ASK)
    assert [(one.name, json.loads(one.arguments)) for one in response.tool_calls] == [("f", {"a": 1})]
    assert response.finish_reason.kind == "tool_calls"


def test_blocks_are_numbered_once() -> None:
    events = [start(), *block(0, {"type": "text", "text": ""}), *end()]
    assert answer(*events).text == ""


ENDED = (user("a"), Message(Role.ASSISTANT, (TextPart("I began"),)))


@pytest.mark.report("anomalyco/opencode#27920", "llm-exe/llm-exe#503")
@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("llamacpp", "Assistant response prefill is incompatible with enable_thinking."),
        (
            "mistral",
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        ),
        (
            "anthropic",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ),
    ],
)
def test_a_message_of_the_user_follows_a_last_answer_that_is_refused(provider: str, message: str) -> None:
    spoken: Any = (
        AnthropicCodec(capabilities_lookup("anthropic")) if provider == "anthropic" else codec(provider)
    )
    request = Request("m", ENDED, tools=TOOLS)
    assert body_of(spoken.encode(request, stream=True))["messages"][-1]["role"] == "assistant"
    error = spoken.decode_error(request, ReplyHead(400), json.dumps(say(message)).encode())
    assert spoken.adapt_encoding(request, error)
    assert body_of(spoken.encode(request, stream=True))["messages"][-1]["role"] == "user"
    assert [spoken.adapt_encoding(request, error) for _ in range(3)][-1] is False


DONE = b"data: [DONE]\n\n"


@pytest.mark.report("Oaklight/argo-proxy#83")
def test_a_stream_of_whole_items_that_says_done_is_an_answer() -> None:
    data = responses_sse(CREATED, added(0, CALL), done(0, CALL)) + DONE
    assert len(response_of(OPENAI, data, ASK).tool_calls) == 1
    for broken in (responses_sse(CREATED, added(0, CALL)) + DONE, responses_sse(CREATED, done(0, CALL))):
        with pytest.raises(StreamError):
            response_of(OPENAI, broken, ASK)


@pytest.mark.report("BenedictKing/ccx#97")
def test_usage_may_lack_its_details() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "output_tokens_details": {}}
    response = response_of(OPENAI, responses_sse(CREATED, done(0, CALL), final(usage=usage)), ASK)
    assert (response.usage.input_tokens, response.usage.reasoning_tokens) == (3, None)


MINIMAX = '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>'
KIMI = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'


def pieces_of(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def on_anthropic(text: str) -> Response:
    return answer(start(), *text_block(0, *pieces_of(text)), *end())


def on_responses(text: str) -> Response:
    message = {
        "id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]
    }  # fmt: skip
    deltas = [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
        for piece in pieces_of(text)
    ]
    return response_of(OPENAI, responses_sse(CREATED, *deltas, done(0, message), final()), ASK)


def complete_anthropic(text: str) -> Response:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}],
    }  # fmt: skip
    return ANTHROPIC.decode(ASK, ReplyHead(200), json.dumps(body).encode())


@pytest.mark.report("MiniMax-AI/MiniMax-M2.5#10")
@pytest.mark.parametrize("said", ["", "I look.\n\n"])
@pytest.mark.parametrize("call", [MINIMAX, KIMI], ids=["MiniMax", "Kimi"])
@pytest.mark.parametrize("read", [on_anthropic, on_responses, complete_anthropic])
def test_calls_in_the_text_run_on_every_wire(read: Any, call: str, said: str) -> None:
    response: Response = read(said + call)
    assert [(one.name, json.loads(one.arguments)) for one in response.tool_calls] == [("f", {"a": 1})]
    assert response.text == said and response.finish_reason.kind == "tool_calls"
    assert all(one.id for one in response.tool_calls)


@pytest.mark.parametrize("read", [on_anthropic, on_responses, complete_anthropic])
@pytest.mark.parametrize(
    "text",
    [
        f"{MINIMAX}\nThat is an example.",
        'Write <invoke name="f"> in a line.',
        '{"name": "f", "arguments": {}}',
        "a <invo",
    ],
)
def test_other_text_stays_as_it_is_on_every_wire(read: Any, text: str) -> None:
    response: Response = read(text)
    assert response.text == text and not response.tool_calls
