"""Send session events to the client, with one task per subscribed session.

Events are sent as the bytes of the log; `to_wire.event` adds the URIs. While the pipe is full, the task waits
and new events collect in its Subscription, which joins consecutive deltas. A slow editor therefore gets
fewer, larger deltas and delays nobody else. Events that wait together are written together: each write wakes the
client. A delta that nothing waits before is written when it is emitted, without waking the task.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import anyio

from agent_ls.background import TaskStarter
from agent_ls.loop.events.subscription import EncodedEvent, Subscription
from agent_ls.loop.events.types import Delta
from agent_ls.server.rpc import to_wire

PACE_S = 0.016
PACE_DELTAS = 16
"""Maximum number of deltas sent in PACE_S seconds. Deltas above a thousand per second are joined, even if the
pipe could take more.

The limit saves the editor work: it does work for each event, and users cannot read faster.
"""

ALONE_S = 0.002
"""A delta is written when it is emitted if no other one was for this time: deltas of a burst are joined instead."""

BATCH_BYTES = 64 * 1024
"""Maximum size of the events that are written together, unless one event is larger: the capacity of a Linux pipe."""

MAX_WAITING = 8 * 1024 * 1024
"""Limit for a session's events that wait for a client that does not read, in bytes and characters."""


@dataclass(frozen=True, slots=True)
class PausedSubscription:
    """A subscription whose events are not sent yet.

    Call `start` after the response to the subscribe request is queued, or `drop` if the request fails.
    """

    start: Callable[[], None]
    drop: Callable[[], None]


class EventSource(Protocol):
    """Source of events: a session of this process, or the log of a session that another process
    owns.
    """

    @property
    def id(self) -> str: ...

    @property
    def last_seq(self) -> int:
        """Sequence number of the last recorded event."""
        ...

    def subscribe(self) -> Subscription: ...


Missed: TypeAlias = Callable[[int], Awaitable[Sequence[bytes]]]
"""Returns the messages to send before the events of the next subscription. The argument is the sequence
number of the last event sent.
"""


@dataclass(slots=True)
class _Feed:
    """The events of one session for a client: first the events of `current`, then of the subscriptions in
    `follow`.

    `last` is the number of the last event sent, so that overlapping subscriptions send nothing twice.
    `has_ended` is set when the session is closed and all of its events were sent. The feed is not deleted,
    because the session may be opened again.
    """

    current: Subscription
    last: int
    follow: deque[tuple[Missed, Subscription]] = field(default_factory=deque)
    has_ended: bool = False

    def close(self) -> None:
        for subscription in (self.current, *(it for _, it in self.follow)):
            subscription.close()


class _Pace:
    """Counts the deltas of a feed, in periods of PACE_S."""

    def __init__(self, now: float) -> None:
        self._begun = self._last = now
        self._count = 0

    def is_alone(self, now: float) -> bool:
        """Return whether no delta was sent or offered for a while, and this one does not need a sleep after it."""
        before, self._last = self._last, now
        return now - before >= ALONE_S and self._count < PACE_DELTAS - 1

    def count(self, now: float) -> float:
        """Count a delta that was sent. Returns the seconds until the next one may be sent."""
        self._count += 1
        self._last = now
        rest = self._begun + PACE_S - now
        if rest <= 0:
            self._begun, self._count = now, 0
        return rest if self._count >= PACE_DELTAS else 0.0


def _subscribe_bounded(session: EventSource) -> Subscription:
    subscription = session.subscribe()
    subscription.limit_queue(MAX_WAITING)
    return subscription


