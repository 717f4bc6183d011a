"""Resources of MCP servers as mentions of a message: listed for completion, and read when the message is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.features.mcp.of_session import ServersOfSession
from agent_ls.loop.calls.redaction import redacted
from agent_ls.mcp.names import LIST_OF_COMMAND
from agent_ls.services.errors import AppError

if TYPE_CHECKING:
    from agent_ls.mcp.managed_server import ManagedServer

MAX_CHARS = 64 * 1024
"""Maximum number of characters of a resource that a mention adds to a message.

The tool read_resource returns the rest.
"""


@dataclass(frozen=True, slots=True)
class ResourceMention:
    """A resource of an MCP server that a message can mention. `label` is `server:uri`."""

    server: str
    uri: str
    description: str

    @property
    def label(self) -> str:
        return f"{self.server}:{self.uri}"


def resource_mentions(servers: ServersOfSession | None) -> Sequence[ResourceMention]:
    """Return the resources of all running servers of a session."""
    if servers is None or not servers.made:
        return ()
    from agent_ls.mcp.visible import visible

    return [
        ResourceMention(server.name, it.uri, visible(" ".join((it.name or it.description).split())))
        for server in servers.made[0].servers
        if server.state == "running"
        for it in server.description.resources
    ]


async def resource_text(servers: ServersOfSession | None, name: str, uri: str) -> str:
    """Return the content of a resource for the model, with the name of its server.

    Raises:
        AppError: the server is not running, or does not return the resource.
    """
    server = _find_running(servers, name)
    if servers is None or server is None:
        listed = servers.server_list if servers else LIST_OF_COMMAND
        raise AppError(f"no MCP server {name} is running in this session", f"check the name in {listed}")
    from agent_ls.mcp.managed_server import UnavailableError
    from agent_ls.mcp.results import text_of

    timeout_ms = server.config.timeout_ms or servers.settings().mcp.call_timeout_ms
    try:
        blocks = await server.resource(uri, timeout_ms / 1000)
    except UnavailableError as error:
        raise AppError(
            str(error),
            f"send the message without this mention, or check the state of {name} in {servers.server_list}",
        ) from None
    text = redacted(text_of(blocks), servers.secrets()) or "(the resource is empty)"
    left_out = len(text) - MAX_CHARS
    if left_out > 0:
        text = f"{text[:MAX_CHARS]}\n[... {left_out} more characters; read_resource returns them ...]"
    return f"Attached by the user; this text is from the MCP server {name}:\n{text}"


def _find_running(servers: ServersOfSession | None, name: str) -> ManagedServer | None:
    if servers is None or not servers.made:
        return None
    return servers.made[0].server(name)
