"""Stamps of files: values that change when the content changes, on disk or in an editor.

Blocks: run in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from agent_ls.environments.wrappers.bounded import DiskRead

Stamp: TypeAlias = tuple[tuple[int, int, int, int] | None, int | None]
"""Two parts: of the file on disk (size in bytes, mtime and ctime in ns, inode), None if it does not exist; and the
version of the document in the editor, None if it is not open there.
"""

STEP_NS = 2_000_000_000
"""The largest step of file times, that of FAT. Two changes within one step may leave the same times."""

Documents: TypeAlias = Callable[[], Mapping[str, int]]
"""Returns the versions of the documents open in an editor, by path. Call on the event loop's thread."""


def stamps(paths: Iterable[str], documents: Mapping[str, int]) -> dict[str, Stamp]:
    """Return the stamp of each path.

    `documents` has the versions of open documents, possibly by another file name.
    """
    versions = {
        (facts.st_dev, facts.st_ino): version
        for path, version in documents.items()
        if (facts := _stat_or_none(path))
    }
    found: dict[str, Stamp] = {}
    for path in paths:
        facts, version = _stat_or_none(path), documents.get(path)
        if facts is None:
            found[path] = None, version
            continue
        if version is None:
            version = versions.get((facts.st_dev, facts.st_ino))
        found[path] = _disk_stamp(facts), version
    return found


def stamp_of_read(read: DiskRead) -> Stamp | None:
    """Return the stamp of a file that is not open in an editor, as it was directly before it was read.

    None: the file changed so recently (STEP_NS) that another change may leave its times as they are.
    """
    changed_ns = max(read.facts.st_mtime_ns, read.facts.st_ctime_ns)
    return (_disk_stamp(read.facts), None) if changed_ns + STEP_NS < read.began_ns else None


def _disk_stamp(facts: os.stat_result) -> tuple[int, int, int, int]:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
