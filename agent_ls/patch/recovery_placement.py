"""Locate chunks that the strict search does not find, by the recovery rules R7 and R10 to R14 (see v4a_apply).

A rule applies only if exactly one position fits. If several positions fit, the chunk is refused as ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_ls.patch.diagnosis import Diagnosis, is_present_at
from agent_ls.patch.errors import Code, PatchProblem
from agent_ls.patch.line_search import (
    COUNT_MAX,
    RECOVERY_LEVELS,
    STRICT_LEVELS,
    FileLines,
    find_all,
    find_first,
)
from agent_ls.patch.strict_placement import (
    PlacedChunk,
    find_chunk_lines,
    new_texts,
    old_texts,
    place_chunk_strictly,
    place_insertion,
)
from agent_ls.patch.typography import is_blank, strip_blanks
from agent_ls.patch.v4a_parser import Chunk, PatchLine

_REASONS = {
    "R3": "searched for several @@ lines in sequence from the top of the file",
    "R7": "ignored blank context lines at an end of the chunk",
    "R10": "did not find the @@ line exactly; placed the chunk at its only matching position",
    "R11": "the @@ line is the first line of the chunk",
    "R12": "the context overlaps the context of the previous chunk",
    "R13": "found the chunk out of order (or not at the end of the file)",
    "R14": "matched while ignoring differences in blanks and similar characters",
}


_ONLY_BLANKS = (
    "The chunk overlaps an earlier one, and one of them has only blank lines as context. "
    "Send one chunk for both changes, with a context line that is not blank."
)


class _AmbiguousError(Exception):
    """Several positions (line indexes `found`) fit a chunk.

    `note` is "" if this is the chunk to be placed, else a sentence that says which chunk is ambiguous.
    """

    def __init__(self, found: Sequence[int], note: str = "") -> None:
        super().__init__()
        self.found = tuple(found)
        self.note = note


@dataclass(frozen=True, slots=True)
class _SearchStart:
    """The line at which the search continues, and the recovery rules that were needed to find the anchors."""

    line: int
    rules: tuple[str, ...] = ()


class ChunkRecovery:
    """Places the chunks of one section, one by one in patch order."""

    def __init__(self, file: FileLines, path: str) -> None:
        self._file = file
        self._path = path
        self._diagnosis = Diagnosis(file)
        self._placed: list[PlacedChunk] = []
        self._cursor = 0
        self._in_order = True

    def place(self, chunk: Chunk, number: int) -> PlacedChunk | PatchProblem:
        """Return the only possible position of this chunk, or a problem that says why the chunk is refused.

        `number` is the number of the chunk in its section, from 1. A refused chunk does not influence later
        chunks.
        """
        try:
            placed_chunk = self._find(chunk)
        except _AmbiguousError as error:
            reason = "\n".join(filter(None, [error.note, self._diagnosis.ambiguous(error.found)]))
            return self._problem("AMBIGUOUS", chunk, number, reason)
        if placed_chunk is None:
            return self._report_missing(chunk, number)
        if self._shares_only_blanks(placed_chunk):
            return self._problem("AMBIGUOUS", chunk, number, _ONLY_BLANKS)
        if self._is_applied(placed_chunk):
            detail = f"Already applied: the added lines are already at line {placed_chunk.start + 1}. Nothing to do."
            return self._problem("CONTEXT_NOT_FOUND", chunk, number, detail)
        self._in_order = self._in_order and placed_chunk.cursor >= self._cursor
        self._cursor = placed_chunk.cursor
        self._placed.append(placed_chunk)
        return placed_chunk

    def _find(self, chunk: Chunk) -> PlacedChunk | None:
        if chunk.stacked and chunk.anchors:
            return self._find_stacked(chunk)
        if not old_texts(chunk.lines):
            after = self._find_anchors(chunk.anchors, self._cursor)
            return (
                self._with_rules(place_insertion(self._file, chunk, after.line), *after.rules)
                if after
                else None
            )
        placed_chunk = place_chunk_strictly(self._file, chunk, self._cursor) if self._in_order else None
        if placed_chunk:
            return placed_chunk
        rules = (
            self._match_from_cursor,
            self._match_on_anchor,
            self._match_overlapping,
            self._without_anchor,
            self._match_anywhere,
            self._match_loosely,
        )
        for lines in _drop_blank_context(chunk.lines):
            for rule in rules:
                placed_chunk = rule(chunk, lines)
                if placed_chunk:
                    return placed_chunk if lines is chunk.lines else self._with_rules(placed_chunk, "R7")
        return None

    def _match_from_cursor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        return self._place_after_anchors(chunk, lines, self._cursor, self._file_end)

    def _match_on_anchor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        """Place a chunk whose anchor repeats its first line (rule R11), or return None."""
        after = self._find_anchors(chunk.anchors, self._cursor) if chunk.anchors else None
        if after is None:
            return None
        placed_chunk = find_chunk_lines(self._file, lines, after.line - 1, at_end=chunk.at_end)
        if placed_chunk is None or placed_chunk.start != after.line - 1 or not self._is_free(placed_chunk):
            return None
        return self._with_rules(placed_chunk, *after.rules, "R11")

    def _match_overlapping(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        """Place the chunk by rule R12, or return None.

        The chunk may overlap the context lines of earlier chunks, but not their changed lines.
        """
        start = max((placed_chunk.changed_range()[1] for placed_chunk in self._placed), default=0)
        if start >= self._cursor:
            return None
        placed_chunk = self._place_after_anchors(chunk, lines, start, self._cursor)
        if placed_chunk is None and chunk.anchors and self._find_anchors(chunk.anchors, start) is None:
            placed_chunk = self._place_after_anchors(replace(chunk, anchors=()), lines, start, self._cursor)
            placed_chunk = self._with_rules(placed_chunk, "R10") if placed_chunk else None
        return self._with_rules(placed_chunk, "R12") if placed_chunk else None

    def _without_anchor(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        """Place the chunk by rule R10, or return None.

        If an anchor of the chunk does not exist in the file, search without the anchors. Only one position
        may fit.
        """
        if not chunk.anchors or self._find_anchors(chunk.anchors, self._cursor):
            return None
        placed_chunk = self._find_only_match(lines, STRICT_LEVELS, self._cursor, self._is_free_at(lines))
        return self._with_rules(placed_chunk, "R10") if placed_chunk else None

    def _match_anywhere(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        """Place the chunk by rule R13, or return None. The search also covers the lines before earlier chunks.

        First search for a position that overlaps no other chunk. If there is none, search for a position that
        overlaps no changed lines of other chunks.
        """
        placed_chunk = self._find_only_match(
            lines, STRICT_LEVELS, 0, self._is_clear_at(lines)
        ) or self._find_only_match(lines, STRICT_LEVELS, 0, self._is_free_at(lines))
        return self._out_of_order(placed_chunk, "R13")

    def _match_loosely(self, chunk: Chunk, lines: tuple[PatchLine, ...]) -> PlacedChunk | None:
        """Place the chunk by rule R14, or return None.

        Differences in blanks and similar characters are ignored.
        """
        return self._out_of_order(
            self._find_only_match(lines, RECOVERY_LEVELS, 0, self._is_free_at(lines)), "R14"
        )

    def _out_of_order(self, placed_chunk: PlacedChunk | None, rule: str) -> PlacedChunk | None:
        """Return `placed_chunk` with the recovery rule `rule` recorded.

        Raise _AmbiguousError if the position is before an earlier chunk that matched at several positions. In
        this case the earlier chunk is probably at a wrong position.
        """
        if placed_chunk is None:
            return None
        for other in self._placed:
            if other.candidates > 1 and placed_chunk.start < other.start:
                fitting = list(self._file.occurrences(old_texts(other.lines), other.level))
                raise _AmbiguousError(
                    fitting[:COUNT_MAX],
                    "The chunk matches above an earlier chunk, which matches at several places:",
                )
        return self._with_rules(placed_chunk, rule)

    def _find_stacked(self, chunk: Chunk) -> PlacedChunk | None:
        """Place a chunk with several stacked `@@` lines by rule R3, or return None.

        The first anchor is searched after the previous chunk, each further anchor after the one before it. If
        the chunk does not match there, the search is repeated from the top of the file.
        """
        for start, rules in ((self._cursor, ()), (0, ("R3",))):
            after = self._find_anchors(chunk.anchors, start)
            placed_chunk = self._place_after_stacked(chunk, after) if after else None
            if placed_chunk:
                return self._with_rules(placed_chunk, *rules)
        return None

    def _place_after_stacked(self, chunk: Chunk, after: _SearchStart) -> PlacedChunk | None:
        if not old_texts(chunk.lines):
            return self._with_rules(place_insertion(self._file, chunk, after.line), *after.rules)
        for lines in _drop_blank_context(chunk.lines):
            dropped = () if lines is chunk.lines else ("R7",)
            placed_chunk = find_chunk_lines(self._file, lines, after.line, at_end=chunk.at_end)
            if placed_chunk and self._is_free(placed_chunk):
                if dropped:
                    self._check_alone(placed_chunk, self._file_end)
                return self._with_rules(placed_chunk, *after.rules, *dropped)
            placed_chunk = find_chunk_lines(self._file, lines, after.line - 1)
            if placed_chunk and placed_chunk.start == after.line - 1 and self._is_free(placed_chunk):
                return self._with_rules(placed_chunk, *after.rules, "R11", *dropped)
            placed_chunk = self._find_only_match(lines, RECOVERY_LEVELS, after.line, self._is_free_at(lines))
            if placed_chunk:
                return self._with_rules(placed_chunk, *after.rules, "R14", *dropped)
        return None

    def _place_after_anchors(
        self, chunk: Chunk, lines: tuple[PatchLine, ...], start: int, before: int
    ) -> PlacedChunk | None:
        """Return the only position of `lines` that is after the chunk's anchors and before line `before`; None
        otherwise.

        The search for the anchors begins at line `start`.
        """
        after = self._find_anchors(chunk.anchors, start)
        if after is None:
            return None
        placed_chunk = find_chunk_lines(self._file, lines, after.line, at_end=chunk.at_end)
        if placed_chunk is None or placed_chunk.start >= before or not self._is_free(placed_chunk):
            return None
        # If lines and anchor match without a recovery rule, take the first position, as the strict search does.
        if lines is not chunk.lines or not after.rules or not self._in_order:
            self._check_alone(placed_chunk, before)
        return self._with_rules(placed_chunk, *after.rules)

    def _find_anchors(self, anchors: Sequence[str], start: int) -> _SearchStart | None:
        after = _SearchStart(start)
        for anchor in anchors:
            found = self._find_anchor(anchor, after.line)
            if found is None:
                return None
            after = _SearchStart(found.line + 1, after.rules + found.rules)
        return after

    def _find_anchor(self, anchor: str, start: int) -> _SearchStart | None:
        """Return the line that matches the anchor, searched from line `start` on; None if there is none.

        This is the first line that equals the anchor; else the only line that begins with the anchor (rule
        R10); else the only line that matches by rule R14.
        """
        found = find_first(self._file, [anchor], start)
        if found:
            return _SearchStart(found.start)
        begins = [
            at
            for at in range(start, self._file_end)
            if strip_blanks(self._file.texts[at]).startswith(strip_blanks(anchor))
        ]
        if len(begins) == 1:
            return _SearchStart(begins[0], ("R10",))
        _, loose = find_all(self._file, [anchor], RECOVERY_LEVELS, start)
        return _SearchStart(loose[0], ("R14",)) if len(loose) == 1 and not begins else None

    def _find_only_match(
        self, lines: tuple[PatchLine, ...], levels: Sequence[int], start: int, allowed: Callable[[int], bool]
    ) -> PlacedChunk | None:
        level, found = find_all(self._file, old_texts(lines), levels, start, allowed)
        if len(found) > 1:
            raise _AmbiguousError(found)
        if not found:
            return None
        return PlacedChunk(found[0], lines, found[0] + len(old_texts(lines)), level, 1)

    def _check_alone(self, placed_chunk: PlacedChunk, before: int) -> None:
        if placed_chunk.candidates > 1:
            found = [
                at
                for at in self._file.occurrences(
                    old_texts(placed_chunk.lines), placed_chunk.level, placed_chunk.start
                )
                if at < before
            ]
            if len(found) > 1:
                raise _AmbiguousError(found)

    def _is_clear_at(self, lines: tuple[PatchLine, ...]) -> Callable[[int], bool]:
        length = len(old_texts(lines))
        return lambda at: all(
            at + length <= placed_chunk.start or placed_chunk.end <= at for placed_chunk in self._placed
        )

    def _is_free_at(self, lines: tuple[PatchLine, ...]) -> Callable[[int], bool]:
        length = len(old_texts(lines))
        taken = [placed_chunk.changed_range() for placed_chunk in self._placed]
        return lambda at: all(at + length <= first or last <= at for first, last in taken)

    def _is_free(self, placed_chunk: PlacedChunk) -> bool:
        return self._is_free_at(placed_chunk.lines)(placed_chunk.start)

    @property
    def _file_end(self) -> int:
        return len(self._file.texts)

    def _with_rules(self, placed_chunk: PlacedChunk, *rules: str) -> PlacedChunk:
        return replace(
            placed_chunk, repairs=(*placed_chunk.repairs, *((rule, _REASONS[rule]) for rule in rules))
        )

    def _shares_only_blanks(self, placed_chunk: PlacedChunk) -> bool:
        """Return whether the chunk overlaps another one, and one of the two has no old line that is not blank.

        The patch then says too little about which of the file's blank lines are meant.
        """
        return any(
            placed_chunk.start < other.end
            and other.start < placed_chunk.end
            and any(all(is_blank(text) for text in old_texts(it.lines)) for it in (placed_chunk, other))
            for other in self._placed
        )

    def _is_applied(self, placed_chunk: PlacedChunk) -> bool:
        """Return whether the file already has the chunk's added lines, for example because a patch is sent twice."""
        if any(line.sign == "-" for line in placed_chunk.lines):
            return False
        at = placed_chunk.start
        for context, added in _runs(placed_chunk.lines):
            at += context
            if is_present_at(self._file, at, added):
                return True
        return False

    def _report_missing(self, chunk: Chunk, number: int) -> PatchProblem:
        old = old_texts(chunk.lines)
        detail = self._diagnosis.explain_missing(old, new_texts(chunk.lines)) if old else ""
        if self._find_anchors(chunk.anchors, 0) is not None:
            return self._problem("CONTEXT_NOT_FOUND", chunk, number, detail)
        advice = (
            "An @@ line must repeat one whole line of the file that is above the change. Read the file again."
        )
        return self._problem("ANCHOR_NOT_FOUND", chunk, number, "\n".join(filter(None, [advice, detail])))

    def _problem(self, code: Code, chunk: Chunk, number: int, detail: str) -> PatchProblem:
        return PatchProblem(
            code, self._message(chunk), self._path, chunk=number, line=chunk.number, detail=detail
        )

    def _message(self, chunk: Chunk) -> str:
        """Return the error message of the reference program for this chunk."""
        start = self._cursor
        for anchor in chunk.anchors:
            found = find_first(self._file, [anchor], start)
            if found is None:
                return f"Failed to find context '{anchor}' in {self._path}"
            start = found.start + 1
        return "\n".join([f"Failed to find expected lines in {self._path}:", *old_texts(chunk.lines)])


def _drop_blank_context(lines: tuple[PatchLine, ...]) -> Iterator[tuple[PatchLine, ...]]:
    """Yield the lines, then shorter versions that each omit one more blank context line (rule R7).

    First the blank context lines at the end are left out one by one, then those at the start.
    """
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
    """Yield a pair for each block of added lines: the number of context lines directly before it, and the added
    lines.

    The chunk must have no removed lines.
    """
    passed = 0
    for is_added, group in groupby(lines, key=lambda line: line.sign == "+"):
        texts = [line.text for line in group]
        if is_added:
            yield passed, texts
        else:
            passed = len(texts)
