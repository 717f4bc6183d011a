"""Find the facts about files on which the marks of a guided review depend. Blocks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agent_ls.patch.line_diff import equal_blocks
from agent_ls.review.guide.code import is_code, is_test, words
from agent_ls.review.guide.values import FileFacts, ProjectFacts
from agent_ls.review.provenance import UNKNOWN, USER, WrittenText, authors
from agent_ls.services.permissions.paths import places_of
from agent_ls.store import blobs
from agent_ls.store.journal import RecordedWrite
from agent_ls.text import decode, looks_binary, split_lines

MOST_ENTRIES = 30_000
MOST_TEST_FILES = 1_000
MOST_TEST_BYTES = 8_000_000
MOST_LINES = 20_000
MOST_WRITES = 50
_SKIPPED = frozenset({
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox",
    ".mypy_cache", ".pytest_cache", "vendor", ".idea", ".tools",
})  # fmt: skip


def project_facts(
    folder: str,
    texts: Mapping[str, str | None],
    writes: Mapping[str, Sequence[RecordedWrite]],
    blob_folder: Path,
) -> ProjectFacts:
    """Return the facts about changed files. `texts` has their current texts by path, None for a file without text.

    `writes` are the recorded writes by path, whose contents are in `blob_folder`.
    """
    places = places_of(folder)
    files = {}
    for path, text in texts.items():
        lines = None if text is None else tuple(split_lines(text))
        typed = _typed(writes.get(path, ()), lines, blob_folder)
        files[path] = FileFacts(lines, places.is_sensitive(path), typed)
    return ProjectFacts(files, _test_words(folder, texts))


def _typed(
    writes: Sequence[RecordedWrite], lines: Sequence[str] | None, blob_folder: Path
) -> Sequence[tuple[int, int]] | None:
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


def _test_words(folder: str, texts: Mapping[str, str | None]) -> Collection[str] | None:
    """Return all names in the tests of a folder; None if there are too many to read."""
    found: set[str] = set()
    count = size = 0
    for path in _test_files(folder):
        if path is None or count >= MOST_TEST_FILES or size > MOST_TEST_BYTES:
            return None
        text = texts.get(path)
        if text is None:
            try:
                data = Path(path).read_bytes()
            except OSError:
                continue
            text = "" if looks_binary(data) else data.decode("utf-8", "replace")
        count, size = count + 1, size + len(text)
        found |= words((text,))
    for path, text in texts.items():  # a test that is not on the disk yet
        if text is not None and is_test(path):
            found |= words((text,))
    return found


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
