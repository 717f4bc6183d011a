"""From the cells that an editor has to those it is to have: texts of cells that stay, runs of cells that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.notebook.align import ShownCell
from agent_ls.notebook.assemble import Wanted


@dataclass(frozen=True, slots=True)
class CellText:
    """The cell at this place (from 0) gets another text; `was` is what it must have until then."""

    at: int
    was: str
    text: str


@dataclass(frozen=True, slots=True)
class Splice:
    """`delete` cells from `start` on give way to these. Places are those before any change."""

    start: int
    delete: int
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True, slots=True)
class CellChanges:
    texts: tuple[CellText, ...]
    splices: tuple[Splice, ...]


def cell_changes(shown: Sequence[ShownCell], wanted: Sequence[Wanted]) -> CellChanges:
    """`wanted` has its origins in `shown`. A cell that moved, or is of another kind, is put there anew."""
    texts: list[CellText] = []
    splices: list[Splice] = []
    done = 0
    waiting: list[ShownCell] = []
    for cell in wanted:
        at = cell.origin
        if at is None or at < done or shown[at].kind != cell.kind:
            waiting.append(
                ShownCell(cell.kind, cell.source, cell.id or (shown[at].id if at is not None else ""))
            )
            continue
        if waiting or at > done:
            splices.append(Splice(done, at - done, tuple(waiting)))
        waiting, done = [], at + 1
        if shown[at].source != cell.source:
            texts.append(CellText(at, shown[at].source, cell.source))
    if waiting or done < len(shown):
        splices.append(Splice(done, len(shown) - done, tuple(waiting)))
    return CellChanges(tuple(texts), tuple(splices))
