"""Find the user's answers to requests of an earlier server process in a session's log."""

from __future__ import annotations

import json
from typing import Any

from agent_ls.sessions.live import LiveSession


def find_logged(live: LiveSession, kind: str, id_: str) -> dict[str, Any] | None:
    """Return the data of the logged event of this kind that names the id; None if the log has none. Blocks."""
    name, its_kind = json.dumps(id_).encode(), f'"kind":"{kind}"'.encode()
    for encoded in live.events_since(0):
        if its_kind in encoded[:200] and name in encoded:
            data: dict[str, Any] = json.loads(encoded)["data"]
            return data
    return None
