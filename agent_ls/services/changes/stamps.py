"""Stamps of files: values that change when the content changes, on disk or in an editor."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from agent_ls.environments.wrappers.bounded import DiskRead

DiskStamp: TypeAlias = tuple[int, int, int, int, int]
"""Stamp of a file on disk: size in bytes, mtime and ctime in ns, inode, type and permission bits."""

Stamp: TypeAlias = tuple[DiskStamp | None, int | None]
"""Stamp of a file: (stamp on disk, version of the document in the editor).

The first is None if the file does not exist. The second is None if the file is not open in the editor.
"""

STEP_NS = 2_000_000_000
"""Coarsest resolution of file times (on FAT). Two changes within this time may have the same time stamp."""

Documents: TypeAlias = Callable[[], Mapping[str, int]]
"""Returns the versions of the documents open in an editor, by path. Call on the event loop's thread."""


def stamps(paths: Iterable[str], documents: Mapping[str, int]) -> dict[str, Stamp]:
    """Return the stamp of each path. Blocks: run in a thread.

    `documents` maps the paths of open documents to their versions. If a path in `paths` is another name (a
    link) of the file of an open document, its stamp has the version of this document.
    """
    versions = {
        (facts.st_dev, facts.st_ino): version
        for path, version in documents.items()
        if (facts := stat_or_none(path))
    }
    found: dict[str, Stamp] = {}
    for path in paths:
        facts, version = stat_or_none(path), documents.get(path)
        if facts is None:
            found[path] = None, version
            continue
        if version is None:
            version = versions.get((facts.st_dev, facts.st_ino))
        found[path] = disk_stamp(facts), version
    return found


def stamp_of_read(read: DiskRead) -> Stamp | None:
    """Return the stamp that a file had directly before it was read from disk.

    The file must not be open in an editor.
    Returns None if the file changed so recently (STEP_NS) that another change might not alter its times.
    """
    changed_ns = max(read.facts.st_mtime_ns, read.facts.st_ctime_ns)
    return (disk_stamp(read.facts), None) if changed_ns + STEP_NS < read.began_ns else None


def stamp_of_file(path: str) -> DiskStamp | None:
    """Return the stamp of a regular file; None for anything else, or if there is no file."""
    try:
        facts = os.lstat(path)
    except (OSError, ValueError):
        return None
    return disk_stamp(facts) if stat.S_ISREG(facts.st_mode) else None


def disk_stamp(facts: os.stat_result) -> DiskStamp:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_mode


def stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
