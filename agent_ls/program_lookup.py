"""Find the programs that agent-ls itself starts, such as git: the only place that searches PATH.

A project may put its own folders on PATH (`node_modules/.bin`, direnv), and a program there may have any name. So a
program of agent-ls is searched only in folders of PATH that are absolute, are outside of all workspace folders, and
that no other user can write. The commands of the user and of the model are not searched here: they use PATH as it is.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence

from agent_ls.paths import is_within

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/opt/homebrew", "/nix/store")
"""Folders that count as outside of a workspace that contains them, such as `/`."""
_WORKSPACES: set[str] = set()


def add_workspace(folder: str) -> None:
    """Exclude the programs of a workspace folder from all following searches."""
    if os.path.isabs(folder):
        _WORKSPACES.update((os.path.normpath(folder), os.path.realpath(folder)))


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program for agent-ls itself, None if no safe folder of PATH has it. Blocks.

    `path` is the value of PATH to use, None for the one of this process.
    """
    roots = _project_folders()
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        # Only folders that have the program are checked: a check reads all folders above.
        for file in filter(_is_program, _files(folder, name)):
            real = os.path.realpath(file)
            if _is_safe_folder(folder, roots) and _is_outside(real, roots) and not _is_open_to_others(real):
                return file
    return None


def require_program(name: str, path: str | None = None) -> str:
    """Return the same as find_program. Blocks.

    Raises:
        FileNotFoundError: there is no such program in a safe folder.
    """
    found = find_program(name, path)
    if found is None:
        raise FileNotFoundError(2, f"{name} is in no folder of PATH outside of the project", name)
    return found


def safe_path(path: str | None = None) -> str:
    """Return a value of PATH without the folders that find_program does not search.

    It is for programs of agent-ls that start other programs by their name. Blocks.
    """
    wanted = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    roots = _project_folders()
    return os.pathsep.join(folder for folder in wanted if _is_safe_folder(folder, roots))


def find_on(name: str, path: str | None = None, folder: str = "") -> str | None:
    """Return the file that a command runs if it starts `name` in `folder` with this PATH; None if there is none.

    This is for commands of the user or the model, whose PATH may contain folders of the project. `path` None means
    the PATH of this process, `folder` "" its current folder. Blocks.
    """
    if os.path.dirname(name):
        return next(filter(_is_program, _files(folder, name)), None)
    for place in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        found = next(filter(_is_program, _files(os.path.join(folder, place), name)), None)
        if found:
            return found
    return None


def _is_safe_folder(folder: str, roots: Sequence[str]) -> bool:
    if not os.path.isabs(folder):
        return False
    real = os.path.realpath(folder)
    if not (_is_outside(os.path.normpath(folder), roots) and _is_outside(real, roots)):
        return False
    return not _is_open_to_others(real) and not any(map(_is_replaceable, _parents(real)))


def _is_outside(place: str, roots: Sequence[str]) -> bool:
    above = [root for root in roots if is_within(place, root)]
    system = next((folder for folder in _SYSTEM_FOLDERS if is_within(place, folder)), "")
    return all(system and is_within(system, root) for root in above)


def _project_folders() -> Sequence[str]:
    """Return all workspace folders, and the folder in which this process runs.

    The latter is no project, and is left out, if it contains the user's home.
    """
    try:
        current = os.path.realpath(os.getcwd())
    except OSError:
        return tuple(_WORKSPACES)
    is_above_home = is_within(os.path.realpath(os.path.expanduser("~")), current)
    return (*_WORKSPACES, *(() if is_above_home else (current,)))


def _parents(place: str) -> Iterator[str]:
    while (parent := os.path.dirname(place)) != place:
        yield parent
        place = parent


def _is_replaceable(folder: str) -> bool:
    """Return whether another user can replace folders in this folder, which is not so in `/tmp`."""
    return _is_open_to_others(folder) and not os.stat(folder).st_mode & stat.S_ISVTX


def _is_open_to_others(place: str) -> bool:
    """Return whether another user can write the file, or can add a file to the folder."""
    if sys.platform == "win32":
        return False
    try:
        facts = os.stat(place)
    except OSError:
        return True
    if facts.st_mode & stat.S_IWOTH:
        return True
    is_private_group = facts.st_uid == 0 or facts.st_gid == os.getuid()
    return bool(facts.st_mode & stat.S_IWGRP) and not is_private_group


def _files(folder: str, name: str) -> Iterator[str]:
    file = os.path.join(folder, name)
    if sys.platform == "win32" and not os.path.splitext(name)[1]:
        yield from (file + ending for ending in os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if ending)
        return
    yield file


def _is_program(file: str) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)
