"""Events about the editor of a session. They are part of the union SessionEvent in types.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from agent_ls.loop.events.origin import Emitted


@dataclass(frozen=True, slots=True)
class DiagnosedFile:
    """The diagnostics of an edited file. `problems` counts the errors and warnings that the edit caused.

    `is_settled` False: the language tools had not finished yet. `introduced` and `fixed` identify the errors and
    warnings that the edit added and removed: equal problems have equal ids.
    """

    path: str
    problems: int
    is_settled: bool
    introduced: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditDiagnosed(Emitted):
    """The editor's diagnostics for the files that a call edited. The call waited for them before it returned
    its result.
    """

    kind: ClassVar[Literal["diagnostics"]] = "diagnostics"
    call_id: str
    files: tuple[DiagnosedFile, ...]


@dataclass(frozen=True, slots=True)
class SaveRequested(Emitted):
    """The editor was asked to save these files, so that a command reads their current content.

    No event reports whether the files were saved.
    """

    kind: ClassVar[Literal["save_requested"]] = "save_requested"
    call_id: str
    paths: tuple[str, ...]


EditorEvent: TypeAlias = EditDiagnosed | SaveRequested


@dataclass(frozen=True, slots=True)
class EditNews:
    """The effects of an edit, as text for the model; "" if there are none.

    `files` are those whose diagnostics were awaited.
    """

    text: str = ""
    files: tuple[DiagnosedFile, ...] = ()
