"""Check the invariants that a ledger has after every change, without using its own code."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.review.ledger import FileLedger
from agent_ls.text import split_lines


@dataclass(frozen=True, slots=True)
class Call:
    """The tool call that made a change."""

    call_id: str
    session_id: str = "s1"
    turn_id: str = "t1"


def problems(ledger: FileLedger) -> list[str]:
    """Return sentences about violated invariants; empty for a valid ledger."""
    found = _text_problems("base", ledger.base) + _text_problems("current", ledger.current)
    ids = [hunk.id for hunk in (*ledger.hunks, *ledger.closed)]
    if len(set(ids)) != len(ids) or not all(ids):
        found.append(f"ids are not unique: {ids}")
    found += [f"{hunk.id} is {hunk.state} and has no place" for hunk in ledger.closed if hunk.is_open]
    base, current = list(ledger.base or ()), list(ledger.current or ())
    rebuilt: list[str] = []
    at = base_at = 0
    for hunk in ledger.hunks:
        if hunk.start < at or hunk.base_start < base_at or hunk.start - at != hunk.base_start - base_at:
            found.append(f"{hunk.id} is out of place")
        rebuilt += base[base_at : hunk.base_start]
        here, before = current[hunk.start : hunk.end], base[hunk.base_start : hunk.base_end]
        rebuilt += here
        at, base_at = hunk.end, hunk.base_end
        if hunk.state == "gone" and here != before:
            found.append(f"{hunk.id} is gone, but its lines are not those of the base")
        if hunk.is_open and before != list(hunk.base_lines):
            found.append(f"{hunk.id} does not know its base lines")
        if hunk.state == "pending" and here != list(hunk.agent_lines):
            found.append(f"{hunk.id} is pending, but its lines are not the agent's")
        if hunk.is_open and hunk.what == "content" and here == before:
            found.append(f"{hunk.id} is open and changes nothing")
    rebuilt += base[base_at:]
    if rebuilt != current and ledger.current is not None:
        found.append("base with the hunks is not the current text")
    return found


def _text_problems(name: str, lines: tuple[str, ...] | None) -> list[str]:
    if lines is None or split_lines("".join(lines)) == list(lines):
        return []
    return [f"{name} is not the lines of a text: {lines}"]
