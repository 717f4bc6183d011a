"""Detect that a document was saved while the server started: editors do not report saves before they have sent
`didOpen`.
"""

from __future__ import annotations

import os
import time

from agent_ls.server import start_time
from agent_ls.text import strip_ending

START_UP_S = 60.0
"""A document that is opened later than this after the start cannot have been saved before the server was ready."""
_MARGIN_S = 2.0  # the process started a little before STARTED_AT was read


def was_saved_while_starting(path: str, text: str) -> bool:
    """Return whether the file has the content `text` and was written during this process's start. Blocks."""
    if time.time() - start_time.STARTED_AT > START_UP_S:
        return False
    try:
        if os.stat(path).st_mtime < start_time.STARTED_AT - _MARGIN_S:
            return False
        with open(path, encoding="utf-8", newline="") as file:
            return strip_ending(file.read()) == strip_ending(text)
    except (OSError, UnicodeDecodeError):
        return False
