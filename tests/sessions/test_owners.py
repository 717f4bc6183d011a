"""Opening a session that another process is about to release: how long the opening waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from agent_ls.services.errors import OwnerSilentError, SessionOwnedError
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.ownership.session_ownership import (
    ANSWER_MS,
    BRIEF_MS,
    ENDING_MS,
    Opener,
    SessionOwnership,
)
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession, SessionStore
from tests.support.fake_clock import FakeClock

ID = "s-1"


class JumpingClock(FakeClock):
    """Sleeping returns at once and advances the clock."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


class Stage:
    """A session that another owner has open. Locks belong to file descriptors, so one process can hold both sides."""

    def __init__(self, root: Path) -> None:
        self.clock = JumpingClock()
        self.store = SessionStore(root, on_failure=lambda name, error: None)
        self.opened = self.store.create(Header(ID, self.clock.now(), "/w", "fake", "m"))
        self.owners = SessionOwnership(self.store, self.clock, list, lambda work: None, self._save)
        self.then: list[Callable[[], None]] = []
        """Called after each attempt that found the session busy."""

    async def _save(self) -> None:
        return None

    async def open_now(self, session_id: str, opener: Opener) -> LiveSession:
        try:
            found = opener(session_id)
        except Exception as error:
            if self.then:
                self.then.pop(0)()
            raise SessionOwnedError(session_id) from error
        return cast(LiveSession, found)

    async def wait(self) -> bool:
        """Wait as an opening does; return whether the session was acquired."""
        begun_ms = self.clock.monotonic_ms()
        while True:
            try:
                await self.open_now(ID, self.store.open)
                return True
            except SessionOwnedError:
                if not await self.owners.is_worth_waiting(ID, begun_ms):
                    return False

    def later(self, milliseconds: int, then: Callable[[], None]) -> None:
        """Plan that after the next attempt that finds the session busy, the clock advances and `then` is called."""

        def happens() -> None:
            self.clock.advance(milliseconds / 1000)
            then()

        self.then.append(happens)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.req("R4", "H10")
async def test_opening_waits_briefly_for_a_live_owner(stage: Stage) -> None:
    assert not await stage.wait()
    assert BRIEF_MS <= stage.clock.monotonic_ms() <= 2 * BRIEF_MS


@pytest.mark.req("R4", "H10")
async def test_opening_waits_longer_for_an_owner_that_is_about_to_end(stage: Stage) -> None:
    stage.opened.lock.announce_release()
    assert not await stage.wait()
    assert ENDING_MS <= stage.clock.monotonic_ms() <= 2 * ENDING_MS


@pytest.mark.req("R4", "H10")
@pytest.mark.parametrize("is_ending", [False, True], ids=["living", "ending"])
async def test_opening_succeeds_if_the_owner_releases_the_session_after_the_busy_check(
    stage: Stage, is_ending: bool
) -> None:
    if is_ending:
        stage.opened.lock.announce_release()
    stage.later(2 * BRIEF_MS, stage.opened.close)
    assert await stage.wait()


@pytest.mark.req("R4", "H10")
async def test_take_over_succeeds_if_the_owner_releases_the_session_after_the_busy_check(
    stage: Stage,
) -> None:
    stage.later(0, lambda: None)
    stage.later(ANSWER_MS + BRIEF_MS, stage.opened.close)
    taken = cast(OpenSession, await stage.owners.take_over(ID, stage.open_now, force=False))
    assert taken.lock.is_ours() and taken.taken_from


@pytest.mark.req("R4", "H10")
async def test_take_over_reports_an_owner_that_does_not_answer(stage: Stage) -> None:
    with pytest.raises(OwnerSilentError):
        await stage.owners.take_over(ID, stage.open_now, force=False)
    assert ANSWER_MS <= stage.clock.monotonic_ms() < ENDING_MS
