"""ENGINE: one finding of `agent-ls doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["good", "note", "bad"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One finding. `bad`: a main function does not work; `note`: an optional one is missing. `hint` says what to do."""

    subject: str
    grade: Grade
    text: str
    hint: str = ""
