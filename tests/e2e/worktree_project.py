"""The folder of a project as a git repository with one commit."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit_all(folder: Path) -> None:
    git = ["git", "-c", "user.name=Jo", "-c", "user.email=jo@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True, capture_output=True)
