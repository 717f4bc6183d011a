"""A hunk of the ledger: the lines that an agent changed, the tool call that changed them, and the review state.

States:
    pending   in the text, exactly as the agent wrote it
    edited    in the text, and the user typed inside it
    gone      its lines equal the base again (after an undo by the user, a checkout, a discarded buffer); a redo
              makes the hunk pending again. Or the hunk was merged into a later change of the same agent
    stale     no longer distinguishable from other changes, so it cannot be undone separately
    kept      accepted; final
    undone    reverted by a decision; pending again if the editor's undo restores exactly the text from before the
              decision
    proposed  not in the text yet (review "before", proposals.py)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

Lines: TypeAlias = tuple[str, ...]
HunkState: TypeAlias = Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]
HunkKind: TypeAlias = Literal["content", "create", "delete"]

OPEN_STATES: frozenset[HunkState] = frozenset({"pending", "edited"})
"""The states in which the lines of the hunk differ between the base and the current text."""


class Author(Protocol):
    """The session, turn and tool call that make a change."""

    @property
    def session_id(self) -> str: ...

    @property
    def turn_id(self) -> str: ...

    @property
    def call_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class LedgerHunk:
    """A change of lines [base_start, base_end) of the base into lines [start, end) of the current text.

    Lines count from 0 and keep their line endings. `base_lines` is the text of the base range. `agent_lines` is
    the text that the agent wrote; `FileLedger.lines_of(hunk)` returns the current text. If `what` is "create"
    or "delete", the hunk covers the whole file. For a hunk that is kept, undone or stale, the ranges are its
    last known ranges. The two hunks of a moved file have the same `link`. `later_turns` are further turns of
    the same session that changed this hunk.
    """

    id: str
    session_id: str
    turn_id: str
    call_id: str
    what: HunkKind
    state: HunkState
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
        return self.state in OPEN_STATES


def add_turns(hunk: LedgerHunk, turns: Iterable[str]) -> LedgerHunk:
    """Return the hunk with `turns` added to the turns that changed it."""
    later = dict.fromkeys(turn for turn in (*hunk.later_turns, *turns) if turn != hunk.turn_id)
    return replace(hunk, later_turns=tuple(later))


def new_hunk(author: Author, what: HunkKind, base_lines: Lines, agent_lines: Lines) -> LedgerHunk:
    """Return a pending hunk without id and position."""
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


def find_lines(wanted: Lines, lines: Lines) -> list[int]:
    """Return every index in `lines` at which the lines `wanted` begin; an empty list if `wanted` is empty."""
    if not wanted:
        return []
    return [k for k, line in enumerate(lines) if line == wanted[0] and lines[k : k + len(wanted)] == wanted]
