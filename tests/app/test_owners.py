"""Who wants a session that another process has just now: what is waited for, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from agent_ls.app.errors import OwnerSilentError, SessionBusyError
from agent_ls.app.live_session import LiveSession
from agent_ls.app.owners import ANSWER_MS, BRIEF_MS, ENDING_MS, Opener, Owners
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession, SessionStore
from tests.support.fake_clock import FakeClock

ID = "s-1"


class JumpingClock(FakeClock):
    """Who sleeps wakes at once, so much later."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


class Stage:
    """A session that somebody else has open: a lock knows no processes, only descriptors."""

    def __init__(self, root: Path) -> None:
        self.clock = JumpingClock()
        self.store = SessionStore(root, on_failure=lambda name, error: None)
        self.opened = self.store.create(Header(ID, self.clock.now(), "/w", "fake", "m"))
        self.owners = Owners(self.store, self.clock, list, lambda work: None, self._save)
        self.then: list[Callable[[], None]] = []
        """What happens after each try that found the session busy, before anything else is looked at."""

    async def _save(self) -> None:
        return None

    async def open_now(self, session_id: str, opener: Opener) -> LiveSession:
        try:
            found = opener(session_id)
        except Exception as error:
            if self.then:
                self.then.pop(0)()
            raise SessionBusyError(session_id) from error
        return cast(LiveSession, found)

    async def wait(self) -> bool:
        """As an opening waits; whether it got the session."""
        begun_ms = self.clock.monotonic_ms()
        while True:
            try:
                await self.open_now(ID, self.store.open)
                return True
            except SessionBusyError:
                if not await self.owners.is_worth_waiting(ID, begun_ms):
                    return False

    def later(self, milliseconds: int, then: Callable[[], None]) -> None:
        """`then`, in the moment between the first look at the lock and the next thing that is looked at."""

        def happens() -> None:
            self.clock.advance(milliseconds / 1000)
            then()

        self.then.append(happens)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.req("R4", "H10")
async def test_who_opens_waits_a_moment_for_an_owner_that_lives(stage: Stage) -> None:
    assert not await stage.wait()
    assert BRIEF_MS <= stage.clock.monotonic_ms() <= 2 * BRIEF_MS


@pytest.mark.req("R4", "H10")
async def test_who_opens_waits_longer_for_an_owner_that_is_about_to_end(stage: Stage) -> None:
    stage.opened.lock.tell_ending()
    assert not await stage.wait()
    assert ENDING_MS <= stage.clock.monotonic_ms() <= 2 * ENDING_MS


@pytest.mark.req("R4", "H10")
@pytest.mark.parametrize("is_ending", [False, True], ids=["living", "ending"])
async def test_who_opens_gets_what_was_let_go_right_after_it_was_found_busy(
    stage: Stage, is_ending: bool
) -> None:
    if is_ending:
        stage.opened.lock.tell_ending()
    stage.later(2 * BRIEF_MS, stage.opened.close)
    assert await stage.wait()


@pytest.mark.req("R4", "H10")
async def test_who_takes_over_gets_what_was_let_go_right_after_it_was_found_busy(stage: Stage) -> None:
    stage.later(0, lambda: None)
    stage.later(ANSWER_MS + BRIEF_MS, stage.opened.close)
    taken = cast(OpenSession, await stage.owners.take_over(ID, stage.open_now, force=False))
    assert taken.lock.is_ours() and taken.taken_from


@pytest.mark.req("R4", "H10")
async def test_who_takes_over_says_that_an_owner_does_not_answer(stage: Stage) -> None:
    with pytest.raises(OwnerSilentError):
        await stage.owners.take_over(ID, stage.open_now, force=False)
    assert ANSWER_MS <= stage.clock.monotonic_ms() < ENDING_MS
