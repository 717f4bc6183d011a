"""A read-only session that another process owns: its state and events, read from its log.

All state is derived from recorded events. Deltas are never in a log, but the text of running parts is recorded from
time to time (running_parts).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from agent_ls.loop.events.subscription import EncodedEvent, Subscription
from agent_ls.loop.events.types import (
    ApprovalRequested,
    Delta,
    Envelope,
    FileChange,
    Hunk,
    HunkStateChanged,
    ProcessingEnd,
    QuestionAsked,
    QueueItem,
    SessionEnd,
    SessionStart,
    State,
    StateChanged,
    Warning,
)
from agent_ls.loop.inbox import QueuedSteer
from agent_ls.loop.seams import Clock
from agent_ls.policy.situation import Mode
from agent_ls.review.hunks import OPEN_STATES
from agent_ls.sessions.live import SessionSummary
from agent_ls.sessions.ownership.running_parts import RunningParts
from agent_ls.store import pages
from agent_ls.store.errors import StoreError
from agent_ls.store.event_lines import events_of
from agent_ls.store.layout import lock_path, log_path
from agent_ls.store.locks import Owner, make_own_owner, owner_of
from agent_ls.store.log import Header, parse_header
from agent_ls.store.pages import ItemPage
from agent_ls.store.progress import Activity
from agent_ls.store.recorder import LATEST_KINDS
from agent_ls.store.session_state import SessionState
from agent_ls.store.tail import LogTail

POLL_S = 0.1
OWNERLESS_POLLS = 10

_LogLine: TypeAlias = tuple[int, Envelope | None, bytes]
"""A log line: event number, event (None: its version is unknown) and bytes.

