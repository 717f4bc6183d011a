"""Looking for reasoning in tags costs the same for each delta, however long the text and its lines are."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from agent_ls.llm.messages import Message, Role, TextPart
from agent_ls.llm.providers.text_thoughts import TextThoughtsDecoder, with_text_thoughts
from agent_ls.llm.providers.think_tags import KEPT_CHARS, ThinkTags
from agent_ls.llm.requests import FinishReason, Response, Usage
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import StreamEvent, TextDelta, TextEnd, TextStart

FRAME = Frame("", "")


class Played:
    """A decoder that returns one prepared event for each frame."""

    def __init__(self, *events: StreamEvent) -> None:
        self._events = list(events)

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        return (self._events.pop(0),)

    def close(self) -> Sequence[StreamEvent]:
        return ()


@pytest.mark.req("U4")
def test_a_long_line_is_not_kept_and_the_tags_behind_it_are_judged() -> None:
    for before, shown in (("word ", "</think>"), ("`````` ", "</think>"), ("``` ", "</think>"), ("  ", "")):
        tags = ThinkTags()
        tags.feed("Text.\n")
        for _ in range(KEPT_CHARS * 5 + 1):
            tags.feed(before)
        assert len(pickle.dumps(vars(tags))) < 10 * KEPT_CHARS
        said = [*tags.feed("</think>"), *tags.feed(" more"), *tags.close()]
        assert "".join(text for _, text in said) in (f"{shown} more", f"{shown}more")


@pytest.mark.req("U4", "E3")
def test_the_rest_of_a_text_without_tags_passes_as_it_is() -> None:
    rest: list[StreamEvent] = [TextDelta(0, "b <think>"), TextEnd(0, TextPart("ab <think>"))]
    decoder = TextThoughtsDecoder(Played(TextStart(0), TextDelta(0, "a"), *rest))
    assert [*decoder.feed(FRAME), *decoder.feed(FRAME)] == [TextStart(0), TextDelta(0, "a")]
    for event in rest:
        (out,) = decoder.feed(FRAME)
        assert out is event


@pytest.mark.req("U4")
@pytest.mark.parametrize(
    "said", ["I thought.\n</think>\nYes.", "analysisWe say.assistantfinalYes.", "Use <think>."]
)
def test_only_an_opening_tag_begins_reasoning(said: str) -> None:
    pieces: list[StreamEvent] = [
        TextStart(0),
        *(TextDelta(0, one) for one in said),
        TextEnd(0, TextPart(said)),
    ]
    decoder = TextThoughtsDecoder(Played(*pieces))
    events = [event for _ in pieces for event in decoder.feed(FRAME)]
    assert "".join(it.text for it in events if isinstance(it, TextDelta)) == said
    assert events[-1] == TextEnd(0, TextPart(said))
    message = Message(Role.ASSISTANT, (TextPart(said),))
    whole = Response("r", "p", "m", message, FinishReason("stop", "stop"), Usage())
    assert with_text_thoughts(whole) is whole
