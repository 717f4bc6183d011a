"""Which cell of a file each cell of an editor is: by its id, else by what stands in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.notebook.assemble import Wanted
from agent_ls.notebook.cells import Kind, Notebook


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell as an editor has it; `id` "" where the editor does not tell."""

    kind: Kind
    source: str
    id: str = ""


def aligned(notebook: Notebook, shown: Sequence[ShownCell]) -> list[Wanted]:
    """The editor's cells, each with the cell of the file that it is, if it is one."""
    by_id = {cell.id: at for at, cell in enumerate(notebook.cells) if cell.id}
    if len(by_id) == len(notebook.cells) and any(cell.id in by_id for cell in shown):
        taken: set[int] = set()
        wanted = []
        for cell in shown:
            at = by_id.get(cell.id)
            origin = None if at is None or at in taken else at
            if origin is not None:
                taken.add(origin)
            wanted.append(Wanted(cell.kind, cell.source, origin))
        return wanted
    return _by_content(notebook, shown)


def _by_content(notebook: Notebook, shown: Sequence[ShownCell]) -> list[Wanted]:
    old = [(cell.kind, cell.source) for cell in notebook.cells]
    new = [(cell.kind, cell.source) for cell in shown]
    wanted: list[Wanted] = []
    for tag, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset, cell in enumerate(shown[first:last]):
            at = start + offset
            is_one = tag in ("equal", "replace") and at < end
            wanted.append(Wanted(cell.kind, cell.source, at if is_one else None))
    return wanted
