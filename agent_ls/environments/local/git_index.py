"""The files that git tracks, read from the repository's index without running git (index format 2 to 4). Blocks."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

MAX_BYTES = 64 * 1024 * 1024
_HEADER = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")
_EXTENDED = 0x4000
_KIND, _REPOSITORY = 0o170000, 0o160000
_STAGE = 0x3000
_SUBMODULE = struct.pack(">I", _REPOSITORY)
_MARK = struct.Struct(">III")
_SHARED = "sharedindex."
"""Prefix of the files that contain a part of a split index."""


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """A tracked file: its absolute path and blob id (hex).

    `is_repository`: the path is the folder of another repository, such as a submodule.
    """

    path: str
    object_id: str
    is_repository: bool = False


def tracked_files(folder: str) -> Sequence[TrackedFile]:
    """Return the files of the repository that contains `folder`.

    Returns () if there is no repository or its index cannot be read.
    """
    return [it for version in _find_versions(folder) for it in _read_tracked(version)]


def tracked_paths(folder: str) -> frozenset[str]:
    """Return the paths of the tracked files below `folder`, without folders of other repositories.

    The paths begin with `folder` as it is given. They are computed once for each version of the index.
    """
    found = [_paths_below(version, folder, os.path.realpath(folder)) for version in _find_versions(folder)]
    return found[0] if len(found) == 1 else frozenset().union(*found)


def tracked_names(folder: str, names: Sequence[str]) -> frozenset[str]:
    """Return those of `names` that are paths of tracked files, relative to `folder` and with `/`."""
    real, found = os.path.realpath(folder), set[str]()
    for version in _find_versions(folder):
        # the paths of the whole repository, which are computed once for all folders
        paths = _paths_below(version, version.root, version.root)
        below = real[len(version.root.rstrip(os.sep)) :].replace(os.sep, "/").rstrip("/")
        above = f"{version.root.rstrip('/')}{below}/"
        found.update(name for name in names if above + name in paths)
    return frozenset(found)


class _IndexVersion(NamedTuple):
    path: str
    root: str
    mtime_ns: int
    size: int


def git_folder_of(folder: str) -> str:
    """Return the folder of git of the repository that contains `folder`; "" if there is none."""
    _, index = _find_working_tree(folder)
    return os.path.realpath(os.path.dirname(index)) if index else ""


def working_tree_of(folder: str) -> str:
    """Return the root of git's working tree that contains `folder`; "" if there is none. Blocks."""
    place, index = _find_working_tree(folder)
    return place if index else ""


def _find_working_tree(folder: str) -> tuple[str, str]:
    """Return the root of the working tree around `folder`, and the path of its index; "" if there is none."""
    place = os.path.realpath(folder)
    while not (index := _index_of(os.path.join(place, ".git"))):
        parent = os.path.dirname(place)
        if parent == place:
            break
        place = parent
    return place, index


def _find_versions(folder: str) -> Iterator[_IndexVersion]:
    place, index = _find_working_tree(folder)
    if not index:
        return
    for path in (index, *_find_shared_indexes(index)):
        with suppress(OSError):
            facts = os.stat(path)
            yield _IndexVersion(path, place, facts.st_mtime_ns, facts.st_size)


def _read_tracked(version: _IndexVersion) -> Sequence[TrackedFile]:
    try:
        return _parse_index(version) if version.size <= MAX_BYTES else ()
    except (OSError, ValueError, struct.error, IndexError):
        return ()


@lru_cache(maxsize=2)
def _paths_below(version: _IndexVersion, folder: str, real: str) -> frozenset[str]:
    files = (file.path for file in _read_tracked(version) if not file.is_repository)
    start, shown = real.rstrip(os.sep) + os.sep, folder.rstrip("/") + "/"
    if start == shown:
        return frozenset(path for path in files if path.startswith(start))
    return frozenset(
        shown + path[len(start) :].replace(os.sep, "/") for path in files if path.startswith(start)
    )


def _find_shared_indexes(index: str) -> Iterator[str]:
    folder = os.path.dirname(index)
    try:
        yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_SHARED))
    except OSError:
        return


def _index_of(git: str) -> str:
    """Return the path of a repository's index; "" if the repository is not found.

    `git` is the path of `.git`, which is a folder, or a file with the path of the git folder.
    """
    if os.path.isdir(git):
        return os.path.join(git, "index")
    try:
        with open(git, encoding="utf-8", errors="surrogateescape") as file:
            line = file.readline(4096)
    except OSError:
        return ""
    target = line.removeprefix("gitdir: ").rstrip("\r\n")
    return os.path.join(os.path.dirname(git), target, "index") if line.startswith("gitdir: ") else ""


