"""Where do these lines stand? Exact first, then looser and looser, never by similarity (SEMANTICS 3.1, R14).

This module does not know what a patch is: lines are looked for in lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from agent_ls.patch.typography import COMPARED_AS
from agent_ls.text import line_texts, strip_ending

STRICT_LEVELS = (1, 2, 3, 4)
EXACT = 1
RECOVERY_LEVELS = (5, 6)
SEARCHES_WITHOUT_INDEX = 8
COUNT_MAX = 1000  # candidates are counted for people; a thousand are as many as a million


@dataclass(frozen=True, slots=True)
class Found:
    """Lines from `start` match at `level`; `candidates` places do, this one included."""

    start: int
    level: int
    candidates: int


class FileLines:
    """The lines of a file (texts without endings), to be searched many times.

    Each level's form of all lines is made once, when first needed: `normalisations` counts how many levels were made.
    So is an index of it, for who searches more than a few times: it costs as much as twenty searches without.
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
        """Of lines with their endings. Most patches fit word for word: the lines are not even taken apart for that."""
        if "\r" in "".join(lines):
            return cls(line_texts(lines))
        file = cls(())
        file._texts, file._lines, file._has_endings = None, lines, True
        return file

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def texts(self) -> list[str]:
        if self._texts is None:
            self._texts = line_texts(self._lines)
        return self._texts

    def text(self, at: int) -> str:
        return strip_ending(self._lines[at]) if self._texts is None else self._texts[at]

    def occurrences(self, pattern: Sequence[str], level: int, start: int = 0) -> Iterator[int]:
        """Places from `start` upwards where all pattern lines equal the file's at this level, lazily.

        An empty pattern, or one that is blank at a level above 4, occurs nowhere.
        """
        if level == EXACT and self._has_endings and self._searches[level] < SEARCHES_WITHOUT_INDEX:
            self._searches[level] += 1
            yield from self._word_for_word(pattern, start)
            return
        texts = self._at(level)
        wanted = [COMPARED_AS[level](line) for line in pattern]
        if not wanted or (level in RECOVERY_LEVELS and not any(wanted)):
            return
        self._searches[level] += 1
        offset, places = self._leading(texts, wanted, level, start)
        for at in places:
            if texts[at - offset : at - offset + len(wanted)] == wanted:
                yield at - offset

    def _word_for_word(self, pattern: Sequence[str], start: int) -> Iterator[int]:
        """In lines that all end with LF, but for the last one perhaps."""
        wanted = tuple(f"{line}\n" for line in pattern)
        if not wanted:
            return
        offset = max(range(len(wanted)), key=lambda at: len(wanted[at]))
        for at in _standing(self._lines, wanted[offset], start + offset):
            if tuple(self._lines[at - offset : at - offset + len(wanted)]) == wanted:
                yield at - offset
        end = self.count - len(wanted)
        if end >= start and not self._lines[-1].endswith("\n"):
            if tuple(self._lines[end:]) == (*wanted[:-1], pattern[-1]):
                yield end

    def _leading(
        self, texts: Sequence[str], wanted: Sequence[str], level: int, start: int
    ) -> tuple[int, Iterator[int]]:
        """The pattern's line that is looked for, by its place there, and where it stands.

        The rarest leads, or what looks so: a chunk that begins with a blank line costs no more than another.
        """
        if self._searches[level] <= SEARCHES_WITHOUT_INDEX:
            offset = max(range(len(wanted)), key=lambda at: len(wanted[at]))
            return offset, _standing(texts, wanted[offset], start + offset)
        index = self._index(level)
        offset, places = min(
            ((offset, index.get(line, [])) for offset, line in enumerate(wanted)),
            key=lambda pair: len(pair[1]),
        )
        return offset, islice(places, bisect_left(places, start + offset), None)

    def _at(self, level: int) -> list[str]:
        if level not in self._levels:
            self.normalisations += 1
            compared = COMPARED_AS[level]
            self._levels[level] = self.texts if level == EXACT else [*map(compared, self.texts)]
        return self._levels[level]

    def _index(self, level: int) -> dict[str, list[int]]:
        if level not in self._indexes:
            index: dict[str, list[int]] = {}
            for at, text in enumerate(self._at(level)):
                index.setdefault(text, []).append(at)
            self._indexes[level] = index
        return self._indexes[level]


def _standing(texts: Sequence[str], wanted: str, start: int) -> Iterator[int]:
    with suppress(ValueError):
        while True:
            start = texts.index(wanted, start)
            yield start
            start += 1


def seek(lines: FileLines, pattern: Sequence[str], start: int, *, at_end: bool = False) -> Found | None:
    """The first place from `start` on, at the first strict level that has one (SEMANTICS 3.1).

    `at_end`: only the very end of the file will do. An empty pattern matches at `start`.
    """
    if not pattern:
        return Found(start, 0, 1)
    if at_end:
        return _seek_end(lines, pattern, start)
    for level in STRICT_LEVELS:
        places = lines.occurrences(pattern, level, start)
        first = next(places, None)
        if first is not None:
            return Found(first, level, 1 + sum(1 for _ in islice(places, COUNT_MAX - 1)))
    return None


def places(
    lines: FileLines,
    pattern: Sequence[str],
    levels: Sequence[int] = STRICT_LEVELS,
    start: int = 0,
    allowed: Callable[[int], bool] = lambda at: True,
) -> tuple[int, list[int]]:
    """The first level that has allowed places, and these places; (0, []) when none has."""
    for level in levels:
        found = list(
            islice((at for at in lines.occurrences(pattern, level, start) if allowed(at)), COUNT_MAX)
        )
        if found:
            return level, found
    return 0, []


def _seek_end(lines: FileLines, pattern: Sequence[str], start: int) -> Found | None:
    at = lines.count - len(pattern)
    if at < start:
        return None
    tail = [lines.text(place) for place in range(at, lines.count)]
    for level in STRICT_LEVELS:
        compared = COMPARED_AS[level]
        if all(compared(theirs) == compared(ours) for theirs, ours in zip(pattern, tail, strict=True)):
            return Found(at, level, 1)
    return None
