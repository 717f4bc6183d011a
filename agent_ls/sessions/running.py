"""The sessions that are open in this process: one task for each, in a task group that also runs background work.

This module does not create sessions: `sessions/manager.py` hands each new one to `start`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from agent_ls.features.recording.session_recordings import SessionRecordings
from agent_ls.loop.events.types import State
from agent_ls.services.errors import NotRunningError
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.store.errors import OwnershipLostError
from agent_ls.store.sessions import OpenSession

log = logging.getLogger(__name__)


class RunningSessions:
    """The live sessions by id, and the task group that runs them."""

    def __init__(self) -> None:
        self.live: dict[str, LiveSession] = {}
        self._group: TaskGroup | None = None

    def check_running(self) -> None:
        """Check that sessions can be started.

        Raises:
            NotRunningError: `run` has not started, or has ended.
        """
        if self._group is None:
            raise NotRunningError

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run the sessions until this task is cancelled; then end all of them in an orderly way."""
        try:
            async with anyio.create_task_group() as self._group:
                task_status.started()
                try:
                    await anyio.sleep_forever()
                finally:
                    # First announce that the sessions will end: a process that opens one of them then waits until
                    # it has ended.
                    for live in self.live.values():
                        live.stored.opened.lock.announce_release()
        finally:
            self._group = None

    def in_background(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a short task in the background; its failure does not affect the sessions."""

        async def guarded() -> None:
            try:
                await work()
            except Exception:  # a background task that fails must not end the sessions
                log.exception("a background task failed")

        if self._group:
            self._group.start_soon(guarded)

    def start(
        self,
        live: LiveSession,
        opened: OpenSession,
        review: ReviewService,
        recordings: SessionRecordings,
        give_up: Callable[[LiveSession], object],
    ) -> None:
        """Start the task of a session. `give_up` is called with a session that another process has taken over.

        Raises:
            NotRunningError.
        """
        if self._group is None:
            raise NotRunningError
        self.live[live.session.id] = live
        self._group.start_soon(self._run_session, live, opened, review, recordings, give_up)

    async def _run_session(
        self,
        live: LiveSession,
        opened: OpenSession,
        review: ReviewService,
        recordings: SessionRecordings,
        give_up: Callable[[LiveSession], object],
    ) -> None:
        """Run the task of one session, from its start to the last line of its log."""
        has_run = False
        try:
            with live.scope:
                await live.environment.initialize()
                await live.prepare()
                has_run = True
                await live.session.run()
        except Exception:  # outermost boundary of the supervisor: one session must not end the others (R5)
            if live.is_ours:
                log.exception("session %s ended because of an internal error", live.session.id)
            else:
                log.warning("session %s was taken by force by another process", live.session.id)
        finally:
            if not live.is_ours:
                give_up(live)
            # This takes a limited time: processes get SIGTERM and, two seconds later, SIGKILL.
            with anyio.CancelScope(shield=True):
                if live.is_ours and not has_run:
                    await live.session.end_before_run()
                await live.cleanup()
            with suppress(OwnershipLostError):
                for positions in review.state.unrecorded_positions(live.session.id):
                    live.record_hunk_positions(positions)
            if live.is_ours and (texts := review.state.texts_with_hunks(live.session.id)):
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(live.stored.keep_texts, texts)
            if not live.is_ours:  # another process has taken the session over during the cleanup
                give_up(live)
            opened.close()
            if live.scope.cancel_called:  # another process manages the session's hunks now
                review.state.forget(live.session.id)
            recordings.close(live.session.id)
            self.live.pop(live.session.id, None)
            live.ended.set()

    def find(self, session_id: str) -> LiveSession | None:
        return self.live.get(session_id)

    def find_open(self, session_id: str) -> LiveSession | None:
        """Return a live session that no other process is taking over."""
        live = self.live.get(session_id)
        return live if live and not live.scope.cancel_called else None

    def find_for_notices(self, session_id: str) -> LiveSession | None:
        """Return a session that can still receive notices; None after its SESSION_END."""
        live = self.live.get(session_id)
        return live if live and live.session.state != "CLOSED" else None

    def progress(self) -> list[tuple[State, int]]:
        """Return the state and the last event number of each open session."""
        return [(live.session.state, live.session.last_seq) for live in self.live.values()]
