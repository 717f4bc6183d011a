"""A session that is open in this process: the loop's session with its log, its approvals and its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.errors import EnvError
from agent_ls.features.base import SessionFeatures
from agent_ls.features.mcp.of_session import OfferedServers
from agent_ls.features.mentions.reader import SessionMentions
from agent_ls.features.review_tool import ReviewTool
from agent_ls.features.skills.service import SessionSkills
from agent_ls.loop.budget import UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.titles import title_of
from agent_ls.loop.events.types import FileChange, RecordedEvent, State, Title, Warning
from agent_ls.loop.session import AppliesFrom, Session
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.changes.watched_files import TouchedFiles
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.models.efforts import check_effort
from agent_ls.services.permissions.approver import PolicyApprover
from agent_ls.sessions.notices import Notices
from agent_ls.sessions.session_log import SessionFiles
from agent_ls.store import pages
from agent_ls.store.journal import HunkPositions
from agent_ls.store.locks import Owner
from agent_ls.store.pages import ItemPage
from agent_ls.text import plural

if TYPE_CHECKING:
    from agent_ls.services.settings.model import Settings
    from agent_ls.sessions.workspaces.worktree import SessionWorktree, WorktreeFile
    from agent_ls.store.layout import StoredSummary
    from agent_ls.store.progress import Activity, StoredProgress


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session, as displayed in lists. Times are ISO 8601. `owner` is another process that has the session
    open.

    `worktree` is the root of the session's git worktree, or "" if it works in the workspace folder itself.
    `cost_usd` is known only if the session is open in a process and the prices are known.
    """

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
    worktree: str = ""
    activity: Activity = "closed"
    cost_usd: float | None = None


def stored_summary(
    stored: StoredSummary, settings: Settings, owner: Owner | None, worktree: str, progress: StoredProgress
) -> SessionSummary:
    """Return the summary of a session that is not open in this process."""
    header = stored.header
    return SessionSummary(
        id=header.session_id,
        title=stored.title,
        state="IDLE",
        provider=header.provider,
        model=header.model,
        effort=None,
        mode=settings.mode,
        review=settings.review,
        workspace_folder=header.workspace_folder,
        created=header.created,
        updated=stored.updated,
        last_seq=stored.last_seq,
        is_walkthrough=header.provider == "walkthrough",
        owner=owner,
        worktree=worktree,
        activity=progress.activity,
        cost_usd=progress.cost_usd,
    )


@dataclass(frozen=True, slots=True)
class SessionWorkspace:
    """The files that a session works on.

    The session's tools use `environment`, which reports changes to the review; `files` accesses the same files
    without review. `prepare` is awaited before the session runs. `gather_early`, if given, collects in advance
    the data that the first message needs; a second call waits for the first. `check_undoable` raises EnvError for a
    path that now leads to another file than when the session wrote it; it blocks.
    """

    environment: ReviewedEnvironment
    files: ExecutionEnvironment
    touched: TouchedFiles
    check_undoable: Callable[[Iterable[str]], None]
    prepare: Callable[[], Awaitable[None]]
    gather_early: Callable[[], Awaitable[None]] | None
    worktree: SessionWorktree | None


