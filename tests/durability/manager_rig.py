"""A real session manager in this process with a loopback provider, and the files that kill -9 would leave."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import AppliedEdit, EditorHost, LineEdit, OpenDocument
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import ApprovalRequested, Hunk, ProcessingEnd, RecordedEvent
from agent_ls.services.settings.model import ProviderSettings, Settings
from agent_ls.sessions.host import EditorServices
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import AnthropicServer, LoopbackProvider


@asynccontextmanager
async def running_manager(
    state: Path, provider: LoopbackProvider, host: EditorHost | None = None
) -> AsyncIterator[SessionManager]:
    """Run a session manager that allows everything, and shut it down in an orderly way."""
    name = "anthropic" if isinstance(provider, AnthropicServer) else "openai"
    manager = SessionManager(
        settings=Settings(
            provider=name, mode="full", providers={name: ProviderSettings(base_url=provider.base_url)}
        ),
        credentials=Credentials({name: "key"}),
        state_dir=state,
        editor=EditorServices(host=host),
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(manager.run)
        yield manager
        tasks.cancel_scope.cancel()


async def turn(live: LiveSession, text: str) -> None:
    """Run one input to its end, and allow each request."""
    with anyio.fail_after(DEADLINE_S), live.session.subscribe() as events:
        live.session.submit(text)
        async for item in events:
            match item.envelope.event:
                case ApprovalRequested(request_id=request_id):
                    live.approver.answer(request_id, ApprovalAnswer("allow", decided_by="test"))
                case ProcessingEnd(reason=reason):
                    assert reason == "completed"
                    return
    raise AssertionError("the session ended in the turn")


def all_events(live: LiveSession) -> list[RecordedEvent]:
    """Return all events of the session's log."""
    envelopes = (event_codec.decode(encoded) for encoded in live.events_since(0))
    return [envelope.event for envelope in envelopes if envelope]  # type: ignore[misc]  # a log holds no deltas


def pending(manager: SessionManager, path: Path) -> list[Hunk]:
    return manager.review.open_hunks(path=str(path)).get(str(path), [])


def words(hunks: Sequence[Hunk]) -> list[str]:
    """Return each hunk as `state: old > new`."""
    return [f"{hunk.state}: {_line(hunk.base_lines)} > {_line(hunk.lines)}" for hunk in hunks]


def _line(lines: Sequence[str]) -> str:
    return "".join(lines).replace("\n", "|")


def content(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def put(path: Path, text: str | None) -> None:
    """Write a file; None deletes it."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


class DyingHost(FakeEditorHost):
    """An editor next to a server that dies: at the moment `when` it copies the files that kill -9 would leave.

    `planned`: a write is announced but not started. `written`: a file on disk is changed but not reported.
    `applied`: an edit is in a document but not reported.
    """

    def __init__(self, state: Path, when: str, texts: Mapping[str, str] | None = None) -> None:
        super().__init__(texts)
        self.left = state.with_name("left-behind")
        self.on_death: Callable[[], None] = lambda: None
        self._state = state
        self._when = when

    def blocked(self, path: str) -> str:
        self._at("planned")
        return super().blocked(path)

    async def files_changed(self, paths: Sequence[str]) -> None:
        self._at("written")
        await super().files_changed(paths)

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> AppliedEdit:
        applied = await super().apply_edit(document, edits, attribution)
        self._at("applied")
        return applied

    def _at(self, moment: str) -> None:
        if moment == self._when:
            # The last of several writes counts, because the earlier ones were reported.
            shutil.rmtree(self.left, ignore_errors=True)
            shutil.copytree(self._state, self.left)
            self.on_death()
