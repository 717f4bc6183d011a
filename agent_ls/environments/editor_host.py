"""SEAM EditorHost: what the editor environment needs of an editor. No LSP word, no uri, no position encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_ls.environments.base import Attribution


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document as the editor last told it. `path` is absolute; `version` grows with every change."""

    path: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines [start, end) of the old text give way to `text`. Lines count from 0 and keep their endings.

    `start == end` inserts before line `start`. Edits of one call are disjoint and sorted.
    """

    start: int
    end: int
    text: str


class EditorHost(Protocol):
    @property
    def reloads(self) -> bool:
        """Whether the editor, told that a file changed on disk, shows it anew when it has no unsaved changes."""
        ...

    def open_document(self, path: str) -> OpenDocument | None:
        """The synced document at this absolute path, None when the editor has not opened it here."""
        ...

    def open_documents(self) -> Sequence[OpenDocument]:
        """All synced documents: a search must see what is unsaved in any of them."""
        ...

    def blocked(self, path: str) -> str:
        """Why this file must not be written though it is not synced ("" when it may be).

        For example: the editor holds it with unsaved changes but does not sync it, or holds a lock file.
        """
        ...

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> OpenDocument:
        """Changes an open document, and returns what the editor then told.

        The edit is made against exactly `document.version`; it is believed only when a later text of the
        document shows it (never by the client's answer).

        Raises:
            StaleFileError: the document moved on and the edit was not applied: re-read, rebase, retry.
            EditRefusedError: the editor refused, closed the document, or showed nothing within the time limit.
        """
        ...

    async def files_changed(self, paths: Sequence[str]) -> None:
        """Told after files were written on disk, so that the editor reloads those it shows. Must not raise."""
        ...

    async def save_before_command(self) -> str:
        """Asks the editor to save what a command could read (PROTOCOL, Edits: Before a command).

        Returns "" or a sentence on what stayed unsaved. Must not raise.
        """
        ...
