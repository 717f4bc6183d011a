"""The names of files and folders that a session reads without a request of the model, because they may be there."""

from __future__ import annotations

import re

_LOOKED_FOR = re.compile(
    r"(^|/)((agents|agents\.override|claude|claude\.local|gemini|instructions|memory|copilot-instructions)\.md"
    r"|\.cursorrules|\.(github/instructions|claude/rules|cursor/rules))$",
    re.IGNORECASE,
)


def is_looked_for(path: str) -> bool:
    """Return whether a session looks for this file or folder in each project. Most projects do not have it."""
    return bool(_LOOKED_FOR.search(path.replace("\\", "/")))
