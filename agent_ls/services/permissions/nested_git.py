"""Find the hooks and settings of repositories below a folder, so that a sandbox can protect them. Blocks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

MAX_FOLDERS = 2_000
"""Maximum number of folders of a workspace that are searched, those near its root first."""
OF_GIT_FOLDER = ("hooks", "config", "config.worktree", "commondir")
"""Names in a git folder of settings, hooks and files that make git read them from another folder."""
_UNSEARCHED = frozenset(("node_modules", "__pycache__", ".venv", "venv"))


def git_places(root: str) -> Iterator[str]:
    """Yield the hooks and settings of each repository below `root`, and files that name a git folder.

    Paths that do not exist are included, because git would read them.
    """
    pending = deque([root])
    for _ in range(MAX_FOLDERS):
        if not pending:
            return
        for path, name, is_folder in _entries(pending.popleft()):
            if name == ".git":
                yield from _of_git_folder(path) if is_folder else (path,)
            elif is_folder and name not in _UNSEARCHED:
                pending.append(path)


def _of_git_folder(folder: str) -> Iterator[str]:
    """Yield the places of a git folder, of its submodules and of its linked worktrees."""
    yield from (os.path.join(folder, name) for name in OF_GIT_FOLDER)
    for path, _, is_folder in _entries(os.path.join(folder, "worktrees")):
        if is_folder:
            yield from (os.path.join(path, name) for name in ("commondir", "config.worktree", "gitdir"))
    pending = deque([os.path.join(folder, "modules")])
    for _ in range(MAX_FOLDERS):
        if not pending:
            return
        entries = list(_entries(pending.popleft()))
        for path, name, is_folder in entries:
            if name == "HEAD" and not is_folder:
                yield from _of_git_folder(os.path.dirname(path))
                break
        else:
            pending += (path for path, _, is_folder in entries if is_folder)


def _entries(folder: str) -> Iterator[tuple[str, str, bool]]:
    """Yield path, name, and whether it is a folder and no link, of each entry; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as found:
            yield from [(it.path, it.name, it.is_dir(follow_symlinks=False)) for it in found]
    except OSError:
        return
