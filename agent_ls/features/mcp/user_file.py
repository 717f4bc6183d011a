"""The user's own file of MCP servers, `mcp.json` in the state folder: read and changed by `agent-ls mcp`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_ls.mcp.config import ConfigError, ServerConfig, parse_server
from agent_ls.mcp.sources import USER_FILE, read_file, servers_of
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.state_folder import not_stored, state_folder, write_private


def user_file() -> Path:
    return state_folder() / USER_FILE


def read_servers(path: Path) -> Mapping[str, Any]:
    """Read the servers in a configuration file, of agent-ls or of another agent.

    Raises:
        BadChoiceError: the file cannot be read, or is not in the format of `.mcp.json`.
    """
    try:
        raw = read_file(path)
        if isinstance(raw, Mapping) and "projects" in raw and "mcpServers" not in raw:
            return {}
        return servers_of(raw)
    except OSError as error:
        raise BadChoiceError(
            f"{path} cannot be read: {error.strerror}", "give a file that you may read"
        ) from None
    except ValueError as error:
        raise BadChoiceError(
            f"{path}: {error}", "correct this file: `agent-ls docs mcp` shows its format"
        ) from None


def own_servers() -> Mapping[str, Any]:
    """Read the servers of the user's own file. Returns no servers if the file does not exist.

    Raises:
        BadChoiceError: the file cannot be read.
    """
    return read_servers(user_file()) if user_file().exists() else {}


def put_server(name: str, entry: Mapping[str, Any]) -> ServerConfig:
    """Add a server, or replace the server of this name. Returns how it is understood.

    Raises:
        BadChoiceError: the entry cannot be used, or the file cannot be read.
        AppError: the file cannot be written.
    """
    try:
        config = parse_server(name, entry, "user")
    except ConfigError as error:
        raise BadChoiceError(f"the MCP server {name} {error}", "see `agent-ls docs mcp`") from None
    _write({**own_servers(), name: dict(entry)})
    return config


def remove_server(name: str) -> bool:
    """Remove a server from the user's file; return whether there was one.

    Raises:
        BadChoiceError: the file cannot be read.
        AppError: the file cannot be written.
    """
    known = dict(own_servers())
    if name not in known:
        return False
    del known[name]
    _write(known)
    return True


def _write(servers: Mapping[str, Any]) -> None:
    try:
        write_private(user_file(), json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise not_stored("the server", error) from None
