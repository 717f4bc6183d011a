"""Changes that are in no text of a file: permission bits, and symbolic links. They are shown, but not restored."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter, methodcaller
from typing import Literal, TypeAlias

from agent_ls.patch.git_format import link_diff, mode_diff
from agent_ls.services.changes.stamps import STEP_NS, DiskStamp
from agent_ls.services.review.change_events import action, relative_name

# in C, because a project may have many files
_SPLIT, _FIRST = methodcaller("rpartition", "/"), itemgetter(0)

Links: TypeAlias = dict[str, str]
"""Targets of symbolic links by path."""


@dataclass(frozen=True, slots=True)
class BesideText:
    """A change of permission bits or of a symbolic link. `diff` has the form of git."""

    path: str
    action: Literal["create", "modify", "delete"]
    diff: str


class LinkFinder:
    """Finds the symbolic links of a folder, which the listing of its files leaves out.

    It looks in the folders that have a listed file, and reads again only those that have changed. Blocks.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], Links]] = {}

    def find(self, files: Iterable[str]) -> Links:
        """Return the links beside `files` and in the top folder."""
        if os.name == "nt":
            return {}
        found: Links = {}
        began_ns = time.time_ns()
        known, self._known = self._known, {}
        for folder in {self._folder, *map(_FIRST, map(_SPLIT, files))}:
            try:
                facts = os.stat(folder)
                stamp = facts.st_mtime_ns, facts.st_ctime_ns
                if folder in known and known[folder][0] == stamp:
                    links = known[folder][1]
                else:
                    links = _read_links(folder)
            except OSError:
                continue
            if links:
                found |= links
            if stamp[0] + STEP_NS < began_ns:  # otherwise, another change might not alter its times
                self._known[folder] = stamp, links
        return found


def _read_links(folder: str) -> Links:
    with os.scandir(folder) as entries:
        return {entry.path: _target(entry.path) for entry in filter(os.DirEntry.is_symlink, entries)}


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # it is gone
        return ""


def mode_change(path: str, was: DiskStamp | None, now: DiskStamp | None) -> BesideText | None:
    """Return the change of a file's permission bits, None if there is none."""
    if was is None or now is None or os.name == "nt":
        return None
    before, after = stat.S_IMODE(was[4]), stat.S_IMODE(now[4])
    return None if before == after else BesideText(path, "modify", mode_diff(before, after))


def link_changes(before: Mapping[str, str], after: Mapping[str, str], folder: str) -> list[BesideText]:
    """Return the symbolic links that are new, gone, or lead elsewhere, by path."""
    found: list[BesideText] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            found.append(BesideText(path, action(old, new), link_diff(old, new, relative_name(path, folder))))
    return found
