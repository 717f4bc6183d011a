"""Processes that count as waiting for input, by the system calls in which the foreground processes sleep."""

from __future__ import annotations

import os
from math import inf

import pytest

from agent_ls.relay.input_wait import BlockedCalls, InputWaitDetector, is_reading_terminal

SHELL_THAT_WAITS: BlockedCalls = [(1, -1, 0, inf)]
DEVICE = 0x8800


@pytest.mark.req("H5")
def test_a_password_prompt_is_recognised_although_the_program_cannot_be_inspected() -> None:
    sudo_below_a_shell = [SHELL_THAT_WAITS, None]

    assert is_reading_terminal(sudo_below_a_shell, DEVICE, is_secret=True)
    assert not is_reading_terminal(sudo_below_a_shell, DEVICE, is_secret=False)
    assert not is_reading_terminal([SHELL_THAT_WAITS], DEVICE, is_secret=True)
    assert is_reading_terminal([], DEVICE, is_secret=True)


POLL = {"x86_64": 7, "aarch64": 73}.get(os.uname().machine, 0)

pytest_poll = pytest.mark.skipif(not POLL, reason="what calls are is not known of this machine")


def polls(limit_s: float) -> list[BlockedCalls | None]:
    return [[(1, -1, 0, inf)], [(2, POLL, 0, limit_s)]]


def seems(
    waiting: InputWaitDetector, found: list[BlockedCalls | None], quiet_s: float, *, is_prompt: bool = True
) -> bool:
    return waiting.judge(found, DEVICE, is_secret=False, is_prompt=is_prompt, quiet_s=quiet_s)


@pytest_poll
@pytest.mark.req("H5")
def test_a_program_that_polls_without_a_limit_at_a_prompt_waits_for_input() -> None:
    assert seems(InputWaitDetector(), polls(inf), 0.25)
    assert not seems(InputWaitDetector(), polls(inf), 0.25, is_prompt=False)
    assert InputWaitDetector().judge(polls(3.0), DEVICE, is_secret=True, is_prompt=False, quiet_s=0.25)


@pytest_poll
@pytest.mark.req("H5")
def test_a_program_that_will_continue_by_itself_counts_as_waiting_only_after_a_long_time() -> None:
    waiting = InputWaitDetector()
    assert [seems(waiting, polls(3.0), quiet) for quiet in (0.25, 2.9, 3.1, 3.3)] == [
        False,
        False,
        False,
        True,
    ]
    assert seems(
        InputWaitDetector(), polls(0.1), 0.5
    )  # a program that polls in a loop, but waits for its user
    assert [seems(InputWaitDetector(), polls(60.0), quiet) for quiet in (5.0, 5.3)] == [False, True]


@pytest_poll
@pytest.mark.req("H5")
def test_program_that_printed_without_input_counts_as_waiting_after_twice_that_pause() -> None:
    waiting = InputWaitDetector()
    assert seems(waiting, polls(inf), 1.0)
    waiting.note_output(2.0)
    assert [seems(waiting, polls(inf), quiet) for quiet in (0.25, 3.9, 4.0)] == [False, False, True]
    for _ in range(4):  # each shorter pause makes the next one count less
        assert not seems(waiting, polls(inf), 0.3)
        waiting.note_output(0.3)
    assert seems(waiting, polls(inf), 0.7)


@pytest_poll
@pytest.mark.req("H5")
def test_output_after_a_key_or_during_work_does_not_count_as_output_without_input() -> None:
    waiting = InputWaitDetector()
    assert seems(waiting, polls(inf), 0.25)
    waiting.note_typing()
    waiting.note_output(2.0)
    assert seems(waiting, polls(inf), 0.25)
    waiting.note_output(0.0)
    assert not seems(waiting, [SHELL_THAT_WAITS], 20.0)
    waiting.note_output(20.0)
    assert seems(waiting, polls(inf), 0.25)
