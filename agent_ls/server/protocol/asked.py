"""Requests that the server sends to one client (event `client_request`): parameters and result by `what`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agent_ls.server.protocol.base import Empty, Wire
from agent_ls.server.protocol.language import (
    ActionEdits,
    CodeActions,
    CodeCalls,
    CodeLocations,
    CodeSymbols,
    DiagnosedFiles,
    HoverTexts,
    RenameEdits,
)


class NamedCell(Wire):
    uri: str
    version: int


class NamedDocument(Wire):
    """A document that the client saves only if it still has this version. A notebook is saved only if it has
    exactly these cells in these versions.
    """

    uri: str
    version: int
    cells: tuple[NamedCell, ...] | None = None


class AskedSave(Wire):
    documents: tuple[NamedDocument, ...]


class NotSaved(Wire):
    uri: str
    reason: str = ""


class Saved(Wire):
    saved: tuple[str, ...] = ()
    failed: tuple[NotSaved, ...] = ()


class AskedCheckTime(Wire):
    uris: tuple[str, ...]


class AskedTerminal(Wire):
    """Asks the client to open a terminal that runs `argv` unchanged."""

    terminal_id: str
    argv: tuple[str, ...]
    cwd: str
    title: str


class AskedTerminalRuns(Wire):
    terminal_id: str
    call_id: str


class CellText(Wire):
    index: int
    uri: str
    was: str
    text: str


class NewCell(Wire):
    kind: Literal["code", "markdown", "raw"]
    language: str
    text: str
    id: str | None = None


class CellSplice(Wire):
    start: int
    was: tuple[str, ...]
    cells: tuple[NewCell, ...]


class AskedNotebookEdit(Wire):
    uri: str
    cell_count: int
    texts: tuple[CellText, ...]
    splices: tuple[CellSplice, ...]


class AskedPosition(Wire):
    """A position: line and character from 0, UTF-16."""

    uri: str
    line: int
    character: int


class AskedRename(AskedPosition):
    new_name: str


class AskedCalls(AskedPosition):
    direction: Literal["incoming", "outgoing"]


class AskedActions(Wire):
    """Asks for the code actions of a range of a document. Lines and characters from 0, UTF-16."""

    uri: str
    start_line: int
    start_character: int
    end_line: int
    end_character: int


class AskedActionEdits(AskedActions):
    """Asks for the edits of the code action with this title."""

    title: str


class AskedSymbols(Wire):
    """Asks for the symbols of the file `uri`, or for those of the workspace that match `query`. Exactly one
    of the two is given.
    """

    uri: str | None = None
    query: str | None = None


class AskedDiagnostics(Wire):
    """Asks for the diagnostics of the file `uri`, of all files if `uri` is missing."""

    uri: str | None = None


ASKED: Mapping[str, tuple[type[Wire], type[Wire]]] = {
    "save": (AskedSave, Saved),
    "checkTime": (AskedCheckTime, Empty),
    "editNotebook": (AskedNotebookEdit, Empty),
    "terminalOpen": (AskedTerminal, Empty),
    "terminalRuns": (AskedTerminalRuns, Empty),
    "definition": (AskedPosition, CodeLocations),
    "references": (AskedPosition, CodeLocations),
    "symbols": (AskedSymbols, CodeSymbols),
    "rename": (AskedRename, RenameEdits),
    "diagnostics": (AskedDiagnostics, DiagnosedFiles),
    "hover": (AskedPosition, HoverTexts),
    "implementations": (AskedPosition, CodeLocations),
    "calls": (AskedCalls, CodeCalls),
    "actions": (AskedActions, CodeActions),
    "actionEdits": (AskedActionEdits, ActionEdits),
}
"""The types of the parameters and the result of each request, by the member `what` of its event."""