class LiveSession:
    """A session that is open in this process. `profiles` returns the profile of a provider's model."""

    def __init__(
        self,
        *,
        session: Session,
        profiles: Callable[[str, str], ProviderProfile],
        approver: PolicyApprover,
        stored: SessionFiles,
        notices: Notices,
        workspace: SessionWorkspace,
        features: SessionFeatures,
    ) -> None:
        offered = features.find(OfferedServers)
        self.servers = offered.servers if offered else None
        """The session's MCP servers; None if the session works on another machine."""
        self.offer_findings = features.get(ReviewTool).offer
        self.mentions = features.get(SessionMentions)
        self.skills = features.get(SessionSkills)
        self.worktree = workspace.worktree
        self._features = features
        self.follows_settings: set[str] = set()
        """The options that nobody chose for this session: `model`, `effort`, `mode` and `review`."""
        self.title = stored.title
        self.session = session
        self._profiles = profiles
        self.approver = approver
        self.prepare = workspace.prepare
        self.gather_early = workspace.gather_early
        self.environment = workspace.environment
        self.files = workspace.files
        self.touched = workspace.touched
        self._check_undoable = workspace.check_undoable
        self.ended = anyio.Event()
        """Set when the last line has been written to the log and the session may be opened again."""
        self.scope = anyio.CancelScope()
        """Scope of the session's task. Cancelling it ends the session in the same way as a process exit."""
        self.taken_by = ""
        """Who has taken the session over from this process, as the begin of a sentence."""
        self._notices = notices
        self._limits: dict[str, float] = {}
        self.stored = stored

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def is_ours(self) -> bool:
        """Whether this process still owns the session: False after a forced take-over. Blocks: opens a file."""
        return self.stored.opened.is_ours

    def emit(self, event: RecordedEvent) -> object:
        """Emit an event. After a file change, the model counts as informed of the file's content."""
        if isinstance(event, FileChange):
            self.touched.mark_known(event.path)
            if self.worktree and (own := self.worktree.worktree.own_path_of(event.path)):
                event = replace(event, copy_of=own)
        return self.session.emit(event)

    async def apply(
        self, writes: Sequence[FileWrite], attribution: Attribution, *, is_running: bool
    ) -> Sequence[FileState]:
        """Write proposed hunks that the user kept.

        `is_running`: the tool call that proposed the hunks is waiting for the user's decision, and may write
        only where the path policy allows it. False: the tool call has ended. The write counts as the user's
        own action, and the path policy is not checked.

        Raises:
            EnvError: the commit failed.
        """
        through = None if is_running else self.files
        states = await self.environment.apply(writes, attribution, through)
        for state in states:
            self.touched.mark_known(state.path)
        return states

    async def commit_decided(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        record: Callable[[Sequence[FileState]], Awaitable[None]],
    ) -> Sequence[FileState]:
        """Write an undo or a roll back; see ReviewedSession."""
        await anyio.to_thread.run_sync(self._check_undoable, [write.path for write in writes])
        return await self.environment.commit_decided(writes, attribution, record, self.files, self.id)

    async def follow_undo(self, states: Sequence[FileState]) -> None:
        """Apply an undo in the user's folder to the session's worktree; see ReviewedSession."""
        if self.worktree:
            await self.worktree.undos.follow(states)
            for state in states:
                self.touched.mark_known(self.own_path(state.path))  # a notice quotes what was undone

    def own_path(self, path: str) -> str:
        """Return the path of a file in the session's worktree; see ReviewedSession."""
        return self.worktree.undos.own_path(path) if self.worktree else path

    async def bring_changes(self, *, may_ask: bool = True) -> list[WorktreeFile]:
        """Apply the changes of the session's worktree to the user's folder. `may_ask`: the user can answer
        approvals.

        Raises:
            BadChoiceError: the session has no worktree. AppError: the changes cannot be applied.
        """
        if self.worktree is None:
            raise BadChoiceError(
                "this session works in your folder, so its changes are already there",
                "start a session in a worktree to keep its changes separate",
            )
        try:
            return await self.worktree.bring("requested" if may_ask else "requested_without_questions")
        except (EnvError, OSError) as error:
            raise AppError(
                f"the changes of the worktree were not applied to your folder: {error}",
                "check the file that this message names, then apply the changes again",
            ) from error

    async def waiting_changes(self) -> list[str]:
        """Return the changed files of the session's worktree whose changes are not applied to the user's folder
        yet.

        Raises:
            AppError: git failed.
        """
        return [it.path for it in await self.worktree.worktree.changes()] if self.worktree else []

    async def cleanup(self) -> None:
        """End the session's processes and those of its features."""
        await self.environment.cleanup()
        await self._features.close()

    def is_asked(self, call_id: str) -> bool:
        """Return whether the call has an unanswered approval."""
        return any(request.call_id == call_id for request in self.approver.pending())

    @property
    def is_stopped(self) -> bool:
        return self.session.is_stopped

    def notice(self, text: str, about: str = "") -> None:
        """Post a notice for the model, sent with the next request. `about` is the file that it describes."""
        if about:
            self.touched.mark_known(about)
        self._notices.post(text)

    def warn(self, text: str, code: str) -> None:
        """Send the user a warning, unless the session has ended."""
        if self.session.state != "CLOSED":
            self.emit(Warning(text, code))

    async def warn_of_missing_files(self, message: str) -> None:
        """Name the files that a message mentions and that do not exist: the model gets only their names."""
        if names := await self.mentions.find_missing_files(message):
            listed = ", ".join(f"@{name}" for name in names)
            self.warn(f"You mentioned {listed}, but there is no such file or folder.", "mention")

    def record_hunk_positions(self, positions: HunkPositions) -> None:
        """Record in the log the positions of the session's hunks in one file."""
        self.stored.opened.recorder.ledger(positions)

    def summary(self) -> SessionSummary:
        session, header = self.session, self.stored.header
        return SessionSummary(
            id=session.id,
            title=self.title,
            state=session.state,
            provider=session.profile.id,
            model=session.profile.model,
            effort=session.config.reasoning_effort,
            mode=self.approver.mode,
            review=self.approver.review,
            workspace_folder=header.workspace_folder,
            created=header.created,
            updated=self.stored.updated_at,
            last_seq=session.last_seq,
            is_walkthrough=session.profile.id == "walkthrough",
            worktree=self.worktree.worktree.paths.tree if self.worktree else "",
            activity=self.activity,
        )

    @property
    def activity(self) -> Activity:
        # An approval or a question can also be pending between turns.
        is_asking = self.approver.pending() or self.session.questions.pending()
        if is_asking or self.session.state == "AWAITING_INPUT":
            return "waiting"
        return "working" if self.session.is_busy else "idle"

    def warn_of_damage(self) -> None:
        """Report, once, how many lines of the log could not be read when the session was opened."""
        stored = self.stored.opened.stored
        if stored and stored.damaged > _count(stored.state.config.get("damagedLines")):
            words = f"The log of this session is damaged: {plural(stored.damaged, 'line')} could not be read."
            self.emit(Warning(words, "damaged_log"))
            self.stored.remember({"damagedLines": stored.damaged})

    def rename(self, title: str) -> None:
        """Set the title."""
        self.title = title
        self.emit(Title(title))

    def name_after(self, text: str) -> bool:
        """Set the title from the text of a message, if the session has no title. Returns whether a title was set."""
        if self.title or not (title := title_of(text)):
            return False
        self.rename(title)
        return True

    @property
    def folder(self) -> Path:
        """The folder of the session's log."""
        return self.stored.opened.folder

    @property
    def latest(self) -> Mapping[str, bytes]:
        """The newest encoded event of each kind in LATEST_KINDS (store/recorder.py)."""
        return self.stored.opened.recorder.latest

    def events_since(self, seq: int, last: int | None = None) -> Sequence[bytes]:
        """Return encoded recorded events after number `seq`, up to `last` (None: the newest).

        Blocks: run in a thread.
        """
        return pages.events_between(self.stored.path, seq, last)

    def snapshot(self, last: int, limit: int) -> ItemPage:
        """Return the newest `limit` items as they were after event number `last`. Blocks: run in a thread."""
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
        """Change the given values. Return when the new values take effect: now, or from the next model call or
        turn.

        `limits` maps fields of UseLimits to values.

        Raises:
            BadChoiceError: unknown provider or effort; nothing is changed.
        """
        profile = None
        if provider is not None or model is not None:
            self.follows_settings.discard("model")
            # A model name does not apply to another provider; "" selects the new provider's default.
            same = provider is None or provider == self.session.profile.id
            chosen = model or (self.session.profile.model if same else "")
            profile = self._profiles(provider or self.session.profile.id, chosen)
        config = None
        if effort is not None:
            used = profile or self.session.profile
            check_effort(used.id, used.model, effort)
            self.follows_settings.discard("effort")
            config = replace(self.session.config, reasoning_effort=effort or None)
        if mode is not None:
            self.follows_settings.discard("mode")
            self.approver.mode = mode
        if review is not None:
            self.follows_settings.discard("review")
            self.approver.review = review
        applies: AppliesFrom = "now"
        if limits:
            applies = self.limit(limits)
            config = config and replace(config, limits=self.session.config.limits)
        if profile or config:
            applies = self.session.configure(profile=profile, config=config)
        self.remember()
        return applies

    def adopt(self, config: SessionConfig, *, approval_timeout_ms: int, has_other_tools: bool) -> None:
        """Apply changed settings, except values that were chosen for this session.

        `has_other_tools`: the settings change the tools, so the profile is created again for the next message.
        """
        limits = UseLimits(**{**asdict(config.limits), **self._limits})
        effort = self.session.config.reasoning_effort
        now = self.session.profile
        profile = self._profiles(now.id, now.model) if has_other_tools else None
        self.session.configure(
            profile=profile, config=replace(config, limits=limits, reasoning_effort=effort)
        )
        self.approver.approvals.limit.ms = approval_timeout_ms  # of questions too

    def follow(self, provider: str, model: str, settings: Settings) -> bool:
        """Use this model and the options of `settings` that nobody chose for this session. Returns whether one changed.

        The model is also used in a running turn that has not called a model yet.
        """
        free, now, before = self.follows_settings, self.session.profile, self._options()
        profile = self._profiles(provider, model) if "model" in free else now
        if (now.id, now.model) != (profile.id, profile.model):
            self.session.replace_profile(profile)
        if "effort" in free and settings.effort != self.session.config.reasoning_effort:
            self.session.configure(
                config=replace(self.session.config, reasoning_effort=settings.effort or None)
            )
        self.approver.mode = settings.mode if "mode" in free else self.approver.mode
        self.approver.review = settings.review if "review" in free else self.approver.review
        if self._options() == before:
            return False
        self.remember()
        return True

    def limit(self, changes: Mapping[str, float]) -> AppliesFrom:
        """Change usage limits and return when they take effect. Keys of `changes` are fields of UseLimits."""
        self._limits |= changes
        config = self.session.config
        limits = UseLimits(**{**asdict(config.limits), **changes})
        return self.session.configure(config=replace(config, limits=limits))

    def profile(self, provider: str, model: str) -> ProviderProfile:
        """Return the profile of a model, with this session's own tools.

        Raises:
            BadChoiceError: unknown provider.
        """
        return self._profiles(provider, model)

    def remember(self) -> None:
        """Record the chosen options in the log, so that a resumed session has the same options."""
        self.stored.remember({**self._options(), "limits": self._limits})

    def _options(self) -> dict[str, Any]:
        return {
            "provider": self.session.profile.id,
            "model": self.session.profile.model,
            "effort": self.session.config.reasoning_effort,
            "mode": self.approver.mode,
            "review": self.approver.review,
        }


def _count(value: object) -> int:
    """Return an integer from a log, or 0 for any other value."""
    return value if isinstance(value, int) else 0
