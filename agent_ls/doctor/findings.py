"""Pure: one finding of `agent-ls doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["good", "note", "bad"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One result of `agent-ls doctor` about `subject`. `hint` says what to do.

    Grade `bad`: a main feature of agent-ls does not work; `note`: an optional feature is missing.
    """

    subject: str
    grade: Grade
    text: str
    hint: str = ""
