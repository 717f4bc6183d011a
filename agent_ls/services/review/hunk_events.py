"""Publish hunk events: a new state at once, text typed inside a hunk at most twice a second.

Every hunk event is a line in a log. Without this limit, typing inside a hunk would write one line per
keystroke.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from agent_ls.background import TaskStarter
from agent_ls.loop.events.types import Hunk, HunkStateChanged, RecordedEvent
from agent_ls.loop.seams import Clock
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.services.review.change_events import build_hunk
from agent_ls.services.review.effects import By

TYPING_INTERVAL_MS = 500

Tell: TypeAlias = Callable[[str, RecordedEvent], None]
"""Publishes an event to a session, by id; does nothing if the session is not live."""


@dataclass(slots=True)
class _Typing:
    """Edited hunks of one file whose new lines are not published yet. `next_ms` is the earliest time to publish
    them.
    """

    ids: frozenset[str] = frozenset()
    ledger: FileLedger | None = None
    next_ms: int = 0
    is_timed: bool = False


class HunkEventPublisher:
    """Publishes the hunk events of all files. `tell` publishes an event to a session."""

    def __init__(self, tell: Tell, clock: Clock, start: TaskStarter) -> None:
        self._tell_session = tell
        self._clock = clock
        self._start = start
        self._typing: dict[str, _Typing] = {}

    def take(self, before: FileLedger, change: LedgerChange, by: By, comment: str = "") -> None:
        """Publish the hunks that `change` changed.

        A hunk in which the user keeps typing is published at most once per TYPING_INTERVAL_MS.
        """
        typing = self._typing.setdefault(change.ledger.path, _Typing())
        typed = {hunk.id for hunk in change.changed if by == "editor" and _is_typed_in(before, hunk)}
        published = [hunk for hunk in change.changed if hunk.id not in typed]
        typing.ids = (typing.ids | typed) - {hunk.id for hunk in published}
        typing.ledger = change.ledger
        self._tell(change.ledger, published, by, comment)
        if published and by == "editor":
            typing.next_ms = self._clock.monotonic_ms() + TYPING_INTERVAL_MS
        if typed:
            self._tell_in_time(change.ledger.path, typing)

    def flush(self, path: str) -> None:
        """Publish the delayed hunks of a file now, before an event that must come after them."""
        typing = self._typing.get(path)
        if typing is None or typing.ledger is None or not typing.ids:
            return
        hunks = [hunk for hunk in typing.ledger.open_hunks if hunk.id in typing.ids]
        typing.ids = frozenset()
        typing.next_ms = self._clock.monotonic_ms() + TYPING_INTERVAL_MS
        self._tell(typing.ledger, hunks, "editor", "")

    def flush_all(self) -> None:
        for path in list(self._typing):
            self.flush(path)

    def _tell_in_time(self, path: str, typing: _Typing) -> None:
        wait_ms = typing.next_ms - self._clock.monotonic_ms()
        if wait_ms <= 0:
            self.flush(path)
        elif not typing.is_timed:
            typing.is_timed = True
            self._start(partial(self._flush_later, path, typing, wait_ms))

    async def _flush_later(self, path: str, typing: _Typing, wait_ms: int) -> None:
        await self._clock.sleep(wait_ms / 1000)
        typing.is_timed = False
        self.flush(path)

    def _tell(self, ledger: FileLedger, hunks: Sequence[LedgerHunk], by: By, comment: str) -> None:
        by_session: dict[str, list[Hunk]] = {}
        for hunk in hunks:
            by_session.setdefault(hunk.session_id, []).append(build_hunk(ledger, hunk))
        for session_id, own in by_session.items():
            self._tell_session(session_id, HunkStateChanged(ledger.path, tuple(own), by, comment))


def _is_typed_in(before: FileLedger, hunk: LedgerHunk) -> bool:
    known = before.find(hunk.id)
    return hunk.state == "edited" and known is not None and known.state == "edited"
