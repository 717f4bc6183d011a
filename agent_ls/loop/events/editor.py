"""Events about the editor of a session. They are part of the union SessionEvent in types.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class DiagnosedFile:
    """Diagnostics of an edited file. `problems` counts errors and warnings that the edit caused.

    `is_settled` False: the language tools had not finished yet.
    """

    path: str
    problems: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class EditDiagnosed:
    """The result of an edit has waited for the editor's diagnostics, and reports them."""

    kind: ClassVar[str] = "diagnostics"
    call_id: str
    files: tuple[DiagnosedFile, ...]


@dataclass(frozen=True, slots=True)
class SaveRequested:
    """The editor was asked to save these files, so that a command reads their current content.

    The outcome is not reported.
    """

    kind: ClassVar[str] = "save_requested"
    call_id: str
    paths: tuple[str, ...]


EditorEvent: TypeAlias = EditDiagnosed | SaveRequested


@dataclass(frozen=True, slots=True)
class EditNews:
    """The effects of an edit as text for the model, "" for none.

    `files` are those whose diagnostics were awaited.
    """

    text: str = ""
    files: tuple[DiagnosedFile, ...] = ()
