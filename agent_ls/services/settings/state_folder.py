"""Find the user's folder for stored data, and write files in it that only the user may read."""

from __future__ import annotations

import os
from pathlib import Path

from agent_ls.services.errors import AppError
from agent_ls.services.store_errors import STATE_VARIABLE, storing_hint, storing_reason
from agent_ls.store.layout import Layout
from agent_ls.system import replace_file

OTHER_FOLDER = f"set {STATE_VARIABLE} to another folder"


def state_folder() -> Path:
    """Return the folder that AGENT_LS_STATE_DIR names, or else the operating system's default."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Layout(Path(chosen) if chosen else None).root


def not_stored(
    what: str, error: OSError, folder: Path | None = None, other_way: str = OTHER_FOLDER
) -> AppError:
    """Return the error about a file of the state folder that cannot be written. `what` was to be stored.

    `folder`: another folder than the state folder. `other_way` is what else can be done, and begins with a verb.
    """
    return AppError(
        f"{what} cannot be stored: {storing_reason(error)}",
        storing_hint(error, folder or state_folder(), other_way),
    )


def write_private(path: Path, text: str) -> None:
    """Write a small file with mode 0600, atomically: after a crash it has the old or the new content.

    Raises:
        OSError
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text.encode())
