"""Carries a session's events to the client: one task for each session it is subscribed to.

The bytes are those of the log (to_wire.event adds the uris). A sender waits while the pipe is full; what the
session tells meanwhile gathers in its Subscription, where deltas are joined. So a slow editor gets fewer and
larger pieces, and nobody else notices.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from agent_ls.loop.events import Delta
from agent_ls.loop.subscription import Subscription
from agent_ls.server import to_wire

PACE_S = 0.016
PACE_DELTAS = 16
"""At most so many in that time: what comes faster than a thousand a second is joined, however fast the pipe is.

An editor does something for each event, and no eye follows more.
"""

MAX_WAITING = 8 * 1024 * 1024
"""Bytes and characters of a session's events that wait for a client that does not read."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A subscription that waits for its answer to be on the way. One of the two is to be called."""

    start: Callable[[], None]
    drop: Callable[[], None]


class Told(Protocol):
    """What tells of a session: the session itself, or its log while another process owns it."""

    @property
    def id(self) -> str: ...

    def subscribe(self) -> Subscription: ...


@dataclass(slots=True)
class _Feed:
    """What a client is told of one session: from `current`, and when that has ended from those that `follow`.

    `last` is the number of the last event sent; where two overlap, nothing goes twice.
    """

    current: Subscription
    follow: deque[tuple[Callable[[], bytes], Subscription]] = field(default_factory=deque)
    last: int = 0

    def close(self) -> None:
        for subscription in (self.current, *(it for _, it in self.follow)):
            subscription.close()


def _bounded(session: Told) -> Subscription:
    subscription = session.subscribe()
    subscription.bound(MAX_WAITING)
    return subscription


class EventSenders:
    """What the client is subscribed to. `start` runs a task; `drain` waits while the pipe is full."""

    def __init__(
        self,
        *,
        send: Callable[[bytes], None],
        drain: Callable[[], Awaitable[None]],
        start: Callable[[Callable[[], Awaitable[None]]], None],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._send = send
        self._drain = drain
        self._start = start
        self._now = now
        self._sleep = sleep
        self._open: dict[str, _Feed] = {}

    @property
    def any_session_id(self) -> str:
        """A session that the client listens to, the latest that it asked for; "" for none."""
        return next(reversed(self._open), "")

    def subscribe(self, session: Told) -> Sending:
        """Events are gathered from this moment on, and sent once what is returned has been called."""
        feed = _Feed(_bounded(session))
        self.unsubscribe(session.id)  # afterwards: what nobody listens to is not read along
        self._open[session.id] = feed
        return Sending(
            start=lambda: self._start(lambda: self._run(session.id, feed)),
            drop=lambda: self._drop(session.id, feed),
        )

    def say(self, session_id: str, message: bytes) -> None:
        """An event that is not of the session itself, if the client is subscribed to it."""
        if feed := self._open.get(session_id):
            if not feed.follow:  # else what is said in between is as new
                self._send(message)

    def go_on(self, session: Told, announced: Callable[[], bytes], *, cut: bool) -> None:
        """What the client is subscribed to is told by another from now on; `announced` is sent in between.

        `cut`: the one before tells nothing any more, whatever it says; else it is heard to its end.
        """
        if feed := self._open.get(session.id):
            told = [feed.current, *(it for _, it in feed.follow)] if cut else []
            feed.follow.append((announced, _bounded(session)))
            for subscription in told:
                subscription.end()

    def unsubscribe(self, session_id: str) -> None:
        if feed := self._open.pop(session_id, None):
            feed.close()

    async def _run(self, session_id: str, feed: _Feed) -> None:
        try:
            await self._send_all(feed)
            while feed.follow:
                announced, feed.current = feed.follow.popleft()
                self._send(announced())
                await self._send_all(feed)
        finally:
            self._drop(session_id, feed)

    async def _send_all(self, feed: _Feed) -> None:
        with feed.current as subscription:
            begun, count = self._now(), 0
            async for item in subscription:
                seq = item.envelope.seq
                if seq is not None and seq <= feed.last:
                    continue
                feed.last = seq or feed.last
                self._send(to_wire.event(item.encoded))
                await self._drain()
                if not isinstance(item.envelope.event, Delta):
                    continue
                count += 1
                rest = begun + PACE_S - self._now()
                if rest <= 0:
                    begun, count = self._now(), 0
                elif count >= PACE_DELTAS:
                    await self._sleep(rest)  # those that come meanwhile are joined

    def _drop(self, session_id: str, feed: _Feed) -> None:
        """Another that took its place meanwhile is left alone."""
        feed.close()
        if self._open.get(session_id) is feed:
            del self._open[session_id]
