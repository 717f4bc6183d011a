"""The real session manager with a project folder, a state folder and a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from agent_ls.environments.editor_host import EditorHost
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.messages import Role, ToolResultPart
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import ApprovalRequested, Envelope, RecordedEvent
from agent_ls.policy.situation import Mode
from agent_ls.services.permissions.trust import Trusting
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import ClientState, EditorServices, ProgramParts
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.tools.web_fetch import WebFetcher
from tests.support.fake_provider import FakeProvider, Piece

DEADLINE_S = 240
E = TypeVar("E", bound=RecordedEvent)

PROVIDER = "anthropic"  # sessions have the tools of this provider


@dataclass
class Talk:
    """A session of the rig, and its events. `answers` returns the answer to an approval; None leaves it pending."""

    live: LiveSession
    answers: Callable[[ApprovalRequested], ApprovalAnswer | None]

    @property
    def session_id(self) -> str:
        return self.live.session.id

    @property
    def envelopes(self) -> list[Envelope]:
        decoded = (event_codec.decode(encoded) for encoded in self.live.events_since(0))
        return [envelope for envelope in decoded if envelope]

    def of(self, kind: type[E]) -> list[E]:
        return [envelope.event for envelope in self.envelopes if isinstance(envelope.event, kind)]

    async def say(self, text: str) -> None:
        """Submit a message, answer approvals, and wait for the end of the turn."""
        with anyio.fail_after(DEADLINE_S), self.live.session.subscribe() as events:
            self.live.session.submit(text)
            async for item in events:
                event = item.envelope.event
                if isinstance(event, ApprovalRequested) and (answer := self.answers(event)):
                    self.live.approver.answer(event.request_id, answer)
                if item.envelope.kind == "processing_end":
                    return

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until the log has this many events of this kind."""
        with anyio.fail_after(DEADLINE_S), self.live.session.subscribe() as events:
            while [envelope.kind for envelope in self.envelopes].count(kind) < count:
                await events.__anext__()


def allow(request: ApprovalRequested) -> ApprovalAnswer:
    return ApprovalAnswer("allow", decided_by="test")


def deny(request: ApprovalRequested) -> ApprovalAnswer:
    return ApprovalAnswer("deny", decided_by="test")


def wait(request: ApprovalRequested) -> None:
    return None


class OpenClient:
    """The state of a client of a session manager. Tests replace these functions at any time."""

    def __init__(self) -> None:
        self.folders: Callable[[], Sequence[str]] = tuple
        self.trusted: Callable[[], Sequence[str]] = tuple
        self.on_settings: Callable[[Settings], object] = lambda settings: None


class SessionRig:
    """`model` answers all sessions; it records their requests in `model.requests`."""

    def __init__(
        self, manager: SessionManager, model: Any, folder: Path, state: Path, client: OpenClient
    ) -> None:
        self.manager = manager
        self.client = client
        self.model = model
        self.folder = folder
        self.state = state

    async def talk(
        self,
        mode: Mode = "ask",
        answers: Callable[[ApprovalRequested], ApprovalAnswer | None] = allow,
        say: str = "",
        **options: Any,
    ) -> Talk:
        """Open a session, and send it the message `say`, if there is one."""
        folder = options.pop("workspace_folder", str(self.folder))
        provider = options.pop("provider", PROVIDER)
        live = await self.manager.new_session(
            SessionSpec(workspace_folder=folder, provider=provider, mode=mode, **options)
        )
        talk = Talk(live, answers)
        if say:
            await talk.say(say)
        return talk

    async def reopen(
        self, session_id: str, answers: Callable[[ApprovalRequested], ApprovalAnswer | None] = allow
    ) -> Talk:
        return Talk(await self.manager.open_session(session_id), answers)

    def results(self) -> list[ToolResultPart]:
        """Return the results of the calls in the model's last request, in order."""
        return [
            part
            for message in self.model.requests[-1].messages
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]

    def user_texts(self) -> list[str]:
        """Return the user's messages in the model's last request, in order."""
        return [message.text for message in self.model.requests[-1].messages if message.role is Role.USER]


@asynccontextmanager
async def running(
    tmp_path: Path,
    script: Sequence[Piece | Sequence[Piece]] = (),
    *,
    settings: Settings | None = None,
    host: EditorHost | None = None,
    credentials: Credentials | None = None,
    state: Path | None = None,
    model: ProviderAdapter | None = None,
    trusting: Trusting = "asked",
    pages: WebFetcher | None = None,
    record_to: Path | None = None,
    others: Mapping[str, ProviderAdapter] | None = None,
) -> AsyncIterator[SessionRig]:
    """Run a session manager; the end of the block cancels it, as the end of the process does.

    `model` replaces the scripted model; `others` are the models of other providers.
    """
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    model = model or FakeProvider(script)
    state = state or tmp_path / "state"
    client = OpenClient()
    manager = SessionManager(
        settings=settings or Settings(walkthrough_pause_ms=0),
        credentials=credentials or Credentials(),
        state_dir=state,
        editor=EditorServices(host=host),
        program=ProgramParts(adapters={PROVIDER: model, **(others or {})}, pages=pages),
        client=ClientState(
            trusting=trusting,
            folders=lambda: client.folders(),
            trusted_folders=lambda: client.trusted(),
            on_settings=lambda settings: client.on_settings(settings),
        ),
        record_to=record_to,
    )
    async with anyio.create_task_group() as group:
        await group.start(manager.run)
        yield SessionRig(manager, model, folder, state, client)
        group.cancel_scope.cancel()
