"""The guards that keep a model from overwriting what it has not seen (REQUIREMENTS X9, SEMANTICS 12.2)."""

from __future__ import annotations

from agent_ls.environments.base import sha256
from agent_ls.patch.unified import unified_diff
from agent_ls.tools.base import ToolContext, ToolError
from agent_ls.tools.paths import shown_path

DIFF_MAX_LINES = 60


def demand_read(path: str, context: ToolContext) -> None:
    """Raises ToolError of kind `not_read` when the model has not been shown this file in this session."""
    if context.reads.shown(path) is None:
        name = shown_path(path, context.environment)
        raise ToolError(
            f"{name} exists and you have not read it in this session. Read the file first, then try again. "
            f"Nothing was written.",
            kind="not_read",
        )


def is_current(path: str, content: bytes, context: ToolContext) -> bool:
    """Is this what the model was last shown?"""
    return context.reads.shown(path) == sha256(content)


def demand_current(path: str, content: bytes, context: ToolContext) -> None:
    """For whoever is about to replace or delete a whole file. An empty file has nothing to lose.

    Raises:
        ToolError: kind `not_read` or `stale`.
    """
    if not content:
        return
    demand_read(path, context)
    if not is_current(path, content, context):
        raise stale(path, content, context)


def stale(path: str, content: bytes, context: ToolContext) -> ToolError:
    """The refusal of kind `stale`, with what changed where that is known."""
    name = shown_path(path, context.environment)
    remembered = context.reads.remembered(path)
    changed = (
        f" What changed:\n\n{_shortened(unified_diff(remembered, content, name))}\n" if remembered else ""
    )
    return ToolError(
        f"{name} has changed since you last read it, so nothing was written.{changed}\n"
        f"Read the file again and make your change to what stands there now.",
        kind="stale",
    )


def _shortened(diff: str) -> str:
    lines = diff.rstrip("\n").split("\n")
    if len(lines) <= DIFF_MAX_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[:DIFF_MAX_LINES], f"[... {len(lines) - DIFF_MAX_LINES} more lines of the diff]"])
