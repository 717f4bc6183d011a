"""What an agent wrote, after the same change was made to it that was made to the text standing there now."""

from __future__ import annotations

from agent_ls.patch.rebase import Merged, rebase
from agent_ls.review.hunks import Lines


def carried(old: Lines, new: Lines, agent_lines: Lines) -> Lines:
    """`agent_lines` with the change from `old` to `new`; as they are where that change does not fit them.

    Used for a hunk that the user edited and the agent edits again: it stays `edited`, and only when exactly the
    agent's own text is back does it count as untouched.
    """
    merged = rebase(old, new, agent_lines)
    return merged.lines if isinstance(merged, Merged) else agent_lines
