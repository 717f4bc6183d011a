"""A chat document that was closed or unsaved while its answer arrived gets the missing text."""

from __future__ import annotations

import pytest

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    ProcessingEnd,
    RecordedEvent,
    UserInput,
)
from agent_ls.server.chat.last_turn import has_answer, last_turn, split_answer
from agent_ls.server.chat.transcript import ChatTranscript

pytestmark = pytest.mark.req("H8", "R4")

ANSWER = "One.\n\nTwo.\n\n> Stopped.\n"


@pytest.mark.parametrize(
    ("shown", "written", "rest"),
    [
        ("\nOne.\n\nTwo.\n\n> Stopped.\n", "\nOne.\n\nTwo.\n\n> Stopped.", "\n"),
        ("\nOne.\n", "\nOne.", "\n\nTwo.\n\n> Stopped.\n"),
        ("\nOne.\n\nTw\n\n", "\nOne.\n\nTw", "o.\n\n> Stopped.\n"),
        ("\nOne.  \n\nTwo.\n\nand then?\n", "\nOne.\n\nTwo.", "\n\n> Stopped.\n"),
        ("\nOne.\n\nTw\n\nand then?\n", "\nOne.\n\nTw", "o.\n\n> Stopped.\n"),
        ("", "", "\nOne.\n\nTwo.\n\n> Stopped.\n"),
    ],
    ids=["whole", "cut", "within a line", "the user wrote below", "within a line, and below", "nothing"],
)
def test_missing_text_is_added_after_the_existing_text(shown: str, written: str, rest: str) -> None:
    found, missing = split_answer(shown, ANSWER)
    assert "\n".join(line.rstrip() for line in found.split("\n")) == written
    assert missing == rest


def test_text_lost_from_the_log_stays_in_the_document() -> None:
    answer = "One.\n\nTwo w … (interrupted)\n\n> Stopped.\n"
    assert split_answer("\nOne.\n\nTwo words\nand mo\n", answer) == (
        "\nOne.\n\nTwo words\nand mo",
        "\n\n> Stopped.\n",
    )


@pytest.mark.parametrize("shown", ["\nAnother answer.\n", "\nOne.\n\n2.\n\nTwo.\n"])
def test_nothing_is_written_into_an_edited_answer(shown: str) -> None:
    assert split_answer(shown, ANSWER) == (shown.rstrip(), "\n")


def test_an_answer_is_recognised_by_its_lines() -> None:
    assert has_answer("\nOne.\n\nTwo.\n\nMine.\n", "One.\n\nTwo.\n")
    assert not has_answer("\nOne.\n", "One.\n\nTwo.\n")
    assert not has_answer("", "")


def log(*events: RecordedEvent) -> list[bytes]:
    return [
        event_codec.encode(Envelope("s-1", at, "2026-01-01T00:00:00.000Z", event, turn_id="t-1"))
        for at, event in enumerate(events, start=1)
    ]


def test_the_last_turn_is_restored_from_the_log() -> None:
    before = (
        UserInput("a", "", ""),
        AssistantTextStart("p-1"),
        AssistantTextEnd("p-1", "A."),
        ProcessingEnd("completed"),
    )
    now = (
        UserInput("b", "", ""),
        AssistantTextStart("p-2"),
        AssistantTextEnd("p-2", "B."),
        ProcessingEnd("interrupted"),
    )
    turn = last_turn(log(*before, *now), ChatTranscript())
    assert turn and (turn.message, turn.answer, turn.last, turn.is_over) == (
        "b",
        "B.\n\n> Stopped.\n",
        8,
        True,
    )
    assert last_turn([], ChatTranscript()) is None


def test_assistant_text_with_a_missed_start_is_written_completely_at_its_end_event() -> None:
    transcript = ChatTranscript()
    turn = last_turn(log(UserInput("b", "", ""), AssistantTextStart("p-1")), transcript)
    assert turn and turn.open_parts == {"p-1"} and not turn.is_over
    transcript.set_missed_starts(turn.open_parts)
    parts = [
        transcript.feed(Envelope("s-1", seq, "2026-01-01T00:00:00.000Z", event, turn_id="t-1"))
        for seq, event in (
            (None, Delta("assistant_text_delta", "p-1", 4, "end.")),
            (3, AssistantTextEnd("p-1", "The end.")),
        )
    ]
    assert parts == ["", "The end.\n"]
