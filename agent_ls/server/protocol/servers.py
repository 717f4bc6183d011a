"""MCP servers of a session: their state, and switching them on and off."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from agent_ls.server.protocol.base import Params, Wire

McpState: TypeAlias = Literal[
    "off", "unapproved", "denied", "starting", "running", "restarting", "login", "failed", "stopped"
]


class McpServers(Params):
    """The MCP servers of a session, as they are now. Before its first message a session has none."""

    method: ClassVar[str] = "agent/mcpServers"
    session_id: str


class McpServerInfo(Wire):
    """`source` user, client, settings or project; `target` its command or its address. `era` is "" before it has
    answered. `error` says what is wrong and what to do.
    """

    name: str
    state: McpState
    source: Literal["user", "client", "settings", "project"]
    file: str | None = None
    target: str
    title: str
    era: Literal["modern", "legacy", ""]
    tools: tuple[str, ...]
    prompts: tuple[str, ...]
    resources: int
    error: str | None = None


class McpServersResult(Wire):
    """`problems`: a sentence for each entry of a file that cannot be used."""

    servers: tuple[McpServerInfo, ...]
    problems: tuple[str, ...]


class McpSwitch(Params):
    """Switch a server `on` or `off`, for this session and later ones, or start it again."""

    method: ClassVar[str] = "agent/mcpSwitch"
    session_id: str
    client_key: str
    name: str
    to: Literal["on", "off", "restart"]
