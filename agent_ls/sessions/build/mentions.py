"""Create the object that reads a session's mentions, and connect it with files, web pages and language servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.features.mentions.reader import SessionMentions
from agent_ls.sessions.build.tools import http_pages

if TYPE_CHECKING:
    from agent_ls.sessions.build.parts import SessionLocation, SessionPermissions
    from agent_ls.sessions.services import SharedServices
    from agent_ls.tools.web_fetch import WebFetcher


def session_mentions(
    services: SharedServices,
    location: SessionLocation,
    permissions: SessionPermissions,
    turn_id: Callable[[], str],
) -> SessionMentions:
    """Create the reader of mentions. Its reads are not recorded, because the message contains their content."""
    pages: WebFetcher | None = None

    def current_pages() -> WebFetcher | None:
        nonlocal pages
        if not services.now().web_fetch:
            return None
        pages = pages or services.program.pages or http_pages(services.secrets)
        return pages

    return SessionMentions(
        location.folder,
        location.local,
        BoundedEnvironment(location.files, location.bounds),
        location.bounds,
        permissions.approver,
        permissions.gate.wait_for_decision,
        services.editor.language,
        current_pages,
        services.secrets,
        turn_id,
    )
