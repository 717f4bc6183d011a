"""Pure: write the notices that inform the model what the user did with its changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from agent_ls.loop.events.types import Hunk
from agent_ls.review.hunks import LedgerHunk

MAX_HUNKS, MAX_CHARS = 5, 600  # enough to identify the changes; the model can read the file


def decision_notice(path: str, hunks: Sequence[Hunk], decision: Literal["keep", "undo"], comment: str) -> str:
    """Return the notice that the user kept or undid changes.

    Undone changes are quoted to identify them.
    """
    because = f" The user says: {comment}" if comment else ""
    if decision == "keep":
        return f"Review: the user kept {len(hunks)} of your changes in {path}.{because}"
    parts = [
        f"Review: the user undid {len(hunks)} of your changes in {path}.{because}",
        "Do not make these changes again unless asked.",
        *_no_longer_there(hunks),
    ]
    return "\n".join(parts)


def replacement_notice(path: str, hunks: Sequence[Hunk], text: str, comment: str) -> str:
    """Return the notice that the user kept a change with their own text in it."""
    because = f" The user says: {comment}" if comment else ""
    shown = text[:MAX_CHARS].rstrip("\n") or "(nothing)"
    parts = [f"Review: the user kept one of your changes in {path}, with their own text.{because}"]
    for hunk in hunks[:1]:
        yours = "".join(hunk.lines)[:MAX_CHARS].rstrip("\n") or "(nothing)"
        parts.append(f"Near line {hunk.start + 1} you wrote:\n{yours}\nNow it reads:\n{shown}")
    return "\n".join(parts)


def gone_notice(path: str, hunks: Sequence[LedgerHunk]) -> str:
    """Return the notice about changes that the file does not contain now, because the file was closed without saving
    or changed by another program.
    """
    parts = [
        (
            f"Review: {len(hunks)} of your changes in {path} are no longer in the file: it was closed without "
            "saving, or changed outside of the editor. Read the file again before you rely on its text."
        ),
        *_no_longer_there(hunks),
    ]
    return "\n".join(parts)


def returned_notice(path: str, hunks: Sequence[LedgerHunk]) -> str:
    """Return the notice that the user undid changes and then restored them with the editor's own undo."""
    return (
        f"Review: the user brought back {len(hunks)} of your changes in {path} that they had undone. Read "
        "the file again before you rely on its text."
    )


def _no_longer_there(hunks: Sequence[Hunk] | Sequence[LedgerHunk]) -> Iterable[str]:
    for hunk in hunks[:MAX_HUNKS]:
        if hunk.what == "create":
            yield "The file that you had created is deleted."
        elif hunk.what == "delete":
            yield "The file that you had deleted is restored."
        else:
            lines = hunk.lines if isinstance(hunk, Hunk) else hunk.agent_lines
            gone = "".join(lines)[:MAX_CHARS].rstrip("\n")
            there = f"Removed again (near line {hunk.start + 1}):\n{gone}"
            yield there if gone else f"Restored near line {hunk.start + 1}: the lines that you had removed."
    if len(hunks) > MAX_HUNKS:
        yield f"And {len(hunks) - MAX_HUNKS} more."
