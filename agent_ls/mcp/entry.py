"""One MCP server as it is written in settings and files, before variables are replaced by their values."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class ToolFilter(_Part):
    """Patterns of tool names: `allow` empty offers all tools; `deny` leaves tools out and wins over `allow`."""

    allow: list[str] = []
    deny: list[str] = []


class ServerSandbox(_Part):
    """The sandbox of a server: the server can write only below the session's folder and `writable`, and cannot
    read credentials or the state folder of agent-ls. `network` allows network access.
    """

    enabled: bool = False
    network: bool = False
    writable: list[str] = []


class ServerEntry(_Part):
    """A server that is either a program (`command`, `args`, `env`, `cwd`) or reached by HTTP (`url`, `headers`).

    With `trust` "annotations", tools that the server itself declares read-only need no approval.
    `oauthClientId` is the id of a client that was registered with the authorization server beforehand, with its
    `oauthClientSecret`, the address of this machine to which logins redirect (`oauthRedirect`), and the permissions to
    ask for (`oauthScopes`). `oauthServer` is the address of the login server, needed if the server does not name it.
    `timeoutMs` and `startTimeoutMs` 0 mean the limits in the settings for all servers.
    """

    type: Literal["", "stdio", "http", "streamable-http", "streamableHttp"] = ""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    tools: ToolFilter = ToolFilter.model_construct()
    timeout_ms: int = Field(default=0, ge=0)
    start_timeout_ms: int = Field(default=0, ge=0)
    trust: Literal["ask", "annotations"] = "ask"
    oauth_server: str = ""
    oauth_client_id: str = ""
    oauth_client_secret: str = ""
    oauth_scopes: str = ""
    oauth_redirect: str = ""
    sandbox: ServerSandbox = ServerSandbox.model_construct()
