"""A fake session for the review service: it records all notifications."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.loop.events.types import FileChange, HunkStateChanged, RecordedEvent
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.store.journal import HunkPositions

E = TypeVar("E", bound=RecordedEvent)


class FakeReviewedSession:
    def __init__(self, session_id: str, files: ExecutionEnvironment) -> None:
        self.id = session_id
        self.files = files
        self.events: list[RecordedEvent] = []
        self.notices: list[str] = []
        self.environment: ReviewedEnvironment | None = None
        self.is_stopped = True
        self.hunk_positions: list[HunkPositions] = []

    def emit(self, event: RecordedEvent) -> object:
        self.events.append(event)
        return None

    async def apply(
        self, writes: Sequence[FileWrite], attribution: Attribution, *, is_running: bool
    ) -> Sequence[FileState]:
        assert self.environment
        return await self.environment.apply(writes, attribution)

    async def commit_decided(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        record: Callable[[Sequence[FileState]], Awaitable[None]],
    ) -> Sequence[FileState]:
        states = await self.files.commit(writes, attribution)
        await record(states)
        return states

    async def follow_undo(self, states: Sequence[FileState]) -> None:
        return None

    def own_path(self, path: str) -> str:
        return path

    def is_asked(self, call_id: str) -> bool:
        return False

    def notice(self, text: str, about: str = "") -> None:
        self.notices.append(text)

    def record_hunk_positions(self, positions: HunkPositions) -> None:
        self.hunk_positions.append(positions)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def states(self) -> list[tuple[str, ...]]:
        """Return the states of the hunks of each hunk_state event."""
        return [tuple(hunk.state for hunk in event.hunks) for event in self.of(HunkStateChanged)]

    @property
    def hunk_ids(self) -> list[str]:
        """Return the hunk ids of all reported changes, in order."""
        return [hunk.id for change in self.of(FileChange) for hunk in change.hunks]
