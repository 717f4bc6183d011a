"""Compute the edits from an editor's cells to target cells: new texts, and replaced ranges of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.notebook.notebook_text import TargetCell


@dataclass(frozen=True, slots=True)
class CellTextChange:
    """A new text for the cell at index `at` (from 0); `was` is its expected current text."""

    at: int
    was: str
    text: str


@dataclass(frozen=True, slots=True)
class CellReplacement:
    """A replacement of `delete` cells from index `start` on by `cells`.

    `start` is an index in the notebook as it was before all changes.
    """

    start: int
    delete: int
    cells: tuple[EditorCell, ...]


@dataclass(frozen=True, slots=True)
class CellChanges:
    texts: tuple[CellTextChange, ...]
    splices: tuple[CellReplacement, ...]


def diff_cells(shown: Sequence[EditorCell], wanted: Sequence[TargetCell]) -> CellChanges:
    """Return the changes from the editor's cells `shown` to `wanted`. Origins in `wanted` are indices of `shown`.

    A cell that was moved or whose kind changed is deleted and inserted again.
    """
    texts: list[CellTextChange] = []
    splices: list[CellReplacement] = []
    done = 0
    waiting: list[EditorCell] = []
    for cell in wanted:
        at = cell.origin
        if at is None or at < done or shown[at].kind != cell.kind:
            waiting.append(
                EditorCell(cell.kind, cell.source, cell.id or (shown[at].id if at is not None else ""))
            )
            continue
        if waiting or at > done:
            splices.append(CellReplacement(done, at - done, tuple(waiting)))
        waiting, done = [], at + 1
        if shown[at].source != cell.source:
            texts.append(CellTextChange(at, shown[at].source, cell.source))
    if waiting or done < len(shown):
        splices.append(CellReplacement(done, len(shown) - done, tuple(waiting)))
    return CellChanges(tuple(texts), tuple(splices))
