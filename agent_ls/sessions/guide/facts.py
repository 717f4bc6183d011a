"""Find the facts about files on which the marks of a guided review depend. Blocks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TypeAlias

from agent_ls.patch.line_diff import equal_blocks
from agent_ls.review.guide.code import is_code, is_test, words
from agent_ls.review.guide.values import FileFacts, ProjectFacts
from agent_ls.review.provenance import UNKNOWN, USER, WrittenText, authors
from agent_ls.services.permissions.paths import places_of
from agent_ls.store import blobs
from agent_ls.store.journal import RecordedWrite
from agent_ls.system import file_signature
from agent_ls.text import decode, looks_binary, split_lines

_Typed: TypeAlias = Sequence[tuple[int, int]] | None

MOST_ENTRIES = 30_000
MOST_TEST_FILES = 1_000
MOST_TEST_BYTES = 8_000_000
MOST_LINES = 20_000
MOST_WRITES = 50
LISTED_S = 30
_SKIPPED = frozenset({
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox",
    ".mypy_cache", ".pytest_cache", "vendor", ".idea", ".tools",
})  # fmt: skip


class FactsReader:
    """Finds facts, and remembers what it read, so that files that did not change are read once. Safe to use from
    several threads.
    """

    def __init__(self) -> None:
        self._reading = Lock()
        self._tests = _TestNames()
        self._typed: dict[str, tuple[object, _Typed]] = {}

    def read(
        self,
        folder: str,
        texts: Mapping[str, str | None],
        writes: Mapping[str, Sequence[RecordedWrite]],
        blob_folder: Path,
    ) -> ProjectFacts:
        """Return the facts about changed files. `texts` has their current texts by path, None for a file without text.

        `writes` are the recorded writes by path, whose contents are in `blob_folder`.
        """
        with self._reading:
            places = places_of(folder)
            files = {}
            for path, text in texts.items():
                own = writes.get(path, ())
                key = text, tuple(own)
                if self._typed.get(path, (None,))[0] != key:
                    self._typed[path] = key, _typed(own, _lines(text), blob_folder)
                files[path] = FileFacts(_lines(text), places.is_sensitive(path), self._typed[path][1])
            return ProjectFacts(files, self._tests.words(folder, texts))


def _lines(text: str | None) -> Sequence[str] | None:
    return None if text is None else tuple(split_lines(text))


def _typed(writes: Sequence[RecordedWrite], lines: Sequence[str] | None, blob_folder: Path) -> _Typed:
    """Return the lines that somebody else wrote since the agent's first write; None if not known."""
    if lines is None or not writes or len(lines) > MOST_LINES or len(writes) > MOST_WRITES:
        return None
    known = [_written(write, blob_folder) for write in writes]
    current = [line.rstrip("\r\n") for line in lines]
    before = known[0].before
    if before is None or any(it.before is None or it.after is None for it in known):
        return None
    whose = authors(known, current)
    if UNKNOWN in whose:
        return None
    is_typed = [author == USER for author in whose]
    for block in equal_blocks(before, current):
        is_typed[block.new : block.new + block.length] = [False] * block.length
    return [(at, at + 1) for at, typed in enumerate(is_typed) if typed and current[at].strip()]


def _written(write: RecordedWrite, blob_folder: Path) -> WrittenText:
    def lines(name: str) -> Sequence[str] | None:
        if not name:
            return ()
        data = blobs.read_blob(blob_folder, name)
        if data is None or looks_binary(data):
            return None
        return [line.rstrip("\r\n") for line in split_lines(decode(data).text)]

    return WrittenText(lines(write.before), lines(write.after))


class _TestNames:
    """The names in the tests of a folder. The list of tests is kept for LISTED_S."""

    def __init__(self) -> None:
        self._listed: tuple[str, float, Sequence[str] | None] = "", 0.0, None
        self._read: dict[str, tuple[object, int, frozenset[str]]] = {}
        self._all: tuple[Sequence[object], frozenset[str]] = (), frozenset()

    def words(self, folder: str, texts: Mapping[str, str | None]) -> Collection[str] | None:
        """Return all names in the tests; None if there are too many to read. `texts` come before the disk."""
        paths = self._list(folder)
        if paths is None:
            return None
        known = {path for path, text in texts.items() if text is not None}
        found = [self._words_of(path) for path in paths if path not in known]
        if sum(size for _, size, _ in found) > MOST_TEST_BYTES:
            return None
        own = [text for path, text in texts.items() if text is not None and is_test(path)]
        signatures = [signature for signature, _, _ in found]
        if signatures != self._all[0]:
            self._all = signatures, frozenset().union(*(names for _, _, names in found))
        return self._all[1] | words(own) if own else self._all[1]

    def _list(self, folder: str) -> Sequence[str] | None:
        if self._listed[0] != folder or monotonic() - self._listed[1] > LISTED_S:
            listed = list(islice(_test_files(folder), MOST_TEST_FILES + 1))
            paths = [path for path in listed if path is not None]
            is_whole = len(paths) == len(listed) <= MOST_TEST_FILES
            self._listed = folder, monotonic(), paths if is_whole else None
            self._read = {path: self._read[path] for path in paths if path in self._read}
        return self._listed[2]

    def _words_of(self, path: str) -> tuple[object, int, frozenset[str]]:
        try:
            signature = path, file_signature(os.stat(path))
            if (known := self._read.get(path)) is None or known[0] != signature:
                data = Path(path).read_bytes()
                text = "" if looks_binary(data) else data.decode("utf-8", "replace")
                known = self._read[path] = signature, len(text), words((text,))
            return known
        except OSError:
            return None, 0, frozenset()


def _test_files(folder: str) -> Iterator[str | None]:
    """Yield the tests below a folder; at last None if the folder has too many entries."""
    seen = 0
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        seen += len(folders) + len(names)
        if seen > MOST_ENTRIES:
            yield None
            return
        inside = os.path.relpath(top, folder)
        for name in sorted(names):
            if is_code(name) and is_test(f"{inside}/{name}"):
                yield os.path.join(top, name)
