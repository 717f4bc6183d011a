"""The task of a session. It opens and ends the session, so that any task of the program may do so too.

A task group has to be left by the task that entered it. Web frameworks open, use and close a session in different
tasks; therefore the groups of a session belong to a task of its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import anyio
import anyio.to_thread

from agent_ls.environments.wrappers.own import OwnEnvironment
from agent_ls.library.errors import CleanupError
from agent_ls.library.replies import ProgramCallbacks, Replies
from agent_ls.library.streams import add_origins
from agent_ls.loop.errors import SessionClosedError
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.subscription import Subscription
from agent_ls.loop.events.types import Envelope
from agent_ls.own_code import interrupts_program
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager

FORKED = "this session was opened before the process was forked: open it in the process that uses it"

RESUME = "open it again by resume=session.id"
UNSTORED = "open a new session: one with stored=False cannot be resumed"

_running: set[asyncio.Task[None]] = set()  # an event loop keeps only weak references to its tasks


OPENING_BYTES = 1024 * 1024
"""Limit for events that wait for the first reader. A program that never reads events does not collect them."""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session with the events of its opening: those `earlier` than the subscription `events`."""

    live: LiveSession
    earlier: Sequence[Envelope]
    events: Subscription


class SessionOwner:
    """Owns the task of one session. `clean_up` runs after the session has ended.

    `environment` is the program's own environment, if there is one.
    """

    def __init__(
        self,
        manager: SessionManager,
        open_live: Callable[[], Awaitable[LiveSession]],
        callbacks: ProgramCallbacks,
        clean_up: Callable[[], None],
        *,
        environment: OwnEnvironment | None = None,
        is_stored: bool = True,
    ) -> None:
        self.manager = manager
        self._environment = environment
        self.is_stored = is_stored
        self._open_live = open_live
        self._callbacks = callbacks
        self._clean_up = clean_up
        self._loop = _needed_loop()
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._opened: asyncio.Future[OpenedSession] = self._loop.create_future()
        self._is_closing = asyncio.Event()
        self._opening = anyio.CancelScope()
        self._task = self._loop.create_task(self._run(), name="agent-ls session")
        _running.add(self._task)
        _watch_end_of_program()
        self._task.add_done_callback(_running.discard)

    async def opened(self) -> OpenedSession:
        """Return the session when it is open. A cancelled caller leaves nothing open.

        Raises:
            AppError: the session cannot be opened.
        """
        try:
            return await asyncio.shield(self._opened)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._end()
            raise

    async def close(self) -> None:
        """End the session, and wait until its processes have ended. May be called repeatedly, from any task.

        Raises:
            CleanupError: the session has ended, but the `cleanup` of the program's environment failed.
        """
        await self._end()
        if self._environment and (error := self._environment.cleanup_error):
            raise CleanupError(
                f"the session has ended, but its environment was not cleaned up: {error}",
                "correct this method of the program, and close what it left open",
            ) from error

    async def _end(self) -> None:
        if self._process != os.getpid():
            return  # the session goes on in the process that opened it
        self.check_place()
        self._is_closing.set()
        self._opening.cancel()  # does nothing to an open session
        await asyncio.wait((self._task,))
        if not self._task.cancelled() and (failure := self._task.exception()):
            raise failure

    @property
    def is_closed(self) -> bool:
        return self._is_closing.is_set() or self._task.done()

    def check(self, session_id: str) -> None:
        """Raise an error if the session cannot be used, or not from here.

        Raises:
            SessionClosedError: the session was closed.
            RuntimeError: the caller is in another process, thread or event loop.
        """
        self.check_place()
        if self.is_closed:
            raise self.closed_error(session_id)

    def closed_error(self, session_id: str) -> SessionClosedError:
        """Return the error of a session that has ended, whose hint says how the program goes on."""
        hint = RESUME if self.is_stored else UNSTORED
        return SessionClosedError(session_id, hint, is_stored=self.is_stored)

    def check_place(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(FORKED)
        if self._loop is _running_loop():
            return
        if self._thread != threading.get_ident():
            raise RuntimeError(
                "this session belongs to the event loop of another thread: call its methods there by "
                "asyncio.run_coroutine_threadsafe or loop.call_soon_threadsafe, or use open_session_sync"
            )
        raise RuntimeError(
            f"this session belongs to another event loop, which has ended: {RESUME if self.is_stored else UNSTORED}"
        )

    async def _run(self) -> None:
        refused: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(self.manager.run)
                live: LiveSession | None = None
                try:
                    with self._opening:
                        live = await self._open_live()
                except Exception as error:  # raised where the program waits, without the group around it
                    refused = error
                if live:
                    await _know_origins(live)
                    tasks.start_soon(Replies(live, self.manager.review, self._callbacks, tasks).run)
                    opened = await _with_events(live)
                    if not self._opened.done():
                        self._opened.set_result(opened)
                    await self._is_closing.wait()
                    live.session.cut_reason = "aborted"
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as error:
            if not interrupts_program(error):
                raise
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._clean_up)
            if not self._opened.done():
                if refused:
                    self._opened.set_exception(refused)
                else:
                    self._opened.cancel()


@contextmanager
def cleanup_after(error: BaseException | None) -> Iterator[None]:
    """Let `error`, which left the block of a session, pass before an error of the cleanup, which is in the log."""
    try:
        yield
    except CleanupError:
        if error is None:
            raise


async def _know_origins(live: LiveSession) -> None:
    """Let the requests that an earlier process stored say which session and turn they are of."""
    if requests := (*live.approver.pending(), *live.session.questions.pending()):
        try:
            lines = await anyio.to_thread.run_sync(live.events_since, 0)
        except OSError:
            return  # the session reports a log that cannot be read
        add_origins(requests, lines)


async def _with_events(live: LiveSession) -> OpenedSession:
    session, stored = live.session, live.stored.opened.stored
    session.start()
    events = session.subscribe()
    events.limit_queue(OPENING_BYTES)
    begun = stored.last_seq if stored else 0
    lines = await anyio.to_thread.run_sync(live.events_since, begun, session.last_seq)
    return OpenedSession(live, [it for it in map(event_codec.decode, lines) if it], events)


@cache
def _watch_end_of_program() -> None:
    """End sessions whose loop a KeyboardInterrupt has left; their threads would keep the process running."""

    def watch() -> None:
        threading.main_thread().join()
        for loop in {task.get_loop() for task in tuple(_running)}:
            if not loop.is_running() and not loop.is_closed():
                loop.run_until_complete(_cancel_all())

    threading.Thread(target=watch, name="agent-ls: end of the program").start()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch_end_of_program.cache_clear)


def _needed_loop() -> asyncio.AbstractEventLoop:
    loop = _running_loop()
    if loop is None:
        raise RuntimeError(
            "a session needs a running event loop of asyncio: use asyncio.run, or open_session_sync without one"
        )
    return loop


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
