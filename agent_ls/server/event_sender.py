"""Carries a session's events to the client: one task for each session it is subscribed to.

The bytes are those of the log (to_wire.event adds the uris). A sender waits while the pipe is full; what the
session tells meanwhile gathers in its Subscription, where deltas are joined. So a slow editor gets fewer and
larger pieces, and nobody else notices.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from agent_ls.loop.events import Delta
from agent_ls.loop.session import Session
from agent_ls.loop.subscription import Subscription
from agent_ls.server import to_wire

PACE_S = 0.016
PACE_DELTAS = 16
"""At most so many in that time: what comes faster than a thousand a second is joined, however fast the pipe is.

An editor does something for each event, and no eye follows more.
"""


@dataclass(frozen=True, slots=True)
class Sending:
    """A subscription that waits for its answer to be on the way. One of the two is to be called."""

    start: Callable[[], None]
    drop: Callable[[], None]


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
        self._open: dict[str, Subscription] = {}

    @property
    def any_session_id(self) -> str:
        """A session that the client listens to, the latest that it asked for; "" for none."""
        return next(reversed(self._open), "")

    def subscribe(self, session: Session) -> Sending:
        """Events are gathered from this moment on, and sent once what is returned has been called."""
        self.unsubscribe(session.id)
        subscription = self._open[session.id] = session.subscribe()
        return Sending(
            start=lambda: self._start(lambda: self._run(session.id, subscription)),
            drop=lambda: self._drop(session.id, subscription),
        )

    def unsubscribe(self, session_id: str) -> None:
        if subscription := self._open.pop(session_id, None):
            subscription.close()

    async def _run(self, session_id: str, subscription: Subscription) -> None:
        with subscription:
            begun, count = self._now(), 0
            async for item in subscription:
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
        self._drop(session_id, subscription)

    def _drop(self, session_id: str, subscription: Subscription) -> None:
        """Another that took its place meanwhile is left alone."""
        subscription.close()
        if self._open.get(session_id) is subscription:
            del self._open[session_id]
