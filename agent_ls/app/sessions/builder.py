"""Create a session from its parts. This is the only place where all parts of a session are connected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.to_thread

from agent_ls.app.changes.commands import command_files
from agent_ls.app.changes.environment import ReviewedEnvironment
from agent_ls.app.changes.stamps import stamps
from agent_ls.app.changes.watched_files import FileWatch, TouchedFiles
from agent_ls.app.clock import SystemClock
from agent_ls.app.context.editor import EditorStatus, SessionEditorContext
from agent_ls.app.context.nested_documents import SessionDocuments
from agent_ls.app.context.prompts import SessionPrompts, facts_from_json, facts_to_json, no_skills
from agent_ls.app.models.other_models import ConfiguredModels
from agent_ls.app.models.service import Models
from agent_ls.app.permissions.approver import PolicyApprover
from agent_ls.app.permissions.ignore_file import IgnoreFile
from agent_ls.app.permissions.paths import PathBounds, places_of
from agent_ls.app.permissions.session_rules import SessionRules
from agent_ls.app.permissions.trust import TrustGate, WorkspaceTrust
from agent_ls.app.permissions.workspace_roots import SessionRoots
from agent_ls.app.recording.tapes import Tapes
from agent_ls.app.review.pinned import pinned_hunks
from agent_ls.app.review.resumed_reviews import ResumedReviews
from agent_ls.app.review.service import ReviewService
from agent_ls.app.servers.of_session import ServersOfSession
from agent_ls.app.servers.prompts import PromptsWithServers
from agent_ls.app.sessions.far_sites import FarSites
from agent_ls.app.sessions.live import LiveSession
from agent_ls.app.sessions.memory import PromptsWithMemory
from agent_ls.app.sessions.not_started import PromptsWithNotice, find_not_started
from agent_ls.app.sessions.notices import Notices, ended_notice
from agent_ls.app.sessions.review_tool import REVIEW_MARK, PromptsWithReview
from agent_ls.app.sessions.session_config import session_config
from agent_ls.app.sessions.session_log import COMMAND_MARK, PLACE, SessionFiles
from agent_ls.app.sessions.session_packs import session_packs
from agent_ls.app.settings.model import Settings
from agent_ls.app.skills.loader import has_skills
from agent_ls.app.skills.places import has_agent_kinds
from agent_ls.app.skills.service import ONLY_SKILLS, Offers, SessionSkills
from agent_ls.app.tools.notebooks import has_notebooks, with_notebooks
from agent_ls.app.tools.yaml_tools import CliTools, load_cli_tools, with_cli_tools
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles
from agent_ls.environments.language_host import LanguageHost
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.commit import anybody
from agent_ls.environments.local.terminals.own_terminals import ChosenTerminals
from agent_ls.environments.notebooks import NotebookEnvironment
from agent_ls.environments.terminal_host import TerminalHost
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.loop.calls.approval import PendingApprovals
from agent_ls.loop.calls.hooks import NO_HOOKS
from agent_ls.loop.calls.redaction import Known
from agent_ls.loop.ids import SessionId
from agent_ls.loop.restored import Restored
from agent_ls.loop.seams import ModelClient, PromptSource
from agent_ls.loop.session import Session
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.store.log import Header
from agent_ls.store.rules import RuleStore
from agent_ls.store.sessions import OpenSession

if TYPE_CHECKING:
    from agent_ls.app.permissions.looking import LookingSandbox
    from agent_ls.app.permissions.sandbox import SessionSandbox
    from agent_ls.app.recording.tape import Tape
    from agent_ls.profiles.base import ProviderProfile
    from agent_ls.tools.web_fetch import WebFetcher

MEBIBYTE = 1024 * 1024
NESTED_DOCUMENTS = "nestedDocuments"  # key in a session's log of the instruction files that results had

ClientFiles: TypeAlias = Callable[[str, ExecutionEnvironment], ExecutionEnvironment]
"""Returns an environment that overlays the disk with the files that the client of this session has open."""


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """Options that were chosen for one session. `effort` None: the model's default. `tools` are the user's
    own tools.
    """

    provider: str
    model: str
    effort: str | None
    mode: Mode
    review: ReviewSetting
    tools: CliTools


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBuilder:
    """Creates sessions from the settings and services of this process.

    `start` runs a short background task. `audience` returns a session that can still receive notices, or
    None. `client_files` overlays the disk with the files that the session's client has open; None: there are
    none. `session_folders` returns additional folders of one session, `session_servers` its client's
    MCP servers. `host`, `editor_status` and `language`
    None: there is no editor. `environment` replaces this machine, `pages` the web. `user_folder` contains the
    user's own files, such as tool definitions. `folders` returns the folders that are open in the workspace
    now. `notebooks` says whether the session's folder contains notebooks; None: search it. `now` returns the
    current settings. `looking` confines read-only commands. `hide` adds values to redact.
    """

    models: Models
    secrets: Known
    clock: SystemClock
    rules: RuleStore
    trust: WorkspaceTrust
    state: Path
    host: EditorHost | None
    client_files: ClientFiles | None
    editor_status: EditorStatus | None
    watch: FileWatch
    terminals: TerminalHost | None
    language: LanguageHost | None
    environment: ExecutionEnvironment | None
    sites: FarSites
    review: ReviewService
    tapes: Tapes
    pages: WebFetcher | None
    start: Callable[[Callable[[], Awaitable[None]]], None]
    audience: Callable[[str], LiveSession | None]
    user_folder: Path
    folders: Callable[[], Sequence[str]]
    session_folders: Callable[[str], Sequence[str]]
    session_servers: Callable[[str], Mapping[str, Mapping[str, Any]]]
    notebooks: Callable[[], bool | None]
    now: Callable[[], Settings]
    looking: LookingSandbox
    hide: Callable[[Sequence[str]], None]

    def local(self, folder: str, demand_right: Callable[[], None] = anybody) -> ExecutionEnvironment:
        if self.environment:
            return self.environment
        if site := self.sites.site(folder):
            return self.sites.environment(site, demand_right)
        return LocalEnvironment(
            folder,
            environ=self.models.child_environ,
            env_policy=lambda: self.now().command_environment.rules(),
            terminals=ChosenTerminals(lambda: self.now().terminal, self.terminals),
            demand_right=demand_right,
            max_background=lambda: self.now().max_background_processes,
            read_limit_bytes=lambda: self.now().max_read_mebibytes * MEBIBYTE,
        )

    def files(self, local: ExecutionEnvironment, session_id: str) -> ExecutionEnvironment:
        """Return the files as the session's user sees them: with the unsaved text of the editor or client."""
        files = local
        if self.client_files:
            files = self.client_files(session_id, local)
        elif self.host:
            files = EditorEnvironment(local, self.host)
            if self.host.notebooks:
                files = NotebookEnvironment(files, self.host.notebooks)
        return self.sites.with_near_names(files, local.working_directory())

    def skills(
        self,
        folder: str,
        *,
        notify: Callable[[str], None] = lambda text: None,
        allow_reading: Callable[[str], None] = lambda folder: None,
        offers: Offers = ONLY_SKILLS,
    ) -> SessionSkills:
        """Return the skills and commands for a session in this folder, or for a message that will start one."""
        site = self.sites.site(folder)
        near: InstructionFiles | None = None if self.environment else LOCAL_FILES
        return SessionSkills(
            site.root if site else folder,
            str(self.state),
            settings=lambda: self.now().skills,
            is_trusted=lambda: self.trust.standing(folder) == "trusted",
            notify=notify,
            allow_reading=allow_reading,
            files=site.instructions if site else near,
            is_ignored=site.disk.is_ignored if site else IgnoreFile((folder,)),
            offers=offers,
        )

    def _versions(self) -> dict[str, int]:
        """Return the versions of the open documents, by path."""
        documents = self.host.open_documents() if self.host else ()
        return {document.path: document.version for document in documents}

    async def cli_tools(self, folder: str, stored_place: object = None) -> CliTools:
        """Load the user's tools for a session in this folder. A changed file applies to later sessions."""
        await self.sites.prepare(folder)
        self.sites.check_same(folder, stored_place)
        site = self.sites.site(folder)
        is_here = not (self.environment or site)
        place = None if self.environment else site.root if site else folder
        workspace = Path(place) if place else None
        files: InstructionFiles = site.instructions if site else LOCAL_FILES

        def load() -> CliTools:
            is_trusted = workspace is not None and self.trust.standing(folder) == "trusted"
            tools = load_cli_tools(self.user_folder, workspace, trusted=is_trusted, files=files)
            # Skills of an untrusted folder count, because the user may trust the folder at the first message.
            chosen, state = self.now().skills, str(self.state)
            return replace(
                tools,
                packs=session_packs(folder, self),
                skills=has_skills(chosen, state, place, files=files),
                agents=has_agent_kinds(chosen, state, place, files),
            )

        found = await anyio.to_thread.run_sync(load)
        told = self.notebooks()
        if told is None:
            looked_at = self.local(folder)
            told = await has_notebooks(looked_at)
            if not is_here and looked_at is not self.environment:
                await looked_at.cleanup()
        return replace(found, notebooks=told)

    async def _others(self, roots: SessionRoots, session_id: str) -> Mapping[str, ExecutionEnvironment]:
        """Return the environments for the other workspace folders, created when an input starts."""
        await roots.settle()
        # The contents of an environment of a program's own outside the folder are not known here.
        if self.environment or self.sites.site(roots.key):
            return {}
        return {folder: self.files(self.local(folder), session_id) for folder in roots.others}

    def assemble(
        self,
        opened: OpenSession,
        header: Header,
        choice: SessionChoice,
        settings: Settings,
        restored: Restored | None,
    ) -> LiveSession:
        key = header.workspace_folder
        site = self.sites.site(key)
        folder = site.root if site else key
        is_here = not (self.environment or site)
        stored = SessionFiles(opened, header)
        local = local_commands = self.local(key, stored.demand_ours)
        files = self.files(local, header.session_id)
        find_places = partial(places_of, settings=settings.paths, state=str(self.state))
        bounds = PathBounds(site.places, site.disk) if site else PathBounds(find_places(folder))
        roots = SessionRoots(
            key,
            lambda: () if site else (*self.folders(), *self.session_folders(header.session_id)),
            self.trust,
            bounds,
            lambda event: session.emit(event),
            find_places,
        )
        untold = opened.stored.fold.notices if opened.stored else ()
        notices = Notices(opened.recorder.notice, untold)
        if site:
            self.sites.notify(local_commands, notices.post)
        asking = PendingApprovals(
            lambda event: session.emit(event),
            lambda: session.is_stopped,
            self.clock,
            settings.approval_timeout_ms,
        )
        grants = SessionRules(self.rules, key, self.clock, self.start, lambda event: session.emit(event))
        gate = TrustGate(self.trust, key, asking, lambda event: session.emit(event), lambda: session.turn_id)
        approver = PolicyApprover(
            bounds=bounds,
            mode=choice.mode,
            approvals=asking,
            grants=grants,
            review=choice.review,
            is_trusted=gate.is_trusted,
            has_sandbox=lambda: sandbox is None or sandbox.is_raised,
            can_confine=lambda: sandbox.can_look_confined() if sandbox else _nowhere(),
            # A program's own environment is confined or trusted as that program decides.
            unconfined=lambda: "trust" if self.environment else self.now().unconfined_commands,
        )
        # Changes are searched on the disk of this machine only, not in a program's own environment.
        listed = local.list_files if isinstance(local, LocalEnvironment) else None
        client: ModelClient = self.models.client
        on_disk = files
        heard: Callable[[ExecutionEnvironment], ExecutionEnvironment] = _as_it_is
        editor_status, language = self.editor_status, self.language
        if tape := self.tapes.of(header.session_id):
            from agent_ls.app.recording.editor_tape import RecordingEditorStatus, RecordingLanguage
            from agent_ls.app.recording.tape import RecordingClient, RecordingCommands, RecordingFiles

            local = RecordingCommands(RecordingFiles(local, tape), tape)
            files = RecordingFiles(files, tape)
            client = RecordingClient(client, tape)
            heard = partial(RecordingCommands, tape=tape)
            editor_status = RecordingEditorStatus(editor_status, tape) if editor_status else None
            language = RecordingLanguage(language, tape) if language else None
            opened.recorder.observers.append(tape.event)
        sandbox: SessionSandbox | None = None
        within = files
        if is_here:
            from agent_ls.app.permissions.sandbox import (  # imported late: accepting a message needs none of it
                Leaving,
                SessionSandbox,
            )
            from agent_ls.environments.wrappers.sandbox import SandboxedEnvironment

            sandbox = SessionSandbox(
                settings.sandbox,
                lambda: bounds.places,
                str(self.state),
                lambda event: session.emit(event),
                looking=self.looking,
            )
            within = SandboxedEnvironment(files, sandbox, Leaving(approver, folder))
        bounded = BoundedEnvironment(within, bounds)
        # Commands see only the disk; a client can be asked only for single files.
        seen = local_commands if self.client_files else files
        commands = (
            command_files(roots.listing(listed), seen, self.host, lambda: roots.others) if listed else None
        )
        environment = ReviewedEnvironment(bounded, self.review, stored, approver.is_reviewed_first, commands)
        touched = TouchedFiles(
            on_disk,  # reads that the model did not request are not recorded
            self.review,
            documents=self._versions,
            tell=notices.post,
            watch=self.watch,
            known=opened.stored.fold.shown | opened.stored.fold.known if opened.stored else {},
            record=opened.recorder.known,
            stamps_of=site.disk.stamps if site else stamps,
        )
        opened.recorder.on_shown = touched.shown
        if listed or site:
            notices.look_for = partial(_look_for_changes, self.review, touched)
        profiles = with_cli_tools(self._profiles(client, tape), choice.tools.tools, self.models.child_environ)
        if choice.tools.packs:
            from agent_ls.app.tools.packs.load import with_packs  # few users choose packs

            profiles = with_packs(
                profiles,
                choice.tools.packs,
                self.models.child_environ,
                native_names=settings.native_tool_names,
                without=self.models.left_out,
            )
        if choice.tools.notebooks:
            profiles = with_notebooks(profiles, native_names=settings.native_tool_names)
        if language:
            # only some editors answer language requests
            from agent_ls.app.tools.language_tools import with_language_tools

            profiles = with_language_tools(profiles, language, native_names=settings.native_tool_names)
        skills = self.skills(
            key,
            notify=notices.post,
            allow_reading=grants.allow_reading,
            offers=Offers(choice.tools.skills, choice.tools.agents),
        )
        if choice.tools.skills:
            from agent_ls.app.skills.tool import with_use_skill  # few users have skills

            profiles = with_use_skill(profiles, skills.use)
        if choice.tools.agents:
            from agent_ls.app.skills.agent_tool import with_agent_kinds  # as above

            profiles = with_agent_kinds(profiles, skills.agents, self.models.has_model)
        hooks = None
        if is_here:
            from agent_ls.app.sessions.session_hooks import create_hooks  # imported late, as above

            hooks = create_hooks(
                header,
                approver,
                stored,
                state=self.state,
                settings=self.now,
                trust=self.trust,
                secrets=self.secrets,
                start=self.start,
                local=local_commands,
                sandbox=sandbox if settings.sandbox.enabled else None,
            )
            hooks.emit, hooks.notify = lambda event: session.emit(event), notices.post
            opened.recorder.observers.append(hooks.observe)
        facts = opened.stored.fold.config.get("environment") if opened.stored else None
        own_prompts = SessionPrompts(
            local,
            files,
            trusted=gate.settled,
            others=partial(self._others, roots, header.session_id),
            facts=facts_from_json(facts) if opened.stored else None,
            keep=lambda facts: stored.remember({"environment": facts_to_json(facts)}),
            # A recording must contain all files that are read; a program's own environment is only known by
            # reading it.
            open_documents=self._versions if listed and not tape else None,
            skills=skills.catalogue if choice.tools.skills or choice.tools.agents else no_skills,
            bounds=site.bounds if site else lambda root: PathBounds(places_of(root)),
        )
        servers = self._servers(header, asking, gate, bounds, lambda: live)
        prompts: PromptSource = PromptsWithServers(own_prompts, servers) if servers else own_prompts
        if site:
            given = partial(self.session_servers, header.session_id)
            find = partial(find_not_started, site, self.now, self.state, given)
            prompts = PromptsWithNotice(prompts, site.place.machine, find, lambda event: session.emit(event))
        prompts = memory = PromptsWithMemory(
            prompts,
            bounded,
            trusted=gate.settled,
            stored=opened.stored.fold.config if opened.stored else {},
            remember=stored.remember,
        )
        prompts = reviewing = PromptsWithReview(
            prompts,
            self.review.findings,
            is_wanted=bool(opened.stored and opened.stored.fold.config.get(REVIEW_MARK)),
            remember=lambda: stored.remember({REVIEW_MARK: True}),
        )

        other_models = ConfiguredModels(lambda: self.now().models, self.models, profiles)

        def on_input(text: str) -> None:
            memory.on_input(text)
            reviewing.on_input(text)
            # A recording must contain the calls of the model in the order of the conversation.
            if live.name_after(text) and self.now().models.titles and not tape:
                from agent_ls.app.sessions.model_titles import write_title  # few users set a model for titles

                self.start(partial(write_title, live, other_models, client, text))

        session = Session(
            session_id=SessionId(header.session_id),
            profile=profiles(choice.provider, choice.model),
            environment=heard(environment),
            client=client,
            approver=approver,
            recorder=opened.recorder,
            clock=self.clock,
            notices=notices,
            config=session_config(settings, choice.effort),
            restored=restored,
            secrets=self.secrets,
            prompts=prompts,
            before_end=self.review.flush,
            on_input=on_input,
            profile_for=profiles,
            pinned=lambda: [
                *pinned_hunks(self.review.open_hunks(session_id=header.session_id), folder),
                *skills.pinned(),
            ],
            editor_context=SessionEditorContext(editor_status, folder) if editor_status else None,
            hooks=hooks or NO_HOOKS,
            models=other_models,
            documents=self._nested_documents(own_prompts, gate, opened, stored),
            reviews=ResumedReviews(self.review.proposals, approver, lambda: self.audience(header.session_id)),
        )
        live = LiveSession(
            session=session,
            profiles=profiles,
            approver=approver,
            environment=environment,
            files=files,
            notices=notices,
            stored=stored,
            touched=touched,
            title=opened.stored.title if opened.stored else header.title,
            prepare=partial(roots.settle, tell=False),
            # A recording is to hold what is read in the order of the messages.
            gather_early=partial(self._gather_early, folder, own_prompts) if listed and not tape else None,
            skills=skills,
            offer_findings=reviewing.offer,
            servers=servers,
        )
        if live.gather_early:
            self.start(live.gather_early)
        if site:
            stored.remember({PLACE: site.place.machine})
        if isinstance(local_commands, LocalEnvironment):
            stored.remember({COMMAND_MARK: local_commands.mark})
        if opened.stored and (ended := opened.stored.fold.ended_with_process):
            live.notice(ended_notice(ended))
        return live

    def _nested_documents(
        self, prompts: SessionPrompts, gate: TrustGate, opened: OpenSession, stored: SessionFiles
    ) -> SessionDocuments:
        """The project's instructions for folders below the session's."""
        known = opened.stored.fold.config.get(NESTED_DOCUMENTS) if opened.stored else None
        return SessionDocuments(
            prompts.project,
            trusted=gate.settled,
            size=lambda: prompts.documents_bytes,
            known=[it for it in known if isinstance(it, str)] if isinstance(known, list) else (),
            keep=lambda paths: stored.remember({NESTED_DOCUMENTS: list(paths)}),
        )

    async def _gather_early(self, folder: str, prompts: SessionPrompts) -> None:
        if await anyio.to_thread.run_sync(self.trust.standing, folder) == "trusted":
            await prompts.gather_early()

    def _servers(
        self,
        header: Header,
        approvals: PendingApprovals,
        gate: TrustGate,
        bounds: PathBounds,
        live: Callable[[], LiveSession],
    ) -> ServersOfSession | None:
        """Return the session's MCP servers; None in a program's own environment, which runs no program of
        this machine.
        """
        folder = header.workspace_folder
        if self.environment or self.sites.site(folder):
            return None
        return ServersOfSession(
            folder=folder,
            state=self.state,
            settings=self.now,
            environ=self.models.child_environ,
            secrets=self.secrets,
            hide=self.hide,
            clock=self.clock,
            approvals=approvals,
            turn_id=lambda: live().session.turn_id,
            is_trusted=gate.is_trusted,
            roots=lambda: (folder,),
            start=self.start,
            warn=lambda text: live().warn(text, "mcp"),
            changed=lambda: live().servers_changed(),
            client=partial(self.session_servers, header.session_id),
            made=[],
            places=lambda: bounds.places,
        )

    def _profiles(self, client: ModelClient, tape: Tape | None) -> Callable[[str, str], ProviderProfile]:
        """Return a function that creates profiles with the web tools that the settings allow. The host's own
        tools come first.
        """
        pages: WebFetcher | None = None

        def profile(provider: str, model: str) -> ProviderProfile:
            nonlocal pages
            settings, found = self.now(), self.models.profile(provider, model)
            if not (settings.web_fetch or settings.web_search):
                return found
            from agent_ls.app.web.tools import with_web_tools  # rarely used, and imports an HTTP library

            pages = pages or (self._pages(tape) if settings.web_fetch else None)
            return with_web_tools(found, settings, client, pages)

        return profile

    def _pages(self, tape: Tape | None) -> WebFetcher:
        from agent_ls.app.web.pages import HttpPages

        pages: WebFetcher = self.pages or HttpPages(self.secrets)
        if tape:
            from agent_ls.app.recording.tape import RecordingPages

            pages = RecordingPages(pages, tape)
        return pages


async def _look_for_changes(review: ReviewService, touched: TouchedFiles) -> None:
    await review.under_way.settle()
    await touched.look()


async def _nowhere() -> bool:
    return False


def _as_it_is(place: ExecutionEnvironment) -> ExecutionEnvironment:
    return place
