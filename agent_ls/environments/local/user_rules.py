"""Find the user's own ignore file for git, which applies in all repositories (`core.excludesFile`). Blocks."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache

from agent_ls.patterns import regex
from agent_ls.program_lookup import find_program

_TIMEOUT_S = 5
_MAX_BYTES = 1024 * 1024
_MAY_NAME_IT = regex(rb"excludesfile|\[\s*include", re.IGNORECASE)
_SYSTEM = "/etc/gitconfig"


def find_user_rules() -> str:
    """Return the path of the user's ignore file, "" if there is none.

    git itself is asked only if a file with its settings may name the ignore file, and only once for each version of
    these files.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    files = (own,) if own else (os.path.expanduser("~/.gitconfig"), os.path.join(home, "git", "config"))
    stamps = tuple((file, _stamp(file)) for file in (*files, _SYSTEM))
    configured = _configured(stamps)
    path = os.path.join(home, "git", "ignore") if configured is None else configured
    return path if os.path.isfile(path) else ""


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _configured(stamps: tuple[tuple[str, tuple[int, int] | None], ...]) -> str | None:
    """Return the path in the settings of git, None if there is none. `stamps` are the files and their versions."""
    if not any(stamp and _MAY_NAME_IT.search(_read(file)) for file, stamp in stamps):
        return None
    if (program := find_program("git")) is None:
        return None
    # without a repository: its own settings may be an attacker's
    command = [program, f"--git-dir={os.devnull}", "config", "--includes", "--type=path", "--get"]
    try:
        answer = subprocess.run(
            [*command, "core.excludesFile"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(answer.stdout).removesuffix("\n") if answer.returncode == 0 else None


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_MAX_BYTES)
    except OSError:
        return b""
