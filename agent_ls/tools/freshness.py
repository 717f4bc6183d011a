"""Refuse changes of a file that the model has not read, or that changed after the model read it."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.environments.base import sha256
from agent_ls.environments.errors import EnvError
from agent_ls.patch.unified import unified_diff
from agent_ls.tools.base import ToolContext, ToolError
from agent_ls.tools.paths import shown_path

DIFF_MAX_LINES = 60


def require_read(path: str, context: ToolContext) -> None:
    """Raise ToolError of kind `not_read` if the model has not read the file at `path` in this session."""
    if context.reads.digest_of(path) is None:
        name = shown_path(path, context.environment)
        raise ToolError(
            f"{name} exists and you have not read it in this session. Read the file first, then try again. "
            f"Nothing was written.",
            kind="not_read",
        )


def is_current(path: str, content: bytes, context: ToolContext) -> bool:
    """Return whether `content` equals the content that the model last read."""
    return context.reads.digest_of(path) == sha256(content)


def require_current(path: str, content: bytes, context: ToolContext) -> None:
    """Require that the model has read the current content, before a whole file is replaced or deleted.

    An empty file need not have been read.

    Raises:
        ToolError: the model has not read the file (kind `not_read`), or the file has changed (kind `stale`).
    """
    if not content:
        return
    require_read(path, context)
    if not is_current(path, content, context):
        raise stale_error(path, content, context)


def stale_error(path: str, content: bytes, context: ToolContext) -> ToolError:
    """Return the error of kind `stale`. It has a diff of the changes if the content that the model read is stored."""
    name = shown_path(path, context.environment)
    remembered = context.reads.content_of(path)
    changed = (
        f" The changes since then:\n\n{_truncate_diff(unified_diff(remembered, content, name))}\n"
        if remembered
        else ""
    )
    return ToolError(
        f"{name} has changed since you last read it, so nothing was written.{changed}\n"
        f"Read the file again and change its current text.",
        kind="stale",
    )


async def read_changes(paths: Sequence[str], context: ToolContext) -> str:
    """Return diffs of what changed in files since the model read them, and count them as read; "" for no change.

    A file whose content or whole diff the model does not get stays as it was last read.
    """
    diffs = []
    for path in paths:
        before = context.reads.content_of(path)
        try:
            content = await context.environment.read_bytes(path)
        except EnvError:
            continue
        if before is None or before == content:
            continue
        diff = unified_diff(before, content, shown_path(path, context.environment))
        if diff.count("\n") <= DIFF_MAX_LINES:
            context.reads.record(path, sha256(content), content)
            diffs.append(diff.rstrip("\n"))
    return "\n".join(diffs)


def _truncate_diff(diff: str) -> str:
    lines = diff.rstrip("\n").split("\n")
    if len(lines) <= DIFF_MAX_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[:DIFF_MAX_LINES], f"[... {len(lines) - DIFF_MAX_LINES} more lines of the diff]"])
