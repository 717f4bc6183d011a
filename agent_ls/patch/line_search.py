"""Search for a sequence of lines in a file: first exactly, then at looser match levels, never by similarity.

The match levels are those of typography.COMPARED_AS. This module does not depend on patches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from agent_ls.patch.typography import COMPARED_AS
from agent_ls.text import strip_ending, strip_endings

STRICT_LEVELS = (1, 2, 3, 4)
EXACT = 1
RECOVERY_LEVELS = (5, 6)
SEARCHES_WITHOUT_INDEX = 8
COUNT_MAX = 1000  # larger counts are not needed in messages


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A match of the pattern at line `start`. At `level`, the pattern matches at `candidates` positions in total."""

    start: int
    level: int
    candidates: int


class FileLines:
    """The lines of a file (texts without endings), prepared for many searches.

    The normalised form of all lines is computed once for each level; `normalisations` counts the levels. The index
    is built only after a few searches, because building it costs as much as twenty searches without an index.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts: list[str] | None = list(texts)
        self._lines: Sequence[str] = self._texts
        self._has_endings = False
        self.normalisations = 0
        self._levels: dict[int, list[str]] = {}
        self._searches: Counter[int] = Counter()
        self._indexes: dict[int, dict[str, list[int]]] = {}

    @classmethod
    def of(cls, lines: Sequence[str]) -> FileLines:
        """Prepare lines that have line endings. If all endings are LF, they are removed only when a search needs
        lines without endings.
        """
        if "\r" in "".join(lines):
            return cls(strip_endings(lines))
        file = cls(())
        file._texts, file._lines, file._has_endings = None, lines, True
        return file

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def texts(self) -> list[str]:
        if self._texts is None:
            self._texts = strip_endings(self._lines)
        return self._texts

    def text(self, at: int) -> str:
        return strip_ending(self._lines[at]) if self._texts is None else self._texts[at]

    def occurrences(self, pattern: Sequence[str], level: int, start: int = 0) -> Iterator[int]:
        """Yield the positions from `start` on at which all pattern lines equal the lines of the file at `level`.

        An empty pattern matches nowhere. At a recovery level, a blank pattern matches nowhere either.
        """
        if level == EXACT and self._has_endings and self._searches[level] < SEARCHES_WITHOUT_INDEX:
            self._searches[level] += 1
            yield from self._word_for_word(pattern, start)
            return
        texts = self._normalised(level)
        wanted = [COMPARED_AS[level](line) for line in pattern]
        if not wanted or (level in RECOVERY_LEVELS and not any(wanted)):
            return
        self._searches[level] += 1
        offset, places = self._leading(texts, wanted, level, start)
        for at in places:
            if texts[at - offset : at - offset + len(wanted)] == wanted:
                yield at - offset

    def _word_for_word(self, pattern: Sequence[str], start: int) -> Iterator[int]:
        """Yield the exact matches of `pattern`. All lines of the file end with LF, except perhaps the last one."""
        wanted = tuple(f"{line}\n" for line in pattern)
        if not wanted:
            return
        offset = max(range(len(wanted)), key=lambda at: len(wanted[at]))
        for at in _indices_of(self._lines, wanted[offset], start + offset):
            if tuple(self._lines[at - offset : at - offset + len(wanted)]) == wanted:
                yield at - offset
        end = self.count - len(wanted)
        if end >= start and not self._lines[-1].endswith("\n"):
            if tuple(self._lines[end:]) == (*wanted[:-1], pattern[-1]):
                yield end

    def _leading(
        self, texts: Sequence[str], wanted: Sequence[str], level: int, start: int
    ) -> tuple[int, Iterator[int]]:
        """Return the index of the pattern line to search for first, and its positions in the file.

        With an index, this is the line of the pattern that is rarest in the file; without an index, the
        longest line. So a blank first line of the pattern does not slow down the search.
        """
        if self._searches[level] <= SEARCHES_WITHOUT_INDEX:
            offset = max(range(len(wanted)), key=lambda at: len(wanted[at]))
            return offset, _indices_of(texts, wanted[offset], start + offset)
        index = self._index(level)
        offset, places = min(
            ((offset, index.get(line, [])) for offset, line in enumerate(wanted)),
            key=lambda pair: len(pair[1]),
        )
        return offset, islice(places, bisect_left(places, start + offset), None)

    def _normalised(self, level: int) -> list[str]:
        if level not in self._levels:
            self.normalisations += 1
            compared = COMPARED_AS[level]
            self._levels[level] = self.texts if level == EXACT else [*map(compared, self.texts)]
        return self._levels[level]

    def _index(self, level: int) -> dict[str, list[int]]:
        if level not in self._indexes:
            index: dict[str, list[int]] = {}
            for at, text in enumerate(self._normalised(level)):
                index.setdefault(text, []).append(at)
            self._indexes[level] = index
        return self._indexes[level]


def _indices_of(texts: Sequence[str], wanted: str, start: int) -> Iterator[int]:
    with suppress(ValueError):
        while True:
            start = texts.index(wanted, start)
            yield start
            start += 1


def find_first(
    lines: FileLines, pattern: Sequence[str], start: int, *, at_end: bool = False
) -> LineMatch | None:
    """Return the first match from `start` on, at the first strict level that has one.

    `at_end` accepts only a match at the very end of the file. An empty pattern matches at `start`.
    """
    if not pattern:
        return LineMatch(start, 0, 1)
    if at_end:
        return _seek_end(lines, pattern, start)
    for level in STRICT_LEVELS:
        places = lines.occurrences(pattern, level, start)
        first = next(places, None)
        if first is not None:
            return LineMatch(first, level, 1 + sum(1 for _ in islice(places, COUNT_MAX - 1)))
    return None


def find_all(
    lines: FileLines,
    pattern: Sequence[str],
    levels: Sequence[int] = STRICT_LEVELS,
    start: int = 0,
    allowed: Callable[[int], bool] = lambda at: True,
) -> tuple[int, list[int]]:
    """Return the first of `levels` with allowed matches, and these matches; (0, []) if there are none.

    Matches begin at line `start` or later. `allowed` returns whether a match at a line is allowed.
    """
    for level in levels:
        found = list(
            islice((at for at in lines.occurrences(pattern, level, start) if allowed(at)), COUNT_MAX)
        )
        if found:
            return level, found
    return 0, []


def _seek_end(lines: FileLines, pattern: Sequence[str], start: int) -> LineMatch | None:
    at = lines.count - len(pattern)
    if at < start:
        return None
    tail = [lines.text(place) for place in range(at, lines.count)]
    for level in STRICT_LEVELS:
        compared = COMPARED_AS[level]
        if all(compared(theirs) == compared(ours) for theirs, ours in zip(pattern, tail, strict=True)):
            return LineMatch(at, level, 1)
    return None
