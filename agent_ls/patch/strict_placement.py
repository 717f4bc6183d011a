"""Locate the chunks of one update section exactly as the reference program `apply_patch` does.

All chunks are located in the file as it was before the section. This module changes no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from agent_ls.patch.line_search import COUNT_MAX, FileLines, find_first
from agent_ls.patch.v4a_parser import Chunk, PatchLine


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A chunk that was located at line `start` of the file. A pure insertion is inserted before that line.

    `lines` are the lines of the chunk, possibly without some blank context. The search for the next chunk begins at
    line `cursor`. `repairs` are pairs (recovery rule, note).
    """

    start: int
    lines: tuple[PatchLine, ...]
    cursor: int
    level: int = 0
    candidates: int = 1
    repairs: tuple[tuple[str, str], ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(old_texts(self.lines))

    def changed_range(self) -> tuple[int, int]:
        """Return the range [start, end) of changed file lines; an empty range for an insertion."""
        at, touched = self.start, []
        for line in self.lines:
            if line.sign == " ":
                at += 1
            elif line.sign == "+":
                touched.append(at)
            else:
                touched += [at, at + 1]
                at += 1
        return (touched[0], touched[-1]) if touched else (self.start, self.start)


def old_texts(lines: Sequence[PatchLine]) -> list[str]:
    return [line.text for line in lines if line.sign != "+"]


def new_texts(lines: Sequence[PatchLine]) -> list[str]:
    return [line.text for line in lines if line.sign != "-"]


def equal_positions(file: FileLines, placed_chunk: PlacedChunk, most: int = COUNT_MAX) -> list[int]:
    """Return the positions, from the chunk's own one on, at which the chunk matches at the same match level.

    Return at most `most` positions; [] if the chunk's own position is the only one.
    """
    if placed_chunk.candidates < 2:
        return []
    return list(
        islice(file.occurrences(old_texts(placed_chunk.lines), placed_chunk.level, placed_chunk.start), most)
    )


def place_strictly(file: FileLines, chunks: Sequence[Chunk]) -> list[PlacedChunk] | None:
    """Return the positions at which the reference program places the chunks; None if it would refuse the patch."""
    placed_chunks = []
    cursor = 0
    for chunk in chunks:
        placed_chunk = place_chunk_strictly(file, chunk, cursor)
        if placed_chunk is None:
            return None
        placed_chunks.append(placed_chunk)
        cursor = placed_chunk.cursor
    return placed_chunks


def place_chunk_strictly(file: FileLines, chunk: Chunk, cursor: int) -> PlacedChunk | None:
    after_anchor = cursor
    for anchor in chunk.anchors:
        found = find_first(file, [anchor], after_anchor)
        if found is None:
            return None
        after_anchor = found.start + 1
    if not old_texts(chunk.lines):
        return place_insertion(file, chunk, after_anchor)
    return find_chunk_lines(file, chunk.lines, after_anchor, at_end=chunk.at_end)


def place_insertion(file: FileLines, chunk: Chunk, after_anchor: int) -> PlacedChunk:
    """Place a chunk that has only added lines: after its anchor, or at the end of the file."""
    start = after_anchor if chunk.anchors and not chunk.at_end else file.count
    return PlacedChunk(start, chunk.lines, cursor=after_anchor)


def find_chunk_lines(
    file: FileLines, lines: tuple[PatchLine, ...], start: int, *, at_end: bool = False
) -> PlacedChunk | None:
    """Return the first match of the chunk's old lines (context and removed) from line `start` on.

    If there is none, try once without an empty last old line. `at_end` accepts only the end of the file.
    """
    for tried in (lines, _without_empty_end(lines)):
        if tried is None:
            return None
        found = find_first(file, old_texts(tried), start, at_end=at_end)
        if found:
            end = found.start + len(old_texts(tried))
            return PlacedChunk(found.start, tried, end, found.level, found.candidates)
    return None


def _without_empty_end(lines: tuple[PatchLine, ...]) -> tuple[PatchLine, ...] | None:
    """Return the lines without an empty last old line and without an empty last new line.

    Old lines are context and removed lines; new lines are context and added lines. A context line dropped only
    from the old lines becomes an added line; one dropped only from the new lines becomes a removed line. Return
    None if the last old line is not empty.
    """
    last_old = max((at for at, line in enumerate(lines) if line.sign != "+"), default=-1)
    last_new = max((at for at, line in enumerate(lines) if line.sign != "-"), default=-1)
    if last_old < 0 or lines[last_old].text:
        return None
    drop_new = last_new >= 0 and not lines[last_new].text
    kept = []
    for at, line in enumerate(lines):
        in_old = line.sign != "+" and at != last_old
        in_new = line.sign != "-" and not (drop_new and at == last_new)
        if in_old or in_new:
            kept.append(replace(line, sign=" " if in_old and in_new else "-" if in_old else "+"))
    return tuple(kept)
