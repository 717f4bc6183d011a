"""Pure: the list of undecided hunks that stays in the model's context through a compaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.loop.events.types import Hunk
from agent_ls.system import relative_to_folder

MAX_FILES = 40


def pinned_hunks(hunks: Mapping[str, Sequence[Hunk]], folder: str) -> tuple[str, ...]:
    """Return the list of undecided hunks, or () without hunks.

    `hunks` are the hunks of one session, by absolute path; paths in `folder` become relative.
    """
    rows = [
        f"- {_display_path(path, folder)}: {_describe_hunks(there)}"
        for path, there in sorted(hunks.items())
        if there
    ]
    if not rows:
        return ()
    left_out = len(rows) - MAX_FILES
    more = [f"- and {left_out} more files"] if left_out > 0 else []
    heading = "# Your changes that wait for the user's decision"
    return ("\n".join([heading, *rows[:MAX_FILES], *more]),)


def _describe_hunks(hunks: Sequence[Hunk]) -> str:
    return ", ".join(dict.fromkeys(map(_describe_hunk, hunks)))


def _describe_hunk(hunk: Hunk) -> str:
    if hunk.what != "content":
        return "the file was created" if hunk.what == "create" else "the file was deleted"
    first, last = hunk.start + 1, max(hunk.end, hunk.start + 1)
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{lines} ({hunk.state})"


def _display_path(path: str, folder: str) -> str:
    return relative_to_folder(path, folder) or path
