"""Create a session from its parts. This is the only place where all parts of a session are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.features.mcp.prompts import PromptsWithServers
from agent_ls.features.memory import PromptsWithMemory
from agent_ls.features.review_tool import REVIEW_MARK, PromptsWithReview
from agent_ls.features.skills.loader import has_skills
from agent_ls.features.skills.places import has_agent_kinds
from agent_ls.features.skills.service import ONLY_SKILLS, OfferedTools, ProjectFolder, SessionSkills
from agent_ls.features.tools.notebooks import has_notebooks
from agent_ls.features.tools.yaml_tools import load_cli_tools
from agent_ls.loop.calls.approval import PendingApprovals
from agent_ls.loop.calls.hooks import NO_HOOKS, Hooks
from agent_ls.loop.ids import SessionId
from agent_ls.loop.ports import Ports
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.seams import PromptSource
from agent_ls.loop.session import Listeners, Session
from agent_ls.services.changes.commands import command_files
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.changes.stamps import stamps
from agent_ls.services.changes.watched_files import FileSource, NoWatch, TouchedFiles
from agent_ls.services.context.prompts import (
    PromptWorkspace,
    SessionPrompts,
    facts_from_json,
    facts_to_json,
    no_skills,
)
from agent_ls.services.models.other_models import ConfiguredModels
from agent_ls.services.permissions.approver import ConfinementFacts, PolicyApprover
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.services.permissions.paths import PathBounds, places_of, user_memory
from agent_ls.services.permissions.session_rules import SessionRules
from agent_ls.services.permissions.trust import TrustGate
from agent_ls.services.permissions.workspace_roots import SessionRoots
from agent_ls.services.review.pinned import pinned_hunks
from agent_ls.services.review.resumed_reviews import ResumedReviews
from agent_ls.services.settings.model import Settings
from agent_ls.services.turn_reads import TurnReads
from agent_ls.sessions.build.config import check_judge, session_config
from agent_ls.sessions.build.link import SessionLink
from agent_ls.sessions.build.location import create_location
from agent_ls.sessions.build.mcp_servers import create_servers
from agent_ls.sessions.build.mentions import session_mentions
from agent_ls.sessions.build.not_started import PromptsWithNotice, find_not_started
from agent_ls.sessions.build.packs import session_packs
from agent_ls.sessions.build.parts import (
    RecordedParts,
    SessionLocation,
    SessionPermissions,
    editor_context,
    nested_documents,
    record_parts,
)
from agent_ls.sessions.build.tools import web_profiles, with_session_tools
from agent_ls.sessions.live import LiveSession, SessionFeatures, SessionWorkspace
from agent_ls.sessions.new_session import SessionChoice
from agent_ls.sessions.notices import Notices, ended_notice
from agent_ls.sessions.optional_tools import OptionalTools
from agent_ls.sessions.services import SharedServices
from agent_ls.sessions.session_log import COMMAND_MARK, PLACE, SessionFiles
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession

if TYPE_CHECKING:
    from agent_ls.features.hooks.service import SessionHooks
    from agent_ls.features.worktrees.worktree import Worktree
    from agent_ls.services.permissions.session_sandbox import SessionSandbox
    from agent_ls.sessions.workspaces.worktree import SessionWorktree


class SessionBuilder(SharedServices):
    """Creates sessions from the settings and services of this process."""

    __slots__ = ()

    def skills(
        self,
        folder: str,
        *,
        notify: Callable[[str], None] = lambda text: None,
        allow_reading: Callable[[str], None] = lambda folder: None,
        offers: OfferedTools = ONLY_SKILLS,
    ) -> SessionSkills:
        """Return the skills and commands for a session in this folder, or for a message that will start one."""
        site = self.sites.site(folder)
        near: InstructionFiles | None = None if self.program.environment else LOCAL_FILES
        return SessionSkills(
            ProjectFolder(
                site.root if site else folder,
                is_trusted=lambda: self.trust.get_trust(folder) == "trusted",
                files=site.instructions if site else near,
                is_ignored=site.disk.is_ignored if site else IgnoreFile((folder,)),
            ),
            str(self.account or ""),
            settings=lambda: self.now().skills,
            notify=notify,
            allow_reading=allow_reading,
            offers=offers,
        )

    def _versions(self) -> dict[str, int]:
        """Return the versions of the open documents, by path."""
        documents = self.editor.host.open_documents() if self.editor.host else ()
        return {document.path: document.version for document in documents}

    async def cli_tools(self, folder: str, stored_place: object = None) -> OptionalTools:
        """Return the optional tools for a session in `folder`, such as the user's own tools and tool packs.

        A file of these tools that changes later affects only sessions that are opened after the change.
        `stored_place` is the machine that the log of a resumed session names.

        Raises:
            BadChoiceError: the folder does not exist, or the settings name another machine than the log.
            PlaceError: the machine cannot be used.
        """
        await self.sites.prepare(folder)
        self.sites.check_same(folder, stored_place)
        site = self.sites.site(folder)
        is_here = not (self.program.environment or site)
        location = None if self.program.environment else site.root if site else folder
        workspace = Path(location) if location else None
        files: InstructionFiles = site.instructions if site else LOCAL_FILES

        def load() -> OptionalTools:
            is_trusted = workspace is not None and self.trust.get_trust(folder) == "trusted"
            # Skills of an untrusted folder are searched too: the user may trust the folder at the first message.
            chosen, state = self.now().skills, str(self.account or "")
            return OptionalTools(
                load_cli_tools(self.account, workspace, trusted=is_trusted, files=files),
                packs=session_packs(folder, self),
                skills=has_skills(chosen, state, location, files=files),
                agents=has_agent_kinds(chosen, state, location, files),
            )

        found = await anyio.to_thread.run_sync(load)
        told = self.notebooks()
        if told is None:
            looked_at = self.local(folder)
            told = await has_notebooks(looked_at)
            if not is_here and looked_at is not self.program.environment:
                await looked_at.cleanup()
        return replace(found, notebooks=told)

    async def _make_others(self, roots: SessionRoots, session_id: str) -> Mapping[str, ExecutionEnvironment]:
        """Return the environments for the other workspace folders. They are created when a turn starts."""
        await roots.settle()
        # The environment of an embedding program or another machine may lack these folders.
        if self.program.environment or self.sites.site(roots.key):
            return {}
        return {folder: self.files(self.local(folder), session_id) for folder in roots.others}

    def assemble(
        self,
        opened: OpenSession,
        header: Header,
        choice: SessionChoice,
        settings: Settings,
        restored: RestoredSession | None,
        worktree: Worktree | None = None,
    ) -> LiveSession:
        """Create a session. Each step gets the parts that the earlier steps have created.

        The session is created last, so its parts access it through a SessionLink.
        """
        link = SessionLink()
        stored = SessionFiles(opened, header)
        config = opened.stored.state.config if opened.stored else {}
        location = create_location(self, header, settings, stored, link, worktree)
        notices = Notices(opened.recorder.notice, opened.stored.state.notices if opened.stored else ())
        if location.site:
            self.sites.notify(location.local, notices.post)
        permissions = self._permissions(location, choice, settings, link)
        skills = self.skills(
            location.key,
            notify=notices.post,
            allow_reading=permissions.rules.allow_reading,
            offers=OfferedTools(choice.tools.skills, choice.tools.agents),
        )
        parts = self._parts(location, opened)
        touched = self._watch(location, opened, notices, link)
        bounded = self._make_bounded(location, permissions, parts, touched)
        environment = self._reviewed(location, permissions, parts, bounded, stored)
        profiles = with_session_tools(
            web_profiles(self.models, self.now, parts, self.program.pages, self.secrets),
            choice.tools,
            self.models,
            skills,
            parts.language,
            self.hide,
            native_names=settings.native_tool_names,
        )
        hooks: Hooks = self._hooks(location, permissions, settings, stored, notices, link) or NO_HOOKS
        session_worktree: SessionWorktree | None = None
        if worktree:
            from agent_ls.sessions.workspaces.worktree import SessionWorktree  # rarely needed

            session_worktree = SessionWorktree(worktree, location.key, permissions, self, stored, link)
            hooks = session_worktree.hooks(hooks)
        own_prompts = self._own_prompts(location, permissions, parts, choice, stored, skills)
        servers = create_servers(self, location, permissions, link)
        with_servers: PromptSource = own_prompts
        if servers:
            with_servers = PromptsWithServers(own_prompts, servers, permissions.gate.reads)
        if location.site:
            given = partial(self.session_servers, location.session_id)
            find = partial(find_not_started, location.site, self.now, self.state, given)
            with_servers = PromptsWithNotice(with_servers, location.site.place.machine, find, link.emit)
        memory = PromptsWithMemory(
            with_servers,
            bounded,
            trusted=permissions.gate.wait_for_decision,
            stored=config,
            remember=stored.remember,
            user_file=user_memory(str(self.account)) if location.is_here and self.account else "",
        )
        prompts = PromptsWithReview(
            memory,
            self.review.findings,
            is_wanted=bool(config.get(REVIEW_MARK)),
            remember=lambda: stored.remember({REVIEW_MARK: True}),
        )
        other_models = ConfiguredModels(lambda: self.now().models, self.models, profiles)
        ports = Ports(
            client=parts.client,
            environment=parts.record_commands(environment),
            approver=permissions.approver,
            recorder=opened.recorder,
            clock=self.clock,
            notices=notices,
            prompts=prompts,
            editor_context=editor_context(parts, location),
            reviews=ResumedReviews(
                self.review.proposals, permissions.approver, lambda: self.find_session(header.session_id)
            ),
            secrets=self.secrets,
            pinned=lambda: [
                *pinned_hunks(self.review.open_hunks(session_id=header.session_id), location.folder),
                *skills.list_pinned(),
            ],
            hooks=hooks,
            documents=nested_documents(own_prompts, permissions.gate, config, stored),
            models=other_models,
            judge_check=check_judge(self.now),
        )
        session = Session(
            session_id=SessionId(header.session_id),
            profile=profiles(choice.provider, choice.model),
            config=session_config(settings, choice.effort),
            ports=ports,
            restored=restored,
            listeners=Listeners(
                partial(
                    _call_each,
                    (
                        memory.on_input,
                        prompts.on_input,
                        partial(self._name_session, link, other_models, parts),
                    ),
                ),
                self.review.flush,
            ),
            profile_for=profiles,
        )
        live = LiveSession(
            session=session,
            profiles=profiles,
            approver=permissions.approver,
            stored=stored,
            notices=notices,
            workspace=SessionWorkspace(
                environment,
                parts.files,
                touched,
                prepare=partial(location.roots.settle, tell=False),
                # A recording must contain reads in the order of the messages, so nothing is read early.
                gather_early=(
                    partial(self._gather_early, location.key, own_prompts)
                    if location.listed and not parts.recording
                    else None
                ),
            ),
            features=SessionFeatures(
                skills,
                session_mentions(self, location, permissions, link.turn_id),
                prompts.offer,
                servers,
                session_worktree,
            ),
        )
        link.connect(live)
        self._begin(live, location, opened, stored)
        return live

    def _permissions(
        self, location: SessionLocation, choice: SessionChoice, settings: Settings, link: SessionLink
    ) -> SessionPermissions:
        """Create the parts that permit or refuse the session's actions: approvals, rules, trust, sandbox."""
        approvals = PendingApprovals(link.emit, link.is_stopped, self.clock, settings.approval_timeout_ms)
        rules = SessionRules(self.rules, location.key, self.clock, self.start, link.emit)
        gate = TrustGate(self.trust, location.key, approvals, link.emit, link.turn_id, TurnReads())
        sandbox: SessionSandbox | None = None
        if location.is_here:
            from agent_ls.services.permissions.session_sandbox import (
                SessionSandbox,  # imported only when needed
            )

            sandbox = SessionSandbox(
                settings.sandbox,
                lambda: location.bounds.places,
                str(self.state),
                link.emit,
                read_only=self.read_only,
            )
        approver = PolicyApprover(
            bounds=location.bounds,
            mode=choice.mode,
            approvals=approvals,
            grants=rules,
            review=choice.review,
            is_trusted=gate.is_trusted,
            confinement=ConfinementFacts(
                warn_of_loss=link.warn_of_loss,
                has_sandbox=lambda: sandbox is None or sandbox.is_started,
                can_confine=sandbox.can_look_confined if sandbox else None,
                # The embedding program itself must confine the environment that it provides.
                unconfined=lambda: "trust" if self.program.environment else self.now().unconfined_commands,
            ),
        )
        return SessionPermissions(approvals, rules, gate, approver, sandbox)

    def _parts(self, location: SessionLocation, opened: OpenSession) -> RecordedParts:
        """Return the session's model, environment and editor. A recording also gets all events."""
        # The editor's language servers know only the user's folder, not the worktree.
        language = None if location.worktree else self.editor.language
        parts = RecordedParts(
            location.local, location.files, self.models.client, self.editor.status, language
        )
        if not (recording := self.recordings.find(location.session_id)):
            return parts
        opened.recorder.observers.append(recording.write_event)
        return record_parts(parts, recording)

    def _make_bounded(
        self,
        location: SessionLocation,
        permissions: SessionPermissions,
        parts: RecordedParts,
        touched: TouchedFiles,
    ) -> ExecutionEnvironment:
        """Return the session's environment with its sandbox and path rules."""
        within = parts.files
        if permissions.sandbox:
            from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
            from agent_ls.services.permissions.session_sandbox import (
                RerunApproval,  # imported only when needed
            )

            approval = RerunApproval(permissions.approver, location.folder)
            within = SandboxedEnvironment(within, permissions.sandbox, approval)
        # A recording or a client opens a file by its path, so check the path first and do not open the file here.
        opens_here = bool(location.listed) and not (parts.recording or self.editor.client_files)
        on_read = touched.was_read if opens_here else None
        return BoundedEnvironment(within, location.bounds, opens_here=opens_here, on_read=on_read)

    def _reviewed(
        self,
        location: SessionLocation,
        permissions: SessionPermissions,
        parts: RecordedParts,
        bounded: ExecutionEnvironment,
        stored: SessionFiles,
    ) -> ReviewedEnvironment:
        """Return the environment that the tools use. Its changes are reported to the review."""
        commands = None
        if local := location.listed:
            # Commands change files on disk. A client returns only single files on request, so text in the client
            # is not searched.
            seen = local if self.editor.client_files else parts.files
            listing = location.roots.listing(local.list_files)
            # A command in a worktree must not make the editor save the user's documents.
            host = None if location.worktree else self.editor.host
            commands = command_files(listing, seen, host, lambda: location.roots.others)
        if location.worktree:  # changes are reviewed when they are brought to the user's folder
            return ReviewedEnvironment(bounded, self.review, stored, commands=commands)
        is_reviewed_first = permissions.approver.is_reviewed_first
        return ReviewedEnvironment(bounded, self.review, stored, is_reviewed_first, commands)

    def _watch(
        self, location: SessionLocation, opened: OpenSession, notices: Notices, link: SessionLink
    ) -> TouchedFiles:
        """Watch the files that the model has read or changed, and report their changes to it in notices."""
        state = opened.stored.state if opened.stored else None
        touched = TouchedFiles(
            FileSource(
                location.files,  # not recorded: the model did not request these reads
                self._versions,
                location.site.disk.stamps if location.site else stamps,
                (lambda path: False) if location.site else location.bounds.is_near,
                link.turn_id,
            ),
            self.review,
            tell=notices.post,
            watch=self.editor.watch or NoWatch(),
            known=state.shown | state.known if state else {},
            record=opened.recorder.record_known,
        )
        opened.recorder.on_read = touched.record_read
        if location.listed or location.site:
            notices.look_with(touched.check_files)
        return touched

    def _hooks(
        self,
        location: SessionLocation,
        permissions: SessionPermissions,
        settings: Settings,
        stored: SessionFiles,
        notices: Notices,
        link: SessionLink,
    ) -> SessionHooks | None:
        """Create the user's hooks, which run only on this machine."""
        if not (location.is_here and self.account):
            return None
        from agent_ls.sessions.build.hooks import create_hooks  # imported only when needed

        hooks = create_hooks(
            self,
            location,
            permissions,
            stored,
            permissions.sandbox if settings.sandbox.enabled else None,
            link,
            notices,
        )
        stored.opened.recorder.observers.append(hooks.observe)
        return hooks

    def _name_session(
        self, link: SessionLink, models: ConfiguredModels, parts: RecordedParts, text: str
    ) -> None:
        """Name a session without a title after the user's message; the titles model, if set, improves it."""
        # A recording must contain the model calls in the order of the conversation, so it has no call for a title.
        if link.name_after(text) and self.now().models.titles and not parts.recording:
            from agent_ls.sessions.model_titles import write_title  # few users set a model for titles

            self.start(partial(write_title, link.live, models, parts.client, text))

    def _own_prompts(
        self,
        location: SessionLocation,
        permissions: SessionPermissions,
        parts: RecordedParts,
        choice: SessionChoice,
        stored: SessionFiles,
        skills: SessionSkills,
    ) -> SessionPrompts:
        """Create the source of the system prompt and of the project's documents."""
        earlier = stored.opened.stored
        facts = facts_from_json(earlier.state.config.get("environment")) if earlier else None
        site = location.site
        return SessionPrompts(
            PromptWorkspace(
                parts.local,
                parts.files,
                trusted=permissions.gate.wait_for_decision,
                others=partial(self._make_others, location.roots, location.session_id),
                temporary=location.bounds.temporary,
                # None: always read the files. A recording must contain all reads, and in an embedding program's
                # environment changes are only found by reading.
                open_documents=self._versions if location.listed and not parts.recording else None,
                bounds=site.bounds
                if site
                else lambda root: PathBounds(places_of(root, worktree=location.worktree_root)),
            ),
            facts=facts,
            keep=lambda facts: stored.remember({"environment": facts_to_json(facts)}),
            skills=skills.catalogue if choice.tools.skills or choice.tools.agents else no_skills,
            reads=permissions.gate.reads,
        )

    def _begin(
        self, live: LiveSession, location: SessionLocation, opened: OpenSession, stored: SessionFiles
    ) -> None:
        """Start the background work of a session, and store the data that a later process needs to open it."""
        if live.gather_early:
            self.start(live.gather_early)
        if location.site:
            stored.remember({PLACE: location.site.place.machine})
        if local := location.listed:
            stored.remember({COMMAND_MARK: local.mark})
        if opened.stored and (ended := opened.stored.state.ended_with_process):
            live.notice(ended_notice(ended))

    async def _gather_early(self, folder: str, prompts: SessionPrompts) -> None:
        if await anyio.to_thread.run_sync(self.trust.get_trust, folder) == "trusted":
            await prompts.gather_early()


def _call_each(listeners: Sequence[Callable[[str], object]], text: str) -> None:
    for listener in listeners:
        listener(text)
