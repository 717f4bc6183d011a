"""Where do these lines stand? Exact first, then looser and looser, never by similarity (SEMANTICS 3.1, R14).

This module does not know what a patch is: lines are looked for in lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from agent_ls.patch.typography import COMPARED_AS

STRICT_LEVELS = (1, 2, 3, 4)
EXACT = 1
RECOVERY_LEVELS = (5, 6)
COUNT_MAX = 1000  # candidates are counted for people; a thousand are as many as a million


@dataclass(frozen=True, slots=True)
class Found:
    """Lines from `start` match at `level`; `candidates` places do, this one included."""

    start: int
    level: int
    candidates: int


class FileLines:
    """The lines of a file (texts without endings), to be searched many times.

    Each level's form of all lines, and an index of it, is made once, when first needed: `normalisations` counts
    how many levels were made.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.normalisations = 0
        self._levels: dict[int, tuple[list[str], dict[str, list[int]]]] = {}

    def occurrences(self, pattern: Sequence[str], level: int, start: int = 0) -> Iterator[int]:
        """Places from `start` upwards where all pattern lines equal the file's at this level, lazily.

        An empty pattern, or one that is blank at a level above 4, occurs nowhere.
        """
        texts, index = self._at(level)
        wanted = [COMPARED_AS[level](line) for line in pattern]
        if not wanted or (level in RECOVERY_LEVELS and not any(wanted)):
            return
        # The rarest line of the pattern leads: a chunk that begins with a blank line costs no more than another.
        offset, places = min(
            ((offset, index.get(line, [])) for offset, line in enumerate(wanted)),
            key=lambda pair: len(pair[1]),
        )
        for at in islice(places, bisect_left(places, start + offset), None):
            if texts[at - offset : at - offset + len(wanted)] == wanted:
                yield at - offset

    def _at(self, level: int) -> tuple[list[str], dict[str, list[int]]]:
        if level not in self._levels:
            self.normalisations += 1
            texts = self.texts if level == 1 else [*map(COMPARED_AS[level], self.texts)]
            index: dict[str, list[int]] = {}
            for at, text in enumerate(texts):
                index.setdefault(text, []).append(at)
            self._levels[level] = (texts, index)
        return self._levels[level]


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
    at = len(lines.texts) - len(pattern)
    if at < start:
        return None
    tail = lines.texts[at:]
    for level in STRICT_LEVELS:
        compared = COMPARED_AS[level]
        if all(compared(theirs) == compared(ours) for theirs, ours in zip(pattern, tail, strict=True)):
            return Found(at, level, 1)
    return None
