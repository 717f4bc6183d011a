"""Convert turns to messages: they are valid for providers, and earlier messages stay the same in each request."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.messages import (
    ImagePart,
    Message,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.context.history import NO_RESULT, ConversationHistory
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, SystemTurn, ToolResultsTurn, Turn, UserTurn
from tests.support.fake_provider import problem_of


def _answer(*parts: TextPart | ReasoningPart | ToolCallPart) -> AssistantTurn:
    return AssistantTurn(Message(Role.ASSISTANT, parts), Usage(), "r", "p", "m", FinishReason("stop"), "t")


def _calls(*ids: str) -> AssistantTurn:
    return _answer(*(ToolCallPart(id_, "look", "{}") for id_ in ids))


def _results(*ids: str) -> ToolResultsTurn:
    return ToolResultsTurn(tuple(ToolResultPart(id_, "look", f"{id_} {i}") for i, id_ in enumerate(ids)), "t")


def _sent(*turns: Turn) -> list[tuple[str, str]]:
    rows = []
    for message in ConversationHistory(turns).messages(""):
        results = "|".join(part.content for part in message.parts if isinstance(part, ToolResultPart))
        rows.append(
            (message.role.value, message.text or results or "+".join(call.id for call in message.tool_calls))
        )
    return rows


CASES: dict[str, tuple[list[Turn], list[tuple[str, str]]]] = {
    "a whole round": (
        [UserTurn("go", "t"), _calls("a", "b"), _results("a", "b"), _answer(TextPart("ok"))],
        [("user", "go"), ("assistant", "a+b"), ("tool", "a 0|b 1"), ("assistant", "ok")],
    ),
    "results in another order": ([_calls("a", "b"), _results("b", "a")], [("assistant", "a+b"), ("tool", "a 1|b 0")]),
    "one result missing": ([_calls("a", "b"), _results("b")], [("assistant", "a+b"), ("tool", f"{NO_RESULT}|b 0")]),
    "no results before the next message": (
        [_calls("a"), UserTurn("what?", "t")],
        [("assistant", "a"), ("tool", NO_RESULT), ("user", "what?")],
    ),
    "no results at the end": ([_calls("a")], [("assistant", "a"), ("tool", NO_RESULT)]),
    "results without a call": ([UserTurn("go", "t"), _results("a")], [("user", "go")]),
    "one result too many": ([_calls("a"), _results("a", "z")], [("assistant", "a"), ("tool", "a 0")]),
    "an id used twice": ([_calls("a", "a"), _results("a", "a")], [("assistant", "a+a"), ("tool", "a 0|a 1")]),
    "an empty answer": ([UserTurn("go", "t"), _answer(), UserTurn("on", "t")], [("user", "go"), ("user", "on")]),
    "an answer of empty text": ([_answer(TextPart(""))], []),
    "empty text beside a call": ([_answer(TextPart(""), ToolCallPart("a", "look", "{}")), _results("a")],
                                 [("assistant", "a"), ("tool", "a 0")]),
    "a steer": ([SteeringTurn("left!", "t")], [("user", "left!")]),
    "a system turn": ([SystemTurn("note", "t")], [("developer", "note")]),
    "an empty input": ([UserTurn("", "t")], []),
}  # fmt: skip


@pytest.mark.spec("loop 9.6.4", "conversation 4.1")
@pytest.mark.req("L6", "L16", "L17")
@pytest.mark.parametrize("case", CASES)
def test_turns_are_converted_to_messages(case: str) -> None:
    turns, expected = CASES[case]
    assert _sent(*turns) == expected


def test_images_and_signed_reasoning_are_unchanged_in_messages() -> None:
    image = ImagePart(b"x", "image/png")
    signed = _answer(ReasoningPart("", Origin("p", "m", {"signature": "s"})), TextPart("ok"))
    messages = ConversationHistory(
        [UserTurn("", "t", (image,)), SteeringTurn("see", "t", images=(image,)), signed]
    ).messages("")
    assert messages[0].parts == (image,)
    assert messages[1].parts == (TextPart("see"), image)
    assert messages[2] is signed.message


@pytest.mark.req("L5")
def test_earlier_messages_are_the_same_objects_in_every_request() -> None:
    history = ConversationHistory([UserTurn("go", "t"), _calls("a")])
    history.append(_results("a"))
    before = history.messages("prompt")
    history.append(UserTurn("on", "t"))
    after = history.messages("prompt")
    assert len(after) == len(before) + 1
    assert all(a is b for a, b in zip(before, after, strict=False))
    assert history.messages("other")[0].text == "other"


def test_the_history_counts_characters_and_model_calls_of_its_turns() -> None:
    history = ConversationHistory(
        [UserTurn("four", "t"), _calls("a"), _results("a"), _answer(TextPart("ok"))]
    )
    assert history.chars == 4 + len("look{}") + len("a 0") + 2
    assert history.model_calls == 2


TURNS = st.one_of(
    st.builds(lambda text: UserTurn(text, "t"), st.sampled_from(["", "go"])),
    st.builds(lambda ids: _calls(*ids), st.lists(st.sampled_from("ab"), max_size=3)),
    st.builds(lambda ids: _results(*ids), st.lists(st.sampled_from("ab"), max_size=3)),
    st.just(_answer(TextPart("ok"))),
    st.just(SteeringTurn("s", "t")),
)


@given(st.lists(TURNS, max_size=12))
def test_any_sequence_of_turns_converts_to_messages_that_providers_accept(turns: list[Turn]) -> None:
    assert problem_of(ConversationHistory(turns).messages("prompt")) == ""
