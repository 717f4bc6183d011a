"""Create a session from its parts. This is the only place where all parts of a session are connected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.features.base import FeaturePrompts, SessionFeatures
from agent_ls.loop.ids import SessionId
from agent_ls.loop.ports import Ports
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.session import Listeners, Session
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.context.nested_documents import SessionDocuments
from agent_ls.services.context.prompts import (
    PromptWorkspace,
    SessionPrompts,
    facts_from_json,
    facts_to_json,
)
from agent_ls.services.models.other_models import ConfiguredModels
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.services.permissions.workspace_roots import SessionRoots
from agent_ls.services.review.pinned import pinned_hunks
from agent_ls.services.review.resumed_reviews import ResumedReviews
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.build.config import check_judge, session_config
from agent_ls.sessions.build.draft import SessionDraft
from agent_ls.sessions.build.environments import (
    bounded_environment,
    external_parts,
    reviewed_environment,
    watch_files,
)
from agent_ls.sessions.build.features import features_of
from agent_ls.sessions.build.link import SessionLink
from agent_ls.sessions.build.location import locate
from agent_ls.sessions.build.parts import editor_context
from agent_ls.sessions.build.permissions import permissions_for
from agent_ls.sessions.live import LiveSession, SessionWorkspace
from agent_ls.sessions.new_session import SessionChoice
from agent_ls.sessions.notices import Notices, ended_notice
from agent_ls.sessions.services import SharedServices
from agent_ls.sessions.session_log import COMMAND_MARK, PLACE, SessionFiles
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Worktree

NESTED_DOCUMENTS = "nestedDocuments"  # key in a session's log: documents that were added to tool results


def build_session(
    services: SharedServices,
    opened: OpenSession,
    header: Header,
    choice: SessionChoice,
    settings: Settings,
    restored: RestoredSession | None,
    worktree: Worktree | None = None,
) -> LiveSession:
    """Create a session from the settings and services of this process, and begin its background work.

    The session is created last, so its parts access it through a SessionLink.
    """
    draft = _draft(services, opened, header, choice, settings, worktree)
    features = features_of(draft)
    prompts = _own_prompts(draft)
    environment = reviewed_environment(draft)
    profiles = features.profiles(services.models.profile)
    models = ConfiguredModels(lambda: services.now().models, services.models, profiles)
    session = Session(
        session_id=SessionId(header.session_id),
        profile=profiles(choice.provider, choice.model),
        config=session_config(settings, choice.effort),
        ports=_ports(draft, features, prompts, environment, models),
        restored=restored,
        listeners=Listeners(partial(_on_input, draft, features, models), services.review.flush),
        profile_for=profiles,
    )
    live = LiveSession(
        session=session,
        profiles=profiles,
        approver=draft.permissions.approver,
        stored=draft.stored,
        notices=draft.notices,
        workspace=_workspace(draft, environment, prompts),
        features=features,
    )
    draft.link.connect(live)
    _begin(draft, live)
    return live


def _draft(
    services: SharedServices,
    opened: OpenSession,
    header: Header,
    choice: SessionChoice,
    settings: Settings,
    worktree: Worktree | None,
) -> SessionDraft:
    """Create the parts from which the features are created. Each step gets the parts of the earlier steps."""
    link, stored = SessionLink(), SessionFiles(opened, header)
    location = locate(services, header, settings, stored, link, worktree)
    notices = Notices(opened.recorder.notice, opened.stored.state.notices if opened.stored else ())
    if location.site:
        services.sites.notify(location.local, notices.post)
    permissions = permissions_for(services, location, choice, settings, link)
    parts = external_parts(services, location, opened)
    touched = watch_files(services, location, opened, notices, link)
    session_worktree = None
    if worktree:
        from agent_ls.sessions.workspaces.worktree import SessionWorktree  # rarely needed

        session_worktree = SessionWorktree(worktree, location.key, permissions, services, stored, link)
    return SessionDraft(
        services=services,
        settings=settings,
        choice=choice,
        stored=stored,
        link=link,
        location=location,
        notices=notices,
        permissions=permissions,
        parts=parts,
        touched=touched,
        bounded=bounded_environment(services, location, permissions, parts, touched),
        worktree=session_worktree,
    )


def _ports(
    draft: SessionDraft,
    features: SessionFeatures,
    prompts: SessionPrompts,
    environment: ReviewedEnvironment,
    models: ConfiguredModels,
) -> Ports:
    """Return the interfaces through which the loop reaches everything else."""
    services, approver, session_id = draft.services, draft.permissions.approver, draft.location.session_id
    review = services.review
    return Ports(
        client=draft.parts.client,
        environment=draft.parts.record_commands(environment),
        approver=approver,
        recorder=draft.stored.opened.recorder,
        clock=services.clock,
        notices=draft.notices,
        prompts=FeaturePrompts(prompts, features),
        editor_context=editor_context(draft.parts, draft.location),
        reviews=ResumedReviews(review.proposals, approver, lambda: services.find_session(session_id)),
        secrets=services.secrets,
        pinned=lambda: [
            *pinned_hunks(review.open_hunks(session_id=session_id), draft.location.folder),
            *features.list_pinned(),
        ],
        hooks=features.hooks(),
        documents=_nested_documents(draft, prompts),
        models=models,
        judge_check=check_judge(services.now),
    )


def _workspace(
    draft: SessionDraft, environment: ReviewedEnvironment, prompts: SessionPrompts
) -> SessionWorkspace:
    """Return the files that the session works on."""
    location, services = draft.location, draft.services

    async def gather_early() -> None:
        if await anyio.to_thread.run_sync(services.trust.get_trust, location.key) == "trusted":
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
        touched = self._watch(location, opened, notices)
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
        gate.reads.add(lambda: self.models.take_stored_keys)
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

    def _watch(self, location: SessionLocation, opened: OpenSession, notices: Notices) -> TouchedFiles:
        """Watch the files that the model has read or changed, and report their changes to it in notices."""
        state = opened.stored.state if opened.stored else None
        touched = TouchedFiles(
            FileSource(
                location.files,  # not recorded: the model did not request these reads
                self._versions,
                location.site.disk.stamps if location.site else stamps,
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

    # A recording must contain reads in the order of the messages, so nothing is read early.
    is_early = location.listed and not draft.parts.recording
    return SessionWorkspace(
        environment,
        draft.parts.files,
        draft.touched,
        prepare=partial(location.roots.settle, tell=False),
        gather_early=gather_early if is_early else None,
        worktree=draft.worktree,
    )


def _own_prompts(draft: SessionDraft) -> SessionPrompts:
    """Create the source of the system prompt and of the project's documents."""
    services, location, parts, gate = draft.services, draft.location, draft.parts, draft.permissions.gate
    return SessionPrompts(
        PromptWorkspace(
            parts.local,
            parts.files,
            trusted=gate.wait_for_decision,
            others=partial(_make_others, services, location.roots, location.session_id),
            temporary=location.bounds.temporary,
            # None: always read the files. A recording must contain all reads, and in an embedding program's
            # environment changes are only found by reading.
            open_documents=services.document_versions if location.listed and not parts.recording else None,
            bounds=location.site.bounds
            if location.site
            else lambda root: PathBounds(places_of(root, worktree=location.worktree_root)),
        ),
        facts=facts_from_json(draft.config.get("environment")),
        keep=lambda facts: draft.stored.remember({"environment": facts_to_json(facts)}),
        reads=gate.reads,
    )


