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
    """An MCP server. `source` says where the server is configured, `target` is its command or its address.
    `era` is the generation of its MCP version, "" before the server has answered. `resources` is the number
    of its resources. `error` says what is wrong and what to do.
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
    """`problems`: a sentence for each entry of a configuration file that cannot be used."""

    servers: tuple[McpServerInfo, ...]
    problems: tuple[str, ...]


class McpSwitch(Params):
    """Switches a server `on` or `off`, for this session and later ones, or restarts it."""

    method: ClassVar[str] = "agent/mcpSwitch"
    session_id: str
    client_key: str
    name: str
    to: Literal["on", "off", "restart"]
