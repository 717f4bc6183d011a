"""A review service with sessions that write through it, over files in memory. Tasks run only when a test runs them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import anyio
import anyio.lowlevel

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.editor_host import AppliedEdit, LineEdit, OpenDocument
from agent_ls.environments.errors import EnvError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.events.types import Hunk
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.service import ReviewService
from tests.services.fake_reviewed_session import FakeReviewedSession
from tests.support.fake_clock import FakeClock
from tests.support.fake_editor_host import FakeEditorHost

ROOT = "/project"
DEADLINE_S = 240


class SilentJournal:
    def check_ownership(self) -> None:
        return None

    async def announce(self, changes: Any, attribution: Attribution) -> None:
        return None

    async def propose(self, writes: Any, attribution: Attribution) -> None:
        return None

    async def record_written(self, states: Any, attribution: Attribution) -> None:
        return None


class ReportingHost(FakeEditorHost):
    """An editor that reports changes of its documents to the review service, as the server's host does.

    `held`: edits wait until this event is set.
    """

    service: ReviewService
    held: anyio.Event | None = None

    async def apply_edit(self, document: OpenDocument, edits: Any, attribution: Attribution) -> AppliedEdit:
        if self.held:
            await self.held.wait()
        before = document.text
        edits = [LineEdit(edit.start, edit.end, edit.text) for edit in edits]
        applied = await super().apply_edit(document, edits, attribution)
        if attribution.call_id:
            self.service.agent_edit(document.path, before, applied.after, attribution)
        else:
            self.service.undo_applied(document.path, before, applied.after)
        return applied

    def type(self, path: str, text: str) -> None:
        super().type(path, text)

    def user_types(self, path: str, text: str) -> None:
        self.type(path, text)
        self.service.user_edit(path, text)


@dataclass
class ProposedCall:
    """A call that waits for decisions; `states` are the files that its commit returned."""

    states: list[FileState] = field(default_factory=list)
    error: EnvError | None = None
    over: anyio.Event = field(default_factory=anyio.Event)

    @property
    def note(self) -> str:
        return "\n".join(state.note for state in self.states)

    async def ends(self) -> None:
        with anyio.fail_after(DEADLINE_S):
            await self.over.wait()
        if self.error:
            raise self.error


class Review:
    """A review service over files in memory. `sessions` are the open sessions; remove one to close it. Tasks of the
    service wait in `tasks` until `run_tasks`.
    """

    def __init__(self, files: Mapping[str, str | bytes], memory: MemoryEnvironment | None = None) -> None:
        self.memory = memory or MemoryEnvironment()
        for path, content in files.items():
            self.memory.put(path, content)
        self.host = ReportingHost()
        self.clock = FakeClock()
        self.tasks: list[Callable[[], Awaitable[None]]] = []
        self.sessions: dict[str, FakeReviewedSession] = {}
        self.service = ReviewService(self.sessions.get, clock=self.clock, start=self.tasks.append)
        self.host.service = self.service
        self.files = EditorEnvironment(self.memory, self.host)
        self._calls = 0
        self.session("s1")

    def session(self, session_id: str) -> FakeReviewedSession:
        session = self.sessions.setdefault(session_id, FakeReviewedSession(session_id, self.files))
        session.environment = ReviewedEnvironment(
            self.files, self.service, SilentJournal(), lambda call_id: call_id.startswith("before")
        )
        return session

    @property
    def s1(self) -> FakeReviewedSession:
        return self.sessions["s1"]

    async def agent_writes(
        self, name: str, content: str | bytes | None, *, session: str = "s1", turn: str = "t1"
    ) -> None:
        """Write a file in a new tool call of this session."""
        self._calls += 1
        environment = ReviewedEnvironment(self.files, self.service, SilentJournal())
        path = self.path(name)
        base = await self.files.read_bytes(path) if await self.files.file_exists(path) else None
        data = content.encode() if isinstance(content, str) else content
        who = Attribution(session, turn, f"call{self._calls}")
        await environment.commit([FileWrite(path, data, base)], who)

    @asynccontextmanager
    async def proposed(
        self,
        *writes: tuple[str, str | bytes | None],
        session: str = "s1",
        moves: Mapping[str, str] | None = None,
    ) -> AsyncIterator[ProposedCall]:
        """Start a call with review `before` and continue when its hunks are published; leaving the block
        interrupts the call.
        """
        self._calls += 1
        environment = self.session(session).environment
        assert environment
        proposed = []
        for name, content in writes:
            path = self.path(name)
            base = await self.files.read_bytes(path) if await self.files.file_exists(path) else None
            data = content.encode() if isinstance(content, str) else content
            source = (moves or {}).get(name)
            proposed.append(FileWrite(path, data, base, self.path(source) if source else ""))
        call = ProposedCall()
        who = Attribution(session, "t1", f"before{self._calls}")

        async def commit() -> None:
            try:
                call.states = list(await environment.commit(proposed, who))
            except EnvError as error:
                call.error = error
            finally:
                call.over.set()

        async with anyio.create_task_group() as group:
            group.start_soon(commit)
            with anyio.fail_after(DEADLINE_S):
                while not call.over.is_set() and len(self.hunks()) < 1:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
            yield call
            group.cancel_scope.cancel()

    def path(self, name: str) -> str:
        return f"{ROOT}/{name}"

    def opens(self, name: str, text: str) -> None:
        self.host.open(self.path(name), text)
        self.service.document_opened(self.path(name), text)

    def types(self, name: str, text: str) -> None:
        """Replace the document's whole text, as the user."""
        self.host.user_types(self.path(name), text)

    def closes(self, name: str) -> None:
        self.host.close(self.path(name))
        self.service.document_closed(self.path(name))

    async def run_tasks(self) -> None:
        while self.tasks:
            await self.tasks.pop(0)()

    def bytes(self, name: str) -> bytes:
        return self.memory.files[self.path(name)].content

    def text(self, name: str) -> str:
        return self.bytes(name).decode()

    def exists(self, name: str) -> bool:
        return self.path(name) in self.memory.files

    def hunks(self, **which: str) -> list[Hunk]:
        return [hunk for hunks in self.service.open_hunks(**which).values() for hunk in hunks]

    async def decides(self, decision: Any, **which: Any) -> tuple[list[str], dict[str, str]]:
        """Decide about hunks; return the states of the changed hunks, and the refusals."""
        select = {field.name: which.pop(field.name) for field in fields(Selection) if field.name in which}
        changed, refused = await self.service.review(decision, Selection(**select), **which)
        return [hunk.state for hunk in changed], dict(refused)
