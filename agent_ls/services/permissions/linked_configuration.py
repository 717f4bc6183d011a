"""Find sensitive files that have another name: a change of `config/lint.js` also changes a linked `.eslintrc.js`.

This module looks where such links usually are: beside the changed file, in the folders above it, and in the sensitive
folders there, such as `.vscode` and `.git/hooks`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from agent_ls.paths import is_within
from agent_ls.policy.places import Places

MAX_LINKS = 40  # Linux follows no more links in one path
MAX_ENTRIES = 2_000  # of the sensitive folders together
MAX_DEPTH = 4  # of these folders; links to folders may lead in circles
_CONTENTS = ("objects", "lfs", "store", "pristine")  # of git, hg and svn


def linked_configuration(paths: Iterable[str], places: Places) -> Iterator[str]:
    """Yield the sensitive files that share their content with a file or folder of `paths`. Blocks."""
    inside = [path for path in dict.fromkeys(paths) if places.is_inside(path)]
    passed = {link for path in inside for link in _links_of(path)}
    yield from filter(places.is_sensitive, passed)
    reals = {os.path.realpath(path) for path in inside} | passed
    ids = {found for real in reals if (found := _shared_id(real))}
    for name in _sensitive_near({*inside, *reals}, places, only_links=not ids):
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


def _sensitive_near(paths: Iterable[str], places: Places, *, only_links: bool) -> Iterator[str]:
    """Yield the sensitive files and links beside and above the paths, and in the sensitive folders there.

    `only_links`: leave out files beside and above the paths that are no links, because they matter only to hard links.
    """
    left = MAX_ENTRIES
    for folder in sorted({it for path in paths for it in _folders_above(path, places)}):
        for entry in _entries(folder):
            is_folder = _is_folder(entry)
            is_skipped = only_links and not is_folder and not entry.is_symlink()
            if is_skipped or not places.is_sensitive(entry.path):
                continue
            yield entry.path
            for inner in islice(_below(entry.path), left) if is_folder else ():
                yield inner
                left -= 1


def _below(folder: str, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield what is in a sensitive folder and in its own folders, without the stored contents of a repository."""
    for entry in _entries(folder):
        yield entry.path
        if depth > 1 and entry.name not in _CONTENTS and _is_folder(entry):
            yield from _below(entry.path, depth - 1)


def _folders_above(path: str, places: Places) -> Iterator[str]:
    while (path := os.path.dirname(path)) and places.is_inside(path):
        yield path
        if path in places.roots:
            return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)
    return entry.is_dir(follow_symlinks=False)
