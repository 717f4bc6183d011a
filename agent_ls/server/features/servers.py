"""Handlers that list and switch the MCP servers of a session, for panels in clients."""

from __future__ import annotations

from agent_ls.features.mcp.listing import list_servers, switch as switch_server
from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import NothingPendingError


async def servers(context: Context, params: wire.McpServers) -> wire.McpServersResult:
    live = context.require_live(params.session_id)
    listed, problems = list_servers(live.servers)
    return wire.McpServersResult(
        servers=tuple(
            wire.McpServerInfo.of(it, file=it.file or None, error=it.error or None) for it in listed
        ),
        problems=tuple(problems),
    )


async def switch(context: Context, params: wire.McpSwitch) -> wire.Empty:
    live = context.require_live(params.session_id)
    if not await switch_server(live.servers, params.name, params.to):
        raise NothingPendingError(
            f"this session has no MCP server {params.name} that can be switched on, off or restarted",
            "check the name in the list of MCP servers",
        )
    return wire.Empty()


ROUTES = (route(wire.McpServers, servers), route(wire.McpSwitch, switch))
"""Routes of the messages about MCP servers."""
