"""ADAPTER PromptSource: the session's prompt with the tools of its MCP servers, updated as each turn starts.

The modules of MCP servers are imported only if a server is configured, because most sessions have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.context.forwarding_prompts import ForwardingPrompts
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile

if TYPE_CHECKING:
    from agent_ls.mcp.servers import SessionServers


class PromptServers(Protocol):
    """SEAM: the MCP servers of one session, created when they are first needed."""

    def are_configured(self) -> bool:
        """Return whether servers might be configured; False: certainly none. Blocks: checks whether
        some files exist."""
        ...

    async def get(self) -> SessionServers: ...


class PromptsWithServers(ForwardingPrompts):
    """Adds the servers' tools to the prompt of `inner`. `inner` is called first, because it asks the user about
    trust.
    """

    def __init__(self, inner: PromptSource, servers: PromptServers) -> None:
        super().__init__(inner)
        self._servers = servers

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        documents = await super().documents(profile, environment)
        if not await anyio.to_thread.run_sync(self._servers.are_configured):
            return documents
        servers = await self._servers.get()
        layer = await servers.offer(profile.registry, profile.context_window_tokens)
        return "\n\n".join(filter(None, (documents, layer)))
