"""List the MCP servers of a session for display, and enable or disable them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_ls.features.mcp.of_session import ServersOfSession, effect_of

if TYPE_CHECKING:
    from agent_ls.mcp.managed_server import State


Switch: TypeAlias = Literal["on", "off", "restart"]
SWITCHES: tuple[Switch, ...] = ("on", "off", "restart")


@dataclass(frozen=True, slots=True)
class ListedServer:
    """An MCP server, as displayed in a list. `target` is its command or URL.

    `era` is the generation of the MCP protocol that the server uses; "": the server has not replied yet.
    """

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


def list_servers(servers: ServersOfSession | None) -> tuple[Sequence[ListedServer], Sequence[str]]:
    """Return a session's servers, and the errors in their files. Before the session's first message, both are
    empty.
    """
    if servers is None or not servers.made:
        return (), ()
    found = []
    for server in servers.made[0].servers:
        effect, description = effect_of(server.config), server.description
        found.append(
            ListedServer(
                name=server.name,
                state=server.state,
                source=server.config.source,
                file=server.config.file,
                target=effect.command or effect.url,
                title=description.title,
                era=description.era if description.protocol else "",
                tools=tuple(tool.name for tool in server.tools),
                prompts=tuple(prompt.name for prompt in description.prompts),
                resources=len(description.resources),
                error=server.error,
            )
        )
    return found, servers.made[0].problems


async def switch(servers: ServersOfSession | None, name: str, to: Switch) -> bool:
    """Switch a server of a session on or off, or restart it. Returns False if no server has this name."""
    if servers is None or not servers.made:
        return False
    if to == "restart":
        return await servers.made[0].restart(name)
    return await servers.made[0].switch(name, is_on=to == "on")


async def run_command(servers: ServersOfSession | None, arguments: str) -> str:
    """Carry out `/mcp`, and return the list of servers as Markdown, or an error message.

    `arguments` is "", or `on`, `off` or `restart` with the name of the server to change.
    """
    verb, _, name = arguments.strip().partition(" ")
    name = name.strip()
    to = next((it for it in SWITCHES if it == verb), None)
    if verb and to is None:
        return (
            f"`/mcp {verb}` is unknown. `/mcp` lists the MCP servers; `/mcp on NAME`, `/mcp off NAME` and "
            "`/mcp restart NAME` change one."
        )
    if to and not await switch(servers, name, to):
        return f"There is no MCP server {name} that can be switched on, off or restarted."
    found, problems = list_servers(servers)
    rows = [
        f"- {it.name}: {it.state}, {len(it.tools)} {'tool' if len(it.tools) == 1 else 'tools'} ({it.target})"
        + (f"\n  Tools: {', '.join(it.tools)}" if it.tools else "")
        + (f"\n  {it.error}" if it.error else "")
        for it in found
    ]
    return (
        "\n".join((*rows, *(f"- {problem}" for problem in problems)))
        or "This session has no MCP servers. MCP servers start with the first message of the session."
    )
