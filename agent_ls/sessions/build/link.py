"""Give the parts of a session access to the session, which is created after them."""

from __future__ import annotations

from typing import Protocol

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.loop.session import Session
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.review.state import ReviewedSession


class LinkedSession(ReviewedSession, Protocol):
    """The part of a live session that its own parts use."""

    environment: ReviewedEnvironment
    files: ExecutionEnvironment
    session: Session
    title: str

    @property
    def id(self) -> str: ...

    def warn(self, text: str, code: str) -> None: ...

    def rename(self, title: str) -> None: ...

    def name_after(self, text: str) -> bool: ...


class SessionLink:
    """Forwards calls from the parts of a session to the session.

    The parts get its methods as callbacks. `connect` is called once, as soon as the session exists. No part
    runs before that, so a call before `connect` is an error in the program.
    """

    def __init__(self) -> None:
        self._live: LinkedSession | None = None

    def connect(self, live: LinkedSession) -> None:
        self._live = live

    @property
    def live(self) -> LinkedSession:
        if self._live is None:
            raise RuntimeError("SessionLink.connect must be called before the session is used")
        return self._live

    def emit(self, event: RecordedEvent) -> object:
        """Record and publish an event of the session."""
        return self.live.session.emit(event)

    def turn_id(self) -> str:
        """Return the id of the running turn, "" if none is running."""
        return self.live.session.turn_id

    def is_stopped(self) -> bool:
        """Return whether the user has stopped the running turn."""
        return self.live.session.is_stopped
