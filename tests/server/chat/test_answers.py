"""Interpretation of a free-text answer to a question of the agent."""

from __future__ import annotations

import pytest

from agent_ls.server.chat.words import match_choices

pytestmark = pytest.mark.req("H8", "L15")

CHOICES = ("Go on", "Stop")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("stop.", "Stop"),
        (" STOP ", "Stop"),
        ("1", "Go on"),
        ("go on, but slowly", "go on, but slowly"),
        ("3", "3"),
    ],
)
def test_a_choice_is_recognised_by_its_text_or_its_number(words: str, meant: str) -> None:
    assert match_choices(words, CHOICES) == (meant,)


def test_several_choices_are_accepted_if_the_question_allows_multiple() -> None:
    assert match_choices("2, go on", CHOICES, multiple=True) == ("Stop", "Go on")
    assert match_choices("stop, and tell me why", CHOICES, multiple=True) == ("stop, and tell me why",)
