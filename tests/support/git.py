"""Git with an author of its own, whatever the settings of the machine are."""

from __future__ import annotations

import subprocess
from pathlib import Path

SETTINGS = ("user.name=Ada", "user.email=ada@example.org", "init.defaultBranch=main", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder. Return what it printed, without the line end."""
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    command = ["git", "-C", str(folder), *options, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip()
