"""Connect settings, models, store and review, and manage all sessions of this process. Used by every front end.

The tasks of the sessions are in `sessions/running.py`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from agent_ls.features.mentions.commits import RecentCommits
from agent_ls.features.recording.session_recordings import SessionRecordings
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.walkthrough import WalkthroughAdapter
from agent_ls.loop.budget import known_limits
from agent_ls.loop.events.types import Warning
from agent_ls.loop.ids import SessionId, new_id
from agent_ls.policy.situation import Mode
from agent_ls.services.clock import SystemClock
from agent_ls.services.context.mentions import Mentions
from agent_ls.services.errors import (
    SessionHasHunksError,
    SessionOwnedError,
    UnappliedChangesError,
    UnknownSessionError,
)
from agent_ls.services.logs import set_level
from agent_ls.services.models.efforts import check_effort
from agent_ls.services.models.service import WALKTHROUGH, ModelService, profile_settings
from agent_ls.services.models.warm_up import warm_up
from agent_ls.services.permissions.paths import user_memory
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.trust import BY_COMMAND, BY_PROGRAM, WorkspaceTrust
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.restore import find, gather, restore_proposals
from agent_ls.services.review.service import ReviewService
from agent_ls.services.settings.model import Settings
from agent_ls.services.settings.untrusted import client_settings, restrict_settings
from agent_ls.services.store_errors import STATE_VARIABLE, closed_on_failure, store_errors
from agent_ls.sessions.build.builder import build_session
from agent_ls.sessions.build.config import session_config
from agent_ls.sessions.build.opening_warnings import not_stored, opening_warnings
from agent_ls.sessions.host import (
    NO_CLIENT,
    NO_EDITOR,
    NO_PARTS,
    ClientState,
    EditorServices,
    ProgramParts,
)
from agent_ls.sessions.live import LiveSession, SessionSummary
from agent_ls.sessions.new_session import (
    SessionChoice,
    SessionSpec,
    last_model,
    resumed_choice,
    with_provider,
)
from agent_ls.sessions.optional_tools import find_optional_tools
from agent_ls.sessions.own_environment import check_same_environment, has_own_code
from agent_ls.sessions.own_task import in_own_task
from agent_ls.sessions.ownership.session_ownership import Opener, SessionOwnership
from agent_ls.sessions.ownership.takeover_notices import follow_missing
from agent_ls.sessions.quiet import QuietTime, return_memory_after_turns
from agent_ls.sessions.rollback import RollbackRequest, RollbackResult, roll_back
from agent_ls.sessions.rules import RuleManager
from agent_ls.sessions.running import RunningSessions
from agent_ls.sessions.services import SharedServices
from agent_ls.sessions.session_log import end_left_commands
from agent_ls.sessions.stored.archive import Archive
from agent_ls.sessions.stored.listing import SessionListing
from agent_ls.sessions.stored.retention import Retention
from agent_ls.sessions.workspaces.remote_sites import RemoteSites
from agent_ls.sessions.workspaces.worktrees import Worktrees, discard
from agent_ls.store.log import Header
from agent_ls.store.recovery import recover
from agent_ls.store.rules import RuleStore
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.store.trust import TrustStore
from agent_ls.text import to_display_line

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Start

log = logging.getLogger(__name__)
CLOSE_S = 1.0  # seconds for closing provider connections; short, because the process is about to end


class SessionManager:
    """Creates, opens, lists and ends sessions.

    If `state_dir` is None, the folder that AGENT_LS_STATE_DIR names is used, else the user's state folder.
    The first new session is recorded in the file `record_to`. `client` is what the client has open.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        credentials: Credentials,
        state_dir: Path | None = None,
        editor: EditorServices = NO_EDITOR,
        program: ProgramParts = NO_PARTS,
        record_to: Path | None = None,
        client: ClientState = NO_CLIENT,
    ) -> None:
        self.settings = settings
        self._client = client
        self._clock = SystemClock()
        self._running = RunningSessions()
        self.quiet = QuietTime(self._running.progress, self._clock)
        chosen = state_dir or (Path(folder) if (folder := os.environ.get(STATE_VARIABLE)) else None)
        self.models = self._create_models(credentials, chosen, program)
        self.mentions = Mentions(self._running.in_background, self._clock)
        self.review = self._create_review(editor)
        self.secrets = credentials.known_secrets
        self._store = SessionStore(chosen, on_failure=self._log_failed, secrets=credentials.known_secrets)
        self._recordings = SessionRecordings(
            self._store.layout.root / "recordings", credentials.known_secrets, record_to
        )
        self.archive = Archive(self._store, self.find_live)
        self.rules = RuleManager(rules := RuleStore(chosen), self.find_live)
        self.trust = WorkspaceTrust(
            TrustStore(chosen),
            self._clock,
            client.trusting,
            of_editor=client.trusted_folders,
            on_change=client.on_trust,
            advice=BY_COMMAND if program.personal else BY_PROGRAM,
            keeps=client.keeps_trust,
        )
        state, has_editor = self._store.layout.root, bool(editor.host or editor.client_files)
        self.sites = RemoteSites(lambda: self.settings, self.models, state, has_editor)
        self._services = self._share(credentials, rules, editor, program)
        self.skills = self._services.skills
        self.commits = RecentCommits(self._services.local, self.trust, self._clock)
        self.worktrees = Worktrees(self._store.layout, self.models, self.trust, self._services)
        self._listing = SessionListing(
            self._store, self._running.find_open, lambda: self.settings, self.worktrees.name
        )
        self.list_sessions = self._listing.page
        self._opening = anyio.Lock()
        self._host = editor.host
        self.owners = SessionOwnership(
            self._store,
            self._clock,
            lambda: tuple(self._running.live.values()),
            self._running.in_background,
            self._save,
        )
        self._retention = Retention(self._store.layout, settings.sessions)

    def _create_models(
        self, credentials: Credentials, state_dir: Path | None, program: ProgramParts
    ) -> ModelService:
        own = {WALKTHROUGH: WalkthroughAdapter(self._pause), **program.adapters}
        models = ModelService(
            self.settings,
            credentials,
            own,
            state_dir,
            program.tools,
            program.profile_options,
            program.profiles,
        )
        models.on_keys = self.follow_settings
        return models

    def _create_review(self, editor: EditorServices) -> ReviewService:
        return ReviewService(
            self._running.find_for_notices,
            self._clock,
            self._running.in_background,
            editor.host.save_undone if editor.host else None,
            is_reviewed=lambda path: self.worktrees.is_in_none(path),
        )

    def _share(
        self, credentials: Credentials, rules: RuleStore, editor: EditorServices, program: ProgramParts
    ) -> SharedServices:
        """Return the services that the parts of sessions use."""
        return SharedServices(
            models=self.models,
            secrets=credentials.known_secrets,
            clock=self._clock,
            rules=rules,
            trust=self.trust,
            state=self._store.layout.root,
            editor=editor,
            program=program,
            sites=self.sites,
            review=self.review,
            recordings=self._recordings,
            start=self._running.in_background,
            find_session=self._running.find_for_notices,
            client=self._client,
            now=lambda: self.settings,
            read_only=ReadOnlySandbox(self._store.layout.root),
            hide=credentials.hide,
        )

    @property
    def notifies_user(self) -> bool:
        return self.settings.notify != "off"

    @property
    def user_memory(self) -> str:
        """The file with the user's notes for all projects. Blocks: follows links."""
        return user_memory(str(self._store.layout.root))

    def change_settings(self, options: Mapping[str, Any], *, is_trusted: bool = True) -> Sequence[str]:
        """Apply settings. Open sessions keep values that were chosen for one session (docs/configuration.md).

        Returns a sentence for each setting that is invalid or that needs a trusted workspace. Such a setting
        keeps its old value.
        """
        before = self.settings
        settings, problems = client_settings(options, before)
        if not is_trusted:
            settings, waiting = restrict_settings(before, settings)
            problems += waiting
        self.settings = settings
        self.models.change(settings)
        self._retention.change(settings.sessions)
        if settings.log_level != before.log_level:  # otherwise a level that a program set itself stays
            set_level(settings.log_level)
        self._client.on_settings(settings)
        for live in self._running.live.values():
            live.adopt(
                session_config(settings, None),
                approval_timeout_ms=settings.approval_timeout_ms,
                has_other_tools=profile_settings(before) != profile_settings(settings),
            )
        if settings.sandbox != before.sandbox and self._running.live:
            problems.append("agentLs.sandbox: open sessions keep their earlier value until they are closed")
        return problems

    async def follow_settings(self) -> Sequence[str]:
        """Use the settings in open sessions for what nobody chose there. Returns the ids of changed sessions."""
        chosen = self.models.choose(None, None)
        await self.models.learn_size(*chosen)
        return [live.id for live in self._running.live.values() if live.follow(*chosen, self.settings)]

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run the sessions until this task is cancelled; then end all of them in an orderly way."""
        try:
            async with anyio.create_task_group() as group:
                await group.start(self._running.run)
                self._running.in_background(self.owners.watch_handovers)
                task_status.started()
        finally:
            await self.sites.close()
            with anyio.move_on_after(CLOSE_S, shield=True):
                await self.models.client.close()

    async def return_memory(self) -> None:
        """Return freed memory to the system after turns. Runs until cancelled.

        Only for processes of agent-ls: a program that uses the library manages its memory itself.
        """
        await return_memory_after_turns(self._running.progress, self._clock)

    async def warm_up(self) -> None:
        """Preload the code and data that a first message needs, while no session works. Never raises."""
        await warm_up(self.models.client, *self.models.choose(None, None), self.quiet.wait)

    def set_credential(self, provider: str, secret: str | None) -> None:
        """Set or remove (None) an API key, and preload what the first model call with it needs."""
        self.models.set_credential(provider, secret)

        async def use() -> None:
            await self.follow_settings()
            await self.models.client.prepare(provider)

        self._running.in_background(use)

    async def new_session(self, new: SessionSpec) -> LiveSession:
        """Create a session and start it.

        Raises:
            BadChoiceError: the folder, provider or effort does not exist, or no worktree is possible.
            AppError: store or git failed.
        """
        folder = await self.sites.workspace(
            new.workspace_folder, must_exist=self._services.program.environment is None
        )
        profile = await self.models.choose_profile(new.provider, new.model)
        check_effort(profile.id, profile.model, new.effort)
        self._running.check_running()
        await self.worktrees.check(folder, new.worktree)
        tools = await find_optional_tools(self._services, folder)
        session_id, named = SessionId(new_id("s")), to_display_line(new.title or "")
        made = (session_id, self._clock.now(), folder, profile.id, profile.model, named)
        is_own = has_own_code(self._services.program.environment)
        header = Header(*made, has_worktree=bool(new.worktree), has_own_environment=is_own)
        settings = self.settings
        choice = SessionChoice(
            profile.id,
            profile.model,
            new.effort if new.effort is not None else settings.effort,
            new.mode or settings.mode,
            new.review or settings.review,
            tools,
        )
        live = await in_own_task(
            self._running.in_background, partial(self._begin, header, choice, settings, new.worktree)
        )
        live.follows_settings = new.unchosen
        return live

    async def _begin(
        self, header: Header, choice: SessionChoice, settings: Settings, start: Start | None
    ) -> LiveSession:
        with store_errors(header.session_id):
            opened = await anyio.to_thread.run_sync(self._store.create, header)
        with closed_on_failure(opened):
            with store_errors(header.session_id):
                trust_state = partial(self.trust.get_trust, header.workspace_folder)
                await self._recordings.start(
                    header,
                    choice.mode,
                    choice.review,
                    settings,
                    trust_state,
                    self._client.folders(),
                    choice.tools.recorded,
                )
            discarded = partial(discard, opened.close, self._store.delete, header.session_id)
            worktree = await self.worktrees.make(header, start, discarded) if start else None
            live = build_session(self._services, opened, header, choice, settings, None, worktree)
            live.remember()
            if live.worktree:
                live.worktree.introduce()
            self._start(live, opened, choice.tools.warning)
        return live

    async def open_session(
        self, session_id: str, *, provider: str = "", mode: Mode | None = None
    ) -> LiveSession:
        """Return the live session, or resume a stored one.

        A stored session goes on with `provider`, "" for its own one, which need not exist any more, and in `mode`, None
        for that of the settings. Both apply before a suspended turn continues.

        If the process that owns the session is about to end, wait until it has ended: the server of an editor
        that was just closed still finishes its work.

        Raises: UnknownSessionError, SessionOwnedError, AppError.
        """
        begun_ms = self._clock.monotonic_ms()
        while True:
            try:
                return await self._open_now(session_id, self._store.open, provider, mode)
            except SessionOwnedError:
                if not await self.owners.is_worth_waiting(session_id, begun_ms):
                    raise

    @property
    def state_root(self) -> Path:
        """The folder in which sessions are stored."""
        return self._store.layout.root

    async def stored_header(self, session_id: str) -> Header:
        """Return the facts that a stored session began with. Raises: UnknownSessionError, AppError."""
        with store_errors(session_id):
            return (await anyio.to_thread.run_sync(self._store.summary, session_id)).header

    async def take_over(self, session_id: str, *, force: bool) -> LiveSession:
        """Take a session over (SessionOwnership.take_over). Does not wait if no other process owns the session."""
        live = await self.owners.take_over(session_id, self._open_now, force=force)
        if self._host:  # the editor may show old contents of files that the agent has changed
            await self._host.files_changed(self.review.paths(session_id))
        return live

    async def _save(self) -> None:
        if self._host:
            await self._host.save_before_command()

    async def _open_now(
        self, session_id: str, opener: Opener, provider: str = "", mode: Mode | None = None
    ) -> LiveSession:
        self._running.check_running()
        # Opening runs in its own task, because a cancelled request would leave the session locked but not open.
        return await in_own_task(
            self._running.in_background, partial(self._open_in_turn, session_id, opener, provider, mode)
        )

    async def _open_in_turn(
        self, session_id: str, opener: Opener, provider: str, mode: Mode | None
    ) -> LiveSession:
        async with self._opening:  # two requests for one stored session must not both open it
            if live := await self._maybe_open(session_id):
                return live
            with store_errors(session_id):
                opened = await anyio.to_thread.run_sync(opener, session_id)
            with closed_on_failure(opened):
                live = await self._resume(session_id, opened, provider, mode)
            await self.owners.report_open(live)
            return live

    async def _maybe_open(self, session_id: str) -> LiveSession | None:
        """Return the live session, or None if it is only stored. If the session is ending, wait for its end first."""
        if live := self._running.live.get(session_id):
            if not live.session.is_closing and not live.scope.cancel_called:
                return live
            await live.ended.wait()
        return None

    def files_changed(self, paths: Sequence[str]) -> None:
        """Update the hunk positions of files under review that other programs may have changed on disk."""
        for path in paths:
            if self.review.knows(path):
                self._running.in_background(partial(self.review.look_at_disk, path))

    def find_live(self, session_id: str) -> LiveSession | None:
        return self._running.find(session_id)

    async def _resume(
        self, session_id: str, opened: OpenSession, provider: str, mode: Mode | None
    ) -> LiveSession:
        stored = opened.stored
        if stored is None:
            raise UnknownSessionError(session_id)
        check_same_environment(stored.header, self._services.program.environment)
        for problem in stored.problems:
            log.warning("session %s: %s", session_id, problem)
        await end_left_commands(opened)
        folder = stored.header.workspace_folder
        worktree = await self.worktrees.open(stored.header) if stored.header.has_worktree else None
        tools = await find_optional_tools(self._services, folder, stored.state.config.get("place"))
        files = self._services.files(self._services.local(folder), session_id)
        chosen = last_model(stored, provider)
        await self.models.learn_size(*chosen)
        evidence = await gather(opened, stored, files, self.review.state.ledger)
        # No await from here on, because no ledger, setting or event may change before the session is complete.
        settings = self.settings
        found = find(self.review.state, stored, evidence)
        restored = recover(stored, self._clock.now(), found.events, found.pending_calls)
        if provider:
            restored = with_provider(restored, *chosen)
        suspended = restored.suspended
        # A suspended turn continues with its model.
        answer = suspended.answer if suspended else None
        model = (answer.provider, answer.model) if answer else chosen
        choice = resumed_choice(stored, settings, model, tools)
        live = build_session(self._services, opened, stored.header, choice, settings, restored, worktree)
        live.approver.mode = mode or live.approver.mode
        live.approver.restore(stored.state, suspended)
        if limits := known_limits(stored.state.config.get("limits")):
            live.limit(limits)
        if model != chosen:
            live.session.configure(profile=live.profile(*chosen))
        self._start(live, opened, tools.warning)
        live.session.start()  # before the events below, so that the client that opened the session gets all events
        live.warn_of_damage()
        if found.written:
            opened.recorder.changes(found.written)
        for change in found.changes:
            live.touched.mark_known(change.ledger.path)
            self.review.state.adopt(change)
        restore_proposals(self.review.proposals, found, live)
        for path in found.paths:  # the user may have typed after these files were read
            if self._host and (document := self._host.open_document(path)):
                self.review.user_edit(path, document.text)
        follow_missing(
            found.missing, opened.taken_from, live, self.review, self._running.in_background, self._clock
        )
        return live

    def _start(self, live: LiveSession, opened: OpenSession, bad_tools: str) -> None:
        self._running.start(live, opened, self.review, self._recordings, self.owners.give_up)
        settings, registry = self.settings, live.session.profile.registry
        for words, code in opening_warnings(settings, registry, opened.lock.is_firm, bad_tools):
            self._running.in_background(partial(_warn, live, words, code))
        folder, now = live.summary().workspace_folder, self._clock.now()
        self._running.in_background(partial(self._retention.look_at, folder, now, tuple(self._running.live)))

    async def rename(self, session_id: str, title: str) -> SessionSummary:
        """Set the title of a live or stored session.

        Raises: UnknownSessionError, SessionOwnedError, AppError.
        """
        async with self._opening:
            if live := await self._maybe_open(session_id):
                live.rename(title)
                return live.summary()
            with store_errors(session_id):
                rename = partial(self._store.rename, session_id, title, self._clock.now())
                return self._listing.summary(await anyio.to_thread.run_sync(rename))

    async def fork(self, session_id: str, at_turn: str = "") -> LiveSession:
        """Copy a session by `copy_session`, and open the copy."""
        return await self.open_session(await self.copy_session(session_id, at_turn))

    async def copy_session(self, session_id: str, at_turn: str = "") -> SessionId:
        """Create a stored session with another session's history up to the end of a turn ("": the last completed
        turn).

        Raises: UnknownSessionError, BadChoiceError (unknown turn), AppError.
        """
        new = SessionId(new_id("s"))
        with store_errors(session_id):
            source = await anyio.to_thread.run_sync(self._store.summary, session_id)
            self.worktrees.check_fork(source.header)
            title = to_display_line(f"{self._listing.title(source)} (fork)".strip())
            header = replace(source.header, session_id=new, created=self._clock.now(), title=title)
            await anyio.to_thread.run_sync(self._store.fork, session_id, header, at_turn)
        return new

    async def revert(self, session_id: str, wanted: RollbackRequest) -> tuple[LiveSession, RollbackResult]:
        """Roll a live or stored session back to its state before a user message (X10).

        Raises: UnknownSessionError, BadChoiceError (unknown turn), AppError. loop.errors.SessionError: a turn
        runs.
        """
        live = await self.open_session(session_id)
        with store_errors(session_id):
            return live, await roll_back(live, self.review, wanted)

    async def close_session(self, session_id: str) -> None:
        """End a session; return when any process can open it again.

        Raises: UnknownSessionError.
        """
        live = self._running.live.get(session_id)
        if live is None:
            async with self._opening:  # another task may be opening the session
                live = self._running.live.get(session_id)
        if live:
            live.session.abort()
            await live.ended.wait()
            return
        with store_errors(session_id):
            await anyio.to_thread.run_sync(self._store.folder, session_id)

    async def delete_session(self, session_id: str, *, force: bool) -> None:
        """Delete a session with all its stored data. Files of the workspace stay as they are.

        Raises: SessionHasHunksError: `force` is False, and the session has undecided hunks, or changes that
        are only in its worktree. UnknownSessionError, SessionOwnedError, AppError.
        """
        if not force and await self.worktrees.has_unapplied(session_id):
            raise UnappliedChangesError(session_id)
        is_live = session_id in self._running.live
        waiting = self._count_waiting(session_id) if is_live else await self.archive.open_hunks(session_id)
        if waiting and not force:
            raise SessionHasHunksError(session_id, waiting)
        if waiting:
            # The changes stay in the files and count as kept, because nobody can decide about them after the
            # deletion. Proposals are not written.
            await self.open_session(session_id)
            found = self.review.open_hunks(session_id=session_id).values()
            made = [hunk.id for hunks in found for hunk in hunks if hunk.state in ("pending", "edited")]
            await self.review.review("keep", Selection(hunk_ids=made))
        await self.close_session(session_id)
        async with self._opening:
            if live := self._running.live.get(session_id):  # another task has opened the session again
                live.session.abort()
                await live.ended.wait()
            # The session's last turn may have changed files after the hunks were counted above.
            if (late := self._count_waiting(session_id)) and not force:
                raise SessionHasHunksError(session_id, late)
            with store_errors(session_id):
                await anyio.to_thread.run_sync(self._store.delete, session_id)
            self.review.state.forget(session_id)

    def _count_waiting(self, session_id: str) -> int:
        return sum(map(len, self.review.open_hunks(session_id=session_id).values()))

    async def _pause(self) -> None:
        await self._clock.sleep(self.settings.walkthrough_pause_ms / 1000)

    def _log_failed(self, session_id: str, error: OSError) -> None:
        log.error("the log of session %s cannot be written: %s", session_id, error)
        if live := self._running.live.get(session_id):
            # A task emits the warning later, because the event whose recording failed has not been published yet.
            self._running.in_background(partial(_warn, live, not_stored(error)))


async def _warn(live: LiveSession, words: str, code: str = "not_recorded") -> None:
    live.emit(Warning(words, code))
