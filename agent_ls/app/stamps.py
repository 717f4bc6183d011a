"""Stamps of files: what is another once their content is, on the disk or in an editor. Blocks: for a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

Stamp: TypeAlias = tuple[tuple[int, int, int, int] | None, int | None]
"""Size, times of the last change of content and of anything (ns), inode; None: no file. And a version in an editor."""

Documents: TypeAlias = Callable[[], Mapping[str, int]]
"""The versions of the documents that are open in an editor, by path. Of the event loop's thread."""


def stamps(paths: Iterable[str], documents: Mapping[str, int]) -> dict[str, Stamp]:
    """`documents` are the versions of those that are open, by path; a file may be open by another of its names."""
    versions = {
        (facts.st_dev, facts.st_ino): version
        for path, version in documents.items()
        if (facts := _maybe_facts(path))
    }
    found: dict[str, Stamp] = {}
    for path in paths:
        facts, version = _maybe_facts(path), documents.get(path)
        if facts is None:
            found[path] = None, version
            continue
        if version is None:
            version = versions.get((facts.st_dev, facts.st_ino))
        found[path] = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino), version
    return found


def _maybe_facts(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
