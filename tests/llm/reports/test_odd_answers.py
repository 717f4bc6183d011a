"""Answers of Chat Completions servers that broke other clients: pieces, channels, marks and counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Response
from tests.llm.reports.chat import ASK, answer, codec
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_counts import STOP
from tests.llm.reports.test_names_and_signatures import thoughts
from tests.support.codec_runs import events_of, response_of
from tests.support.reports import reported

HI: Any = ("hi", [])
START, ANALYSIS = "<|start|>assistant<|channel|>", "<|channel|>analysis<|message|>Hm.<|end|>"
LIST = 'to=functions.list <|constrain|>json<|message|>{"a": 1}'
FLUSH = '{"date": "d", "amount": 300, "kind": "x"}'


def ends(reason: str, **delta: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


INVOKED = (
    '<Xfunction_calls>\n<Xinvoke name="read">\n'
    '<Xparameter name="a">b</Xparameter>\n</Xinvoke>\n</Xfunction_calls>'
)
QUOTES = '```json\n{"name": "read", "arguments": {"content": "<html lang="en">"}}\n```'


def said_as(text: str) -> Any:
    return piece(content=text)


STREAMS: list[Any] = [
    reported("ar-jan/llm-venice#45", [call_piece(0, "c", "read", '{"x": '), call_piece(0, None, None, "13"),
        call_piece(0, None, None, "}"), call_piece(0, None, None, ""), ENDS], ("", [("read", {"x": 13})])),
    reported("zai-org/GLM-4#194", [call_piece(0, "a", "read", ""), call_piece(0, "b", None, '{"x"'),
        call_piece(0, "d", None, ": 1}"), ENDS], ("", [("read", {"x": 1})])),
    reported("sgl-project/sglang#11888", [piece(content="hi"), call_piece(0, "c", "list", '{"x": 1}'), ENDS],
        ("hi", [("list", {"x": 1})])),
    reported("vllm-project/vllm#42167", [call_piece(0, "c", "read", '{"date": "d"'),
        call_piece(0, None, None, ', "kind": "x"'), ends("tool_calls", **call_piece(0, None, None,
        FLUSH)["choices"][0]["delta"])],
        ("", [("read", json.loads(FLUSH))])),
    ([call_piece(0, "c", "read", '{"a": [1'), call_piece(0, None, None, '{"a": [1, 2]}'), ENDS],
        ("", [("read", {"a": [1, 2]})])),
    ([call_piece(0, "c", "read", '{"a": "x"'), call_piece(0, "c", "read", '{"a": "x", "b": 2}'), ENDS],
        ("", [("read", {"a": "x", "b": 2})])),
    ([call_piece(0, "c", "list", "{}"), call_piece(1, "d", "read", '{"a": true'),
        call_piece(1, None, None, '{"a": true}'), ENDS], ("", [("list", {}), ("read", {"a": True})])),
    reported("mistralai/client-js#69", [piece(tool_calls=[{"id": "null", "function": {"name": "read",
        "arguments": "{}"}},
        {"id": "null", "function": {"name": "list", "arguments": "{}"}}]), ENDS], ("", [("read", {}), ("list", {})])),
    reported("dstackai/dstack#2228", [ends("", content="h"), ends("", content="i"), STOP], HI),
    reported("sgl-project/sglang#18335", [piece(role=None, content=None, reasoning_content=None), piece(content="hi"),
        STOP],
        HI),
    reported("agent0ai/agent-zero#180", [{"choices": None, "error": None}, piece(content="hi"), {"choices": None},
        STOP], HI),
    reported("aws-samples/bedrock-access-gateway#11", [piece(content="hi"), ends("end_turn")], HI),
    reported("vllm-project/vllm#32587", [call_piece(0, "c", "list<|channel|>json", "{}"), ENDS], ("", [("list", {})])),
    reported("ml-explore/mlx-lm#875", [piece(content=f"{ANALYSIS}{START}final<|message|>hi"), STOP], HI),
    reported("sgl-project/sglang#10576", [piece(content=f"{ANALYSIS}{START}commentary {LIST}<|return|>"), STOP],
        ("", [("list", {"a": 1})])),
    ([*map(said_as, f"{START}analysis<|message|>Hm.<|end|>{START}final<|message|>hi<|return|>"), STOP], HI),
    ([piece(content="<|channel|>final<|message|>hi<|end|>"), STOP], HI),
    ([piece(content=f"<|channel|>commentary<|message|>hi<|end|>{START}commentary {LIST}<|call|>"), STOP],
        ("hi\n", [("list", {"a": 1})])),
    ([piece(content=f"{ANALYSIS}{START}commentary {LIST}<|call|><|start|>functions.list to=assistant"
        "<|channel|>commentary<|message|>invented<|end|>"), STOP], ("", [("list", {"a": 1})])),
    ([piece(content="The mark <|channel|> begins a channel."), STOP], ("The mark <|channel|> begins a channel.", [])),
    reported("nugget/thane-ai-agent#21", [piece(content='{"name": "read", "arguments": {"a": 1}}'), STOP],
        ("", [("read", {"a": 1})])),
    reported("mudler/LocalAI#10052", [*map(said_as, '{"arguments": {"a": 1}, "name": "list"}'), STOP],
        ("", [("list", {"a": 1})])),
    reported("NousResearch/hermes-agent#83023",
        [piece(content="hi\n<tools>{\"name\": \"read\", \"arguments\": {\"a\": 1}}</tools>"), STOP],
        ("hi\n", [("read", {"a": 1})])),
    reported("earendil-works/pi#6635", [piece(content='{"name":"list","arguments":{"a":1}}', tool_calls=[]), STOP],
        ("", [("list", {"a": 1})])),
    reported("jundot/omlx#2565",
        [{"choices": [{"message": {"content": '{"name": "read", "arguments": {}}', "tool_calls": None}}]}, STOP],
        ("", [("read", {})])),
    reported("Gitlawb/openclaude#287", [piece(content=QUOTES), STOP], (QUOTES, [])),
    reported("kekzl/imp#793",
        [*map(said_as, ("<think>a</think>", "h\n", "<think>b</think>", "i")), STOP], ("h\ni", [])),
    reported("raullenchai/Rapid-MLX#726", [*map(said_as, ("<think>a</think>h<th", "ink>b</thi", "nk>i")), STOP], HI),
    ([*map(said_as, "<thinking>a</thinking>h<thinking>b</thinking>i<thinking>c</thinking>"), STOP], HI),
    ([piece(content="<think>a</think>The tag `<think>` begins it."), STOP], ("The tag `<think>` begins it.", [])),
    ([piece(content="<think>a</think>h<think>i"), STOP], ("h<think>i", [])),
    ([piece(content="Say <think>a</think>."), STOP], ("Say <think>a</think>.", [])),
    reported("youssofal/MTPLX#149", [*map(said_as, ("<reasoni", "ng>no</reasoning>hi")), STOP], HI),
    ([*map(said_as, "<thought>no</thought>hi"), STOP], HI),
    reported("QwenLM/qwen-code#8818", [*map(said_as, ("<thi", "nk>a</th", "ink>hi")), STOP], HI),
    reported("ROCm/FastFlowLM#739", [{"choices": [{"message": {"content": "<think>\n1. x\n</think>\n\nhi"}}]}, STOP],
        HI),
    reported("RageAgainstThePixel/OpenAI-DotNet#274",
        [{"choices": [{"delta": {"role": "assistant"},
        "content_filter_result": {"error": {"code": "content_filter_error"}}}]},
            piece(content="hi"), STOP], HI),
    reported("BerriAI/litellm#7094", [piece(content="h"), piece(content=None), piece(content="i"), STOP], HI),
    reported("ollama/ollama#12557", [call_piece(0, "c", "read", '{"a": 1}'), piece(role="assistant", content=""), STOP],
        ("", [("read", {"a": 1})])),
    reported("ollama/ollama#9084", [piece(role="assistant", content="hi"), STOP], HI),
    reported("continuedev/continue#7491",
        [call_piece(0, "c", "read", '"{\\"a'), call_piece(0, None, None, '\\": 1}"'), ENDS],
        ("", [("read", {"a": 1})])),
    ([call_piece(0, "c", "read", '"{}"'), ENDS], ("", [("read", {})])),
    ([call_piece(0, "c", "read", ' "{\\"a\\": \\"\\\\\\"\\"}" '), ENDS], ("", [("read", {"a": '"'})])),
    reported("ggml-org/llama.cpp#29240", [piece(content=INVOKED.replace("X", "atem:")), STOP], ("", [("read",
        {"a": "b"})])),
    ([piece(content=INVOKED.replace("X", "antml:")), STOP], ("", [("read", {"a": "b"})])),
    ([piece(content=INVOKED.replace("X", "")), STOP], ("", [("read", {"a": "b"})])),
    ([piece(content=INVOKED.replace("X", "atem:").partition("\n")[2]), STOP], ("", [("read", {"a": "b"})])),
    reported("oobabooga/textgen#7374", [piece(content="analysisUser says hi.assistantfinalhi"), STOP], HI),
    ([*map(said_as, "analysisWe greet.assistantfinalhi"), STOP], HI),
    ([piece(content="analysis of the code"), STOP], ("analysis of the code", [])),
    ([piece(content="analysisResult is a list."), STOP], ("analysisResult is a list.", [])),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "expected"), STREAMS)
def test_odd_answers_are_read(chunks: list[Any], expected: Any) -> None:
    response = answer(*chunks)
    assert said(response) == expected
    assert len({part.id for part in response.tool_calls}) == len(response.tool_calls)
    assert all("<|" not in thought for thought in thoughts(response))


def read_raw(data: bytes) -> Response:
    return response_of(codec("openrouter"), data, ASK)


def data(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


NOTE, OVER = b": OPENROUTER PROCESSING\n\n", b"data: [DONE]\n\n"
RAW: list[Any] = [
    reported("mnfst/llm-gateway#2053",
        b"data: " + NOTE + data(piece(content="hi")) + b"data: " + NOTE + data(STOP) + OVER),
    b"data: :\n\n" + data(piece(content="hi"), STOP) + OVER,
    b"data: : keep-alive\n\n" + data(piece(content="hi"), STOP) + OVER,
    b"event: ping\ndata: :heartbeat\n\n" + data(piece(content="hi"), STOP) + OVER,
    reported("diegosouzapw/OmniRoute#7031", b": keepalive\n\n" + data(piece(content="hi"),
        STOP) + b": x-cost=1\n" + OVER),
    reported("mistralai/mistral-vibe#794", b":\n\n:\n\n" + data(piece(content="hi"), STOP) + OVER),
]  # fmt: skip


@pytest.mark.parametrize("wire", RAW)
def test_comments_of_streams_are_left_out(wire: bytes) -> None:
    assert read_raw(wire).text == "hi"
    assert read_raw(wire.replace(b"data: ", b"data:")).text == "hi"


@pytest.mark.report("vllm-project/aibrix#2653")
@pytest.mark.report("alexrudall/ruby-openai#332")
def test_events_that_are_cut_anywhere_are_read() -> None:
    wire = data(piece(content="hé"), STOP, {"choices": [], "usage": {"prompt_tokens": 3}}) + OVER
    assert len(events_of(codec(), [wire[at : at + 1] for at in range(len(wire))], ASK)) > 2


BROKEN: list[Any] = [
    reported("SamSaffron/term-llm#448",
        data(call_piece(0, "c", "read", '{"pa')) + b'data: {"choices":[{"in\n\n' + OVER),
    reported("CommandCodeAI/command-code#791", data(call_piece(0, "c", "read", ""))),
    reported("genkit-ai/genkit#6079", data(piece(content="par"), {"error": {"code": "server_error", "message": "Gone"},
        "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]})),
]  # fmt: skip


@pytest.mark.parametrize("wire", BROKEN)
def test_a_broken_stream_is_an_error_that_may_be_tried_again(wire: bytes) -> None:
    with pytest.raises((e.StreamError, e.ServerError)) as raised:
        read_raw(wire)
    assert raised.value.retryable


@pytest.mark.report("vllm-project/vllm#21046")  # fmt: skip
def test_arguments_without_their_beginning_stay_invalid() -> None:
    first, second = answer(
        call_piece(0, "c", "read", '"a": 1}}'), call_piece(1, "d", "list", None), ENDS
    ).tool_calls
    assert (first.arguments, second.arguments) == ('"a": 1}}', "{}")


WHOLE: list[Any] = [
    reported("JamePeng/llama-cpp-python#113", {"role": "assistant", "content": "hi"}, ("hi", "stop")),
    reported("NousResearch/hermes-agent#43108", {"content": None, "refusal": "No."}, ("No.", "content_filter")),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), WHOLE)
def test_whole_answers_are_read(message: Any, expected: Any) -> None:
    body = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    response = codec().decode(ASK, ReplyHead(200), json.dumps(body).encode())
    assert (response.text, response.finish_reason.kind) == expected


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#1988")  # fmt: skip
def test_a_list_of_models_needs_names_only() -> None:
    listed = codec("lmstudio").decode_models(
        b'{"data": [{"id": "qwen", "object": "model"}], "object": "list"}'
    )
    assert [model.id for model in listed] == ["qwen"]
