"""A session for programs without an event loop: the methods of AgentSession, which block and return their results."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from agent_ls.library.blocking import BlockingIterator, iterate_sync, run_sync
from agent_ls.library.opening import SessionOpening, open_session
from agent_ls.library.owner import FORKED, cleanup_after
from agent_ls.library.session import AgentSession
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.events.types import QueueItem, SessionEvent, State

P = ParamSpec("P")
T = TypeVar("T")
Method: TypeAlias = Callable[Concatenate[AgentSession, P], T]
BlockingMethod: TypeAlias = Callable[Concatenate["BlockingSession", P], T]


def _calling(method: Method[P, T]) -> BlockingMethod[P, T]:
    """Make a plain method of the session one that runs in the thread of the session's event loop."""

    @wraps(method)
    def call(self: BlockingSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._on_loop(method, self._session, *args, **kwargs)

    return call


def _waiting(method: Method[P, Awaitable[T]]) -> BlockingMethod[P, T]:
    """Make an async method of the session one that waits for its result."""

    @wraps(method)
    def call(self: BlockingSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._wait(method, self._session, *args, **kwargs)

    return call


class BlockingSession:
    """An `AgentSession` without `await`, returned by `open_session_sync`.

    Each method does what the method of AgentSession with this name does, and returns its result. `run` and `events`
    return ordinary iterators. The methods may be called from any thread. If a method is interrupted
    (KeyboardInterrupt), its work is cancelled; a turn that `run` started goes on until the session is closed.
    """

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._process = os.getpid()

    def close(self) -> None:
        """End the session, and wait until its processes have ended. The session stays stored, and can be resumed."""
        if self._process == os.getpid():  # a forked process leaves the session to the process that opened it
            run_sync(self._session.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with cleanup_after(error):
            self.close()

    def _wait(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._process != os.getpid():
            raise RuntimeError(FORKED)
        return run_sync(function, *args, **kwargs)

    def _on_loop(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a plain method of the session in the thread of its event loop."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self._wait(call)

    # --- facts

    @property
    def id(self) -> str:
        """The session's id. Pass it as `resume` to open the session again."""
        return self._session.id

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return self._on_loop(lambda: self._session.tools)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits for an answer. Call `wait_until_idle()` instead of asking repeatedly."""
        return self._on_loop(lambda: self._session.is_busy)

    @property
    def state(self) -> State:
        """IDLE, PROCESSING, CLOSED, or AWAITING_INPUT: the agent waits for an answer, or asked in its last text."""
        return self._on_loop(lambda: self._session.state)

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls so far, including those of subagents."""
        return self._on_loop(lambda: self._session.usage)

    @property
    def cost_usd(self) -> float | None:
        """Cost of all model calls so far, by published prices; None if the price of a call is unknown."""
        return self._on_loop(lambda: self._session.cost_usd)

    @property
    def known_cost_usd(self) -> float:
        """Cost of the model calls so far whose price is known: a lower bound of the cost if `cost_usd` is None."""
        return self._on_loop(lambda: self._session.known_cost_usd)

    @property
    def queue(self) -> tuple[QueueItem, ...]:
        """The queued messages, in order."""
        return self._on_loop(lambda: self._session.queue)

    # --- turns

    def run(
        self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = ""
    ) -> Iterator[SessionEvent]:
        """Start a turn with the user message `text`, and return the events of the turn up to `ProcessingEnd`."""
        return iterate_sync(self._on_loop(self._session.run, text, images=images, client_key=client_key))

    def events(self, *, since: int | None = None) -> Iterator[SessionEvent]:
        """Return all events from now on, of all turns, up to the end of the session; with `since` also earlier ones."""
        events = self._on_loop(self._session.events, since=since)
        return BlockingIterator(events, lambda: not self._session.is_busy or bool(self._session.pending()))

    ask = _waiting(AgentSession.ask)
    wait_until_idle = _waiting(AgentSession.wait_until_idle)
    expand = _waiting(AgentSession.expand)
    send = _calling(AgentSession.send)
    steer = _calling(AgentSession.steer)
    unsteer = _calling(AgentSession.unsteer)
    interrupt = _calling(AgentSession.interrupt)
    abort = _calling(AgentSession.abort)
    compact = _waiting(AgentSession.compact)

    # --- queue

    follow_up = _calling(AgentSession.follow_up)
    edit_queued = _calling(AgentSession.edit_queued)
    move_queued = _calling(AgentSession.move_queued)
    remove_queued = _calling(AgentSession.remove_queued)
    start_queued = _calling(AgentSession.start_queued)

    # --- requests of the session

    pending = _calling(AgentSession.pending)
    approve = _calling(AgentSession.approve)
    reply = _calling(AgentSession.reply)
    trust = _waiting(AgentSession.trust)
    configure = _waiting(AgentSession.configure)

    # --- changes and records

    hunks = _calling(AgentSession.hunks)
    review = _waiting(AgentSession.review)
    patch = _waiting(AgentSession.patch)
    export = _waiting(AgentSession.export)
    roll_back = _waiting(AgentSession.roll_back)
    bring_changes = _waiting(AgentSession.bring_changes)
    fork = _waiting(AgentSession.fork)
    calls = _waiting(AgentSession.calls)
    output = _waiting(AgentSession.output)


def _blocking(function: Callable[P, SessionOpening]) -> Callable[P, BlockingSession]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> BlockingSession:
        return BlockingSession(run_sync(function(*args, **kwargs).open))

    return opened


open_session_sync = _blocking(open_session)
"""`open_session` for programs without an event loop: `with agent_ls.open_session_sync(...) as session:`."""
