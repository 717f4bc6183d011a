"""The features of a session: FEATURES lists them in the order of their tools and of their prompt layers.

A row creates one feature from the draft of the session, None if the session does not have it. Modules that few
sessions need are imported in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.features.base import AddedTools, SessionFeature, SessionFeatures
from agent_ls.features.mcp.of_session import OfferedServers, ServersOfSession
from agent_ls.features.memory import SessionMemory
from agent_ls.features.mentions.reader import SessionMentions
from agent_ls.features.review_tool import REVIEW_MARK, ReviewTool
from agent_ls.features.skills.service import OfferedTools
from agent_ls.features.tools.notebooks import notebook_tools
from agent_ls.features.tools.yaml_tools import OwnTools
from agent_ls.services.permissions.paths import user_memory
from agent_ls.sessions.build.not_started import NotStarted, find_not_started

if TYPE_CHECKING:
    from agent_ls.profiles.base import ProviderProfile
    from agent_ls.sessions.build.draft import SessionDraft
    from agent_ls.tools.base import Tool
    from agent_ls.tools.web_fetch import WebFetcher

CreateFeature: TypeAlias = "Callable[[SessionDraft], SessionFeature | None]"


def _fetcher(draft: SessionDraft) -> WebFetcher:
    if draft.services.program.pages:
        return draft.services.program.pages
    from agent_ls.features.web.pages import HttpPages  # rarely used, and imports an HTTP library

    return HttpPages(draft.services.secrets)


def _web(draft: SessionDraft) -> SessionFeature:
    recorded = cache(lambda: draft.parts.record_pages(_fetcher(draft)))

    def tools(profile: ProviderProfile) -> Iterable[Tool[Any]]:
        now = draft.services.now()
        if not (now.web_fetch or now.web_search):
            return ()
        from agent_ls.features.web.tools import web_tools  # rarely used

        return web_tools(profile, now, draft.parts.client, recorded() if now.web_fetch else None)

    return AddedTools(tools)


def _own_tools(draft: SessionDraft) -> SessionFeature:
    services = draft.services
    return OwnTools(draft.choice.tools.own.tools, services.models.child_environ, services.hide)


def _packs(draft: SessionDraft) -> SessionFeature | None:
    packs = draft.choice.tools.packs
    if not packs:
        return None
    from agent_ls.features.packs.load import PackTools

    names = draft.settings.native_tool_names
    return PackTools(packs, draft.services.models.child_environ, native_names=names)


def _notebooks(draft: SessionDraft) -> SessionFeature | None:
    if not draft.choice.tools.notebooks:
        return None
    return AddedTools(partial(notebook_tools, native_names=draft.settings.native_tool_names))


def _language(draft: SessionDraft) -> SessionFeature | None:
    if not draft.parts.language:
        return None
    from agent_ls.features.tools.language_tools import LanguageTools

    return LanguageTools(draft.parts.language, native_names=draft.settings.native_tool_names)


def _skills(draft: SessionDraft) -> SessionFeature:
    return draft.services.skills(
        draft.location.key,
        notify=draft.notices.post,
        allow_reading=draft.permissions.rules.allow_reading,
        offers=OfferedTools(draft.choice.tools.skills, draft.choice.tools.agents),
        is_usable=draft.services.models.has_model,
    )


def _servers(draft: SessionDraft) -> SessionFeature | None:
    services, location, permissions = draft.services, draft.location, draft.permissions
    if not location.is_here:
        return None
    servers = ServersOfSession(
        folder=location.key,
        state=services.state,
        account=services.account,
        settings=services.now,
        environ=services.models.child_environ,
        secrets=services.secrets,
        hide=services.hide,
        clock=services.clock,
        approvals=permissions.approvals,
        turn_id=draft.link.turn_id,
        is_trusted=permissions.gate.is_trusted,
        roots=lambda: (location.folder if location.worktree else location.key,),
        start=services.start,
        warn=lambda text: draft.link.live.warn(text, "mcp"),
        changed=partial(services.client.on_servers, location.session_id),
        client=partial(services.client.session_servers, location.session_id),
        made=[],
        places=lambda: location.bounds.places,
        has_list=services.client.lists_servers,
    )
    return OfferedServers(servers, permissions.gate.reads)


def _not_started(draft: SessionDraft) -> SessionFeature | None:
    services, site = draft.services, draft.location.site
    if not site:
        return None
    given = partial(services.client.session_servers, draft.location.session_id)
    find = partial(find_not_started, site, services.now, services.state, given)
    return NotStarted(site.place.machine, find, draft.link.emit)


def _memory(draft: SessionDraft) -> SessionFeature:
    account = draft.services.account
    return SessionMemory(
        draft.bounded,
        trusted=draft.permissions.gate.wait_for_decision,
        stored=draft.config,
        remember=draft.stored.remember,
        user_file=user_memory(str(account)) if draft.location.is_here and account else "",
    )


def _review_tool(draft: SessionDraft) -> SessionFeature:
    return ReviewTool(
        draft.services.review.findings,
        is_wanted=bool(draft.config.get(REVIEW_MARK)),
        remember=lambda: draft.stored.remember({REVIEW_MARK: True}),
    )


def _mentions(draft: SessionDraft) -> SessionFeature:
    """Create the reader of mentions. Its reads are not recorded, because the message contains their content."""
    services, location = draft.services, draft.location
    fetcher = cache(lambda: _fetcher(draft))
    return SessionMentions(
        location.folder,
        location.local,
        BoundedEnvironment(location.files, location.bounds),
        location.bounds,
        draft.permissions.approver,
        draft.permissions.gate.wait_for_decision,
        services.editor.language,
        lambda: fetcher() if services.now().web_fetch else None,
        services.secrets,
        draft.link.turn_id,
    )


def _hooks(draft: SessionDraft) -> SessionFeature | None:
    if not (draft.location.is_here and draft.services.account):
        return None
    from agent_ls.sessions.build.hooks import hooks_of  # imported only when needed

    return hooks_of(draft)


FEATURES: tuple[CreateFeature, ...] = (
    _web,
    _own_tools,
    _packs,
    _notebooks,
    _language,
    _skills,
    _servers,
    _not_started,
    _memory,
    _review_tool,
    _mentions,
    _hooks,
    lambda draft: draft.worktree,  # after the hooks: it also runs them
)


def features_of(draft: SessionDraft) -> SessionFeatures:
    """Create the features of a session."""
    return SessionFeatures(made for create in FEATURES if (made := create(draft)))
