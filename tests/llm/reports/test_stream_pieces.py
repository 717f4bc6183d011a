"""Reports on streams: pieces of calls, events in odd orders, failures within, and ends of all kinds."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.messages import user
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import SseDecoder
from tests.llm.providers.test_anthropic_stream import block, end, sse, start, text_block
from tests.llm.providers.test_gemini_stream import chunk, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, added, delta, done, final, sse as responses_sse
from tests.llm.reports.chat import ASK, TOOLS, answer, calls_of, codec
from tests.llm.reports.test_broken_streams import call_piece, piece
from tests.support.codec_runs import ANTHROPIC, GEMINI, HEAD, OPENAI, response_of
from tests.support.reports import reported

ENDED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
ONE_CALL: list[Any] = [
    reported("OpenRouterTeam/ai-sdk-provider#118", [call_piece(0, "c1", "read", ""),
        piece(tool_calls=[{"index": 0, "type": "function", "function": {"arguments": ""}}]),
        piece(tool_calls=[{"index": 0, "type": "function", "function": {"arguments": '{"a":1}'}}]), CALLED]),
    reported("vercel/ai#14722", [
        piece(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"arguments": '{"a"'}}]),
        piece(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": ""}}]),
        piece(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"arguments": ":1}"}}]), CALLED]),
    [piece(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}]),
        piece(tool_calls=[{"index": 0, "function": {"name": "read"}}]), CALLED],
]  # fmt: skip


@pytest.mark.parametrize("chunks", ONE_CALL)
def test_pieces_make_one_call(chunks: list[Any]) -> None:
    assert calls_of(answer(*chunks)) == [("read", '{"a":1}')]


CALL = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "read", "arguments": ""}
LACKING = [CREATED, added(0, CALL), delta("function_call_arguments", 0, 'a": 1}'),
    {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": 'a": 1}'},
    done(0, {**CALL, "arguments": 'a": 1}'}), final()]  # fmt: skip


@pytest.mark.report("vllm-project/vllm#42683")  # fmt: skip
def test_a_call_that_lacks_its_beginning_is_kept_for_an_error_that_the_model_reads() -> None:
    assert calls_of(response_of(OPENAI, responses_sse(*LACKING))) == [("read", 'a": 1}')]


def flat(*events: Any) -> list[Any]:
    return [one for event in events for one in (event if isinstance(event, list | tuple) else [event])]


def anthropic(*events: Any) -> Response:
    return response_of(ANTHROPIC, sse(*flat(*events)), Request("m", (user("hi"),), tools=TOOLS))


OVERLOADED = {
    "type": "error",
    "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"},
}
FAILED = final("failed", error={"code": "server_error", "message": "The model failed to load."})
FAILURES: list[Any] = [
    reported("anthropics/anthropic-sdk-python#688", ANTHROPIC, sse(*flat(start(), block(0, {"type": "text",
        "text": ""}, {"type": "text_delta", "text": "Hi"}, open=True), OVERLOADED)), e.OverloadedError, "Overloaded"),
    reported("mito-ds/mito#1842", ANTHROPIC, sse(OVERLOADED), e.OverloadedError, "Overloaded"),
    reported("langchain-ai/langchain#39041", OPENAI, responses_sse(CREATED, FAILED), e.ServerError,
        "The model failed to load"),
    reported("decolua/9router#1648", OPENAI, responses_sse(CREATED, added(0, {"type": "message", "id": "m"}),
        delta("output_text", 0, "Hi", content_index=0)), e.StreamError, "in the middle"),
]  # fmt: skip


@pytest.mark.parametrize(("spoken", "data", "kind", "words"), FAILURES)
def test_a_failure_within_a_stream_is_an_error(spoken: Any, data: bytes, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words) as raised:
        response_of(spoken, data)
    assert raised.value.retryable


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}  # fmt: skip
REFUSED = {**MESSAGE, "content": [{"type": "refusal", "refusal": "Hi"}]}
TEXTS: list[Any] = [
    reported("LibreChat-AI/agents#308", ANTHROPIC, sse(*flat(start(input_tokens=0, output_tokens=1),
        text_block(0, "Hi"), {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
            "input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 7}}, {"type": "message_stop"}))),
    reported("BerriAI/litellm#30115", ANTHROPIC, sse(*flat(start(), {"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": "Hi"}}, {"type": "content_block_stop", "index": 0}, end()))),
    reported("BerriAI/litellm#33315", ANTHROPIC, sse(*flat(start(), block(0, {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": ""}, {"type": "thinking_delta"}, {}), text_block(1, "Hi"), end()))),
    reported("BerriAI/litellm#32724", OPENAI, responses_sse(CREATED, done(0, MESSAGE), final(output=[]))),
    (OPENAI, responses_sse(CREATED, delta("output_text", 0, "Hi", content_index=0), final(output=[]))),
    (OPENAI, responses_sse(CREATED, {"type": "response.output_text.done", "output_index": 0, "text": "Hi"}, final())),
    reported("NousResearch/hermes-agent#91181", OPENAI, responses_sse(CREATED, added(0, {**MESSAGE, "content": []}),
        delta("refusal", 0, "H", content_index=0), delta("refusal", 0, "i", content_index=0), done(0, REFUSED),
        final(output=[REFUSED]))),
    reported("openai/openai-python#3387", OPENAI, responses_sse(CREATED, added(0, {**MESSAGE, "content": []}),
        delta("refusal", 0, "Hi", content_index=0), final(output=[]))),
    reported("lidge-jun/opencodex#3767", OPENAI, responses_sse(CREATED, final(output=[REFUSED]))),
    reported("agentjido/req_llm#638", GEMINI, gemini_wire(chunk({"text": "Hi"}), {
        "candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}})),
    reported("songquanpeng/one-api#1477", GEMINI, gemini_wire(chunk({"text": "H"}, finish="STOP"),
        chunk({"text": "i"}, finish="STOP"))),
    reported("Chevey339/kelivo#1003", GEMINI, gemini_wire(chunk(finish="STOP"), chunk(finish="STOP"),
        chunk({"text": "Hi"}), chunk(finish="STOP"))),
    reported("router-for-me/CLIProxyAPI#4167", GEMINI, gemini_wire(chunk({"text": "Hi"})) + b"data: [DONE]\n\n"),
    reported("theopenco/llmgateway#2334", OPENAI, b": ping\n\n".join((b"", responses_sse(CREATED),
        responses_sse(added(0, MESSAGE)), responses_sse(done(0, MESSAGE), final())))),
    reported("ollama/ollama#16443", codec(), b":\n\n:\n\ndata: " + b'{"choices":[{"delta":{"content":"Hi"}}]}\n\n:\n\n'
        b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n:\n\ndata: [DONE]\n\n'),
    reported("diegosouzapw/OmniRoute#7136", codec(),
        b'data: {"object":"chat.completion.chunk","choices":[]}\n\n: omni\n\n'
        b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'),
]  # fmt: skip


@pytest.mark.parametrize(("spoken", "data"), TEXTS)
def test_a_stream_of_another_form_is_read(spoken: Any, data: bytes) -> None:
    assert response_of(spoken, data, ASK).text == "Hi"


@pytest.mark.report("PostHog/posthog#72287")  # fmt: skip
def test_arguments_of_a_block_that_never_began_end_nothing() -> None:
    piece_of = {"type": "input_json_delta", "partial_json": '{"a": 1}'}
    response = anthropic(
        start(),
        block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}, piece_of),
        {"type": "content_block_delta", "index": 3, "delta": piece_of},
        block(1, {"type": "tool_use", "id": "t", "name": "read", "input": {}}, piece_of), end("tool_use"),
    )  # fmt: skip
    assert calls_of(response) == [("read", '{"a": 1}')] and response.reasoning == "hm"


def test_the_input_that_a_gateway_counts_at_the_end_is_counted() -> None:
    counted = TEXTS[0].values
    usage = response_of(counted[0], counted[1]).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (25, 5, 7)


@pytest.mark.report("openai/openai-python#3538")  # fmt: skip
def test_an_incomplete_response_keeps_its_text_and_says_why() -> None:
    events = (
        CREATED,
        added(0, MESSAGE),
        delta("output_text", 0, "Hi", content_index=0),
        final(
            "incomplete",
            incomplete_details={"reason": "max_output_tokens"},
            output=[{**MESSAGE, "status": "incomplete"}],
        ),
    )
    response = response_of(OPENAI, responses_sse(*events))
    assert (response.text, response.finish_reason.kind) == ("Hi", "length")


@pytest.mark.report("xberg-io/liter-llm#152")  # fmt: skip
@pytest.mark.report("librefang/librefang#3448")  # fmt: skip
@pytest.mark.report("ggml-org/llama.cpp#28926")  # fmt: skip
def test_characters_that_chunks_split_are_whole() -> None:
    said = "你好世界 🌍"
    streams = (
        (ANTHROPIC, sse(*flat(start(), text_block(0, said), end()))),
        (GEMINI, gemini_wire(chunk({"text": said}, finish="STOP"))),
        (
            codec(),
            f'data: {{"choices":[{{"delta":{{"content":"{said}"}},"finish_reason":"stop"}}]}}\n\n'.encode(),
        ),
    )
    for spoken, data in streams:
        frames, decoder, folded = SseDecoder(), spoken.stream_decoder(ASK, HEAD), Accumulator(spoken.name)
        for at in range(len(data)):
            for frame in frames.feed(data[at : at + 1]):
                for event in decoder.feed(frame):
                    folded.feed(event)
        for event in decoder.close():
            folded.feed(event)
        assert folded.response().text == said
