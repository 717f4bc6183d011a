"""What of the review a model must not forget through a compaction: its changes that wait for a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.loop.events import Hunk
from agent_ls.system import below

MAX_FILES = 40


def pinned_hunks(hunks: Mapping[str, Sequence[Hunk]], folder: str) -> tuple[str, ...]:
    """`hunks` are those of one session, by absolute path; paths below `folder` are shown relative to it."""
    rows = [f"- {_shown(path, folder)}: {_places(there)}" for path, there in sorted(hunks.items()) if there]
    if not rows:
        return ()
    left_out = len(rows) - MAX_FILES
    more = [f"- and {left_out} more files"] if left_out > 0 else []
    heading = "# Your changes that the user has neither kept nor undone yet"
    return ("\n".join([heading, *rows[:MAX_FILES], *more]),)


def _places(hunks: Sequence[Hunk]) -> str:
    return ", ".join(dict.fromkeys(map(_place, hunks)))


def _place(hunk: Hunk) -> str:
    if hunk.what != "content":
        return "the file was created" if hunk.what == "create" else "the file was deleted"
    first, last = hunk.start + 1, max(hunk.end, hunk.start + 1)
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{lines} ({hunk.state})"


def _shown(path: str, folder: str) -> str:
    return below(path, folder) or path
