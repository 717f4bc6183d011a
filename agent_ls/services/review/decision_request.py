"""A decision that a user requests, and the selection of hunks to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.review.decisions import Decision

KeepOrUndo: TypeAlias = Literal["keep", "undo"]

TRIES = 3
"""Number of attempts to read and write files that others may change in between."""
LOOK_SECONDS = 5.0
"""Limit for reading files after a failed or cancelled write, because the environment that failed may hang."""
CLOSED_SESSION = "the session of this change is closed; open the session again to decide about its changes"
KEEPS_CHANGING = "another program keeps changing the file; try again when that program is done"
LINKED = "this change is part of a move: keep or undo the move as a whole"


@dataclass(frozen=True, slots=True)
class Selection:
    """The hunks to decide.

    A hunk is selected if it matches each field that is not None: its id, its file, its turn and its session.
    """

    hunk_ids: Sequence[str] | None = None
    path: str | None = None
    turn_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """A decision that a user requests.

    `confirm` allows an undo to discard text that the user typed in a hunk. `lines` [first, last) limits the
    decision to some of the hunk's new lines; `replacement` is the text to keep instead of the agent's text.
    Both apply to exactly one hunk. With `turn_id`, an undo refuses hunks that another turn has changed too.
    """

    decision: KeepOrUndo
    comment: str = ""
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None
    turn_id: str | None = None

    def make_decision(self, ids: Sequence[str]) -> Decision:
        state: Literal["kept", "undone"] = "kept" if self.decision == "keep" else "undone"
        return Decision(frozenset(ids), state, self.lines, self.replacement)
