"""Tell who wrote each line of a file, from the logs of the stored sessions. All functions block."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from agent_ls.environments.base import sha256
from agent_ls.review.provenance import UNKNOWN, USER, Author, WrittenText, authors
from agent_ls.sessions.stored.similar_texts import SimilarTexts
from agent_ls.sessions.stored.written_files import LineOrigin, OriginalWrite, WrittenFiles
from agent_ls.store import blobs
from agent_ls.store.forgotten import forgotten_lines
from agent_ls.store.layout import Layout, blobs_path
from agent_ls.text import decode, looks_binary, split_lines, strip_endings

_UNDO = "r-"  # the ids of roll backs begin with it
ALIKE = 0.5
"""Two contents are of the same file if this share of their lines is equal."""
MOST_RENAMES = 10
MOST_CANDIDATES = 50
KEPT_RESULTS = 4


LARGEST_FILE = 64 * 1024 * 1024
"""Larger contents are not stored with a session, so nothing is known of their lines."""


_FORGOTTEN = -3
"""The author of a line whose text a session that was deleted wrote."""
Name: TypeAlias = Literal["user", "agent", "unknown"]
_NAMES: Mapping[Author, Name] = {USER: "user", UNKNOWN: "unknown", _FORGOTTEN: "unknown"}


class UnblamableError(ValueError):
    """The file has no lines that can have authors. The message continues "FILE …"."""


class BlamedLine(NamedTuple):
    """One line of a file. `author` agent: `origin` says which call wrote it. unknown: contents are not recorded.

    `is_forgotten`: unknown, because a session that was deleted wrote a line with this text.
    """

    text: str
    author: Name
    origin: LineOrigin | None = None
    is_forgotten: bool = False


class BlamedText:
    """The lines of a text with their authors. A line is made when it is asked for."""

    def __init__(self, text: str, numbers: list[Author], origins: Sequence[LineOrigin]) -> None:
        self._text = text
        self._numbers = numbers
        self._origins = origins

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: int) -> BlamedLine:
        number = self._numbers[at]
        return BlamedLine(self._lines[at], *self._author(number), number == _FORGOTTEN)

    def __iter__(self) -> Iterator[BlamedLine]:
        return (self[at] for at in range(len(self)))

    @property
    def has_agent_lines(self) -> bool:
        return max(self._numbers, default=USER) >= 0

    def runs(self) -> Iterator[tuple[Name, LineOrigin | None, int]]:
        """Yield author, origin and number of the lines that follow one another and have the same of both."""
        counted = ((self._author(number), sum(1 for _ in run)) for number, run in groupby(self._numbers))
        for (author, origin), runs in groupby(counted, key=lambda run: run[0]):
            yield author, origin, sum(count for _, count in runs)

    def without_forgotten(self, layout: Layout, path: str) -> BlamedText:
        """Return the text with the user's lines as unknown that a deleted session wrote to the file `path`."""
        if not (forgotten := forgotten_lines(layout, path, self._user_lines())):
            return self
        numbers = [
            _FORGOTTEN if number == USER and line in forgotten else number
            for line, number in zip(self._lines, self._numbers, strict=True)
        ]
        return BlamedText(self._text, numbers, self._origins)

    def _user_lines(self) -> Iterator[str]:
        yield from (line for line, whose in zip(self._lines, self._numbers, strict=True) if whose == USER)

    @cached_property
    def _lines(self) -> list[str]:
        return strip_endings(split_lines(self._text))

    def _author(self, number: Author) -> tuple[Name, LineOrigin | None]:
        return (_NAMES[number], None) if number < 0 else ("agent", self._origins[number])


def blame(path: Path, layout: Layout | None = None) -> BlamedText:
    """Return the author of each line of a file on disk.

    Raises:
        OSError: the file cannot be read.
        UnblamableError: the file is not text, or too large.
    """
    return Blamer(layout or Layout()).blame(path)


