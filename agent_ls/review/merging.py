"""Apply a change that was made to a hunk's current lines to the lines that the agent wrote for this hunk."""

from __future__ import annotations

from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.review.hunks import Lines


def apply_same_change(old: Lines, new: Lines, agent_lines: Lines) -> Lines:
    """Return `agent_lines` with the change from `old` to `new`, or unchanged `agent_lines` if the change does not fit.

    Called when the agent edits a hunk that the user has edited. The hunk stays `edited`. The hunk becomes `pending`
    again only if its lines equal the agent's lines.
    """
    merged = rebase(old, new, agent_lines)
    return merged.lines if isinstance(merged, MergedText) else agent_lines