def _nested_documents(draft: SessionDraft, prompts: SessionPrompts) -> SessionDocuments:
    """Return the source of the project's instruction files in folders below the session's folder."""
    known = draft.config.get(NESTED_DOCUMENTS)
    return SessionDocuments(
        prompts.project,
        trusted=draft.permissions.gate.wait_for_decision,
        size=lambda: prompts.documents_bytes,
        known=[it for it in known if isinstance(it, str)] if isinstance(known, list) else (),
        keep=lambda paths: draft.stored.remember({NESTED_DOCUMENTS: list(paths)}),
    )


async def _make_others(
    services: SharedServices, roots: SessionRoots, session_id: str
) -> Mapping[str, ExecutionEnvironment]:
    """Return the environments for the other workspace folders. They are created when a turn starts."""
    await roots.settle()
    # The environment of an embedding program or another machine may lack these folders.
    if services.program.environment or services.sites.site(roots.key):
        return {}
    return {folder: services.files(services.local(folder), session_id) for folder in roots.others}


def _on_input(draft: SessionDraft, features: SessionFeatures, models: ConfiguredModels, text: str) -> None:
    """Pass a message to the features, and name a session without a title after it. The titles model, if set,
    improves the title.
    """
    features.on_input(text)
    # A recording must contain the model calls in the order of the conversation, so it has no call for a title.
    if draft.link.name_after(text) and draft.services.now().models.titles and not draft.parts.recording:
        from agent_ls.sessions.model_titles import write_title  # few users set a model for titles

        draft.services.start(partial(write_title, draft.link.live, models, draft.parts.client, text))


def _begin(draft: SessionDraft, live: LiveSession) -> None:
    """Start the background work of a session, and store the data that a later process needs to open it."""
    location, earlier = draft.location, draft.stored.opened.stored
    if live.gather_early:
        draft.services.start(live.gather_early)
    if location.site:
        draft.stored.remember({PLACE: location.site.place.machine})
    if local := location.listed:
        draft.stored.remember({COMMAND_MARK: local.mark})
    if earlier and (ended := earlier.state.ended_with_process):
        live.notice(ended_notice(ended))
