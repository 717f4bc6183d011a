"""A decision that a user requests, and the selection of hunks to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.review.decisions import Decision

Verdict: TypeAlias = Literal["keep", "undo"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The hunks to decide. Exactly one field is given, or ids and the fields that narrow the selection."""

    hunk_ids: Sequence[str] | None = None
    path: str | None = None
    turn_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """A decision that a user asks for. `confirm`: text that the user typed inside the hunks may be lost.

    `lines` and `replacement` apply to exactly one hunk (agent_ls/review). `turn_id`: only the changes of this
    turn.
    """

    verdict: Verdict
    comment: str = ""
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None
    turn_id: str | None = None

    def decision(self, ids: Sequence[str]) -> Decision:
        state: Literal["kept", "undone"] = "kept" if self.verdict == "keep" else "undone"
        return Decision(frozenset(ids), state, self.lines, self.replacement)
