"""Which process owns a session: sessions of others are read along here, given up when asked for, and taken over.

The lock decides; here is what is done about it. A session whose owner is asked to hand it over ends there as at the
end of that process: a turn that waits for a person is suspended, any other is interrupted (R4).
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

from agent_ls.app.errors import OwnerSilentError, SessionBusyError
from agent_ls.app.live_session import LiveSession
from agent_ls.app.reading_along import ReadAlong
from agent_ls.app.store_errors import store_errors
from agent_ls.loop.seams import Clock
from agent_ls.loop.titles import plain
from agent_ls.store import handover
from agent_ls.store.errors import StoreError
from agent_ls.store.layout import lock_path
from agent_ls.store.locks import Owner, recorded_owner, this_process
from agent_ls.store.sessions import OpenSession, SessionStore

log = logging.getLogger(__name__)

PROGRAM_MAX_CHARS = 60
WATCH_S = 0.25
SAVE_S = 1.0  # of the two seconds that an owner has
POLL_S = 0.05
BRIEF_MS = 1000  # an editor that was just left may not have been noticed yet by its server
ENDING_MS = 10_000  # what ends commands: TERM, two seconds, KILL; and a machine may be slow
ANSWER_MS = 5000  # the owner looks four times a second; after this it does nothing at all

Opener: TypeAlias = Callable[[str], OpenSession]
"""Opens the session of this id on the disk; as SessionStore.open. Blocks."""
OpenNow: TypeAlias = Callable[[str, Opener], Awaitable[LiveSession]]
"""Makes the session live if nobody else has it. Raises SessionBusyError at once if somebody has."""


@dataclass(frozen=True, slots=True)
class Came:
    """A session that was read along is open here now, and told by itself."""

    live: LiveSession


@dataclass(frozen=True, slots=True)
class Went:
    """A session of ours is another process's now, and told as its log tells."""

    session: ReadAlong


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """A session that is read along has another owner, or none."""

    session: ReadAlong


AccessChange: TypeAlias = Came | Went | OwnerChanged