A line with the session's options has the number 0.
"""

_CONFIG = b'{"config":'
_PARTIAL = b'{"partial":'


class SessionFollower:
    """A session that another process owns, followed by reading its log.

    `since` is the number of the last event that the first subscribers already know. `latest` has the newest
    encoded event of each kind in LATEST_KINDS. Public attributes are read-only for callers;
    `owner` is None while no process has the session open. `on_idle` is called when the last subscriber has
    left, `on_owner` when the owner has changed.
    """

    def __init__(
        self,
        session_id: str,
        folder: Path,
        clock: Clock,
        *,
        since: int = 0,
        on_idle: Callable[[], object] = lambda: None,
        on_owner: Callable[[], object] = lambda: None,
    ) -> None:
        self.id = session_id
        self.owner: Owner | None = None
        self.folder = folder
        self.state: State = "IDLE"
        self.last_seq = 0
        self.latest: dict[str, bytes] = {}
        self._path = log_path(folder)
        self._tail = LogTail(self._path)
        self._clock = clock
        self._since = since
        self._on_idle = on_idle
        self._on_owner = on_owner
        self._header: Header | None = None
        self._state = SessionState()
        self._parts = RunningParts(since)
        self._hunks: dict[str, dict[str, Hunk]] = {}
        self._beside: set[str] = set()
        self._subscriptions: list[Subscription] = []
        self._reading = anyio.Lock()
        self._is_over = False
        self._ownerless = 0

    # -- events and state for clients

    def subscribe(self) -> Subscription:
        """Subscribe to new events. Events up to `last_seq` are available from the log."""
        subscription = Subscription(self._forget)
        if self._is_over:
            subscription.end()
        else:
            self._subscriptions.append(subscription)
        return subscription

    def summary(self) -> SessionSummary:
        """Return the session's entry for session lists.

        Raises:
            StoreError: nothing has been read yet.
        """
        header, state = self._header, self._state
        if header is None:
            raise StoreError(f"Session {self.id} cannot be read.")
        known = state.config
        effort = known.get("effort")
        return SessionSummary(
            id=self.id,
            title=self._state.title or header.title,
            state=self.state,
            provider=str(known.get("provider") or state.provider or header.provider),
            model=str(known.get("model") or state.model or header.model),
            effort=str(effort) if effort else None,
            mode=_mode(known.get("mode")),
            review="before" if known.get("review") == "before" else "after",
            workspace_folder=header.workspace_folder,
            created=header.created,
            updated=self._find_update_time(header),
            last_seq=self.last_seq,
            is_walkthrough=state.provider == "walkthrough",
            activity=self._activity,
        )

    @property
    def _activity(self) -> Activity:
        if self.state == "AWAITING_INPUT" or self.approvals() or self.questions():
            return "waiting"
        return "working" if self.state == "PROCESSING" else "idle"

    @property
    def queue(self) -> Sequence[QueueItem]:
        return self._state.waiting

    @property
    def steering(self) -> Sequence[QueuedSteer]:
        return self._state.steers

    def approvals(self) -> Sequence[ApprovalRequested]:
        return tuple(self._state.approvals.values())

    def questions(self) -> Sequence[QuestionAsked]:
        return tuple(self._state.questions.values())

    def open_parts(self) -> Sequence[tuple[Delta, str]]:
        """Return the text so far of each part that is still streamed, and the id of its subagent."""
        return self._parts.so_far()

    def open_hunks(self, *, path: str | None = None, turn_id: str | None = None) -> dict[str, list[Hunk]]:
        """Return the undecided hunks by path, sorted, with the positions that the log records."""
        found: dict[str, list[Hunk]] = {}
        for name, hunks in self._hunks.items():
            wanted = [it for it in hunks.values() if turn_id in (None, it.turn_id, *it.later_turns)]
            if wanted and path in (None, name):
                found[name] = sorted(wanted, key=lambda hunk: (hunk.start, hunk.end))
        return found

    def has_hunk(self, ids: Collection[str]) -> bool:
        return any(id_ in hunks for hunks in self._hunks.values() for id_ in ids)

    def events_since(self, seq: int, last: int | None = None) -> Sequence[bytes]:
        """Return encoded recorded events after number `seq`, up to `last` (None: the newest)."""
        return pages.events_between(self._path, seq, last)

    def snapshot(self, last: int, limit: int) -> ItemPage:
        """Return the newest `limit` items of the conversation as of event number `last`."""
        return pages.snapshot(self._path, last, limit)

    # -- reading

    async def run(self) -> None:
        """Read the log repeatedly until `end` is called, the log is unreadable, or the last subscriber leaves."""
        while not self._is_over:
            await self.catch_up()
            await self._clock.sleep(POLL_S)

    async def catch_up(self, last: int | None = None) -> None:
        """Publish new events, up to number `last` (None: all). A missing or unreadable log ends the follower.

        Raises:
            StoreError: the log could not be read the first time.
        """
        async with self._reading:
            if self._is_over:
                return
            try:
                lines, partials, owner = await anyio.to_thread.run_sync(self._read)
            except OSError as error:
                self.end()
                if self._header is None:
                    raise StoreError(f"Session {self.id} cannot be read.") from error
                return
            for line in lines:
                self._take(line, last)
            for record in partials:
                self._take_partial(record)
            self._take_owner(owner)

    async def finish(self, last: int) -> None:
        """Publish remaining events up to number `last`, then end this follower."""
        await self.catch_up(last)
        self.end()

    def end(self) -> None:
        """End all subscriptions."""
        self._is_over = True
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []
        self._on_idle()

    # -- internal

    def _read(self) -> tuple[Sequence[_LogLine], Sequence[bytes], Owner | None]:
        """Return the new events, the new records with text of running parts, and the session's owner. Blocks."""
        owner = owner_of(lock_path(self.folder))
        if owner and owner.is_same(make_own_owner()):
            owner = None  # this process still holds the lock while the session ends
        lines = self._tail.read()
        if lines and self._header is None:
            self._header = parse_header(lines[0], str(self._path))
        return (
            list(_parse_lines(lines, self.id)),
            [line for line in lines if line.startswith(_PARTIAL)],
            owner,
        )

    def _take_owner(self, owner: Owner | None) -> None:
        """Update the owner. A short time without an owner, between two owners, is ignored."""
        self._ownerless = 0 if owner else self._ownerless + 1
        if not owner and self._ownerless < OWNERLESS_POLLS:
            return
        before, self.owner = self.owner, owner
        if not (owner.is_same(before) if owner else before is None):
            self._on_owner()

    def _take(self, line: _LogLine, last: int | None) -> None:
        number, envelope, data = line
        if not number:
            self._state.config.update(json.loads(data)["config"])
            return
        if number <= self.last_seq or (last is not None and number > last):
            return
        self.last_seq = number
        if envelope:
            self._follow(envelope, data)
        if number > self._since and self._subscriptions:
            # An event of a newer version is passed on unchanged, so that clients miss no sequence number.
            shown = envelope or Envelope(self.id, number, "", Warning("", "unknown"))
            item = EncodedEvent(shown, data)
            for subscription in self._subscriptions:
                subscription.push(item)

    def _take_partial(self, line: bytes) -> None:
        """Pass on the text of a part that is still streamed. The event that ends a part has its whole text."""
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            record = json.loads(line)["partial"]
            if delta := self._parts.extend(record, self._clock.now(), self.last_seq):
                for subscription in self._subscriptions:
                    subscription.push(EncodedEvent(delta))

    def _follow(self, envelope: Envelope, data: bytes) -> None:
        self._state.event(envelope)
        self._parts.follow(envelope)
        if envelope.kind in LATEST_KINDS and not envelope.agent_id:
            self.latest[envelope.kind] = data
        match envelope.event:
            case StateChanged(state=state) | SessionEnd(state=state):
                self.state = state
            case SessionStart() if not self._state.turn_id:
                self.state = "IDLE"
            case ProcessingEnd():
                self._state.approvals.clear()
                self._state.questions.clear()
                self._state.checkpoints.clear()
            case FileChange(path=path, hunks=hunks) | HunkStateChanged(path=path, hunks=hunks):
                for hunk in hunks:
                    self._follow_hunk(path, hunk)
            case _:
                pass

    def _follow_hunk(self, path: str, hunk: Hunk) -> None:
        if hunk.state == "proposed":
            self._beside.add(hunk.id)
        hunks = self._hunks.setdefault(path, {})
        if (
            hunk.state in OPEN_STATES
            or hunk.state == "proposed"
            or (hunk.state == "stale" and hunk.id in self._beside)
        ):
            hunks[hunk.id] = hunk
        else:
            hunks.pop(hunk.id, None)
            self._beside.discard(hunk.id)
        if not hunks:
            del self._hunks[path]

    def _find_update_time(self, header: Header) -> str:
        try:
            changed = datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        except OSError:
            return header.created
        return changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _forget(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            if not self._subscriptions and not self._is_over:
                self._is_over = True
                self._on_idle()


def _parse_lines(lines: Sequence[bytes], session_id: str) -> Iterator[_LogLine]:
    """Parse log lines. Damaged lines are skipped."""
    for line in lines:
        if line.startswith(_CONFIG):
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                if isinstance(json.loads(line)["config"], dict):
                    yield 0, None, line
    for event in events_of(lines, session_id):
        yield event.seq, event.envelope, event.encoded


def _mode(value: Any) -> Mode:
    found: Mapping[Any, Mode] = {"plan": "plan", "ask": "ask", "edits": "edits", "full": "full"}
    return found.get(value, "ask")
