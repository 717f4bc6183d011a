"""One MCP server as settings and files describe it, before variables are filled in."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ToolFilter(_Part):
    """Patterns of tool names: `allow` empty offers all tools; `deny` leaves tools out and wins over `allow`."""

    allow: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)


class ServerSandbox(_Part):
    """Whether the system confines a server: it writes below the session's folder and `writable` only.

    `network`: it may use the network. The state folder of agent-ls and credentials are hidden from it.
    """

    enabled: bool = False
    network: bool = False
    writable: list[str] = Field(default_factory=list)


class ServerEntry(_Part):
    """A server that is started (`command`, `args`, `env`, `cwd`) or reached (`url`, `headers`); one of the two.

    `trust` annotations: what the server says of its own tools decides which of them are asked about. `oauthClientId`
    is a client that was registered with the authorization server beforehand. `timeoutMs` 0 is the general one.
    """

    type: Literal["", "stdio", "http", "streamable-http", "streamableHttp"] = ""
    command: str = ""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    enabled: bool = True
    tools: ToolFilter = ToolFilter()
    timeout_ms: int = Field(default=0, ge=0)
    trust: Literal["ask", "annotations"] = "ask"
    oauth_client_id: str = ""
    sandbox: ServerSandbox = ServerSandbox()
