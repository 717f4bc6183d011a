"""Read and write the file in the state folder that lists the project hooks confirmed by the user."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from agent_ls.app.hooks.config import Hook

FILE = "confirmed-hooks.json"


def is_confirmed(hook: Hook, workspace: str, confirmed: Collection[str]) -> bool:
    """Return whether a hook may run: a user's own hook, or a project hook unchanged since the user confirmed it."""
    return hook.origin == "user" or confirmation(hook, workspace) in confirmed


def confirmation(hook: Hook, workspace: str) -> str:
    """Return the entry that confirms a hook: the workspace, the event, and the digest of the hook."""
    return f"{os.path.realpath(workspace)}\n{hook.event}\n{hook.digest}"


def read_confirmed(state: Path) -> frozenset[str]:
    """Return the confirmed hooks; none if the file is missing or damaged, so that the user is asked again. Blocks."""
    try:
        read = json.loads((state / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return frozenset()
    return (
        frozenset(entry for entry in read if isinstance(entry, str))
        if isinstance(read, list)
        else frozenset()
    )


def confirm(state: Path, hooks: Collection[Hook], workspace: str) -> None:
    """Confirm these hooks of a project. Blocks.

    Raises:
        OSError
    """
    kept = sorted({*read_confirmed(state), *(confirmation(hook, workspace) for hook in hooks)})
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = state / f".{FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(kept, indent=1), "utf-8")
    temporary.replace(state / FILE)
