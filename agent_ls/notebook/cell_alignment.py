"""Match the cells of a new version of a notebook with the cells of the old version, by id or by equal content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.notebook.cells import Kind, Notebook
from agent_ls.notebook.notebook_text import TargetCell


@dataclass(frozen=True, slots=True)
class EditorCell:
    """A cell as an editor reports it. `id` is "" if the editor does not report cell ids."""

    kind: Kind
    source: str
    id: str = ""


def editor_cells(notebook: Notebook) -> list[EditorCell]:
    return [EditorCell(cell.kind, cell.source, cell.id) for cell in notebook.cells]


def comparison_key(cells: Sequence[EditorCell]) -> str:
    """Return a key of the cells. It is equal for cells with equal kinds and sources.

    JSON formatting, line endings, outputs and metadata do not count.
    """
    return json.dumps([(cell.kind, cell.source.replace("\r\n", "\n")) for cell in cells])


def align_cells(old: Sequence[EditorCell], new: Sequence[EditorCell]) -> list[TargetCell]:
    """Return the new cells, each with the index of the corresponding old cell as `origin`, None for a new cell.

    Each old cell corresponds to at most one new cell.
    """
    origins = _match_in_order(old, new)
    taken = {at for at in origins if at is not None}
    by_id = {cell.id: at for at, cell in enumerate(old) if cell.id and at not in taken}
    wanted: list[TargetCell] = []
    for cell, at in zip(new, origins, strict=True):
        # `_match_in_order` does not find a cell that was moved, so search for its id.
        origin = at if at is not None else by_id.pop(cell.id, None)
        wanted.append(TargetCell(cell.kind, cell.source, origin, cell.id if origin is None else ""))
    return wanted


def _match_in_order(old: Sequence[EditorCell], new: Sequence[EditorCell]) -> list[int | None]:
    shared = {cell.id for cell in old if cell.id} & {cell.id for cell in new if cell.id}

    def key(cell: EditorCell) -> tuple[str, ...]:
        return (cell.id,) if cell.id in shared else (cell.kind, cell.source)

    found: list[int | None] = [None] * len(new)
    matcher = SequenceMatcher(None, [key(cell) for cell in old], [key(cell) for cell in new], autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag not in ("equal", "replace"):
            continue
        for at, place in zip(range(start, end), range(first, last), strict=False):
            # Without ids, cells at the same position count as the same cell with another text.
            if tag == "equal" or (
                (not old[at].id or not new[place].id) and not {old[at].id, new[place].id} & shared
            ):
                found[place] = at
    return found
