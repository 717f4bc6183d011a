"""Which of the earlier cells each of the later ones is: by its id, else by what stands in both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.notebook.assemble import Wanted
from agent_ls.notebook.cells import Kind, Notebook


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell as an editor has it; `id` "" where nobody tells."""

    kind: Kind
    source: str
    id: str = ""


def shown_cells(notebook: Notebook) -> list[ShownCell]:
    return [ShownCell(cell.kind, cell.source, cell.id) for cell in notebook.cells]


def as_text(cells: Sequence[ShownCell]) -> str:
    """Of which two are the same when the cells are, whatever the file spells them like, and where lines end."""
    return json.dumps([(cell.kind, cell.source.replace("\r\n", "\n")) for cell in cells])


def aligned(old: Sequence[ShownCell], new: Sequence[ShownCell]) -> list[Wanted]:
    """The new cells, each with the old one that it is, if it is one. None is two."""
    origins = _in_order(old, new)
    taken = {at for at in origins if at is not None}
    by_id = {cell.id: at for at, cell in enumerate(old) if cell.id and at not in taken}
    wanted: list[Wanted] = []
    for cell, at in zip(new, origins, strict=True):
        origin = at if at is not None else by_id.pop(cell.id, None)  # it moved
        wanted.append(Wanted(cell.kind, cell.source, origin, cell.id if origin is None else ""))
    return wanted


def _in_order(old: Sequence[ShownCell], new: Sequence[ShownCell]) -> list[int | None]:
    shared = {cell.id for cell in old if cell.id} & {cell.id for cell in new if cell.id}

    def key(cell: ShownCell) -> tuple[str, ...]:
        return (cell.id,) if cell.id in shared else (cell.kind, cell.source)

    found: list[int | None] = [None] * len(new)
    matcher = SequenceMatcher(None, [key(cell) for cell in old], [key(cell) for cell in new], autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag not in ("equal", "replace"):
            continue
        for at, place in zip(range(start, end), range(first, last), strict=False):
            # Where neither is known by an id, what stands in the same place is the same cell with another text.
            if tag == "equal" or (
                (not old[at].id or not new[place].id) and not {old[at].id, new[place].id} & shared
            ):
                found[place] = at
    return found
