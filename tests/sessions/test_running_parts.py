"""The running parts of a followed session: which records of its log become deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    ProcessingEnd,
    ReasoningStart,
    RecordedEvent,
)
from agent_ls.sessions.ownership.running_parts import RunningParts

pytestmark = pytest.mark.req("H3")


def record(offset: int, text: str, part_id: str = "p") -> dict[str, Any]:
    return {"partId": part_id, "offset": offset, "text": text}


def followed(*events: RecordedEvent, since: int = 0) -> RunningParts:
    parts = RunningParts(since)
    for seq, event in enumerate(events, 1):
        parts.follow(Envelope("s", seq, "", event, "t", "sub"))
    return parts


@pytest.mark.parametrize(
    ("events", "since", "texts"),
    [
        ([AssistantTextStart("p")], 0, ["ab", "c"]),
        ([ReasoningStart("p")], 0, ["ab", "c"]),
        ([AssistantTextStart("q")], 0, []),
        ([AssistantTextStart("p"), AssistantTextEnd("p", "abc")], 0, []),
        ([AssistantTextStart("p"), ProcessingEnd("completed")], 0, []),
        ([AssistantTextStart("p")], 1, []),
    ],
)
def test_only_the_text_of_a_part_that_runs_is_passed_on(
    events: Sequence[RecordedEvent], since: int, texts: list[str]
) -> None:
    parts = followed(*events, since=since)
    # the same text again, as after a gap, gives no second delta
    found = [parts.extend(it, "", 1) for it in (record(0, "ab"), record(0, "ab"), record(2, "c"))]
    deltas = [(it.event, it.agent_id, it.seq) for it in found if it]
    assert [(event.text, *rest) for event, *rest in deltas if isinstance(event, Delta)] == [
        (text, "sub", None) for text in texts
    ]
    assert [(delta.text, delta.offset, agent) for delta, agent in parts.so_far()] == (
        [("".join(texts), 0, "sub")] if texts else []
    )
