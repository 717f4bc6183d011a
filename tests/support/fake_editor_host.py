"""An EditorHost over documents in memory, with a user who types when the test requests it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.lowlevel

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import (
    AppliedEdit,
    LineEdit,
    NotebookHost,
    OpenDocument,
    apply_edits,
    ignore_paths,
)
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.text import count_lines


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that was applied."""

    path: str
    edits: tuple[LineEdit, ...]
    attribution: Attribution


class FakeEditorHost:
    """An EditorHost with documents in memory.

    `typing`: for each path, functions from the text to the text after the user's typing. Each attempt to edit calls
    the next one before it applies the edit. `refusals`: by path, the reason why an edit is refused. `blocks`: by path,
    the reason why a file that is not open must not be written. `on_disk`: the editor saves after each edit, reloads
    files that changed on disk, and closes deleted ones.
    """

    def __init__(self, texts: Mapping[str, str] | None = None, *, on_disk: bool = False) -> None:
        self._documents = {path: OpenDocument(path, 1, text) for path, text in (texts or {}).items()}
        self._on_disk = on_disk
        self.notebooks: NotebookHost | None = None
        self.typing: dict[str, list[Callable[[str], str]]] = {}
        self.refusals: dict[str, str] = {}
        self.blocks: dict[str, str] = {}
        self.save_note = ""
        self.applied: list[Edit] = []
        self.reported_changes: list[str] = []
        self.saves = 0

    def text(self, path: str) -> str:
        return self._documents[path].text

    def open(self, path: str, text: str) -> None:
        self._documents[path] = OpenDocument(path, 1, text)

    def close(self, path: str) -> None:
        del self._documents[path]

    def type(self, path: str, text: str) -> None:
        """Set the document's text, as the user."""
        self._documents[path] = OpenDocument(path, self._documents[path].version + 1, text)

    # --- EditorHost

    @property
    def reloads(self) -> bool:
        return self._on_disk

    def open_document(self, path: str) -> OpenDocument | None:
        return self._documents.get(path)

    def open_documents(self) -> Sequence[OpenDocument]:
        return list(self._documents.values())

    def is_unknown(self, path: str) -> bool:
        return False

    def blocked(self, path: str) -> str:
        return self.blocks.get(path, "")

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> AppliedEdit:
        await anyio.lowlevel.checkpoint()
        path = document.path
        if (waiting := self.typing.get(path)) and (typed := waiting.pop(0)(self.text(path))) != self.text(
            path
        ):
            self.type(path, typed)
        if reason := self.refusals.get(path):
            raise EditRefusedError(path, reason)
        if self._documents[path].version != document.version:
            raise StaleFileError(path)
        line_count = count_lines(document.text)
        assert all(0 <= edit.start <= edit.end <= line_count for edit in edits)
        after = apply_edits(document.text, edits)
        self.type(path, after)
        self.applied.append(Edit(path, tuple(edits), attribution))
        if self._on_disk:
            _save(path, self.text(path))
        return AppliedEdit(document.text, after, self._documents[path])

    async def rename_file(self, document: OpenDocument, path: str) -> None:
        return None

    async def delete_file(self, document: OpenDocument) -> str:
        return document.text

    async def files_changed(self, paths: Sequence[str]) -> None:
        self.reported_changes += paths
        for path in self._documents.keys() & set(paths if self._on_disk else ()):
            text = _maybe_saved(path)
            if text is None:
                self.close(path)
            else:
                self.type(path, text)

    async def save_undone(self, paths: Sequence[str]) -> Sequence[str]:
        return ()

    async def save_before_command(self, report: Callable[[Sequence[str]], None] = ignore_paths) -> str:
        self.saves += 1
        return self.save_note


def _save(path: str, text: str) -> None:
    Path(path).write_bytes(text.encode())


def _maybe_saved(path: str) -> str | None:
    return Path(path).read_bytes().decode() if Path(path).exists() else None
