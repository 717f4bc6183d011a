"""Tell the files that git holds from uncommitted work, and read the files that git holds from its objects.

Only the index is read to tell them. To read objects, git runs with a folder of its own instead of the repository's
settings, so that nothing that the repository names is run or contacted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.environments.local.git_index import Index, read_index
from agent_ls.environments.local.git_objects import read_git_objects
from agent_ls.patterns import regex
from agent_ls.program_lookup import find_program
from agent_ls.services.changes.stamps import DiskStamp

_LFS_POINTER = regex(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")


@dataclass(frozen=True, slots=True)
class GitObject:
    """The object in which a repository holds a file of `size` bytes. `index` is the repository's index."""

    index: Index
    id: str
    size: int


@dataclass(slots=True)
class Committed:
    """The repositories of a session's files, as they were when this value was made.

    `_roots` maps a folder to the work tree that contains it, "" for none.
    """

    _roots: dict[str, str] = field(default_factory=dict)
    _indexes: dict[str, Index | None] = field(default_factory=dict)

    def renewed(self) -> Committed:
        """Return the same repositories as they are now."""
        return Committed(self._roots, {root: read_index(root) for root in self._indexes})

    def is_same(self, other: Committed) -> bool:
        """Return whether no index has been written between these two values."""
        mine, others = self._indexes, other._indexes
        return mine.keys() == others.keys() and all(_written(mine[it]) == _written(others[it]) for it in mine)

    def find_object(self, path: str, stamp: DiskStamp) -> GitObject | None:
        """Return the object with the content that the file had with this stamp; None if git may not hold it."""
        folder, _, name = path.rpartition(os.sep)
        index = self._find_index(folder)
        if index is None:
            return None
        object_id = index.find_object(_inside(index, folder) + os.fsencode(name), stamp[0], stamp[1])
        return GitObject(index, object_id, stamp[0]) if object_id else None

    def find_work(self, stamps: Mapping[str, DiskStamp]) -> list[str]:
        """Return the files that git does not hold as they are."""
        work: list[str] = []
        known: dict[str, tuple[Index, bytes] | None] = {}
        for path, stamp in stamps.items():
            folder, _, name = path.rpartition(os.sep)
            try:
                place = known[folder]
            except KeyError:
                index = self._find_index(folder)
                known[folder] = place = (index, _inside(index, folder)) if index else None
            if place is None or not place[0].find_object(place[1] + os.fsencode(name), stamp[0], stamp[1]):
                work.append(path)
        return work

    def list_tracked(self, folder: str) -> list[str]:
        """Return the paths of all tracked files below a folder, of the repository that contains the folder."""
        index = self._find_index(folder)
        if index is None or not index.rows:
            return []
        above, root = os.fsdecode(_inside(index, folder)), os.path.join(index.root, "")
        names = os.fsdecode(b"\0".join(index.rows)).split("\0")  # in one step, because there may be many
        return [root + name.replace("/", os.sep) for name in names if name.startswith(above)]

    def _find_index(self, folder: str) -> Index | None:
        root = self._find_root(folder)
        return self._indexes.get(root) if root else None

    def _find_root(self, folder: str) -> str:
        if (known := self._roots.get(folder)) is not None:
            if known and known not in self._indexes:
                self._indexes[known] = read_index(known)
            return known
        if found := read_index(folder):
            self._indexes[folder] = found
            root = folder
        else:
            parent = os.path.dirname(folder)
            root = self._find_root(parent) if parent != folder else ""
        self._roots[folder] = root
        return root


def _written(index: Index | None) -> int:
    return index.mtime_ns if index else 0


def _inside(index: Index, folder: str) -> bytes:
    """Return the name of a folder below the root of the index, with a slash at its end; b"" for the root itself."""
    inside = folder[len(index.root) :].strip(os.sep).replace(os.sep, "/")
    return os.fsencode(f"{inside}/") if inside else b""


def read_objects(wanted: Mapping[str, GitObject]) -> dict[str, bytes]:
    """Return the contents of files by their path. Blocks.

    Left out are files that git does not hold as they were, for example because a filter changed them.
    """
    program = find_program("git")
    by_folder: dict[str, list[tuple[str, GitObject]]] = {}
    for path, it in wanted.items():
        by_folder.setdefault(it.index.git_folder, []).append((path, it))
    found: dict[str, bytes] = {}
    if program is None:
        return found
    for git_folder, items in by_folder.items():
        objects = _objects_folder(git_folder)
        contents = read_git_objects(program, objects, [it.id for _, it in items])
        for (path, it), data in zip(items, contents, strict=False):
            if (restored := _as_on_disk(data, it.size, os.path.dirname(objects))) is not None:
                found[path] = restored
    return found


def _objects_folder(git_folder: str) -> str:
    try:
        common = Path(git_folder, "commondir").read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError):
        common = ""
    return os.path.normpath(os.path.join(git_folder, common, "objects"))


def _as_on_disk(data: bytes, size: int, common: str) -> bytes | None:
    """Return the content of a file of `size` bytes that git holds as `data`; None if it is unknown."""
    if len(data) == size:
        return data
    if pointer := _LFS_POINTER.match(data):
        name = pointer[1].decode()
        try:
            data = Path(common, "lfs", "objects", name[:2], name[2:4], name).read_bytes()
        except OSError:
            return None
    else:
        data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")  # core.autocrlf, or eol=crlf
    return data if len(data) == size else None
