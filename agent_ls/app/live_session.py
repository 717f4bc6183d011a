"""A session that is open in this process: the loop's session with its log, its approvals and its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import anyio

from agent_ls.app.approver import PolicyApprover
from agent_ls.app.notices import Notices
from agent_ls.app.reviewed_environment import ReviewedEnvironment
from agent_ls.app.stored import SessionFiles
from agent_ls.app.touched_files import TouchedFiles
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.loop.budget import UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events import FileChange, RecordedEvent, State, Title
from agent_ls.loop.session import AppliesFrom, Session
from agent_ls.loop.titles import title_of
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.base import ProviderProfile
from agent_ls.store import pages
from agent_ls.store.journal import Standing
from agent_ls.store.locks import Owner
from agent_ls.store.pages import Page


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as lists show it. Times are ISO 8601. `owner` is another process that has it open."""

    id: str
    title: str
    state: State
    provider: str
    model: str
    effort: str | None
    mode: Mode
    review: ReviewSetting
    workspace_folder: str
    created: str
    updated: str
    last_seq: int
    is_walkthrough: bool
    owner: Owner | None = None


class LiveSession:
    """`environment` is where the session's tools act, `files` the same without the ledger's wrapper.

    `prepare` is awaited before the session runs.
    """

    def __init__(
        self,
        *,
        session: Session,
        profiles: Callable[[str, str], ProviderProfile],
        desk: PolicyApprover,
        environment: ReviewedEnvironment,
        files: ExecutionEnvironment,
        notices: Notices,
        stored: SessionFiles,
        touched: TouchedFiles,
        title: str,
        prepare: Callable[[], Awaitable[None]],
    ) -> None:
        self.title = title
        self.prepare = prepare
        self.session = session
        self._profiles = profiles
        self.desk = desk
        self.environment = environment
        self.files = files
        self.ended = anyio.Event()
        """Set when the last line is in the log and the session may be opened again."""
        self.scope = anyio.CancelScope()
        """In which it lives; cancelled, it ends as at the end of the process (R4)."""
        self._notices = notices
        self._limits: dict[str, float] = {}
        self.stored = stored
        self.touched = touched

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def is_ours(self) -> bool:
        """False once another process has taken it by force. Blocks for as long as a file takes to be opened."""
        return self.stored.opened.is_ours

    def emit(self, event: RecordedEvent) -> object:
        if isinstance(event, FileChange):
            self.touched.changed(event.path)
        return self.session.emit(event)

    async def apply(
        self, writes: Sequence[FileWrite], attribution: Attribution, *, is_running: bool
    ) -> Sequence[FileState]:
        through = None if is_running else self.files
        states = await self.environment.apply(writes, attribution, through)
        for state in states:
            self.touched.changed(state.path)
        return states

    def is_asked(self, call_id: str) -> bool:
        return any(request.call_id == call_id for request in self.desk.pending())

    @property
    def is_stopped(self) -> bool:
        return self.session.is_stopped

    def notice(self, text: str, about: str = "") -> None:
        if about:
            self.touched.changed(about)
        self._notices.post(text)

    def stand(self, standing: Standing) -> None:
        self.stored.opened.recorder.ledger(standing)

    def summary(self) -> SessionSummary:
        session, header = self.session, self.stored.header
        return SessionSummary(
            id=session.id,
            title=self.title,
            state=session.state,
            provider=session.profile.id,
            model=session.profile.model,
            effort=session.config.reasoning_effort,
            mode=self.desk.mode,
            review=self.desk.review,
            workspace_folder=header.workspace_folder,
            created=header.created,
            updated=self.stored.updated,
            last_seq=session.last_seq,
            is_walkthrough=session.profile.id == "walkthrough",
        )

    def rename(self, title: str) -> None:
        self.title = title
        self.emit(Title(title))

    def name_after(self, text: str) -> None:
        """Without a title the session is named after its first input that has words."""
        if not self.title and (title := title_of(text)):
            self.rename(title)

    @property
    def folder(self) -> Path:
        """Where its log lies."""
        return self.stored.opened.folder

    @property
    def latest(self) -> Mapping[str, bytes]:
        """The newest event of each kind that only ever replaces the one before (store/recorder.py), encoded."""
        return self.stored.opened.recorder.latest

    def events_since(self, seq: int, last: int | None = None) -> Sequence[bytes]:
        """Encoded recorded events with a higher number, up to `last` (None: the newest). Blocks: for a thread."""
        return pages.events_between(self.stored.path, seq, last)

    def snapshot(self, last: int, limit: int) -> Page:
        """The newest items as they were after the event number `last`. Blocks: for a thread."""
        return pages.snapshot(self.stored.path, last, limit)

    async def configure(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        mode: Mode | None = None,
        review: ReviewSetting | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> AppliesFrom:
        """Changes what is given; the answer says from when the slowest of it holds. `limits` are fields of UseLimits.

        Raises:
            BadChoiceError: no such provider; then nothing is changed.
        """
        profile = None
        if provider is not None or model is not None:
            # A model of another provider is not carried over: "" is the new provider's default.
            same = provider is None or provider == self.session.profile.id
            chosen = model or (self.session.profile.model if same else "")
            profile = self._profiles(provider or self.session.profile.id, chosen)
        config = None
        if effort is not None:
            config = replace(self.session.config, reasoning_effort=effort or None)
        if mode is not None:
            self.desk.mode = mode
        if review is not None:
            self.desk.review = review
        applies: AppliesFrom = "now"
        if limits:
            applies = self.limit(limits)
            config = config and replace(config, limits=self.session.config.limits)
        if profile or config:
            applies = self.session.configure(profile=profile, config=config)
        self.remember()
        return applies

    def adopt(self, config: SessionConfig, *, approval_timeout_ms: int, has_other_tools: bool) -> None:
        """The settings have changed; what was chosen for this session stays. With `has_other_tools` its profile is made
        anew, for the next input."""
        limits = UseLimits(**{**asdict(config.limits), **self._limits})
        effort = self.session.config.reasoning_effort
        now = self.session.profile
        profile = self._profiles(now.id, now.model) if has_other_tools else None
        self.session.configure(
            profile=profile, config=replace(config, limits=limits, reasoning_effort=effort)
        )
        self.desk.desk.limit_ms = approval_timeout_ms

    def limit(self, changes: Mapping[str, float]) -> AppliesFrom:
        """Changes what a message and the session may use, by the names of UseLimits."""
        self._limits |= changes
        config = self.session.config
        limits = UseLimits(**{**asdict(config.limits), **changes})
        return self.session.configure(config=replace(config, limits=limits))

    def profile(self, provider: str, model: str) -> ProviderProfile:
        """With all that is this session's own.

        Raises:
            BadChoiceError: no such provider.
        """
        return self._profiles(provider, model)

    def remember(self) -> None:
        """Puts the settings into the log, for a resume to find."""
        self.stored.remember(
            {
                "provider": self.session.profile.id,
                "model": self.session.profile.model,
                "effort": self.session.config.reasoning_effort,
                "mode": self.desk.mode,
                "review": self.desk.review,
                "limits": self._limits,
            }
        )
