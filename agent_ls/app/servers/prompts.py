"""ADAPTER PromptSource: the session's prompt with the tools of its MCP servers, updated as each turn starts.

The modules of MCP servers are imported only if a server is configured, because most sessions have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent_ls.app.turn_reads import TurnReads
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.context.forwarding_prompts import ForwardingPrompts
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile

if TYPE_CHECKING:
    from agent_ls.mcp.servers import SessionServers


class PromptServers(Protocol):
    """SEAM: the MCP servers of one session, created when they are first needed."""

    def are_configured(self) -> bool:
        """Return False if certainly no server is configured. Blocks: checks whether some files exist."""
        ...

    async def get(self) -> SessionServers: ...


class PromptsWithServers(ForwardingPrompts):
    """Adds the servers' tools to the prompt of `inner`. `inner` is called first, because it asks the user about
    trust. Whether servers are configured is one of the `reads` at the start of a turn.
    """

    def __init__(self, inner: PromptSource, servers: PromptServers, reads: TurnReads) -> None:
        super().__init__(inner)
        self._servers = servers
        self._are_configured = reads.add(lambda: servers.are_configured)

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        documents = await super().documents(profile, environment)
        if not await self._are_configured.get():
            return documents
        servers = await self._servers.get()
        layer = await servers.offer(profile.registry, profile.context_window_tokens)
        return "\n\n".join(filter(None, (documents, layer)))