class Owners:
    """`live` are the sessions of this process; `start` runs a task beside them.

    `save` has the editor save what only the agent changed, for a new owner sees files, not buffers. It must not raise.
    """

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        live: Callable[[], Sequence[LiveSession]],
        start: Callable[[Callable[[], Awaitable[None]]], None],
        save: Callable[[], Awaitable[object]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._live = live
        self._start = start
        self._save = save
        self._read: dict[str, ReadAlong] = {}
        self._listeners: list[Callable[[AccessChange], None]] = []

    def known_as(self, program: str) -> None:
        """What the user knows this process by; others are told it of the sessions that are opened from now on."""
        self._store.program = plain(program, PROGRAM_MAX_CHARS)

    def watch(self, listener: Callable[[AccessChange], None]) -> None:
        """Is told, on the event loop's thread, of each session that comes or goes while it is followed here."""
        self._listeners.append(listener)

    # -- sessions of others

    def elsewhere(self, session_id: str) -> ReadAlong | None:
        """The session, if another process owns it and it is followed here."""
        return self._read.get(session_id)

    def with_hunks(
        self, ids: Sequence[str] | None, path: str | None, turn_id: str | None
    ) -> ReadAlong | None:
        """A session of another process that these hunks belong to."""
        for session in self._read.values():
            if session.has_hunk(ids or ()) or (
                (path or turn_id) and session.open_hunks(path=path, turn_id=turn_id)
            ):
                return session
        return None

    async def is_owned(self, session_id: str) -> bool:
        """Whether another process has it open now; False for one that there is not, too."""
        try:
            owner = await anyio.to_thread.run_sync(self._store.owner, session_id)
        except StoreError:
            return False
        return owner is not None and not owner.is_same(this_process())

    async def read_along(self, session_id: str) -> ReadAlong | None:
        """A session that another process owns, read up to what its log holds now; None when it came to be ours, or
        was let go of by who followed it, while its log was read: then it is to be opened, or asked for again.

        It is read on while somebody is subscribed to it; nobody who is not gets it.

        Raises:
            UnknownSessionError, AppError.
        """
        if session := self._read.get(session_id):
            await session.catch_up()
        else:
            with store_errors(session_id):
                folder = await anyio.to_thread.run_sync(self._store.folder, session_id)
                if session_id in self._read or any(live.id == session_id for live in self._live()):
                    return None
                # Found here before it is read: who opens the session meanwhile ends this.
                session = self._read[session_id] = self._reader(session_id, folder)
                try:
                    await session.catch_up()
                except BaseException:
                    session.end()
                    raise
            if self._read.get(session_id) is session:
                self._start(session.run)
        return session if self._read.get(session_id) is session else None

    # -- sessions of ours

    async def look(self) -> None:
        """Hands over what others ask for, and gives up what they took, until cancelled."""
        while True:
            await self._clock.sleep(WATCH_S)
            if held := [live for live in self._live() if live.id not in self._read]:
                wanted = await anyio.to_thread.run_sync(_wanted, held)
                for live in held:
                    if wanted.get(live.id):
                        live.stored.opened.lock.tell_ending()  # who asks need not doubt that it is heard
                if any(wanted.values()):
                    with anyio.move_on_after(SAVE_S):
                        await self._save()
                for live in held:
                    if live.id in wanted and not live.ended.is_set():
                        log.info("session %s goes to another process", live.id)
                        self.give_up(live, wanted[live.id])

    def give_up(self, live: LiveSession, to: Owner | None = None) -> None:
        """It ends here, and is read along from now on by those who followed it. May be called again."""
        if live.id in self._read or live.ended.is_set():
            return
        session = self._reader(live.id, live.folder, since=live.session.last_seq)
        session.owner = to
        self._keep(session)
        self._tell(Went(session))
        live.scope.cancel()

    def demand(self, live: LiveSession) -> None:
        """
        Raises:
            SessionBusyError: another process has taken it; it was not noticed until now.
        """
        if not live.is_ours:
            self.give_up(live)
            raise SessionBusyError(live.id)

    def demand_all(self) -> None:
        """As `demand`, of all sessions of this process."""
        for live in self._live():
            if live.id not in self._read:
                self.demand(live)

    async def came(self, live: LiveSession) -> None:
        """It is open here now. Who read along goes on with it, without a gap."""
        session = self._read.pop(live.id, None)
        if session:
            self._tell(Came(live))
            with anyio.CancelScope(shield=True):  # short: else they would wait for what never comes
                await session.finish(live.session.last_seq)

    # -- how to get one

    async def is_worth_waiting(self, session_id: str, begun_ms: int) -> bool:
        """Whether the owner is about to end, or has ended since it was found busy; waits for a moment then."""
        with store_errors(session_id):
            owner = await anyio.to_thread.run_sync(self._store.owner, session_id)
        if self._clock.monotonic_ms() - begun_ms > _patience_ms(owner, BRIEF_MS):
            return False
        await self._clock.sleep(POLL_S)
        return True

    async def take_over(self, session_id: str, open_now: OpenNow, *, force: bool) -> LiveSession:
        """Asks the owner to hand it over. `force`: one that lives and does not answer is put out of its right.

        Raises:
            OwnerSilentError: it did not answer, and no `force`. SessionBusyError: another got it meanwhile, or files
            that are open cannot be replaced here. UnknownSessionError, AppError.
        """
        begun_ms = self._clock.monotonic_ms()
        asked: Owner | None = None
        while True:
            try:
                return await open_now(session_id, partial(_opened, self._store.open, asked))
            except SessionBusyError:
                owner = await self._ask(session_id, asked)
            asked = asked or owner
            if owner and not owner.is_same(asked):
                raise SessionBusyError(session_id, str(owner))
            if self._clock.monotonic_ms() - begun_ms > _patience_ms(owner, ANSWER_MS):
                await self._withdraw(session_id)
                if asked is None:
                    raise SessionBusyError(session_id)
                if not force:
                    raise OwnerSilentError(session_id, str(asked))
                return await open_now(
                    session_id, partial(_opened, partial(self._store.seize, asked=asked), asked)
                )
            await self._clock.sleep(POLL_S)

    # -- inside

    async def _ask(self, session_id: str, before: Owner | None) -> Owner | None:
        """Its owner as the lock file has it, alive or not; asked, unless it is another than the one `before`."""

        def ask() -> Owner | None:
            folder = self._store.folder(session_id)
            owner = recorded_owner(lock_path(folder))
            is_another = owner is not None and before is not None and not owner.is_same(before)
            if owner and not is_another and not handover.is_asked(folder, owner):
                handover.ask(folder, owner, this_process(self._store.program))
            return owner

        with store_errors(session_id):
            return await anyio.to_thread.run_sync(ask)

    async def _withdraw(self, session_id: str) -> None:
        with store_errors(session_id):
            folder = await anyio.to_thread.run_sync(self._store.folder, session_id)
            await anyio.to_thread.run_sync(handover.forget, folder)

    def _reader(self, session_id: str, folder: Path, since: int = 0) -> ReadAlong:
        def idle() -> None:
            if self._read.get(session_id) is session:
                del self._read[session_id]

        def changed() -> None:
            if self._read.get(session_id) is session:
                self._tell(OwnerChanged(session))

        session = ReadAlong(session_id, folder, self._clock, since=since, on_idle=idle, on_owner=changed)
        return session

    def _keep(self, session: ReadAlong) -> None:
        self._read[session.id] = session
        self._start(session.run)

    def _tell(self, change: AccessChange) -> None:
        for listener in self._listeners:
            listener(change)


def _patience_ms(owner: Owner | None, of_living_ms: int) -> int:
    """How long the session is tried for. An owner that is not there any more let go after it was found busy."""
    return of_living_ms if owner and not owner.is_ending else ENDING_MS


def _opened(opener: Opener, owner: Owner | None, session_id: str) -> OpenSession:
    """As `opener`; `owner` had it until now. Blocks."""
    return replace(opener(session_id), taken_from=owner)


def _wanted(held: Sequence[LiveSession]) -> dict[str, Owner | None]:
    """Those that others ask for, with who does; and those that they have taken (None). Blocks."""
    wanted: dict[str, Owner | None] = {}
    for live in held:
        if not live.is_ours:
            wanted[live.id] = None
        elif handover.is_asked(live.folder, live.stored.opened.lock.owner):
            wanted[live.id] = handover.asked_by(live.folder)
    return wanted
