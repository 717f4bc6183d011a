"""The composition root of every face: settings, models, store and ledger, and the sessions that use them.

One supervisor (`run`) owns a task group in which each session is one task. Everything else hands work to it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from agent_ls.app.archive import Archive
from agent_ls.app.assembler import Assembler, SessionChoice, session_config
from agent_ls.app.clock import SystemClock
from agent_ls.app.errors import (
    BadChoiceError,
    NotRunningError,
    SessionBusyError,
    SessionHasHunksError,
    UnknownSessionError,
)
from agent_ls.app.held_settings import held_back
from agent_ls.app.ledgers import find, gather, stand_found
from agent_ls.app.live_session import LiveSession, SessionSummary
from agent_ls.app.logs import set_level
from agent_ls.app.mentions import Mentions
from agent_ls.app.models import WALKTHROUGH, Models
from agent_ls.app.own_task import in_own_task
from agent_ls.app.owners import Opener, Owners
from agent_ls.app.recording.tapes import Tapes
from agent_ls.app.resumed_choice import last_model, resumed_choice
from agent_ls.app.retention import NO_LOCKS, Retention
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.rolling_back import RolledBack, Wanted, roll_back
from agent_ls.app.rule_desk import RuleDesk
from agent_ls.app.session_pages import place, place_of
from agent_ls.app.settings import Settings, parse_settings
from agent_ls.app.store_errors import STATE_VARIABLE, closed_on_failure, store_errors
from agent_ls.app.surroundings import EditorEyes
from agent_ls.app.touched_files import FileWatch, NoWatch
from agent_ls.app.trust import Trusting, WorkspaceTrust
from agent_ls.app.unsaved_elsewhere import follow_missing
from agent_ls.app.warm_up import warm_up
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.language_host import LanguageHost
from agent_ls.environments.terminal_host import TerminalHost
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.walkthrough import WalkthroughAdapter
from agent_ls.loop.budget import known_limits
from agent_ls.loop.events import Warning
from agent_ls.loop.ids import SessionId, new_id
from agent_ls.loop.titles import plain
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.family import DEFAULT_OPTIONS, ProfileOptions
from agent_ls.store.errors import OwnershipLostError
from agent_ls.store.layout import SessionSummary as StoredSummary, lock_path
from agent_ls.store.locks import Owner, owner_of, this_process
from agent_ls.store.log import Header
from agent_ls.store.recovery import recover
from agent_ls.store.rules import RuleStore
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.store.trust import TrustStore
from agent_ls.tools.base import Tool

if TYPE_CHECKING:
    from agent_ls.tools.web_fetch import WebPages

log = logging.getLogger(__name__)

CLOSE_S = 1.0  # for connections to providers: the process is about to end


class Workbench:
    """`state_dir` None is the user's state folder; `editor_host` None: there is no editor. `eyes` tell of it.

    `terminals` None: no editor shows what commands do, nor lets its user type into them. `language`: its tools.
    `watch` tells of changed files. `adapters` are providers of the host's own, by name; they stand before those that
    have a key. `tools` come on top of those of each profile (P6). `environment` stands in place of this machine,
    `pages` of the web. `profile_options` hold for each profile. `record_to` is a new file for a recording of the first
    new session. `trusting` is about folders that the user has not decided about.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        credentials: Credentials,
        state_dir: Path | None = None,
        editor_host: EditorHost | None = None,
        adapters: Mapping[str, ProviderAdapter] | None = None,
        eyes: EditorEyes | None = None,
        watch: FileWatch | None = None,
        terminals: TerminalHost | None = None,
        language: LanguageHost | None = None,
        tools: Sequence[Tool[Any]] = (),
        environment: ExecutionEnvironment | None = None,
        record_to: Path | None = None,
        trusting: Trusting = "asked",
        profile_options: ProfileOptions = DEFAULT_OPTIONS,
        pages: WebPages | None = None,
    ) -> None:
        self.settings = settings
        self.on_settings: Callable[[Settings], object] = lambda settings: None
        """Told of each change, for who uses some of them himself."""
        self.folders: Callable[[], Sequence[str]] = tuple
        """Those of the workspace that are open now: a session works in its own, and in the others (H1)."""
        self.notebooks: bool | None = None
        """Whether folders of sessions have some; None: looked for as each is opened."""
        self._clock = SystemClock()
        own = {WALKTHROUGH: WalkthroughAdapter(self._pause), **(adapters or {})}
        chosen = state_dir or (Path(folder) if (folder := os.environ.get(STATE_VARIABLE)) else None)
        self.models = Models(settings, credentials, own, chosen, tools, profile_options)
        self.mentions = Mentions(self._run_beside, self._clock)
        self.review = ReviewDesk(self._maybe_audience, clock=self._clock, start=self._run_beside)
        self.secrets = credentials.known_secrets
        self._store = SessionStore(chosen, on_failure=self._log_failed, secrets=credentials.known_secrets)
        self._tapes = Tapes(self._store.layout.root / "recordings", credentials.known_secrets, record_to)
        self._live: dict[str, LiveSession] = {}
        self.archive = Archive(self._store, self.live)
        rules = RuleStore(chosen)
        self.rules = RuleDesk(rules, self.live)
        self.trust = WorkspaceTrust(TrustStore(chosen), self._clock, trusting)
        self._assembler = Assembler(
            models=self.models,
            secrets=credentials.known_secrets,
            clock=self._clock,
            rules=rules,
            trust=self.trust,
            state=self._store.layout.root,
            host=editor_host,
            eyes=eyes,
            watch=watch or NoWatch(),
            terminals=terminals,
            language=language,
            environment=environment,
            pages=pages,
            review=self.review,
            tapes=self._tapes,
            start=self._run_beside,
            audience=self._maybe_audience,
            user_folder=self._store.layout.root,
            folders=lambda: self.folders(),
            notebooks=lambda: self.notebooks,
            now=lambda: self.settings,
        )
        self._opening = anyio.Lock()
        self._host = editor_host
        self.owners = Owners(
            self._store, self._clock, lambda: tuple(self._live.values()), self._run_beside, self._save
        )
        self._retention = Retention(self._store.layout, settings.sessions)
        self._group: TaskGroup | None = None

    @property
    def tells_user(self) -> bool:
        return self.settings.notify != "off"

    def change_settings(self, options: Mapping[str, Any], *, is_trusted: bool = True) -> Sequence[str]:
        """For running sessions too, as far as they have not chosen otherwise (docs/configuration.md says from when).

        What is wrong, or has to wait until the workspace is trusted, is said, a sentence each; there holds what held
        before.
        """
        before = self.settings
        settings, problems = parse_settings(options, before)
        if not is_trusted:
            settings, waiting = held_back(before, settings)
            problems += waiting
        self.settings = settings
        self.models.change(settings)
        self._retention.change(settings.sessions)
        set_level(settings.log_level)
        self.on_settings(settings)
        for live in self._live.values():
            live.adopt(
                session_config(settings, None),
                approval_timeout_ms=settings.approval_timeout_ms,
                has_other_tools=_of_profile(before) != _of_profile(settings),
            )
        if settings.sandbox != before.sandbox and self._live:
            problems.append("agentLs.sandbox: sessions that are open keep theirs until they are closed")
        return problems

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Owns the sessions. Cancelled: all of them end, in good order."""
        try:
            async with anyio.create_task_group() as self._group:
                self._run_beside(self.owners.look)
                task_status.started()
                try:
                    await anyio.sleep_forever()
                finally:
                    # Before all else: who wants one of them waits for its end.
                    for live in self._live.values():
                        live.stored.opened.lock.tell_ending()
        finally:
            self._group = None
            with anyio.move_on_after(CLOSE_S, shield=True):
                await self.models.client.close()

    async def warm_up(self) -> None:
        """Makes ready what the first input would wait for. Never raises."""
        await warm_up(self.models.client, *self.models.choose(None, None))

    def set_credential(self, provider: str, secret: str | None) -> None:
        """As Models.set_credential; what the first call with the key would wait for begins now."""
        self.models.set_credential(provider, secret)
        self._run_beside(partial(self.models.client.prepare, provider))

    async def new_session(
        self,
        *,
        workspace_folder: str,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        mode: Mode | None = None,
        review: ReviewSetting | None = None,
        title: str | None = None,
    ) -> LiveSession:
        """
        Raises:
            BadChoiceError: no such folder or provider. AppError: the store cannot be written.
        """
        folder = str(await anyio.Path(workspace_folder).absolute())
        if self._assembler.environment is None and not await anyio.Path(folder).is_dir():
            raise BadChoiceError(f"no such folder: {folder}", "name the folder to work in")
        profile = self.models.profile(*self.models.choose(provider, model))
        if self._group is None:
            raise NotRunningError
        tools = await self._assembler.cli_tools(folder)
        session_id = SessionId(new_id("s"))
        header = Header(session_id, self._clock.now(), folder, profile.id, profile.model, plain(title or ""))
        settings = self.settings
        choice = SessionChoice(
            profile.id,
            profile.model,
            effort if effort is not None else settings.effort,
            mode or settings.mode,
            review or settings.review,
            tools,
        )
        # As in _open_now: who asked may take it back at any point.
        return await in_own_task(self._run_beside, partial(self._begin, header, choice, settings))

    async def _begin(self, header: Header, choice: SessionChoice, settings: Settings) -> LiveSession:
        with store_errors(header.session_id):
            opened = await anyio.to_thread.run_sync(self._store.create, header)
        with closed_on_failure(opened):
            with store_errors(header.session_id):
                standing = partial(self.trust.standing, header.workspace_folder)
                await self._tapes.begin(
                    header,
                    choice.mode,
                    choice.review,
                    settings,
                    standing,
                    self.folders(),
                    choice.tools.notebooks,
                )
            live = self._assembler.assemble(opened, header, choice, settings, None)
            live.remember()
            self._start(live, opened, choice.tools.warning)
        return live

    async def open_session(self, session_id: str) -> LiveSession:
        """The live one, or a stored one resumed.

        Waits for an owner that is about to end: of an editor that was just left, its server still settles.

        Raises:
            UnknownSessionError, SessionBusyError, AppError.
        """
        begun_ms = self._clock.monotonic_ms()
        while True:
            try:
                return await self._open_now(session_id, self._store.open)
            except SessionBusyError:
                if not await self.owners.is_worth_waiting(session_id, begun_ms):
                    raise

    async def take_over(self, session_id: str, *, force: bool) -> LiveSession:
        """As Owners.take_over; at once, of a session that is open here or nowhere."""
        live = await self.owners.take_over(session_id, self._open_now, force=force)
        if self._host:  # the editor may show files as they were before the agent changed them
            await self._host.files_changed(self.review.paths(session_id))
        return live

    async def _save(self) -> None:
        if self._host:
            await self._host.save_before_command()

    async def _open_now(self, session_id: str, opener: Opener) -> LiveSession:
        if self._group is None:
            raise NotRunningError
        # Else it would stay locked, and open to nobody, where who asked for it takes that back half way.
        return await in_own_task(self._run_beside, partial(self._open_in_turn, session_id, opener))

    async def _open_in_turn(self, session_id: str, opener: Opener) -> LiveSession:
        async with self._opening:  # two requests for one stored session must not both open it
            if live := await self._maybe_open(session_id):
                return live
            with store_errors(session_id):
                opened = await anyio.to_thread.run_sync(opener, session_id)
            with closed_on_failure(opened):
                live = await self._resume(session_id, opened)
            await self.owners.came(live)
            return live

    async def _maybe_open(self, session_id: str) -> LiveSession | None:
        """The live session; None when it is only stored, once one that is just ending has ended."""
        if live := self._live.get(session_id):
            if not live.session.is_closing and not live.scope.cancel_called:
                return live
            await live.ended.wait()
        return None

    def files_changed(self, paths: Sequence[str]) -> None:
        """The editor tells of files that were changed by others: their hunks move with the text at once."""
        for path in paths:
            if self.review.knows(path):
                self._run_beside(partial(self.review.look_at_disk, path))

    def live(self, session_id: str) -> LiveSession | None:
        return self._live.get(session_id)

    async def list_sessions(
        self, workspace_folder: str | None, cursor: str | None, limit: int, query: str = ""
    ) -> tuple[Sequence[SessionSummary], str | None]:
        """Live and stored sessions, newest first; the cursor is where the next page begins.

        `query` is to be in the title, however it is written large or small.

        A session that is written to meanwhile moves to the front: no page shows it twice, or leaves another out.

        Raises:
            BadChoiceError: a cursor that no page ended with.
        """
        last = place_of(cursor)
        stored = await anyio.to_thread.run_sync(self._store.sessions, workspace_folder)
        rest = [item for item in stored if last is None or place(item) < last]
        if query:
            rest = [item for item in rest if query.casefold() in self._title(item).casefold()]
        page = rest[: max(limit, 1)]
        more = "/".join(place(page[-1])) if len(rest) > len(page) else None
        owners = await anyio.to_thread.run_sync(lambda: [owner_of(lock_path(it.folder)) for it in page])
        return [self._summary(it, owner) for it, owner in zip(page, owners, strict=True)], more

    # -- inside

    async def _resume(self, session_id: str, opened: OpenSession) -> LiveSession:
        stored = opened.stored
        if stored is None:
            raise UnknownSessionError(session_id)
        for problem in stored.problems:
            log.warning("session %s: %s", session_id, problem)
        files = self._assembler.files(self._assembler.local(stored.header.workspace_folder))
        tools = await self._assembler.cli_tools(stored.header.workspace_folder)
        evidence = await gather(opened, stored, files, self.review.ledger)
        # No await from here on: nobody changes a ledger or a setting, or says a word, before the session is whole.
        settings = self.settings
        found = find(self.review, stored, evidence)
        restored = recover(stored, self._clock.now(), found.events, found.proposed)
        suspended = restored.suspended
        chosen, answer = last_model(stored), suspended.answer if suspended else None
        # A turn goes on with the model that it began with.
        model = (answer.provider, answer.model) if answer else chosen
        choice = resumed_choice(stored, settings, model, tools)
        live = self._assembler.assemble(opened, stored.header, choice, settings, restored)
        live.desk.restore(stored.fold, suspended)
        if limits := known_limits(stored.fold.config.get("limits")):
            live.limit(limits)
        if model != chosen:
            live.session.configure(profile=live.profile(*chosen))
        self._start(live, opened, tools.warning)
        live.session.start()  # now, so that who opened it is told of it whole
        for change in found.changes:
            live.touched.changed(change.ledger.path)
            self.review.adopt(change)
        stand_found(self.review.proposals, found, live)
        for path in found.paths:  # the user may have typed since they were read
            if self._host and (document := self._host.open_document(path)):
                self.review.user_edit(path, document.text)
        follow_missing(found.missing, opened.taken_from, live, self.review, self._run_beside, self._clock)
        return live

    def _maybe_audience(self, session_id: str) -> LiveSession | None:
        """A session that may still be told something: after SESSION_END nothing is."""
        live = self._live.get(session_id)
        return live if live and live.session.state != "CLOSED" else None

    def _run_beside(self, work: Callable[[], Awaitable[None]]) -> None:
        """A short task beside the sessions, which must outlive its failure."""

        async def guarded() -> None:
            try:
                await work()
            except Exception:  # the supervisor's edge, as in _live_out
                log.exception("a task beside the sessions failed")

        if self._group:
            self._group.start_soon(guarded)

    def _start(self, live: LiveSession, opened: OpenSession, warning: str = "") -> None:
        if self._group is None:
            raise NotRunningError
        self._live[live.session.id] = live
        self._group.start_soon(self._live_out, live, opened)
        if not opened.lock.is_firm:
            self._run_beside(partial(_warn, live, NO_LOCKS, "no_locks"))
        if warning:
            self._run_beside(partial(_warn, live, warning, "bad_tools"))
        folder, now = live.summary().workspace_folder, self._clock.now()
        self._run_beside(partial(self._retention.look_at, folder, now, tuple(self._live)))

    async def _live_out(self, live: LiveSession, opened: OpenSession) -> None:
        """One session's task, from its start to its last line."""
        try:
            with live.scope:
                await live.environment.initialize()
                await live.prepare()
                await live.session.run()
        except Exception:  # the supervisor's edge: one session must not end the others (R5)
            if live.is_ours:
                log.exception("session %s ended by an error of ours", live.session.id)
            else:
                log.warning("session %s was taken by force by another process", live.session.id)
        finally:
            if not live.is_ours:
                self.owners.give_up(live)
            with anyio.CancelScope(shield=True):  # bounded: TERM, two seconds, KILL
                await live.environment.cleanup()
            with suppress(OwnershipLostError):
                for standing in self.review.standings(live.session.id):
                    live.stand(standing)
            if not live.is_ours:  # taken since
                self.owners.give_up(live)
            opened.close()
            if live.scope.cancel_called:  # another process looks after its hunks from now on
                self.review.forget(live.session.id)
            self._tapes.close(live.session.id)
            self._live.pop(live.session.id, None)
            live.ended.set()

    def _summary(self, stored: StoredSummary, owner: Owner | None = None) -> SessionSummary:
        header = stored.header
        if owner and owner.is_same(this_process()):
            owner = None  # as long as it ends here
        if (live := self._live.get(header.session_id)) and not live.scope.cancel_called:
            return live.summary()
        return SessionSummary(
            id=header.session_id,
            title=stored.title,
            state="IDLE",
            provider=header.provider,
            model=header.model,
            effort=None,
            mode=self.settings.mode,
            review=self.settings.review,
            workspace_folder=header.workspace_folder,
            created=header.created,
            updated=stored.updated,
            last_seq=stored.last_seq,
            is_walkthrough=header.provider == WALKTHROUGH,
            owner=owner,
        )

    def _title(self, stored: StoredSummary) -> str:
        live = self._live.get(stored.header.session_id)
        return live.title if live else stored.title

    async def rename(self, session_id: str, title: str) -> SessionSummary:
        """Of a session that is open here or only stored.

        Raises:
            UnknownSessionError, SessionBusyError, AppError.
        """
        async with self._opening:
            if live := await self._maybe_open(session_id):
                live.rename(title)
                return live.summary()
            with store_errors(session_id):
                rename = partial(self._store.rename, session_id, title, self._clock.now())
                return self._summary(await anyio.to_thread.run_sync(rename))

    async def fork(self, session_id: str, at_turn: str = "") -> LiveSession:
        """A session with the history of another up to the end of a turn ("": the last that has ended).

        Raises:
            UnknownSessionError, BadChoiceError (no such turn), AppError.
        """
        new = SessionId(new_id("s"))
        with store_errors(session_id):
            source = await anyio.to_thread.run_sync(self._store.summary, session_id)
            title = plain(f"{self._title(source)} (fork)".strip())
            header = replace(source.header, session_id=new, created=self._clock.now(), title=title)
            await anyio.to_thread.run_sync(self._store.fork, session_id, header, at_turn)
        return await self.open_session(new)

    async def revert(self, session_id: str, wanted: Wanted) -> tuple[LiveSession, RolledBack]:
        """Takes a session, open or stored, back to what it was before an input (X10).

        Raises:
            UnknownSessionError, BadChoiceError (no such turn), AppError. loop.errors.SessionError: a turn runs.
        """
        live = await self.open_session(session_id)
        with store_errors(session_id):
            return live, await roll_back(live, self.review, wanted)

    async def close_session(self, session_id: str) -> None:
        """Returns when it may be opened again, by whomever.

        Raises:
            UnknownSessionError.
        """
        live = self._live.get(session_id)
        if live is None:
            async with self._opening:  # it may be about to be opened
                live = self._live.get(session_id)
        if live:
            live.session.abort()
            await live.ended.wait()
            return
        with store_errors(session_id):
            await anyio.to_thread.run_sync(self._store.folder, session_id)

    async def delete_session(self, session_id: str, *, force: bool) -> None:
        """With all that is kept of it. Files of the workspace are left as they are.

        Raises:
            SessionHasHunksError: changes of its own wait, and no `force`.
            UnknownSessionError, SessionBusyError, AppError.
        """
        is_live = session_id in self._live
        waiting = self._waiting(session_id) if is_live else await self.archive.open_hunks(session_id)
        if waiting and not force:
            raise SessionHasHunksError(session_id, waiting)
        if waiting:
            # Accepted as they are: nobody could decide about them any more. What is not made stays so.
            await self.open_session(session_id)
            found = self.review.open_hunks(session_id=session_id).values()
            made = [hunk.id for hunks in found for hunk in hunks if hunk.state in ("pending", "edited")]
            await self.review.review(verdict="keep", hunk_ids=made)
        await self.close_session(session_id)
        async with self._opening:
            if live := self._live.get(session_id):  # opened again in between
                live.session.abort()
                await live.ended.wait()
            if (late := self._waiting(session_id)) and not force:  # its turn has ended with a change
                raise SessionHasHunksError(session_id, late)
            with store_errors(session_id):
                await anyio.to_thread.run_sync(self._store.delete, session_id)
            self.review.forget(session_id)

    def _waiting(self, session_id: str) -> int:
        return sum(map(len, self.review.open_hunks(session_id=session_id).values()))

    async def _pause(self) -> None:
        await self._clock.sleep(self.settings.walkthrough_pause_ms / 1000)

    def _log_failed(self, session_id: str, error: OSError) -> None:
        log.error("the log of session %s cannot be written: %s", session_id, error)
        words = (
            f"This session is no longer kept on disk: {error.strerror or error}. It goes on in memory only."
        )
        if live := self._live.get(session_id):
            # Not from here: the event that failed has not been published yet.
            self._run_beside(partial(_warn, live, words))


async def _warn(live: LiveSession, words: str, code: str = "not_recorded") -> None:
    live.emit(Warning(words, code))


def _of_profile(settings: Settings) -> tuple[object, ...]:
    """What decides about the tools of a model, and how it is spoken to."""
    names = (settings.native_tool_names, settings.think_tool, settings.submit_tool)
    return (*names, settings.web_fetch, settings.web_search, settings.providers)
