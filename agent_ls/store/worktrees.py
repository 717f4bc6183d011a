"""Git worktrees of sessions below the state folder: their paths, and their deletion. Blocks.

ROOT/worktrees/ID/worktree.json   paths of the worktree and of its folder in the repository
ROOT/worktrees/ID/NAME            the worktree, named like the user's folder
ROOT/worktrees/ID/index           git index of the changes that the user's folder has received
ROOT/worktrees/ID/unbrought       exists while the worktree may have changes that the user's folder lacks

The json file is written last: if it is missing, the creation of the worktree was interrupted.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from agent_ls.store.log import FILE_MODE
from agent_ls.system import replace_file

NOTE, INDEX, UNAPPLIED = "worktree.json", "index", "unbrought"


@dataclass(frozen=True, slots=True)
class StoredWorktree:
    """The worktree of a session. `top` is the path of the user's working tree, `tree` the path of the
    session's worktree, `git_folder` the folder in the repository that git uses for the worktree. `prefix` is
    the relative path of the session's working directory in both trees, "" for the whole tree.
    """

    top: str
    tree: str
    git_folder: str
    prefix: str


def worktree_path(place: Path, folder: str) -> Path:
    """Return the path of a worktree below `place`. `folder` is the user's folder, and the worktree gets the
    same name.
    """
    return place / (Path(folder).name or "worktree")


def write_note(place: Path, worktree: StoredWorktree) -> None:
    """Record in the folder `place` that the worktree was created completely.

    Raises:
        OSError: the file cannot be written.
    """
    replace_file(place / NOTE, json.dumps(asdict(worktree)).encode(), is_synced=True)


def read_note(place: Path) -> StoredWorktree | None:
    """Return the worktree in the folder `place`; None if no worktree exists or its creation was interrupted."""
    try:
        return StoredWorktree(**json.loads((place / NOTE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def working_folder(place: Path, folder: str) -> str:
    """Return the folder in the worktree in which the session works. `folder` is the user's folder."""
    note = read_note(place)
    return os.path.join(note.tree, note.prefix).rstrip("/") if note else str(worktree_path(place, folder))


def has_unapplied(place: Path) -> bool:
    """Return whether a worktree may have changes that the user's folder does not have."""
    return (place / UNAPPLIED).exists()


def mark_unapplied(place: Path, *, is_unapplied: bool) -> None:
    """Record whether a worktree may have changes that the user's folder does not have. Does not raise."""
    with suppress(OSError):
        if is_unapplied:
            (place / UNAPPLIED).touch(FILE_MODE)
        else:
            (place / UNAPPLIED).unlink(missing_ok=True)


def remove_worktree(place: Path) -> None:
    """Delete a session's worktree, even a partly created one, and git's records of it in the repository.

    Files that cannot be deleted are left. Does not raise.
    """
    if place.is_dir():
        forget_worktree(place)
        shutil.rmtree(place, onerror=_retry)


def forget_worktree(place: Path) -> None:
    """Delete git's records of a session's worktree in the repository. Does not raise."""
    for git_folder in _git_folders(place):
        # Delete the folder in the repository only if its `gitdir` file names this worktree.
        with suppress(OSError):
            named = Path((git_folder / "gitdir").read_text("utf-8", "surrogateescape").strip())
            if git_folder.parent.name == "worktrees" and named.parent.parent.samefile(place):
                shutil.rmtree(git_folder, ignore_errors=True)


def _git_folders(place: Path) -> set[Path]:
    found = set()
    if note := read_note(place):
        found.add(Path(note.git_folder))
    for entry in place.glob("*/.git"):
        with suppress(OSError):
            text = entry.read_text("utf-8", "surrogateescape")
            if text.startswith("gitdir:"):
                found.add((entry.parent / text.removeprefix("gitdir:").strip()).resolve())
    return found


def _retry(function: Callable[[str], object], path: str, _: object) -> None:
    """Handle an error of `shutil.rmtree`: make `path` and its folder writable, and call `function` again."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        if os.chmod in os.supports_follow_symlinks:
            os.chmod(path, 0o700, follow_symlinks=False)
        function(path)
