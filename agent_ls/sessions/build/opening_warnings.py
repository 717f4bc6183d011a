"""Warnings for the user when a session opens: problems that do not keep it from running."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ls.services.settings.model import Settings
from agent_ls.sessions.build.tool_limits import find_unknown_limits
from agent_ls.tools.registry import ToolRegistry

NO_LOCKS = (
    "The file system of the state folder has no file locks. Do not open a session in two programs at once, because "
    "their logs would be mixed. AGENT_LS_STATE_DIR selects another state folder."
)


def opening_warnings(
    settings: Settings, registry: ToolRegistry, is_firm: bool, bad_tools: str
) -> Iterator[tuple[str, str]]:
    """Yield the text and the code of each warning.

    `is_firm`: a file lock keeps other processes out of the session. `bad_tools` is a warning about the user's
    own tools, "" for none.
    """
    if not is_firm:
        yield NO_LOCKS, "no_locks"
    if bad_tools:
        yield bad_tools, "bad_tools"
    if unknown := find_unknown_limits(settings, registry):
        yield f"{unknown}. Correct or remove these settings.", "unknown_tools"


def not_stored(error: OSError) -> str:
    """Return the warning about a session whose log cannot be written."""
    return (
        f"This session cannot be stored on disk: {error.strerror or error}. Until its log can be written, "
        "nothing is changed or run unless you allow it."
    )
