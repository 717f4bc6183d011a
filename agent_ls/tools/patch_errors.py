"""Convert errors of the patch engine to tool errors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agent_ls.patch.errors import Code, PatchError
from agent_ls.tools.base import ToolError

KINDS: Mapping[Code, str] = MappingProxyType(
    {
        "PARSE": "validation",
        "TRUNCATED": "validation",
        "NO_CHANGES": "validation",
        "NO_CHANGE": "edit_conflict",
        "OMISSION": "edit_conflict",
        "ANCHOR_NOT_FOUND": "edit_conflict",
        "CONTEXT_NOT_FOUND": "edit_conflict",
        "AMBIGUOUS": "edit_conflict",
        "OVERLAP": "edit_conflict",
        "FILE_MISSING": "file_not_found",
        "FILE_EXISTS": "file_exists",
        "IS_DIRECTORY": "not_a_file",
        "NOT_TEXT": "binary_file",
        "ENCODING": "validation",
        "PATH_OUTSIDE": "permission_denied",
        "STALE": "stale",
        "NOT_READ": "not_read",
        "IO": "io",
    }
)


MAX_LINE_CHARS = 2_000


def as_tool_error(error: PatchError) -> ToolError:
    """Return the error for the model. Lines of files in it are shortened, so that they do not displace the reason."""
    lines = [
        line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
        for line in str(error).split("\n")
    ]
    return ToolError("\n".join(lines), kind=KINDS[error.code])