class EventSenders:
    """All subscriptions of the client. `send` writes encoded events at once, `start` runs a task; `drain` waits
    while the pipe is full. `has_room` returns whether everything that was sent has been written.
    """

    def __init__(
        self,
        *,
        send: Callable[[Sequence[bytes]], None],
        drain: Callable[[], Awaitable[None]],
        start: TaskStarter,
        has_room: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._send = send
        self._drain = drain
        self._has_room = has_room
        self._start = start
        self._now = now
        self._sleep = sleep
        self._open: dict[str, _Feed] = {}

    @property
    def any_session_id(self) -> str:
        """The open session that the client subscribed to last; "" if there is none."""
        return next((id_ for id_ in reversed(self._open) if not self._open[id_].has_ended), "")

    def subscribe(self, session: EventSource) -> PausedSubscription:
        """Subscribe to a session. Events are collected from now on, and sent once `start` of the result is
        called.
        """
        feed = _Feed(_subscribe_bounded(session), session.last_seq)
        # Subscribe before the old subscription is closed: without a subscriber, the log of another process's
        # session would no longer be followed.
        self.unsubscribe(session.id)
        self._open[session.id] = feed
        return PausedSubscription(
            start=lambda: self._start(lambda: self._run(session.id, feed)),
            drop=lambda: self._drop(session.id, feed),
        )

    def say(self, session_id: str, message: bytes) -> None:
        """Send an encoded event that is not in the session's own events, if the client is subscribed to the session.

        For example, the event says that the session has another owner.
        """
        if feed := self._open.get(session_id):
            # If `feed.follow` is not empty, another event source follows, and the event that announces it has the
            # same information.
            if not feed.follow:
                self._send((message,))

    def continue_with(self, session: EventSource, announced: Callable[[], bytes], *, cut: bool) -> None:
        """Continue the client's subscription from another source of the session's events.

        `announced` returns the event to send after the events of the old source and before those of the new one.

        `cut`: drop all events that the old source emits from now on. Otherwise send the old source's events
        up to its end.
        """

        async def announcement(last: int) -> Sequence[bytes]:
            return (announced(),)

        if feed := self._open.get(session.id):
            subscriptions = [feed.current, *(it for _, it in feed.follow)] if cut else []
            self._follow(session, feed, announcement)
            for subscription in subscriptions:
                subscription.end()

    def reopened(
        self, session: EventSource, recorded: Callable[[int, int], Awaitable[Sequence[bytes]]]
    ) -> None:
        """Continue the subscription of a session that was closed and is open again, if the client is still
        subscribed.

        `recorded(after, last)` reads the encoded events after number `after`, up to number `last`, from the
        log.
        """
        last_seq = session.last_seq

        async def missed(last: int) -> Sequence[bytes]:
            return [to_wire.event(encoded) for encoded in await recorded(last, last_seq)]

        if feed := self._open.get(session.id):
            self._follow(session, feed, missed)

    def forget_ended(self, session_id: str) -> None:
        """Remove the feed of a closed session, because the client requests all events of the session again."""
        if (feed := self._open.get(session_id)) and feed.has_ended:
            self.unsubscribe(session_id)

    def unsubscribe(self, session_id: str) -> None:
        if feed := self._open.pop(session_id, None):
            feed.close()

    def _follow(self, session: EventSource, feed: _Feed, missed: Missed) -> None:
        feed.follow.append((missed, _subscribe_bounded(session)))
        if feed.has_ended:
            feed.has_ended = False
            self._start(lambda: self._run(session.id, feed))

    async def _run(self, session_id: str, feed: _Feed) -> None:
        try:
            await self._send_all(feed)
            while feed.follow:
                missed, following = feed.follow[0]
                for message in await missed(feed.last):
                    if self._open.get(session_id) is not feed:
                        return
                    self._send((message,))
                    await self._drain()
                feed.follow.popleft()
                feed.current = following
                await self._send_all(feed)
        except BaseException:
            self._drop(session_id, feed)
            raise
        if self._open.get(session_id) is feed:
            feed.has_ended = True

    async def _send_all(self, feed: _Feed) -> None:
        with feed.current as subscription:
            pace = _Pace(self._now())
            subscription.offer_deltas(lambda delta: self._send_alone(delta, pace))
            batch: list[bytes] = []
            async for item in subscription:
                seq, is_delta = item.envelope.seq, isinstance(item.envelope.event, Delta)
                if seq is None or seq > feed.last:
                    feed.last = seq or feed.last
                    batch.append(to_wire.event(item.encoded))
                if not batch or (
                    subscription.has_more and not is_delta and sum(map(len, batch)) < BATCH_BYTES
                ):
                    continue
                self._send(batch)
                batch = []
                await self._drain()
                if is_delta and (rest := pace.count(self._now())):
                    await self._sleep(rest)  # deltas that arrive during the sleep are joined

    def _send_alone(self, delta: EncodedEvent, pace: _Pace) -> bool:
        """Send a delta, if it is not one of many and the pipe is empty."""
        if not pace.is_alone(now := self._now()) or not self._has_room():
            return False
        self._send((to_wire.event(delta.encoded),))
        pace.count(now)
        return True

    def _drop(self, session_id: str, feed: _Feed) -> None:
        """Close this feed, and remove it unless the client has subscribed to the session again since."""
        feed.close()
        if self._open.get(session_id) is feed:
            del self._open[session_id]
