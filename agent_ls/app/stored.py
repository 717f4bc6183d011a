"""What a live session reads of its own log, and the settings that it keeps there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from agent_ls.store.layout import log_path
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession

_EVENT = b'{"event":'
_SEQ = re.compile(rb'\{"event":\{"sessionId":"[^"]*","seq":(\d+)')
_FIRST_LOOK_BYTES = 256 * 1024


class SessionFiles:
    """`title` may be set; everything else is what the log says."""

    def __init__(self, opened: OpenSession, header: Header) -> None:
        self.opened = opened
        self.header = header
        self.path: Path = log_path(opened.folder)

    @property
    def updated(self) -> str:
        """When the log was last written, ISO 8601."""
        changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        return changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def remember(self, settings: Mapping[str, str | None]) -> None:
        """Settings that a resume finds again."""
        self.opened.recorder.config(settings)


def events_since(path: Path, seq: int) -> list[bytes]:
    """The encoded recorded events of a log with a number above `seq`, oldest first.

    Reads from the end and only as far back as needed: a client that is nearly up to date costs little, however
    long the session is.
    """
    size = os.stat(path).st_size
    with path.open("rb") as log:
        look = _FIRST_LOOK_BYTES if seq else size
        while True:
            start = max(0, size - look)
            log.seek(start)
            lines = log.read(size - start).split(b"\n")
            first = next((int(m[1]) for line in lines[1:] if (m := _SEQ.match(line))), 0)
            if start == 0 or 0 < first <= seq + 1:
                break
            look *= 8
    return [
        line[len(_EVENT) : -1]
        for line in lines[0 if start == 0 else 1 : -1]
        if (match := _SEQ.match(line)) and int(match[1]) > seq
    ]
