"""The user's view in the editor (active file, selection, visible files) as the client reports it in
agent/editorState.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.text import split_lines

if TYPE_CHECKING:
    from agent_ls.server.protocol import EditorSelection

MAX_VISIBLE = 5


@dataclass(frozen=True, slots=True)
class SelectedLines:
    """Lines [first, end) of a file, counted from 0, with their text."""

    path: str
    first: int
    end: int
    text: str


@dataclass(slots=True)
class EditorView:
    """The last reported view. `document` finds the synced document of a path."""

    document: Callable[[str], OpenDocument | None]
    _active: str = ""
    _selection: EditorSelection | None = None
    _visible: tuple[str, ...] = ()

    def update(
        self, active_uri: str | None, selection: EditorSelection | None, visible: Sequence[str]
    ) -> None:
        """Set the view. URIs that name no file are ignored."""
        self._active = maybe_path(active_uri or "") or ""
        self._selection = selection if self._active else None
        self._visible = tuple(path for uri in visible if (path := maybe_path(uri)))

    @property
    def active(self) -> str:
        """Path of the active file; "" if no file is active, or the client has not reported its view yet."""
        return self._active

    def read_selection(self) -> SelectedLines | None:
        """Return the selected lines; None for an empty selection, or if the text is not known."""
        lines = _selected_lines(self._selection)
        document = self.document(self._active) if lines else None
        if not lines or not document:
            return None
        first, end = lines
        return SelectedLines(self._active, first, end, "".join(split_lines(document.text)[first:end]))

    def format_view(self, shown: Callable[[str], str]) -> str:
        """Return one line for the model that describes the view; "" if nothing is known. `shown` formats a
        path.
        """
        if not self._active and not self._visible:
            return ""
        words = (
            [f"{_name(shown(self._active))}{_describe_selection(self._selection)}"] if self._active else []
        )
        others = [path for path in self._visible if path != self._active][:MAX_VISIBLE]
        if others:
            words.append(f"also visible: {', '.join(_name(shown(path)) for path in others)}")
        return f"[Editor: {'; '.join(words)}]"


def _selected_lines(selection: EditorSelection | None) -> tuple[int, int] | None:
    """Return the selected lines as [first, end). A selection that ends at the start of a line excludes that
    line.
    """
    if selection is None:
        return None
    start = (selection.start_line, selection.start_character)
    end = (selection.end_line, selection.end_character)
    if start >= end:
        return None
    return start[0], end[0] + 1 if end[1] else max(end[0], start[0] + 1)


def _describe_selection(selection: EditorSelection | None) -> str:
    lines = _selected_lines(selection)
    if lines is None:
        return f", cursor at line {selection.start_line + 1}" if selection else ""
    first, end = lines
    return f", line {end} selected" if end - first == 1 else f", lines {first + 1} to {end} selected"


def _name(path: str) -> str:
    """Return a file name without line breaks and square brackets, because file names are untrusted text."""
    return " ".join(path.split()).replace("[", "(").replace("]", ")")
