"""List the MCP servers of a session for display, and switch them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent_ls.app.servers.of_session import ServersOfSession, effect_of

if TYPE_CHECKING:
    from agent_ls.mcp.server import State


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A row of the list. `target` is the command or the URL. `era` "": the server has not answered yet."""

    name: str
    state: State
    source: Literal["user", "client", "settings", "project"]
    file: str
    target: str
    title: str
    era: Literal["modern", "legacy", ""]
    tools: tuple[str, ...]
    prompts: tuple[str, ...]
    resources: int
    error: str


def listed(servers: ServersOfSession | None) -> tuple[Sequence[ListedServer], Sequence[str]]:
    """Return all servers of a session, and the errors in their files. Both are empty before the first message."""
    if servers is None or not servers.made:
        return (), ()
    found = []
    for server in servers.made[0].servers:
        effect, facts = effect_of(server.config), server.facts
        found.append(
            ListedServer(
                name=server.name,
                state=server.state,
                source=server.config.source,
                file=server.config.file,
                target=effect.command or effect.url,
                title=facts.title,
                era=facts.era if facts.protocol else "",
                tools=tuple(tool.name for tool in server.tools),
                prompts=tuple(prompt.name for prompt in facts.prompts),
                resources=len(facts.resources),
                error=server.error,
            )
        )
    return found, servers.made[0].problems


async def switch(servers: ServersOfSession | None, name: str, to: Literal["on", "off", "restart"]) -> bool:
    """Switch a server of a session on or off, or restart it. Returns False if no server has this name."""
    if servers is None or not servers.made:
        return False
    if to == "restart":
        return await servers.made[0].restart(name)
    return await servers.made[0].switch(name, is_on=to == "on")
