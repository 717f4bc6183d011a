"""Compare the files of the project that an MCP server runs: an approval does not cover later changes of them."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

from agent_ls.mcp.config import FOLDER, ServerConfig, StdioTarget
from agent_ls.services.permissions.command_files import cover, is_below_on_disk


def digest_of_code(config: ServerConfig, folder: Path | str) -> str:
    """Return a digest of the files below `folder` that the command of a server names, "" if it names none. Blocks."""
    target = config.target
    if not isinstance(target, StdioTarget):
        return ""
    words = [_full(word, folder) for word in (target.command, *target.args)]
    place = os.path.join(folder, _full(target.cwd, folder))
    files = [
        (path, digest)
        for path, digest in cover(shlex.join(words), place).files
        if is_below_on_disk(path, str(folder))
    ]
    if not files:
        return ""
    text = "\0".join(f"{path}\0{digest}" for path, digest in files)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _full(word: str, folder: Path | str) -> str:
    """Return a word of a command with the session's folder, and with the home folder at its start, as it is run."""
    word = os.path.expanduser(word) if word.startswith("~/") else word
    return word.replace(FOLDER, str(folder))
