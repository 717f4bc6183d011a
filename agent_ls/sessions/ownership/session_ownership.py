"""Ownership of sessions: follow sessions of other processes, hand over our own, and take over others.

The lock file determines the owner. When a session is handed over, it ends in this process in the same way as
when the process exits: a turn that waits for the user is suspended, and any other turn is interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.loop.seams import Clock
from agent_ls.services.errors import OwnerSilentError, SessionOwnedError
from agent_ls.services.store_errors import store_errors
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.ownership.follower import SessionFollower
from agent_ls.store import handover
from agent_ls.store.errors import StoreError
from agent_ls.store.layout import lock_path
from agent_ls.store.locks import Owner, make_own_owner, recorded_owner
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.text import to_display_line

log = logging.getLogger(__name__)

PROGRAM_MAX_CHARS = 60
WATCH_S = 0.25
SAVE_S = 1.0  # maximum time for saving; the process that takes over waits for it
POLL_S = 0.05
BRIEF_MS = 1000  # time limit for opening: the owner may not have noticed yet that its editor was closed
ENDING_MS = 10_000  # time limit for an ending owner, which stops commands with SIGTERM and later SIGKILL
ANSWER_MS = 5000  # time limit for the owner's answer to a take-over; it checks for requests each WATCH_S

Opener: TypeAlias = Callable[[str], OpenSession]
"""Opens the session with this id on disk, as SessionStore.open does. Blocks."""
OpenNow: TypeAlias = Callable[[str, Opener], Awaitable[LiveSession]]
"""Opens the session in this process. Raises SessionOwnedError at once if another process has it open."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """A followed session that is open in this process now and publishes its own events."""

    live: LiveSession


@dataclass(frozen=True, slots=True)
class Released:
    """A session that another process took over; its events come from the follower now."""

    session: SessionFollower


@dataclass(frozen=True, slots=True)
class Reopened:
    """A stored session that was opened here. A client may have followed it until it was closed."""

    live: LiveSession


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """A followed session that has another owner, or none."""

    session: SessionFollower


AccessChange: TypeAlias = Acquired | Released | Reopened | OwnerChanged


class SessionOwnership:
    """Manages followed sessions and take-overs.

    `live` returns the sessions of this process; `start` runs a background task. `save` makes the editor save
    documents that only the agent changed, because a new owner sees files, not unsaved text. It must not raise.
    """

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        live: Callable[[], Sequence[LiveSession]],
        start: TaskStarter,
        save: Callable[[], Awaitable[object]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._live = live
        self._start = start
        self._save = save
        self._followers: dict[str, SessionFollower] = {}
        self._listeners: list[Callable[[AccessChange], None]] = []

    def set_program_name(self, program: str) -> None:
        """Set the name that other processes display for this owner, for sessions opened from now on."""
        self._store.program = to_display_line(program, PROGRAM_MAX_CHARS)

    def watch(self, listener: Callable[[AccessChange], None]) -> Callable[[], None]:
        """Call `listener` on the event loop's thread after each change of a session's owner or availability.

        The argument of `listener` describes the change. Returns a function that removes the listener.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # -- sessions of other processes

    def find_follower(self, session_id: str) -> SessionFollower | None:
        """Return the follower of the session; None if this process does not follow the session."""
        return self._followers.get(session_id)

    def with_hunks(
        self, ids: Sequence[str] | None, path: str | None, turn_id: str | None
    ) -> SessionFollower | None:
        """Return a followed session that has a hunk of `ids`, or undecided hunks of `path` and `turn_id`.

        `path` or `turn_id` None: hunks of all files or turns. Returns None if no followed session has such
        hunks.
        """
        for session in self._followers.values():
            if session.has_hunk(ids or ()) or (
                (path or turn_id) and session.open_hunks(path=path, turn_id=turn_id)
            ):
                return session
        return None

    async def is_owned(self, session_id: str) -> bool:
        """Return whether another process has the session open now; False for an unknown session."""
        try:
            owner = await anyio.to_thread.run_sync(self._store.owner, session_id)
        except StoreError:
            return False
        return owner is not None and not owner.is_same(make_own_owner())

    async def open_follower(self, session_id: str) -> SessionFollower | None:
        """Return a follower of another process's session, read up to the current end of its log.

        Returns None if, while the log was read, this process opened the session or the last subscriber left.
        The caller must then open the session or call this function again. The follower reads the log until its
        last subscriber leaves. A new follower has no subscriber yet.

        Raises:
            UnknownSessionError, AppError.
        """
        if session := self._followers.get(session_id):
            await session.catch_up()
        else:
            with store_errors(session_id):
                folder = await anyio.to_thread.run_sync(self._store.folder, session_id)
                if session_id in self._followers or any(live.id == session_id for live in self._live()):
                    return None
                # Register the follower before it reads the log: if the session is opened here during the read,
                # this ends the follower.
                session = self._followers[session_id] = self._create_follower(session_id, folder)
                try:
                    await session.catch_up()
                except BaseException:
                    session.end()
                    raise
            if self._followers.get(session_id) is session:
                self._start(session.run)
        return session if self._followers.get(session_id) is session else None

    # -- sessions of this process

    async def watch_handovers(self) -> None:
        """Hand over sessions that other processes request, and release sessions that they have already taken.

        Runs until cancelled.
        """
        while True:
            await self._clock.sleep(WATCH_S)
            if held := [live for live in self._live() if live.id not in self._followers]:
                wanted = await anyio.to_thread.run_sync(_find_askers, held)
                for live in held:
                    if wanted.get(live.id):
                        # tells the asking process that its request was received
                        live.stored.opened.lock.announce_release()
                if any(wanted.values()):
                    with anyio.move_on_after(SAVE_S):
                        await self._save()
                for live in held:
                    if live.id in wanted and not live.ended.is_set():
                        log.info("session %s is handed over to another process", live.id)
                        self.give_up(live, wanted[live.id])

    def give_up(self, live: LiveSession, to: Owner | None = None) -> None:
        """End the session in this process. From now on, its subscribers get its events from the log.

        `to` is the new owner, None if it is not known. A second call for the same session does nothing.
        """
        if live.id in self._followers or live.ended.is_set():
            return
        session = self._create_follower(live.id, live.folder, since=live.session.last_seq)
        session.owner = to
        live.taken_by = f"Another process{f' ({to})' if to else ''}"
        self._register_follower(session)
        self._notify_listeners(Released(session))
        live.scope.cancel()

    def check_owned(self, live: LiveSession) -> None:
        """Check that this process still owns the session.

        Raises:
            SessionOwnedError: another process has taken the session, and this was not noticed until now.
        """
        if not live.is_ours:
            self.give_up(live)
            raise SessionOwnedError(live.id)

    def check_all_owned(self) -> None:
        """Check that this process still owns all its sessions. Raises SessionOwnedError."""
        for live in self._live():
            if live.id not in self._followers:
                self.check_owned(live)

    async def report_open(self, live: LiveSession) -> None:
        """Report that the session is open here. Its follower first publishes the events that it has not
        published yet, then ends.
        """
        session = self._followers.pop(live.id, None)
        if session:
            self._notify_listeners(Acquired(live))
            # This takes a short time. If `finish` were cancelled, subscribers would wait for events that are
            # never published.
            with anyio.CancelScope(shield=True):
                await session.finish(live.session.last_seq)
        else:
            self._notify_listeners(Reopened(live))

    # -- acquiring a session

    async def is_worth_waiting(self, session_id: str, begun_ms: int) -> bool:
        """Return whether to retry opening a session, because the process that owns it may end soon.

        Waits POLL_S seconds before it returns True. `begun_ms` is the monotonic time of the first try.
        Returns False if the time limit from `_patience_ms` has passed since then.
        """
        with store_errors(session_id):
            owner = await anyio.to_thread.run_sync(self._store.owner, session_id)
        if self._clock.monotonic_ms() - begun_ms > _patience_ms(owner, BRIEF_MS):
            return False
        await self._clock.sleep(POLL_S)
        return True

    async def take_over(self, session_id: str, open_now: OpenNow, *, force: bool) -> LiveSession:
        """Ask the owner to hand the session over, and open the session.

        With `force`, take the session from an owner that is alive but does not answer.

        Raises:
            OwnerSilentError: the owner did not answer, and `force` is False.
            SessionOwnedError: another process got it first, or this system cannot replace open
            files.
            UnknownSessionError, AppError.
        """
        begun_ms = self._clock.monotonic_ms()
        asked: Owner | None = None
        while True:
            try:
                return await open_now(session_id, partial(_open_stored, self._store.open, asked))
            except SessionOwnedError:
                owner = await self._request_handover(session_id, asked)
            asked = asked or owner
            if owner and not owner.is_same(asked):
                raise SessionOwnedError(session_id, str(owner))
            if self._clock.monotonic_ms() - begun_ms > _patience_ms(owner, ANSWER_MS):
                await self._withdraw_request(session_id)
                if asked is None:
                    raise SessionOwnedError(session_id)
                if not force:
                    raise OwnerSilentError(session_id, str(asked))
                return await open_now(
                    session_id, partial(_open_stored, partial(self._store.seize, asked=asked), asked)
                )
            await self._clock.sleep(POLL_S)

    # -- internal

    async def _request_handover(self, session_id: str, before: Owner | None) -> Owner | None:
        """Return the owner that the lock file names, even if its process has ended.

        Ask this owner to hand the session over, unless an earlier try asked a different owner: `before` (None:
        no owner was asked yet).
        """

        def ask() -> Owner | None:
            folder = self._store.folder(session_id)
            owner = recorded_owner(lock_path(folder))
            is_another = owner is not None and before is not None and not owner.is_same(before)
            if owner and not is_another and not handover.is_asked(folder, owner):
                handover.request_handover(folder, owner, make_own_owner(self._store.program))
            return owner

        with store_errors(session_id):
            return await anyio.to_thread.run_sync(ask)

    async def _withdraw_request(self, session_id: str) -> None:
        with store_errors(session_id):
            folder = await anyio.to_thread.run_sync(self._store.folder, session_id)
            await anyio.to_thread.run_sync(handover.delete_request, folder)

    def _create_follower(self, session_id: str, folder: Path, since: int = 0) -> SessionFollower:
        def idle() -> None:
            if self._followers.get(session_id) is session:
                del self._followers[session_id]

        def changed() -> None:
            if self._followers.get(session_id) is session:
                self._notify_listeners(OwnerChanged(session))

        session = SessionFollower(
            session_id, folder, self._clock, since=since, on_idle=idle, on_owner=changed
        )
        return session

    def _register_follower(self, session: SessionFollower) -> None:
        self._followers[session.id] = session
        self._start(session.run)

    def _notify_listeners(self, change: AccessChange) -> None:
        for listener in tuple(self._listeners):
            listener(change)


def _patience_ms(owner: Owner | None, of_living_ms: int) -> int:
    """Return how long to keep trying to open a session, in milliseconds.

    The limit is ENDING_MS if the owner is exiting, or if it is None (it has released the session since the last
    try). Otherwise it is `of_living_ms`.
    """
    return of_living_ms if owner and not owner.is_ending else ENDING_MS


def _open_stored(opener: Opener, owner: Owner | None, session_id: str) -> OpenSession:
    """Open the session with `opener`, and record `owner` as its former owner. Blocks."""
    return replace(opener(session_id), taken_from=owner)


def _find_askers(held: Sequence[LiveSession]) -> dict[str, Owner | None]:
    """Return the processes that request sessions of this process, by session id. Blocks.

    None: another process has already taken the session.
    """
    wanted: dict[str, Owner | None] = {}
    for live in held:
        if not live.is_ours:
            wanted[live.id] = None
        elif handover.is_asked(live.folder, live.stored.opened.lock.owner):
            wanted[live.id] = handover.find_asker(live.folder)
    return wanted
