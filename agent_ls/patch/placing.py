"""Where the chunks of one update belong in a file, as the reference program finds them (SEMANTICS 3).

All chunks are located in the file as it is before the section; nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from agent_ls.patch.matching import COUNT_MAX, FileLines, seek
from agent_ls.patch.v4a_parser import Chunk, PatchLine


@dataclass(frozen=True, slots=True)
class Spot:
    """A placed chunk: its `lines` (some blank context may have been dropped) stand at `start` of the file.

    For a pure insertion `start` is where the lines go. `cursor` is where the search for the next chunk begins.
    `repairs` are pairs of rule and note.
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

    def changed(self) -> tuple[int, int]:
        """From the first changed file line to behind the last; an empty range for insertions."""
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


def fitting(file: FileLines, spot: Spot, most: int = COUNT_MAX) -> list[int]:
    """The places from the spot on that fit as well as it does; none where it is the only one."""
    if spot.candidates < 2:
        return []
    return list(islice(file.occurrences(old_texts(spot.lines), spot.level, spot.start), most))


def place_strictly(file: FileLines, chunks: Sequence[Chunk]) -> list[Spot] | None:
    """The places the reference program finds, None when it would refuse."""
    spots = []
    cursor = 0
    for chunk in chunks:
        spot = strict_spot(file, chunk, cursor)
        if spot is None:
            return None
        spots.append(spot)
        cursor = spot.cursor
    return spots


def strict_spot(file: FileLines, chunk: Chunk, cursor: int) -> Spot | None:
    after_anchor = cursor
    for anchor in chunk.anchors:
        found = seek(file, [anchor], after_anchor)
        if found is None:
            return None
        after_anchor = found.start + 1
    if not old_texts(chunk.lines):
        return insertion(file, chunk, after_anchor)
    return seek_lines(file, chunk.lines, after_anchor, at_end=chunk.at_end)


def insertion(file: FileLines, chunk: Chunk, after_anchor: int) -> Spot:
    """Only added lines: after the anchor (deviation D3), else at the end of the file."""
    start = after_anchor if chunk.anchors and not chunk.at_end else file.count
    return Spot(start, chunk.lines, cursor=after_anchor)


def seek_lines(
    file: FileLines, lines: tuple[PatchLine, ...], start: int, *, at_end: bool = False
) -> Spot | None:
    """The first place from `start` on; an empty last old line may be dropped once for it (3.2 d)."""
    for tried in (lines, _without_empty_end(lines)):
        if tried is None:
            return None
        found = seek(file, old_texts(tried), start, at_end=at_end)
        if found:
            end = found.start + len(old_texts(tried))
            return Spot(found.start, tried, end, found.level, found.candidates)
    return None


def _without_empty_end(lines: tuple[PatchLine, ...]) -> tuple[PatchLine, ...] | None:
    """The lines without their last old one, when it is empty, and without an empty last new one then.

    A context line that stays in only one of the two becomes a removed or an added line. None: it is not empty.
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
