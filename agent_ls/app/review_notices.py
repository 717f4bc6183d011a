"""What the model is told of its own changes: verdicts on them, and that some are not there any more. Words only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from agent_ls.loop.events import Hunk
from agent_ls.review.hunks import LedgerHunk

MAX_HUNKS, MAX_CHARS = 5, 600  # enough for the model to know which; it can read the file


def verdict_notice(path: str, hunks: Sequence[Hunk], verdict: Literal["keep", "undo"], comment: str) -> str:
    """Compact, and with the text that is not there any more."""
    because = f" The user says: {comment}" if comment else ""
    if verdict == "keep":
        return f"Review: the user kept {len(hunks)} of your changes in {path}.{because}"
    parts = [
        f"Review: the user undid {len(hunks)} of your changes in {path}.{because}",
        "Do not make them again unless asked.",
        *_no_longer_there(hunks),
    ]
    return "\n".join(parts)


def replacement_notice(path: str, hunks: Sequence[Hunk], text: str, comment: str) -> str:
    """The user kept a change with words of his own in it."""
    because = f" The user says: {comment}" if comment else ""
    shown = text[:MAX_CHARS].rstrip("\n") or "(nothing)"
    parts = [f"Review: the user kept one of your changes in {path}, with a text of his own.{because}"]
    for hunk in hunks[:1]:
        yours = "".join(hunk.lines)[:MAX_CHARS].rstrip("\n") or "(nothing)"
        parts.append(f"Near line {hunk.start + 1} you wrote:\n{yours}\nIn its place stands now:\n{shown}")
    return "\n".join(parts)


def gone_notice(path: str, hunks: Sequence[LedgerHunk]) -> str:
    """For changes that were in the file when it was last seen: a buffer that was never saved, a checkout."""
    parts = [
        (
            f"Review: {len(hunks)} of your changes in {path} are not in the file any more: it was closed without "
            "saving them, or changed outside of the editor. Read it again before you rely on its text."
        ),
        *_no_longer_there(hunks),
    ]
    return "\n".join(parts)


def _no_longer_there(hunks: Sequence[Hunk] | Sequence[LedgerHunk]) -> Iterable[str]:
    for hunk in hunks[:MAX_HUNKS]:
        if hunk.what == "create":
            yield "The file that you had made is gone."
        elif hunk.what == "delete":
            yield "The file that you had deleted is back."
        else:
            lines = hunk.lines if isinstance(hunk, Hunk) else hunk.agent_lines
            gone = "".join(lines)[:MAX_CHARS].rstrip("\n")
            there = f"No longer there (near line {hunk.start + 1}):\n{gone}"
            yield there if gone else f"Put back near line {hunk.start + 1}: the lines you had removed."
    if len(hunks) > MAX_HUNKS:
        yield f"And {len(hunks) - MAX_HUNKS} more."
