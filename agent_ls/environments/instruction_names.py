"""The names of files and folders that a session reads without a request of the model, because they may be there."""

from __future__ import annotations

import re

from agent_ls.patterns import regex

_LOOKED_FOR = regex(
    r"(^|/)("
    r"(agents|agent|agents\.override|agents\.local|claude|claude\.local|gemini|qwen|instructions|memory|copilot-instructions"
    r"|guidelines)\.md"
    r"|\.(cursor|cline|roo|windsurf)?rules|\.goosehints|opencode\.jsonc?"
    r"|\.(github/instructions|kiro/steering|roo/rules-code|junie/guidelines|(agents|claude)/skills"
    r"|(agents|amazonq|augment|claude|continue|cursor|devin|kilocode|opencode|qwen|roo|trae|windsurf)/rules)"
    r")$",
    re.IGNORECASE,
)


def is_looked_for(path: str) -> bool:
    """Return whether a session looks for this file or folder in each project. Most projects do not have it."""
    return bool(_LOOKED_FOR.search(path.replace("\\", "/")))
