"""The queue of a session's events for one consumer.

A consumer that keeps up gets each delta separately. For a slow consumer, deltas of one part are joined;
recorded events are never joined or reordered. A slow consumer cannot block the session. If a consumer limits
the queue's size and events were dropped, it finds a gap in the sequence numbers and must request the events
again (docs/protocol/events.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

import anyio

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Delta, Envelope


class EncodedEvent:
    """An event and its JSON, encoded once for all consumers."""

    __slots__ = ("_encoded", "envelope")

    def __init__(self, envelope: Envelope, encoded: bytes | None = None) -> None:
        self.envelope = envelope
        self._encoded = encoded

    @property
    def encoded(self) -> bytes:
        """The event as one line of JSON, encoded on first use."""
        if self._encoded is None:
            self._encoded = event_codec.encode(self.envelope)
        return self._encoded


class _Pending:
    """A queued event. The following deltas of the same part are added to a queued delta."""

    __slots__ = ("first", "more", "size")

    def __init__(self, first: EncodedEvent, size: int) -> None:
        self.first = first
        self.more: list[str] = []
        self.size = size

    def join_deltas(self) -> EncodedEvent:
        event = self.first.envelope.event
        if not self.more or not isinstance(event, Delta):
            return self.first
        return EncodedEvent(
            replace(self.first.envelope, event=replace(event, text="".join((event.text, *self.more))))
        )


class Subscription:
    """An async iterator of EncodedEvent for one consumer. The iteration ends when the session ends or `close()` is
    called.
    """

    def __init__(self, on_close: Callable[[Subscription], None]) -> None:
        self._waiting: deque[_Pending] = deque()
        # Deltas queued since the last recorded event, keyed by part and name. The next delta of the same part and
        # name extends them.
        self._joinable: dict[tuple[str, str], _Pending] = {}
        self._wake: anyio.Event | None = None
        self._ended = False
        self._on_close = on_close
        self.waiting_size = 0
        self._limit: int | None = None
        self._take_at_once: Callable[[EncodedEvent], bool] | None = None

    def offer_deltas(self, take: Callable[[EncodedEvent], bool]) -> None:
        """Offer a delta to `take` when it is emitted, while the consumer waits for events. If `take` returns True, it
        has consumed the delta, which saves waking the consumer's task.
        """
        self._take_at_once = take

    def limit_queue(self, limit: int | None) -> None:
        """Limit the size of the queue. If a new event would make the queue longer than `limit`, all queued
        events are dropped first. None removes the limit. The size of an event is its bytes of JSON, the size
        of a delta its characters.
        """
        self._limit = limit

    def push(self, item: EncodedEvent) -> None:
        """Add an event. Only the session may call this."""
        event = item.envelope.event
        if self._wake and self._take_at_once and isinstance(event, Delta) and self._take_at_once(item):
            return
        size = len(event.text) if isinstance(event, Delta) else len(item.encoded)
        if self._limit is not None and self.waiting_size + size > self._limit:
            self._drop_all()
        self.waiting_size += size
        if isinstance(event, Delta):
            key = (event.part_id, event.name)
            if waiting := self._joinable.get(key):
                waiting.more.append(event.text)
                waiting.size += size
                return
            pending = _Pending(item, size)
            # Both output streams of a call are one part. After text from one stream, no more deltas are joined to
            # the other's.
            self._joinable = {k: p for k, p in self._joinable.items() if k[0] != event.part_id}
            self._joinable[key] = pending
            self._waiting.append(pending)
        else:
            self._joinable.clear()
            self._waiting.append(_Pending(item, size))
        self._notify()

    def end(self) -> None:
        """Mark the end of the events; queued events can still be read. Only the session may call this."""
        self._ended = True
        self._notify()

    def close(self) -> None:
        """Unsubscribe and drop queued events. May be called at any time, repeatedly."""
        self._drop_all()
        self.end()
        self._on_close(self)

    @property
    def has_more(self) -> bool:
        """Another event is queued, so the next iteration does not wait."""
        return bool(self._waiting)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> EncodedEvent:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._pop()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _drop_all(self) -> None:
        self._waiting.clear()
        self._joinable.clear()
        self.waiting_size = 0

    def _pop(self) -> EncodedEvent:
        pending = self._waiting.popleft()
        self.waiting_size -= pending.size
        event = pending.first.envelope.event
        if isinstance(event, Delta) and self._joinable.get((event.part_id, event.name)) is pending:
            del self._joinable[event.part_id, event.name]
        return pending.join_deltas()

    def _notify(self) -> None:
        if self._wake:
            self._wake.set()
            self._wake = None
