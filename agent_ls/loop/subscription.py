"""One consumer's view of a session's events, at its own pace (E2, E4).

While the consumer keeps up it gets each delta as it comes. While it is behind, deltas of one part are joined;
recorded events are never joined or reordered. Nothing here can stall the session, nor fill the memory: a consumer that
bounds what waits finds a gap where more came than it took, and asks for it again (PROTOCOL, Events).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

import anyio

from agent_ls.loop import event_codec
from agent_ls.loop.events import Delta, Envelope


class Encoded:
    """An event and its bytes, made once for all who want them."""

    __slots__ = ("_encoded", "envelope")

    def __init__(self, envelope: Envelope, encoded: bytes | None = None) -> None:
        self.envelope = envelope
        self._encoded = encoded

    @property
    def encoded(self) -> bytes:
        """One line of JSON (event_codec); made when first asked for."""
        if self._encoded is None:
            self._encoded = event_codec.encode(self.envelope)
        return self._encoded


class _Pending:
    """A waiting item; a delta gathers those that follow it in the same part."""

    __slots__ = ("first", "more", "size")

    def __init__(self, first: Encoded, size: int) -> None:
        self.first = first
        self.more: list[str] = []
        self.size = size

    def joined(self) -> Encoded:
        event = self.first.envelope.event
        if not self.more or not isinstance(event, Delta):
            return self.first
        return Encoded(
            replace(self.first.envelope, event=replace(event, text="".join((event.text, *self.more))))
        )


class Subscription:
    """An async iterator of Encoded, for one consumer. It ends when the session ends, or by `close()`."""

    def __init__(self, on_close: Callable[[Subscription], None]) -> None:
        self._waiting: deque[_Pending] = deque()
        # The deltas that a further one may still be joined to: since the last recorded event, by part and name.
        self._joinable: dict[tuple[str, str], _Pending] = {}
        self._wake: anyio.Event | None = None
        self._ended = False
        self._on_close = on_close
        self.waiting_size = 0
        self._limit: int | None = None

    def bound(self, limit: int) -> None:
        """Of more than so many bytes and characters that wait, all but the newest event is dropped."""
        self._limit = limit

    def push(self, item: Encoded) -> None:
        """For the session only."""
        event = item.envelope.event
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
            # Output of two streams shares one part: a piece of the other stream ends what can be joined.
            self._joinable = {k: p for k, p in self._joinable.items() if k[0] != event.part_id}
            self._joinable[key] = pending
            self._waiting.append(pending)
        else:
            self._joinable.clear()
            self._waiting.append(_Pending(item, size))
        self._notify()

    def end(self) -> None:
        """No more will come; what waits can still be read. For the session only."""
        self._ended = True
        self._notify()

    def close(self) -> None:
        """The consumer is done; what waits is dropped. May be called at any time, and again."""
        self._drop_all()
        self.end()
        self._on_close(self)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Encoded:
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

    def _pop(self) -> Encoded:
        pending = self._waiting.popleft()
        self.waiting_size -= pending.size
        event = pending.first.envelope.event
        if isinstance(event, Delta) and self._joinable.get((event.part_id, event.name)) is pending:
            del self._joinable[event.part_id, event.name]
        return pending.joined()

    def _notify(self) -> None:
        if self._wake:
            self._wake.set()
            self._wake = None
