"""Remember which sessions wrote files outside of their folder, so that the lines of these files have authors. Blocks.

ROOT/elsewhere/KEY/ID is an empty file: the session ID wrote a file in a folder; KEY is a hash of the folder's path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent_ls.environments.remote.place import is_place_name
from agent_ls.store.layout import Layout, workspace_key
from agent_ls.store.log import FILE_MODE, make_private_folder


class WritesElsewhere:
    """Remembers the folders of one session's writes. Each folder is stored once."""

    def __init__(self, layout: Layout, session_id: str, workspace: str) -> None:
        self._layout = layout
        self._session_id = session_id
        # On another machine, paths have another meaning.
        self._top = "" if is_place_name(workspace) else os.path.realpath(workspace)
        self._own_tree = os.path.realpath(layout.worktrees)
        self._known: set[str] = set()

    def note(self, path: str) -> None:
        """Remember that the session writes this file. Never fails: then its lines count as the user's."""
        folder = os.path.dirname(path)
        if not self._top or folder in self._known:
            return
        self._known.add(folder)
        real = os.path.realpath(folder)
        with suppress(OSError, ValueError):
            if any(os.path.commonpath((top, real)) == top for top in (self._top, self._own_tree)):
                return
            place = _place(self._layout, real)
            make_private_folder(place)
            os.close(os.open(place / self._session_id, os.O_WRONLY | os.O_CREAT, FILE_MODE))


def sessions_elsewhere(layout: Layout, folder: str) -> Iterator[tuple[str, Path]]:
    """Yield id and folder of each session that wrote files in `folder`, but belongs to another one."""
    try:
        names = sorted(os.listdir(_place(layout, folder)))
    except OSError:
        return
    for name in names:
        if found := layout.find(name):
            yield name, found
        else:  # the session was deleted
            with suppress(OSError):
                (_place(layout, folder) / name).unlink()


def forget_elsewhere(layout: Layout) -> None:
    """Delete what is remembered of deleted sessions."""
    for each in layout.root.glob("elsewhere/*/*"):
        if layout.find(each.name) is None:
            each.unlink(missing_ok=True)
    for folder in (*layout.root.glob("elsewhere/*"), layout.root / "elsewhere"):
        with suppress(OSError):
            folder.rmdir()


def _place(layout: Layout, folder: str) -> Path:
    return layout.root / "elsewhere" / workspace_key(folder)
