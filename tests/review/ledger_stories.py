"""Short histories of a file: words stand for lines, and each hunk is printed as one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, open_ledger
from agent_ls.review.user_edits import apply_user_edit
from tests.support.ledger_checks import Call, problems
from tests.support.ledger_decisions import keep_hunks, undo_hunks

Actor: TypeAlias = Literal["agent", "other agent", "user", "keep", "undo"]
Step: TypeAlias = tuple[Actor, str | None]


def text(words: str) -> str:
    """Return the text for a notation: `a b` is two lines, `-` an empty line, and a last `a|` has no line end."""
    joined = "".join(f"{'' if word == '-' else word}\n" for word in words.split())
    return joined.replace("|\n", "")


def words(lines: Sequence[str] | None) -> str | None:
    if lines is None:
        return None
    return " ".join((line.rstrip("\n") or "-") + ("" if line.endswith("\n") else "|") for line in lines)


def story(start: str | None, *steps: Step) -> FileLedger:
    """Return the ledger after these steps; it is checked after each one. Edits give the whole text, decisions
    the indexes of hunks.

    Calls are numbered from 1; `other agent` is another session.
    """
    ledger = open_ledger("/f", None if start is None else text(start))
    for number, (actor, what) in enumerate(steps, 1):
        ledger = _after(ledger, f"c{number}", actor, what)
        assert problems(ledger) == []
    return ledger


def _after(ledger: FileLedger, call_id: str, actor: Actor, what: str | None) -> FileLedger:
    if actor in ("keep", "undo"):
        ids = [ledger.open_hunks[int(place)].id for place in (what or "").split()]
        return (keep_hunks if actor == "keep" else undo_hunks)(ledger, ids).ledger
    new = None if what is None else text(what)
    if actor == "user":
        return apply_user_edit(ledger, new).ledger
    return apply_agent_edit(ledger, new, Call(call_id, "s2" if actor == "other agent" else "s1")).ledger


def shown(ledger: FileLedger) -> list[str]:
    """Return the placed hunks: state, call, position in the current text, base lines > lines there."""
    return [show(ledger, hunk) for hunk in ledger.hunks]


def show(ledger: FileLedger, hunk: LedgerHunk) -> str:
    here = words(ledger.lines_of(hunk))
    what = "" if hunk.what == "content" else f" {hunk.what}"
    return f"{hunk.state}{what} {hunk.call_id} @{hunk.start} {words(hunk.base_lines)} > {here}"


def closed(ledger: FileLedger) -> list[str]:
    return [f"{hunk.state} {hunk.call_id}" for hunk in ledger.closed]
