"""Convert a chunk whose position is known into line edits of the file.

Context lines of the file never change, even if they matched the patch only loosely. Only removed lines are deleted,
and only added lines are inserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patch.indent import indent_pairs, shift_indentation
from agent_ls.patch.line_search import FileLines
from agent_ls.patch.strict_placement import PlacedChunk
from agent_ls.patch.typography import keep_spelling
from agent_ls.patch.v4a_parser import PatchLine

LOOSE_LEVEL = 3  # from this match level on, patch and file may have different leading blanks
TYPOGRAPHY_LEVEL = 4


@dataclass(frozen=True, slots=True)
class ChunkEdit:
    """An edit that replaces file lines [start, end) with `added` (texts without line endings).

    `without_ending`: the last added line gets no line ending.
    """

    start: int
    end: int
    added: tuple[str, ...]
    without_ending: bool = False


@dataclass(slots=True)
class _OpenEdit:
    start: int
    removed: list[tuple[str, str]]
    added: list[PatchLine]


def line_edits(placed_chunk: PlacedChunk, file: FileLines) -> list[ChunkEdit]:
    """Return the edits of one chunk, in file order."""
    context, open_edits = _walk(placed_chunk, file)
    return [_close_edit(edit, context, placed_chunk.level) for edit in open_edits]


def find_overlap(edits: Sequence[ChunkEdit]) -> ChunkEdit | None:
    """Return the first edit that begins before the previous one ends. `edits` must be sorted by
    `sort_line_edits`.
    """
    furthest = 0
    for edit in edits:
        if edit.start < furthest:
            return edit
        furthest = edit.end
    return None


def sort_line_edits(edits: Sequence[ChunkEdit]) -> list[ChunkEdit]:
    """Sort edits by position. An insertion before a line precedes an edit that replaces the line.

    Otherwise edits at the same position keep their order.
    """
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def _walk(placed_chunk: PlacedChunk, file: FileLines) -> tuple[list[tuple[str, str]], list[_OpenEdit]]:
    """Return the context lines as pairs (patch line, file line), and the edits between the context lines."""
    context: list[tuple[str, str]] = []
    found: list[_OpenEdit] = []
    current: _OpenEdit | None = None
    at = placed_chunk.start
    for line in placed_chunk.lines:
        if line.sign == " ":
            context.append((line.text, file.text(at)))
            current = None
        else:
            if current is None:
                current = _OpenEdit(at, [], [])
                found.append(current)
            if line.sign == "-":
                current.removed.append((line.text, file.text(at)))
            else:
                current.added.append(line)
        at += line.sign != "+"
    return context, found


def _close_edit(edit: _OpenEdit, context: Sequence[tuple[str, str]], level: int) -> ChunkEdit:
    texts = [line.text for line in edit.added]
    if level == TYPOGRAPHY_LEVEL and len(edit.removed) == len(texts):
        texts = [keep_spelling(*pair, added) for pair, added in zip(edit.removed, texts, strict=True)]
    if level >= LOOSE_LEVEL:
        seen = indent_pairs(edit.removed or context)
        texts = shift_indentation(texts, seen, from_context=not edit.removed)
    without_ending = bool(edit.added) and edit.added[-1].without_ending
    return ChunkEdit(edit.start, edit.start + len(edit.removed), tuple(texts), without_ending)
