"""Who is taken to wait for a person, by what the processes in the foreground sleep in."""

from __future__ import annotations

import os
from math import inf

import pytest

from agent_ls.relay.waiting import Calls, Waiting, is_asking

SHELL_THAT_WAITS: Calls = [(1, -1, 0, inf)]
DEVICE = 0x8800


@pytest.mark.req("H5")
def test_a_password_is_asked_for_when_the_program_that_asks_may_not_be_looked_at() -> None:
    sudo_below_a_shell = [SHELL_THAT_WAITS, None]

    assert is_asking(sudo_below_a_shell, DEVICE, is_secret=True)
    assert not is_asking(sudo_below_a_shell, DEVICE, is_secret=False)
    assert not is_asking([SHELL_THAT_WAITS], DEVICE, is_secret=True)
    assert is_asking([], DEVICE, is_secret=True)


POLL = {"x86_64": 7, "aarch64": 73}.get(os.uname().machine, 0)

pytest_poll = pytest.mark.skipif(not POLL, reason="what calls are is not known of this machine")


def polls(limit_s: float) -> list[Calls | None]:
    return [[(1, -1, 0, inf)], [(2, POLL, 0, limit_s)]]


def seems(waiting: Waiting, found: list[Calls | None], quiet_s: float, *, is_prompt: bool = True) -> bool:
    return waiting.is_so(found, DEVICE, is_secret=False, is_prompt=is_prompt, quiet_s=quiet_s)


@pytest_poll
@pytest.mark.req("H5")
def test_who_waits_for_several_things_without_a_limit_waits_for_his_user_as_a_prompt_does() -> None:
    assert seems(Waiting(), polls(inf), 0.25)
    assert not seems(Waiting(), polls(inf), 0.25, is_prompt=False)
    assert Waiting().is_so(polls(3.0), DEVICE, is_secret=True, is_prompt=False, quiet_s=0.25)


@pytest_poll
@pytest.mark.req("H5")
def test_who_is_about_to_go_on_by_himself_is_not_waited_for_unless_he_does_not_for_long() -> None:
    waiting = Waiting()
    assert [seems(waiting, polls(3.0), quiet) for quiet in (0.25, 2.9, 3.1, 3.3)] == [
        False,
        False,
        False,
        True,
    ]
    assert seems(Waiting(), polls(0.1), 0.5)  # a loop that looks about itself, and waits for its user
    assert [seems(Waiting(), polls(60.0), quiet) for quiet in (5.0, 5.3)] == [False, True]


@pytest_poll
@pytest.mark.req("H5")
def test_who_has_printed_by_himself_while_he_seemed_to_wait_is_believed_after_twice_that_time() -> None:
    waiting = Waiting()
    assert seems(waiting, polls(inf), 1.0)
    waiting.printed(2.0)
    assert [seems(waiting, polls(inf), quiet) for quiet in (0.25, 3.9, 4.0)] == [False, False, True]
    for _ in range(4):  # each shorter pause makes the next one count for less
        assert not seems(waiting, polls(inf), 0.3)
        waiting.printed(0.3)
    assert seems(waiting, polls(inf), 0.7)


@pytest_poll
@pytest.mark.req("H5")
def test_what_is_printed_for_a_key_or_while_at_work_is_no_habit() -> None:
    waiting = Waiting()
    assert seems(waiting, polls(inf), 0.25)
    waiting.typed()
    waiting.printed(2.0)
    assert seems(waiting, polls(inf), 0.25)
    waiting.printed(0.0)
    assert not seems(waiting, [SHELL_THAT_WAITS], 20.0)
    waiting.printed(20.0)
    assert seems(waiting, polls(inf), 0.25)
