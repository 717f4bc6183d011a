"""A hunk of the ledger: which lines an agent changed, whose call did it, and what became of it.

States (PROTOCOL, Edits: the ledger):

    pending   in the text, exactly as the agent left it
    edited    in the text, and the user typed inside it
    gone      its lines are back at the base (the user's own undo, a checkout, a discarded buffer); a redo makes
              it pending again. Also: swallowed by a later change of the same agent
    stale     no longer to be told apart from other changes, so that it cannot be undone by itself
    kept      accepted; final
    undone    taken back by a verdict; final: a redo in the editor after it is the user's own text
    proposed  not in the text yet: it stands beside the ledger (review "before", proposals.py)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

Lines: TypeAlias = tuple[str, ...]
State: TypeAlias = Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]
What: TypeAlias = Literal["content", "create", "delete"]

OPEN: frozenset[State] = frozenset({"pending", "edited"})
"""The states in which base and current differ at the hunk."""


class Author(Protocol):
    """Who makes a change (environments.base.Attribution fits)."""

    @property
    def session_id(self) -> str: ...

    @property
    def turn_id(self) -> str: ...

    @property
    def call_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class LedgerHunk:
    """Lines [base_start, base_end) of the base, which are `base_lines`, stand as [start, end) in the current text.

    Lines count from 0 and keep their endings. `agent_lines` is what the agent wrote; what stands there now is
    `FileLedger.lines_of(hunk)`. `what` create and delete are about the whole file, and their ranges cover it.
    For a hunk that is kept, undone or stale the ranges are those it had last. Hunks with the same `link` belong
    together: both ends of a move. `later_turns` of the same session have changed what the first one made of it.
    """

    id: str
    session_id: str
    turn_id: str
    call_id: str
    what: What
    state: State
    base_start: int
    base_end: int
    start: int
    end: int
    base_lines: Lines
    agent_lines: Lines
    link: str = ""
    later_turns: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[str, ...]:
        return (self.turn_id, *self.later_turns)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


def made_by(hunk: LedgerHunk, turns: Iterable[str]) -> LedgerHunk:
    """The hunk with these turns having a part in it too."""
    later = dict.fromkeys(turn for turn in (*hunk.later_turns, *turns) if turn != hunk.turn_id)
    return replace(hunk, later_turns=tuple(later))


def new_hunk(author: Author, what: What, base_lines: Lines, agent_lines: Lines) -> LedgerHunk:
    """A pending hunk that has no id and no place yet."""
    return LedgerHunk(
        id="",
        session_id=author.session_id,
        turn_id=author.turn_id,
        call_id=author.call_id,
        what=what,
        state="pending",
        base_start=0,
        base_end=0,
        start=0,
        end=0,
        base_lines=base_lines,
        agent_lines=agent_lines,
    )
