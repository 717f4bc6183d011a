"""Offer the tools of MCP servers to a session, and update them at the start of each turn.

The modules of MCP servers are imported only if a server is configured, because most sessions have none.
"""

from __future__ import annotations

from agent_ls.features.base import SessionFeature
from agent_ls.features.mcp.of_session import ServersOfSession
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.turn_reads import TurnReads


class OfferedServers(SessionFeature):
    """The MCP servers of a session as a feature.

    `reads` are the blocking reads that run together at the start of a turn. This class adds one to `reads`: the
    check whether servers are configured.
    """

    def __init__(self, servers: ServersOfSession, reads: TurnReads) -> None:
        self.servers = servers
        self._are_configured = reads.add(lambda: servers.are_configured, servers.looks)
        self._layer = ""

    async def prepare(self, profile: ProviderProfile) -> None:
        self._layer = ""
        if await self._are_configured.get():
            servers = await self.servers.get()
            self._layer = await servers.offer(profile.registry, profile.context_window_tokens)

    def layer(self) -> str:
        return self._layer

    async def close(self) -> None:
        await self.servers.close()
