"""Placing chunks that the strict search does not find: rules R7 and R10 to R14 of SEMANTICS 6.

A rule holds only where exactly one place is left. Two places are never guessed between: that is Ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_ls.patch.diagnosis import Diagnosis, stands_at
from agent_ls.patch.errors import Code, Problem
from agent_ls.patch.matching import COUNT_MAX, RECOVERY_LEVELS, STRICT_LEVELS, FileLines, places, seek
from agent_ls.patch.placing import Spot, insertion, new_texts, old_texts, seek_lines, strict_spot
from agent_ls.patch.typography import is_blank, trimmed
from agent_ls.patch.v4a_parser import Chunk, PatchLine

_REASONS = {
    "R3": "stacked anchors looked for from the top of the file",
    "R7": "blank context lines at an end of the chunk dropped",
    "R10": "the anchor was not found as it is; the place is the only one that fits",
    "R11": "the anchor is the chunk's own first line",
    "R12": "the context overlaps that of the chunk before",
    "R13": "found outside the order of the chunks (or not at the end of the file)",
    "R14": "matched with blanks and compatible characters ignored",
}


class _AmbiguousError(Exception):
    """Several places fit; `note` says of what, when it is not of the chunk itself."""

    def __init__(self, found: Sequence[int], note: str = "") -> None:
        super().__init__()
        self.found = tuple(found)
        self.note = note


@dataclass(frozen=True, slots=True)
class _After:
    """The line behind the last anchor, and the rules it took to find it."""

    line: int
    rules: tuple[str, ...] = ()


class Recovery:
    """Places the chunks of one section, one by one in patch order."""

    def __init__(self, file: FileLines, path: str) -> None:
        self._file = file
        self._path = path
        self._diagnosis = Diagnosis(file)
        self._placed: list[Spot] = []
        self._cursor = 0
        self._in_order = True

    def place(self, chunk: Chunk, number: int) -> Spot | Problem:
        """The one sane place of this chunk, or why there is none. A refused chunk moves nothing."""
        try:
            spot = self._find(chunk)
        except _AmbiguousError as error:
            told = "\n".join(filter(None, [error.note, self._diagnosis.ambiguous(error.found)]))
            return self._problem("AMBIGUOUS", chunk, number, told)
        if spot is None:
            return self._missing(chunk, number)
        if self._is_applied(spot):
            detail = (
                f"Already applied: the added lines stand at line {spot.start + 1} already. Nothing to do."
            )
            return self._problem("CONTEXT_NOT_FOUND", chunk, number, detail)
        self._in_order = self._in_order and spot.cursor >= self._cursor
        self._cursor = spot.cursor
        self._placed.append(spot)
        return spot

    def _find(self, chunk: Chunk) -> Spot | None:
        if chunk.stacked and chunk.anchors:
            return self._find_stacked(chunk)
        if not old_texts(chunk.lines):
            after = self._after_anchors(chunk.anchors, self._cursor)
            return self._with_rules(insertion(self._file, chunk, after.line), *after.rules) if after else None
        spot = strict_spot(self._file, chunk, self._cursor) if self._in_order else None
        if spot:
            return spot
        rules = (
            self._from_cursor,
            self._on_anchor,
            self._overlapping,
            self._without_anchor,
            self._anywhere,
            self._loosely,
        )
        for lines in _shortened(chunk.lines):
            for rule in rules:
                spot = rule(chunk, lines)
                if spot:
                    return spot if lines is chunk.lines else self._with_rules(spot, "R7")
        return None

    def _from_cursor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        return self._behind(chunk, lines, self._cursor, self._file_end)

    def _on_anchor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        """R11."""
        after = self._after_anchors(chunk.anchors, self._cursor) if chunk.anchors else None
        if after is None:
            return None
        spot = seek_lines(self._file, lines, after.line - 1, at_end=chunk.at_end)
        if spot is None or spot.start != after.line - 1 or not self._is_free(spot):
            return None
        return self._with_rules(spot, *after.rules, "R11")

    def _overlapping(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        """R12: from the last changed line on, among the places that begin before the cursor."""
        start = max((spot.changed()[1] for spot in self._placed), default=0)
        if start >= self._cursor:
            return None
        spot = self._behind(chunk, lines, start, self._cursor)
        if spot is None and chunk.anchors and self._after_anchors(chunk.anchors, start) is None:
            spot = self._behind(replace(chunk, anchors=()), lines, start, self._cursor)
            spot = self._with_rules(spot, "R10") if spot else None
        return self._with_rules(spot, "R12") if spot else None

    def _without_anchor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        """R10: a single anchor that is nowhere is advice."""
        if not chunk.anchors or self._after_anchors(chunk.anchors, self._cursor):
            return None
        spot = self._only(lines, STRICT_LEVELS, self._cursor, self._is_free_at(lines))
        return self._with_rules(spot, "R10") if spot else None

    def _anywhere(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        """R13: clear of all other chunks; else clear of what they change."""
        spot = self._only(lines, STRICT_LEVELS, 0, self._is_clear_at(lines)) or self._only(
            lines, STRICT_LEVELS, 0, self._is_free_at(lines)
        )
        return self._out_of_order(spot, "R13")

    def _loosely(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> Spot | None:
        """R14."""
        return self._out_of_order(self._only(lines, RECOVERY_LEVELS, 0, self._is_free_at(lines)), "R14")

    def _out_of_order(self, spot: Spot | None, rule: str) -> Spot | None:
        """A place before a chunk that was one of several is no proof: rather that one was misplaced."""
        if spot is None:
            return None
        for other in self._placed:
            if other.candidates > 1 and spot.start < other.start:
                fitting = list(self._file.occurrences(old_texts(other.lines), other.level))
                raise _AmbiguousError(
                    fitting[:COUNT_MAX], "It stands before another chunk, of which this is true:"
                )
        return self._with_rules(spot, rule)

    def _find_stacked(self, chunk: Chunk) -> Spot | None:
        """R3: all anchors bind, from the cursor, else once from the top."""
        for start, rules in ((self._cursor, ()), (0, ("R3",))):
            after = self._after_anchors(chunk.anchors, start)
            spot = self._behind_stacked(chunk, after) if after else None
            if spot:
                return self._with_rules(spot, *rules)
        return None

    def _behind_stacked(self, chunk: Chunk, after: _After) -> Spot | None:
        if not old_texts(chunk.lines):
            return self._with_rules(insertion(self._file, chunk, after.line), *after.rules)
        for lines in _shortened(chunk.lines):
            dropped = () if lines is chunk.lines else ("R7",)
            spot = seek_lines(self._file, lines, after.line, at_end=chunk.at_end)
            if spot and self._is_free(spot):
                if dropped:
                    self._check_alone(spot, self._file_end)
                return self._with_rules(spot, *after.rules, *dropped)
            spot = seek_lines(self._file, lines, after.line - 1)
            if spot and spot.start == after.line - 1 and self._is_free(spot):
                return self._with_rules(spot, *after.rules, "R11", *dropped)
            spot = self._only(lines, RECOVERY_LEVELS, after.line, self._is_free_at(lines))
            if spot:
                return self._with_rules(spot, *after.rules, "R14", *dropped)
        return None

    def _behind(self, chunk: Chunk, lines: tuple[PatchLine, ...], start: int, before: int) -> Spot | None:
        """The only place behind the anchor (if any) that begins before line `before`."""
        after = self._after_anchors(chunk.anchors, start)
        if after is None:
            return None
        spot = seek_lines(self._file, lines, after.line, at_end=chunk.at_end)
        if spot is None or spot.start >= before or not self._is_free(spot):
            return None
        # With the lines and the anchor as they were sent the first place counts, as in the strict search.
        if lines is not chunk.lines or not after.rules or not self._in_order:
            self._check_alone(spot, before)
        return self._with_rules(spot, *after.rules)

    def _after_anchors(self, anchors: Sequence[str], start: int) -> _After | None:
        after = _After(start)
        for anchor in anchors:
            found = self._anchor(anchor, after.line)
            if found is None:
                return None
            after = _After(found.line + 1, after.rules + found.rules)
        return after

    def _anchor(self, anchor: str, start: int) -> _After | None:
        """The anchor's line; else the only line that begins with it; else by R14."""
        found = seek(self._file, [anchor], start)
        if found:
            return _After(found.start)
        begins = [
            at
            for at in range(start, self._file_end)
            if trimmed(self._file.texts[at]).startswith(trimmed(anchor))
        ]
        if len(begins) == 1:
            return _After(begins[0], ("R10",))
        _, loose = places(self._file, [anchor], RECOVERY_LEVELS, start)
        return _After(loose[0], ("R14",)) if len(loose) == 1 and not begins else None

    def _only(
        self, lines: tuple[PatchLine, ...], levels: Sequence[int], start: int, allowed: Callable[[int], bool]
    ) -> Spot | None:
        level, found = places(self._file, old_texts(lines), levels, start, allowed)
        if len(found) > 1:
            raise _AmbiguousError(found)
        if not found:
            return None
        return Spot(found[0], lines, found[0] + len(old_texts(lines)), level, 1)

    def _check_alone(self, spot: Spot, before: int) -> None:
        if spot.candidates > 1:
            found = [
                at
                for at in self._file.occurrences(old_texts(spot.lines), spot.level, spot.start)
                if at < before
            ]
            if len(found) > 1:
                raise _AmbiguousError(found)

    def _is_clear_at(self, lines: tuple[PatchLine, ...]) -> Callable[[int], bool]:
        length = len(old_texts(lines))
        return lambda at: all(at + length <= spot.start or spot.end <= at for spot in self._placed)

    def _is_free_at(self, lines: tuple[PatchLine, ...]) -> Callable[[int], bool]:
        length = len(old_texts(lines))
        taken = [spot.changed() for spot in self._placed]
        return lambda at: all(at + length <= first or last <= at for first, last in taken)

    def _is_free(self, spot: Spot) -> bool:
        return self._is_free_at(spot.lines)(spot.start)

    @property
    def _file_end(self) -> int:
        return len(self._file.texts)

    def _with_rules(self, spot: Spot, *rules: str) -> Spot:
        return replace(spot, repairs=(*spot.repairs, *((rule, _REASONS[rule]) for rule in rules)))

    def _is_applied(self, spot: Spot) -> bool:
        """A patch that is sent twice must not insert twice: its added lines would stand there already."""
        if any(line.sign == "-" for line in spot.lines):
            return False
        at = spot.start
        for context, added in _runs(spot.lines):
            at += context
            if stands_at(self._file, at, added):
                return True
        return False

    def _missing(self, chunk: Chunk, number: int) -> Problem:
        old = old_texts(chunk.lines)
        detail = self._diagnosis.missing(old, new_texts(chunk.lines)) if old else ""
        if self._after_anchors(chunk.anchors, 0) is not None:
            return self._problem("CONTEXT_NOT_FOUND", chunk, number, detail)
        advice = "An @@ line repeats one whole line of the file above the change. Read the file again."
        return self._problem("ANCHOR_NOT_FOUND", chunk, number, "\n".join(filter(None, [advice, detail])))

    def _problem(self, code: Code, chunk: Chunk, number: int, detail: str) -> Problem:
        return Problem(code, self._message(chunk), self._path, chunk=number, line=chunk.number, detail=detail)

    def _message(self, chunk: Chunk) -> str:
        """What the reference program would say of this chunk."""
        start = self._cursor
        for anchor in chunk.anchors:
            found = seek(self._file, [anchor], start)
            if found is None:
                return f"Failed to find context '{anchor}' in {self._path}"
            start = found.start + 1
        return "\n".join([f"Failed to find expected lines in {self._path}:", *old_texts(chunk.lines)])


def _shortened(lines: tuple[PatchLine, ...]) -> Iterator[tuple[PatchLine, ...]]:
    """The lines, then with blank context dropped line by line: at the end first, then at the start (R7)."""
    yield lines
    while lines and _is_blank_context(lines[-1]):
        lines = lines[:-1]
        if old_texts(lines):
            yield lines
    while lines and _is_blank_context(lines[0]):
        lines = lines[1:]
        if old_texts(lines):
            yield lines


def _is_blank_context(line: PatchLine) -> bool:
    return line.sign == " " and is_blank(line.text)


def _runs(lines: Sequence[PatchLine]) -> Iterator[tuple[int, list[str]]]:
    """Of a chunk that only adds: how many file lines come before each run of added lines, and the run."""
    passed = 0
    for is_added, group in groupby(lines, key=lambda line: line.sign == "+"):
        texts = [line.text for line in group]
        if is_added:
            yield passed, texts
        else:
            passed = len(texts)
