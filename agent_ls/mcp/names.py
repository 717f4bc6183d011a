"""Pure: build tool names that every model provider accepts: a letter, then letters, digits or `_`, at most 64
characters.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection

from agent_ls.patterns import regex

MAX_CHARS = 64
_KEPT_CHARS = 55
_NOT_ALLOWED = regex(r"[^A-Za-z0-9_]")


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """Return the name by which the model calls a tool of a server: `server__tool`.

    A name that is too long, or in `taken` already, ends with a digest of the full name instead.
    """
    plain = f"{to_identifier(server)}__{_NOT_ALLOWED.sub('_', tool)}"
    if len(plain) <= MAX_CHARS and plain not in taken:
        return plain
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:_KEPT_CHARS]}_{digest}"


LIST_OF_EDITORS = "the list of MCP servers (`:AgentLs mcp` in Neovim)"
"""Where a user of an editor sees the state of servers and restarts them, for a message."""
LIST_OF_COMMAND = "`agent-ls mcp list`"
"""The same for others, who cannot restart a server there."""


def command_for(verb: str, server: str) -> str:
    """Return the command of agent-ls about a server, for a message to the user."""
    return f"`agent-ls mcp {verb} {shlex.quote(server)}`"


def to_identifier(server: str) -> str:
    """Return the name of a server as it begins the names of its tools."""
    name = _NOT_ALLOWED.sub("_", server)
    return name if name[:1].isalpha() else f"s_{name}"
