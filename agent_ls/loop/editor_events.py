"""What the editor around a session did or was asked: events, which are part of the union in events.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class DiagnosedFile:
    """`problems`: how many errors and warnings the edit brought. `is_settled` False: its tools were still at work."""

    path: str
    problems: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class EditDiagnosed:
    """The result of an edit has waited for the problems that the editor's tools find, which it tells."""

    kind: ClassVar[str] = "diagnostics"
    call_id: str
    files: tuple[DiagnosedFile, ...]


@dataclass(frozen=True, slots=True)
class SaveRequested:
    """The editor was asked to save these files, for a command to find there what is in it. What it did is not told."""

    kind: ClassVar[str] = "save_requested"
    call_id: str
    paths: tuple[str, ...]


EditorEvent: TypeAlias = EditDiagnosed | SaveRequested


@dataclass(frozen=True, slots=True)
class EditNews:
    """What an edit brought, in words for the model, "" for nothing new. `files` are those that were waited for."""

    text: str = ""
    files: tuple[DiagnosedFile, ...] = ()
