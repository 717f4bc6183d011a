"""Find the ignored files whose loss hurts: files with secrets, and small files beside files that are not ignored.

A folder of build results or packages has too many files to keep. In such a folder only the first MAX_LOOKED entries
are searched for files with secrets.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from agent_ls.policy.places import is_secret_name

MAX_FILES = 500
MAX_LOOKED = 5_000


@dataclass(slots=True)
class IgnoredFiles:
    """Finds ignored files in a session's folder and in folders beside it.

    `_known` maps a folder to its modification time and its entries that were not listed, so that only folders with
    new or removed entries are read again.
    """

    folder: str
    _known: dict[str, tuple[int, tuple[os.DirEntry[str], ...]]] = field(default_factory=dict)
    _found: tuple[int, frozenset[str]] = (0, frozenset())
    """A hash of the names that were listed last, and the folders of these files."""

    def find(self, listed: Collection[str]) -> list[str]:
        """Return the paths of ignored files, those with secrets first. Blocks.

        `listed` are the files that are not ignored.
        """
        folders = self._folders(listed)
        times = {folder: _mtime_ns(folder) for folder in folders}
        changed = {it for it, time in times.items() if it not in self._known or self._known[it][0] != time}
        if changed:
            self._read(changed, folders, listed)
        self._known = {folder: known for folder, known in self._known.items() if folder in folders}
        secrets: list[str] = []
        others: list[str] = []
        below: deque[str] = deque()
        for folder, (_, entries) in self._known.items():
            for entry in entries:
                path = os.path.join(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    below.append(path)
                elif entry.is_file(follow_symlinks=False):
                    (secrets if is_secret_name(entry.name) else others).append(path)
        secrets += _find_secrets(below)
        return [*secrets, *others][:MAX_FILES]

    def _folders(self, listed: Collection[str]) -> frozenset[str]:
        mark = hash(frozenset(listed))
        if mark != self._found[0]:
            self._found = mark, frozenset(self._find_folders(listed))
        return self._found[1]

    def _find_folders(self, listed: Collection[str]) -> set[str]:
        folders = {path.rpartition(os.sep)[0] for path in listed}
        for folder in [*folders]:
            while folder.startswith(self.folder + os.sep):  # a folder may contain only folders
                folder = os.path.dirname(folder)
                folders.add(folder)
        return {*folders, self.folder}

    def _read(self, changed: set[str], folders: frozenset[str], listed: Collection[str]) -> None:
        names: dict[str, set[str]] = {folder: {".git"} for folder in changed}
        for path in (*listed, *folders):
            folder, _, name = path.rpartition(os.sep)
            if folder in changed:
                names[folder].add(name)
        for folder, known in names.items():
            time = _mtime_ns(folder)
            others = tuple(entry for entry in _entries(folder) if entry.name not in known)
            self._known[folder] = time, others


def _find_secrets(folders: deque[str]) -> Iterator[str]:
    """Yield the files with secrets below these folders, searching the folders near the top first."""
    looked = 0
    while folders and looked < MAX_LOOKED:
        for entry in _entries(folders.popleft()):
            looked += 1
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif is_secret_name(entry.name) and entry.is_file(follow_symlinks=False):
                yield entry.path


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except OSError:
        return []


def _mtime_ns(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
