"""Create a session from its parts. This is the only place where all parts of a session are connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
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
)
from agent_ls.services.models.other_models import ConfiguredModels
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.services.permissions.workspace_roots import SessionRoots
from agent_ls.services.review.open_hunks import pinned_hunks
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
from agent_ls.sessions.notices import Notices, ended_notice, stopped_agents_notice
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
        listeners=Listeners(partial(_on_input, draft, features, models), services.review.state.flush),
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
        answer_limit=draft.permissions.approvals.limit,
    )


def _workspace(
    draft: SessionDraft, environment: ReviewedEnvironment, prompts: SessionPrompts
) -> SessionWorkspace:
    """Return the files that the session works on."""
    location, services = draft.location, draft.services

    async def gather_early() -> None:
        if await anyio.to_thread.run_sync(services.trust.get_trust, location.key) == "trusted":
            await prompts.gather_early()

    # A recording must contain reads in the order of the messages, so nothing is read early.
    is_early = location.listed and not draft.parts.recording
    return SessionWorkspace(
        environment,
        draft.parts.files,
        draft.touched,
        location.bounds.check_undoable,
        prepare=partial(location.roots.refresh, tell=False),
        gather_early=gather_early if is_early else None,
        worktree=draft.worktree,
    )


def _own_prompts(draft: SessionDraft) -> SessionPrompts:
    """Create the source of the system prompt and of the project's documents."""
    services, location, parts, gate = draft.services, draft.location, draft.parts, draft.permissions.gate
    paths = draft.settings.paths.without_added()
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
            else lambda root: PathBounds(places_of(root, settings=paths, worktree=location.worktree_root)),
        ),
        facts=facts_from_json(draft.config.get("environment")),
        keep=lambda facts: draft.stored.remember({"environment": asdict(facts)}),
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
        lookup=prompts.lookup,
        skills=draft.settings.skills.enabled and draft.settings.skills.foreign,
    )


async def _make_others(
    services: SharedServices, roots: SessionRoots, session_id: str
) -> Mapping[str, ExecutionEnvironment]:
    """Return the environments for the other workspace folders. They are created when a turn starts."""
    await roots.refresh()
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
    if draft.link.live.name_after(text) and draft.services.now().models.titles and not draft.parts.recording:
        from agent_ls.sessions.model_titles import write_title  # few users set a model for titles

        draft.services.start(partial(write_title, draft.link.live, models, draft.parts.client, text))


def _begin(draft: SessionDraft, live: LiveSession) -> None:
    """Start the background work of a session, and store the data that a later process needs to open it."""
    location, earlier = draft.location, draft.stored.opened.stored
    if live.gather_early:
        draft.services.start(live.gather_early)
    if location.site:
        draft.stored.remember({PLACE: location.site.place.machine})
    if local := location.runs_here:
        draft.stored.remember({COMMAND_MARK: local.mark})
    if earlier and (ended := earlier.state.ended_with_process):
        live.notice(ended_notice(ended))
    if earlier and (agents := earlier.state.agents.cut):
        live.notice(stopped_agents_notice(agents))
