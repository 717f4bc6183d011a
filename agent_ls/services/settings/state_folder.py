"""Find the user's folder for stored data, and write files in it that only the user may read."""

from __future__ import annotations

import os
from pathlib import Path

from agent_ls.services.store_errors import STATE_VARIABLE
from agent_ls.store.layout import Layout
from agent_ls.system import replace_file


def state_folder() -> Path:
    """Return the folder that AGENT_LS_STATE_DIR names, or else the operating system's default."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Layout(Path(chosen) if chosen else None).root


def write_private(path: Path, text: str) -> None:
    """Write a small file with mode 0600, atomically: after a crash it has the old or the new content.

    Raises:
        OSError
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text.encode())
