"""Events as a program reads them: an async iterator for one reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from agent_ls.library.wrong_use import READ, refuse
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.origin import Emitted, EventOrigin
from agent_ls.loop.events.subscription import Subscription
from agent_ls.loop.events.types import ApprovalRequested, Envelope, ProcessingEnd, QuestionAsked, SessionEvent

ONE_READER = "another task already reads these events: give each task its own iterator, by session.events()"
ALREADY_READ = (
    "these events have been read already: keep them in a list, or call session.events() for new ones"
)


class EventStream(AsyncIterator[SessionEvent]):
    """The events of a turn, or of a session. They are queued from the call that returned this iterator.

    `earlier` are events before those of `events`. `load` returns more of them, encoded; it blocks, and is called when
    the first event is read. With `turn_id`, the iterator ends with this turn.
    Leaving the loop early needs no clean-up: the events that are left are dropped with the iterator.
    """

    def __init__(
        self,
        events: Subscription,
        check: Callable[[], None],
        *,
        earlier: Sequence[Envelope] = (),
        load: Callable[[], Sequence[bytes]] | None = None,
        turn_id: str = "",
    ) -> None:
        self._events = events
        self._check = check
        self._earlier: Iterator[Envelope] = iter(earlier)
        self._load = load
        self._turn_id = turn_id
        self._has_begun = not turn_id
        self._is_waiting = False
        self._has_ended = False

    if not TYPE_CHECKING:  # a type checker reports these uses itself
        __await__ = __iter__ = refuse(READ)

    @property
    def turn_id(self) -> str:
        """The turn with which the iterator ends, "" for none."""
        return self._turn_id

    def __aiter__(self) -> Self:
        if self._has_ended:
            raise RuntimeError(ALREADY_READ)
        return self

    async def __anext__(self) -> SessionEvent:
        self._check()
        if self._is_waiting:
            raise RuntimeError(ONE_READER)
        self._is_waiting = True
        try:
            envelope = await self._next()
            while not self._is_wanted(envelope):
                envelope = await self._next()
        except StopAsyncIteration:
            self._has_ended = True
            raise
        finally:
            self._is_waiting = False
        event = with_origin(envelope)
        if self._turn_id and self._has_begun and isinstance(event, ProcessingEnd):
            self._events.end()
            self._earlier = iter(())
        return event

    async def _next(self) -> Envelope:
        if self._load:
            lines = await anyio.to_thread.run_sync(self._load)  # may be cancelled: the next call loads again
            self._earlier, self._load = filter(None, map(event_codec.decode, lines)), None
        for envelope in self._earlier:
            return envelope
        return (await anext(self._events)).envelope

    def _is_wanted(self, envelope: Envelope) -> bool:
        """Leave out what is left of the turn before. A queued message goes on with the turn under another id."""
        self._has_begun |= envelope.turn_id == self._turn_id
        return self._has_begun or not envelope.turn_id

    async def aclose(self) -> None:
        """Stop reading. The turn continues."""
        self._has_ended = True
        self._events.close()

    def __del__(self) -> None:
        self._events.close()


def with_origin(envelope: Envelope) -> SessionEvent:
    """Return the event of an envelope, which then knows its session, agent, turn, number and time."""
    event = envelope.event
    event.set_origin(_origin(envelope), _to_json)
    return event


def add_origins(requests: Sequence[Emitted], lines: Sequence[bytes]) -> None:
    """Set the origins of the requests that an earlier process stored in these lines of the log."""
    for envelope in filter(None, map(event_codec.decode, lines)):
        if isinstance(envelope.event, ApprovalRequested | QuestionAsked):
            for request in (it for it in requests if it == envelope.event):
                request.set_origin(_origin(envelope), _to_json)


def _origin(envelope: Envelope) -> EventOrigin:
    return EventOrigin(
        envelope.session_id,
        envelope.agent_id,
        envelope.turn_id,
        envelope.seq,
        envelope.timestamp,
        envelope.after,
    )


def _to_json(event: Any, origin: EventOrigin) -> dict[str, Any]:
    session_id, agent_id, turn_id, seq, timestamp, after = origin
    return event_codec.make_json(Envelope(session_id, seq, timestamp, event, turn_id, agent_id, after))
