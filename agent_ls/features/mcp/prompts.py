"""Add the tools of MCP servers to the session's prompt, and update them at the start of each turn.

The modules of MCP servers are imported only if a server is configured, because most sessions have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.context.forwarding_prompts import ForwardingPrompts
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.turn_reads import TurnReads

if TYPE_CHECKING:
    from agent_ls.mcp.session_servers import SessionServers


class PromptServers(Protocol):
    """Interface to the MCP servers of one session, which are created when they are first needed."""

    def are_configured(self) -> bool:
        """Return False if no server is configured, True if one may be. Blocks: checks whether some files exist."""
        ...

    async def get(self) -> SessionServers: ...


class PromptsWithServers(ForwardingPrompts):
    """Implements PromptSource: adds the tools of the MCP servers to the prompt of `inner`.

    `inner` is called first, because it asks the user about trust. `reads` are the blocking reads that run together at
    the start of a turn. This class adds one to `reads`: the check whether servers are configured.
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
