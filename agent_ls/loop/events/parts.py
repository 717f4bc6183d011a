"""Values that are used in several events, or in several fields of one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change that a call made to something other than file contents, which FileChange reports.

    `subject` is an absolute path, or the id of a background process; `source` is the old path of a moved
    file, otherwise "".
    """

    change: Literal["file_moved", "folder_created", "process_started", "process_ended"]
    subject: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One step of the model's plan."""

    text: str
    status: Literal["pending", "active", "done"]


@dataclass(frozen=True, slots=True)
class RevertedFile:
    """A file that a revert tried to restore. The file was not changed in state `conflict` (the file is
    unreadable, or later changes to it cannot be merged) and in state `unknown` (the old content was not
    stored).
    """

    path: str
    action: Literal["create", "modify", "delete"]
    state: Literal["restored", "conflict", "unknown"]
