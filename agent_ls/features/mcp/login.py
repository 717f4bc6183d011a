"""Secrets of MCP servers: values that the user enters, and OAuth tokens, in the keyring or a file of mode 0600."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from agent_ls.features.web.addresses import is_public, literal_address
from agent_ls.services.models.secret_store import SecretStore, open_ring

if TYPE_CHECKING:
    from agent_ls.mcp.config import HttpTarget, ServerConfig
    from agent_ls.mcp.login_store import LoginStore

_ABOUT = "Secrets of MCP servers in clear text, for your eyes only. Written by `agent-ls mcp login`."


def server_secrets(state: Path) -> SecretStore:
    return SecretStore(state / "mcp-keys.json", open_ring(), _ABOUT)


def read_entered(secrets: SecretStore, server: str, name: str) -> str | None:
    """Return the value that the user entered for `${input:NAME}` of a server; None without a value. Blocks."""
    return secrets.secret(input_name(server, name)) or None


def input_name(server: str, name: str) -> str:
    return f"mcp-input {server} {name}"


def login_store(target: HttpTarget, state: Path, hide: Callable[[Sequence[str]], None]) -> LoginStore:
    """Return the store of the login at a server."""
    from agent_ls.mcp.login_store import LoginStore

    return LoginStore(target.url, server_secrets(state), hide, state / "mcp-keys.lock")


def authenticate(config: ServerConfig, state: Path, hide: Callable[[Sequence[str]], None]) -> Any:
    """Return an object that adds the tokens of the stored login to requests.

    Returns None if the server's configured headers already contain `Authorization`.
    """
    from agent_ls.mcp.config import HttpTarget
    from agent_ls.mcp.stored_login import StoredLogin

    target = config.target
    assert isinstance(target, HttpTarget)
    if any(name.lower() == "authorization" for name, _ in target.headers):
        return None
    return StoredLogin(target.url, login_store(target, state, hide), dict(target.headers))


async def why_not_asked(host: str) -> str:
    """Return why requests to a host are not allowed: it is in a private network, or unknown. "" if they are allowed."""
    address = literal_address(host)
    if address:
        return "" if is_public(address) else "its address is in a private network"
    try:
        found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return "its address is not known"
    public = all(is_public(str(entry[4][0])) for entry in found)
    return "" if public else "its address is in a private network"
