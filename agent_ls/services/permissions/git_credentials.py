"""Find settings files of git that hold credentials: a password in an address, or a header that authorizes."""

from __future__ import annotations

import os
import stat

from agent_ls.loop.calls.redaction import redacted

MAX_BYTES = 256 * 1024
_NAMES = frozenset(("config", "config.worktree", ".gitconfig", ".gitmodules", "fetch_head"))


def is_settings_name(name: str) -> bool:
    """Return whether git may store addresses in a file with this name."""
    return name.lower() in _NAMES


def holds_credentials(path: str) -> bool:
    """Return whether this is a settings file of git with credentials. Blocks.

    Only a file with one of the usual names is read. If such a file is too large to check, the result is True.
    """
    if not is_settings_name(os.path.basename(path)):
        return False
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return False
            text = file.read(MAX_BYTES + 1).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    return len(text) > MAX_BYTES or redacted(text, ()) != text
