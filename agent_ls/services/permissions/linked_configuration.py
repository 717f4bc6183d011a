"""Find sensitive files that have another name: a change of `config/lint.js` also changes a linked `.eslintrc.js`.

This module looks where such links usually are: beside the changed file, in the folders above it, and in the sensitive
folders there, such as `.vscode` and `.git/hooks`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from agent_ls.paths import is_within
from agent_ls.policy.places import Places

MAX_LINKS = 40  # Linux follows no more links in one path
MAX_ENTRIES = 2_000  # of the sensitive folders together
_CONTENTS = ("objects", "lfs", "store", "pristine")  # of git, hg and svn


def linked_configuration(paths: Iterable[str], places: Places) -> Iterator[str]:
    """Yield the sensitive files that share their content with a file or folder of `paths`. Blocks."""
    inside = [path for path in dict.fromkeys(paths) if places.is_inside(path)]
    for path in inside:
        yield from (link for link in _links_of(path) if places.is_sensitive(link))
    reals = {os.path.realpath(path) for path in inside}
    ids = {found for real in reals if (found := _shared_id(real))}
    for name in _sensitive_near(inside, places):
        target = os.path.realpath(name) if os.path.islink(name) else name
        is_behind = target != name and any(is_within(real, target) for real in reals)
        if is_behind or (ids and _shared_id(target) in ids):
            yield name


def _links_of(path: str) -> Iterator[str]:
    """Yield each path that the system goes through while it follows the links of `path`."""
    for _ in range(MAX_LINKS):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
        yield path
        try:
            target = os.readlink(path)
        except OSError:
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))


def _shared_id(path: str) -> tuple[int, int] | None:
    """Return the id of a file that has several hard links, None for any other."""
    with suppress(OSError):
        facts = os.lstat(path)
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
            return facts.st_dev, facts.st_ino
    return None


def _sensitive_near(paths: Iterable[str], places: Places) -> Iterator[str]:
    """Yield the sensitive files and links beside and above the paths, and in the sensitive folders there."""
    left = MAX_ENTRIES
    for folder in sorted({it for path in paths for it in _folders_above(path, places)}):
        for name, is_folder in _entries(folder):
            path = os.path.join(folder, name)
            if not places.is_sensitive(path):
                continue
            yield path
            for inner in _below(path) if is_folder else ():
                yield inner
                left -= 1
            if left < 0:
                return


def _below(folder: str) -> Iterator[str]:
    """Yield what is in a sensitive folder and in its own folders, without the stored contents of a repository."""
    for name, is_folder in _entries(folder):
        path = os.path.join(folder, name)
        yield path
        if is_folder and name not in _CONTENTS:
            yield from (os.path.join(path, it) for it, _ in _entries(path))


def _folders_above(path: str, places: Places) -> Iterator[str]:
    while (path := os.path.dirname(path)) and places.is_inside(path):
        yield path
        if path in places.roots:
            return


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Return the names in a folder, each with whether it is a folder or a link to one."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, _is_folder(entry)) for entry in entries]
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return os.path.isdir(entry.path)
    return entry.is_dir(follow_symlinks=False)
