"""Refusals without a reason, fields within other fields, text sent twice in two pieces, and tags beside calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.providers.base import ReplyHead
from tests.llm.providers.test_anthropic_stream import call_block, end, start, text_block
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import answer, refusal, say
from tests.llm.reports.test_other_wires import ASK, answer as anthropic_answer
from tests.support.codec_runs import ANTHROPIC, body_of

OPTIONAL = {
    "compatible": ("stream_options", "reasoning_effort", "temperature", "top_p"),
    "openrouter": ("stream_options", "reasoning", "temperature", "top_p"),
    "anthropic": ("cache_control", "thinking", "output_config", "metadata", "temperature", "top_p"),
    "openai": ("reasoning", "include", "metadata", "parallel_tool_calls", "temperature", "top_p"),
    "gemini": ("generationConfig.thinkingConfig", "generationConfig.temperature", "generationConfig.topP"),
}
UNSTATED: list[Any] = [
    (400, say("Bad Request")),
    (422, say("Invalid input")),
    (422, {"detail": "Unprocessable Entity"}),
    (400, ""),
    (400, say("Invalid request.")),
]


@pytest.mark.parametrize("wire", OPTIONAL)
@pytest.mark.parametrize(("status", "body"), UNSTATED)
def test_a_request_refused_without_a_reason_is_sent_without_optional_fields(
    wire: str, status: int, body: Any
) -> None:
    first = body_of(spoken(wire).encode(asking(wire), stream=True))
    again = second(wire, body, asking(wire), status)
    assert all(at(first, path) is not None and at(again, path) is None for path in OPTIONAL[wire])
    kept = ("tools", "stream", "max_tokens", "max_output_tokens", "store", "generationConfig.maxOutputTokens")
    assert again["tools"] and all(at(again, path) == at(first, path) for path in kept if path != "tools")


@pytest.mark.parametrize("wire", OPTIONAL)
def test_fields_that_were_not_the_reason_are_sent_again(wire: str) -> None:
    speaker, request = spoken(wire), asking(wire)
    first = speaker.encode(request, stream=True).content
    error = speaker.decode_error(request, ReplyHead(400), b"Bad Request")
    assert speaker.adapt_encoding(request, error)
    assert not speaker.adapt_encoding(request, error)
    assert speaker.encode(request, stream=True).content == first
    assert not speaker.adapt_encoding(request, error), "it is tried once"
    assert not speaker.take_notices(request.model)


def test_the_format_of_the_answer_is_left_out_first() -> None:
    again = second("compatible", say("Bad request"), asking("compatible", **JSON))
    assert ("response_format" in again, at(again, "temperature")) == (False, 0.5)


@pytest.mark.parametrize("words", ["The field n is wrong", "messages[1] is a bad request of the user"])
def test_a_refusal_with_a_reason_is_not_sent_again(words: str) -> None:
    assert not spoken("compatible").adapt_encoding(asking("compatible"), refusal(400, say(words)))


def test_the_hint_says_that_there_is_no_reason() -> None:
    hints = [refusal(400, say(words)).hint for words in ("Bad Request", "", "The field n is wrong")]
    assert hints[0] == hints[1] != hints[2]


INNER: list[Any] = [
    ("openrouter", "reasoning.max_tokens is not supported", "reasoning"),
    ("compatible", "Unknown parameter: reasoning.max_tokens", "reasoning_effort"),
    ("compatible", "body.reasoning.max_tokens: extra inputs are not permitted", "reasoning_effort"),
    ("compatible", "unsupported: thinking.max_tokens", "reasoning_effort"),
    ("openai", "reasoning.max_output_tokens is not supported", "reasoning"),
]


@pytest.mark.parametrize(("wire", "words", "field"), INNER)
def test_the_field_around_a_refused_one_is_left_out(wire: str, words: str, field: str) -> None:
    first = body_of(spoken(wire).encode(asking(wire), stream=True))
    again = second(wire, say(words), asking(wire))
    assert first.keys() - again.keys() == {field}


TWICE: list[Any] = [
    (["Hello", "Hello world"], "Hello world"),
    (["The file is", "The file is a.py."], "The file is a.py."),
    (["ha", "haha"], "hahaha"),
    (["6", "66"], "666"),
    (["Hello", " Hello"], "Hello Hello"),
]


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize(("said", "text"), TWICE)
def test_two_pieces_that_repeat_the_text_so_far_are_read_once(field: str, said: list[str], text: str) -> None:
    response = answer(
        *({"choices": [{"delta": {field: piece}}]} for piece in said),
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    )
    assert "".join(getattr(part, "text", "") for part in response.message.parts) == text


MARKS = ["<tool_call>", "<function_calls>\n", "[TOOL_CALLS]", "<minimax:tool_call>\n"]


@pytest.mark.parametrize("mark", MARKS)
def test_a_tag_beside_a_call_is_not_shown_by_anthropics_api(mark: str) -> None:
    streamed = anthropic_answer(start(), *text_block(0, f"I look.\n{mark}"), *call_block(1, "{}"), *end())
    content = [
        {"type": "text", "text": f"I look.\n{mark}"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]
    body = {"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": content}
    whole = ANTHROPIC.decode(ASK, ReplyHead(200), json.dumps(body).encode())
    for response in (streamed, whole):
        assert (response.text.strip(), len(response.tool_calls)) == ("I look.", 1)
