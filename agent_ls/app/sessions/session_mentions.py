"""Connect the mentions of a session with what they are read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from agent_ls.app.mentions.reader import SessionMentions
from agent_ls.app.sessions.session_tools import http_pages
from agent_ls.environments.wrappers.bounded import BoundedEnvironment

if TYPE_CHECKING:
    from agent_ls.app.sessions.session_parts import SessionPermissions, SessionPlace
    from agent_ls.app.settings.model import Settings
    from agent_ls.environments.language_host import LanguageHost
    from agent_ls.loop.calls.redaction import Known
    from agent_ls.tools.web_fetch import WebFetcher


class Services(Protocol):
    """Interface to the services of the process (SessionBuilder)."""

    @property
    def language(self) -> LanguageHost | None: ...
    @property
    def pages(self) -> WebFetcher | None: ...
    @property
    def secrets(self) -> Known: ...
    @property
    def now(self) -> Callable[[], Settings]: ...


def session_mentions(
    services: Services, place: SessionPlace, permissions: SessionPermissions, turn_id: Callable[[], str]
) -> SessionMentions:
    """Create what reads the mentions of a message. Nothing of it is recorded: the message has their content."""
    pages: WebFetcher | None = None

    def current_pages() -> WebFetcher | None:
        nonlocal pages
        if not services.now().web_fetch:
            return None
        pages = pages or services.pages or http_pages(services.secrets)
        return pages

    return SessionMentions(
        place.folder,
        place.local,
        BoundedEnvironment(place.files, place.bounds),
        place.bounds,
        permissions.approver,
        permissions.gate.settled,
        services.language,
        current_pages,
        services.secrets,
        turn_id,
    )
