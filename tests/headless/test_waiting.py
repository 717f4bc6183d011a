"""The line about a wait: on a terminal only, with its time, and gone at the end."""

from __future__ import annotations

import io
import threading

import pytest

from agent_ls.cli.waiting import waiting_line


class Terminal(io.StringIO):
    def __init__(self, *, is_terminal: bool, lines: int = 1) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self._lines = lines
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("Checking") >= self._lines:
            self.shown.set()
        return written


def test_a_long_wait_is_told_with_its_time_and_cleared_at_the_end() -> None:
    terminal = Terminal(is_terminal=True, lines=2)
    with waiting_line("Checking", terminal, first_s=0.01, each_s=0.01):
        assert terminal.shown.wait(60)

    said = terminal.getvalue().split("\r\x1b[K")
    assert said[0] == "" and said[1].startswith("Checking\u2026 0 s") and said[-1] == ""


@pytest.mark.parametrize(
    ("is_terminal", "first_s"), [(True, 3600), (False, 0)], ids=["short", "no person reads"]
)
def test_a_short_wait_and_one_that_no_person_sees_have_no_line(is_terminal: bool, first_s: float) -> None:
    terminal = Terminal(is_terminal=is_terminal)
    with waiting_line("Checking", terminal, first_s=first_s):
        pass
    assert terminal.getvalue() == ""


def test_the_line_ends_when_the_command_fails_and_the_failure_is_kept() -> None:
    terminal = Terminal(is_terminal=True)
    with pytest.raises(LookupError), waiting_line("Checking", terminal, first_s=0.01, each_s=0.01):
        assert terminal.shown.wait(60)
        raise LookupError
    assert terminal.getvalue().endswith("\r\x1b[K")
