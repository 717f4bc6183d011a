"""The user's own folder for what is kept between starts, and files in it that only the user may read (R7)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agent_ls.app.store_errors import STATE_VARIABLE
from agent_ls.store.layout import Layout


def state_folder() -> Path:
    """As the variable says, else the usual one of the system."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Layout(Path(chosen) if chosen else None).root


def write_private(path: Path, text: str) -> None:
    """Writes the whole of a small file with mode 0600: a crash leaves the old one or the new one.

    Raises:
        OSError
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # mode 0600 from its first moment
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