@lru_cache(maxsize=4)
def _parse_index(version: _IndexVersion) -> Sequence[TrackedFile]:
    with open(version.path, "rb") as file:
        data = file.read()
    return tuple(_tracked(version.root, *entry) for entry in _entries(data))


def _tracked(root: str, name: bytes, fixed: bytes, flags: int) -> TrackedFile:
    is_repository = _STAT.unpack_from(fixed)[6] & _KIND == _REPOSITORY
    return TrackedFile(os.path.join(root, os.fsdecode(name)), fixed[_STAT.size :].hex(), is_repository)


def _entries(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield the name of each entry, its numbers with the object id, and its flags."""
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown index format")
    # The index does not say how long ids are: 20 bytes, or 32 in a repository with SHA-256.
    fixed_size = _STAT.size + (20 if _is_plausible(data, 20, version) else 32)
    at, previous = _HEADER.size, b""
    for _ in range(count):
        start = at
        at += fixed_size
        flags = data[at] << 8 | data[at + 1]
        at += 4 if flags & _EXTENDED else 2
        if version == 4:
            at, dropped = _number(data, at)
            end = data.index(b"\0", at)
            name = previous[: len(previous) - dropped] + data[at:end]
            at, previous = end + 1, name
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        yield name, data[start : start + fixed_size], flags


@dataclass(frozen=True, slots=True)
class Index:
    """The files that git holds in a repository's objects as they were when git last compared them.

    `root` is the work tree and `git_folder` the folder of git. `rows` maps the name of a file, relative to `root`, to
    its modification time and size (12 bytes, big-endian) and its object id. `mtime_ns`: when the index was written.
    """

    root: str
    git_folder: str
    rows: Mapping[bytes, bytes]
    mtime_ns: int

    def find_object(self, name: bytes, size: int, mtime_ns: int) -> str:
        """Return the object id of the file if git holds it with this size and time; "" if it may have changed.

        A file that changed when the index was written, or later, may have changed again within the same time.
        """
        row = self.rows.get(name)
        if row is None or mtime_ns >= self.mtime_ns:
            return ""
        seconds, rest = divmod(mtime_ns, 1_000_000_000)
        if row[:12] != _MARK.pack(seconds & 0xFFFFFFFF, rest, size & 0xFFFFFFFF):
            return ""
        return row[12:].hex()


def read_index(place: str) -> Index | None:
    """Return the index of the repository whose work tree is `place`; None if `place` is no root of a work tree."""
    index = _index_of(os.path.join(place, ".git"))
    if not index:
        return None
    try:
        mtime_ns = os.stat(index).st_mtime_ns
        rows: dict[bytes, bytes] = {}
        for path in (*_find_shared_indexes(index), index):
            facts = os.stat(path)
            if facts.st_size > MAX_BYTES:
                return Index(place, os.path.dirname(index), {}, 0)
            rows |= _read_rows(path, facts.st_mtime_ns, facts.st_size)
    except (OSError, ValueError, struct.error, IndexError):
        return Index(place, os.path.dirname(index), {}, 0)
    return Index(place, os.path.dirname(index), rows, mtime_ns)


@lru_cache(maxsize=4)
def _read_rows(index: str, mtime_ns: int, size: int) -> Mapping[bytes, bytes]:
    with open(index, "rb") as file:
        data = file.read()
    return {
        name: fixed[8:16] + fixed[36:]
        for name, fixed, flags in _entries(data)
        if not flags & _STAGE and fixed[24:28] != _SUBMODULE
    }


def _is_plausible(data: bytes, width: int, version: int) -> bool:
    """Return whether object ids of `width` bytes fit the index: a valid name follows the first entry's id."""
    at = _HEADER.size + _STAT.size + width
    (flags,) = struct.unpack_from(">H", data, at) if len(data) >= at + 2 else (0,)
    start = at + (4 if flags & _EXTENDED else 2) + (1 if version == 4 else 0)
    length = flags & 0xFFF
    return bool(length == 0xFFF or data[start : start + length + 1].find(b"\0") == length)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Decode the variable-width number at `at`. Return the position after it and its value."""
    byte = data[at]
    value = byte & 0x7F
    at += 1
    while byte & 0x80:
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
        at += 1
    return at, value
