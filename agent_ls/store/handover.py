"""A request to hand a session over: a file in the session's folder that the owning process reads
(docs/durability.md).

The request names the owner to which it is addressed, so that a later owner ignores the request.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from agent_ls.store.locks import Owner
from agent_ls.system import replace_file

NAME = "handover"


def request_handover(folder: Path, owner: Owner, by: Owner) -> None:
    """Write a request to `owner` to hand the session over to the process `by`. Blocks.

    Raises:
        OSError: the file cannot be written.
    """
    replace_file(folder / NAME, json.dumps({"to": asdict(owner), "by": asdict(by)}).encode())


def is_asked(folder: Path, owner: Owner) -> bool:
    """Return whether another process has asked `owner` to hand the session over. Blocks."""
    try:
        raw = json.loads((folder / NAME).read_bytes())["to"]
        asked = Owner(int(raw["pid"]), str(raw["started"]), str(raw["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return owner.is_same(asked)


def find_asker(folder: Path) -> Owner | None:
    """Return the process that has asked to take the session over; None if no process has asked. Blocks."""
    try:
        raw = json.loads((folder / NAME).read_bytes())["by"]
        return Owner(int(raw["pid"]), str(raw["started"]), str(raw["host"]), str(raw.get("program", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def delete_request(folder: Path) -> None:
    """Delete the request. Blocks."""
    try:
        (folder / NAME).unlink(missing_ok=True)
    except OSError:
        return  # harmless, because the next owner ignores a request that names another owner
