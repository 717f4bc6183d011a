"""Create the MCP servers of a session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_ls.features.mcp.of_session import ServersOfSession

if TYPE_CHECKING:
    from agent_ls.sessions.build.link import SessionLink
    from agent_ls.sessions.build.parts import SessionLocation, SessionPermissions
    from agent_ls.sessions.services import SharedServices


def create_servers(
    services: SharedServices, location: SessionLocation, permissions: SessionPermissions, link: SessionLink
) -> ServersOfSession | None:
    """Return the session's MCP servers; None if the session does not work on this machine."""
    if not location.is_here:
        return None
    return ServersOfSession(
        folder=location.key,
        state=services.state,
        account=services.account,
        settings=services.now,
        environ=services.models.child_environ,
        secrets=services.secrets,
        hide=services.hide,
        clock=services.clock,
        approvals=permissions.approvals,
        turn_id=link.turn_id,
        is_trusted=permissions.gate.is_trusted,
        roots=lambda: (location.folder if location.worktree else location.key,),
        start=services.start,
        warn=link.warn_about_servers,
        changed=link.servers_changed,
        client=partial(services.session_servers, location.session_id),
        made=[],
        places=lambda: location.bounds.places,
    )