class Blamer:
    """Tells who wrote the lines of files. Remembers what it read of the logs, and the newest results."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._written = WrittenFiles(layout)
        self._results: dict[tuple[Path, str, int], BlamedText] = {}

    def blame(self, path: Path, text: str | None = None) -> BlamedText:
        """Return the author of each line. `text` is the current text, None to read the file.

        Raises:
            OSError: the file cannot be read.
            UnblamableError: the file is not text, or too large.
        """
        text = _read_text(path) if text is None else text
        real = Path(os.path.realpath(path))
        writes = self._written.in_folders([str(folder) for folder in real.parents])
        key = (real, text, hash(tuple(each.origin for each in writes)))
        if (known := self._results.get(key)) is not None:
            return known
        found = blame_text(real, text, writes).without_forgotten(self._layout, str(real))
        self._results = dict([*list(self._results.items())[1 - KEPT_RESULTS :], (key, found)])
        return found


def _read_text(path: Path) -> str:
    # Opened without waiting, because a pipe would wait for its writer.
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise UnblamableError("is not a file with text")
        if facts.st_size > LARGEST_FILE:
            raise UnblamableError(f"is larger than {LARGEST_FILE >> 20} MiB")
        data = file.read(LARGEST_FILE)
    if looks_binary(data):
        raise UnblamableError("is not a text file")
    return decode(data).text


def blame_text(real: Path, text: str, writes: Sequence[OriginalWrite]) -> BlamedText:
    """Return the author of each line of a text. `writes` are those of all files of the project, oldest first."""
    history = _FileHistory(writes, text)
    found = history.of(str(real), history.current)
    numbers = authors([written for written, _ in found], history.current)
    return BlamedText(text, numbers, [origin for _, origin in found])


class _FileHistory:
    """Finds the writes of a file, also of those under its earlier names."""

    def __init__(self, writes: Sequence[OriginalWrite], text: str) -> None:
        self._by_path: dict[str, list[OriginalWrite]] = {}
        self._contents: dict[tuple[Path, str], Sequence[str] | None] = {}
        self._lines = SimilarTexts()
        self._text = text
        self.current = self._lines.split(text)
        real = {name: os.path.realpath(name) for name in {each.write.path for each in writes}}
        for each in writes:
            self._by_path.setdefault(real[each.write.path], []).append(each)

    def of(self, path: str, current: Sequence[str]) -> list[tuple[WrittenText, LineOrigin]]:
        """Return the writes of a file with the content `current`, oldest first."""
        found = self._texts_of(path)
        names = {path}
        while len(names) <= MOST_RENAMES:
            begin = _first_content(found, current)
            until = found[0][1].time if found else None
            earlier = self._earlier_name(begin, names, until) if begin else None
            if earlier is None:
                return found
            names.add(earlier)
            # without the deletion that ends it
            before = [it for it in self._texts_of(earlier) if it[0].after != ()]
            if found and found[0][0].before == () and found[0][0].after:
                # The agent moved the file: creating it under its new name wrote no line of it.
                moved, origin = found[0]
                last = self._last_content(self._by_path[earlier])
                found[0] = (WrittenText(last, moved.after, moved.is_restoring), origin)
            found = [*before, *found]
        return found

    def _earlier_name(self, begin: Sequence[str], names: set[str], until: str | None) -> str | None:
        """Return the file that is gone and whose last content is most like `begin`.

        A file that was first written after the time `until` cannot be an earlier name.
        """
        gone = [
            path
            for path, writes in self._by_path.items()
            if path not in names
            and (until is None or writes[0].origin.time <= until)
            and not os.path.lexists(path)
        ]
        if not gone:
            return None
        best, score = None, ALIKE
        lines = Counter(line for line in begin if line.strip())
        for path in gone[-MOST_CANDIDATES:]:
            last = self._last_content(self._by_path[path])
            if last and (like := _likeness(Counter(line for line in last if line.strip()), lines)) >= score:
                best, score = path, like
        return best

    def _last_content(self, writes: Sequence[OriginalWrite]) -> Sequence[str] | None:
        for each in reversed(writes):
            text = self._text_of(each)
            if content := text.after or text.before:
                return content
        return None

    def _texts_of(self, path: str) -> list[tuple[WrittenText, LineOrigin]]:
        # Read from the newest, which is most like the current text, so that equal lines are split once.
        newest_first = reversed(self._by_path.get(path, []))
        return [(self._text_of(each), each.origin) for each in newest_first][::-1]

    def _text_of(self, each: OriginalWrite) -> WrittenText:
        write = each.write
        after, before = (self._read(each.folder, name) for name in (write.after, write.before))
        return WrittenText(before, after, write.turn_id.startswith(_UNDO))

    def _read(self, folder: Path, name: str) -> Sequence[str] | None:
        """Return the lines of a stored content. Most contents are read twice: after a write and before the next."""
        if not name:
            return ()
        if (key := (folder, name)) not in self._contents:
            data = blobs.read_blob(blobs_path(folder), name)
            if data is None and name == self._current_name:
                self._contents[key] = self.current  # of large files, only contents before a write are stored
            else:
                self._contents[key] = (
                    None if data is None or looks_binary(data) else self._lines.split_file(data)
                )
        return self._contents[key]

    @cached_property
    def _current_name(self) -> str:
        return sha256(self._text.encode("utf-8", "replace"))


def _first_content(
    found: Sequence[tuple[WrittenText, LineOrigin]], current: Sequence[str]
) -> Sequence[str] | None:
    if not found:
        return current
    return found[0][0].before or (found[0][0].after if found[0][0].before == () else None)


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
