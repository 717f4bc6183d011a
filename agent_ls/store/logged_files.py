"""Pure: read what a session did to files, line by line of its log."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.loop.events.types import Envelope
from agent_ls.store import event_lines
from agent_ls.store.journal import RecordedWrite, find_write

_CHANGE = b'{"change":'
_HEAD = 300
"""The kind of an event is within this many bytes of its line."""


def kinds(*names: str) -> tuple[bytes, ...]:
    """Return what the lines of events of these kinds contain, for `write_or_event`."""
    return tuple(f'"kind":"{name}"'.encode() for name in names)


def write_or_event(line: bytes, wanted: Sequence[bytes]) -> RecordedWrite | Envelope | None:
    """Return the write of a file or the event of a wanted kind that a line records; None for any other line.

    Few lines are parsed. So the event may be of another kind, if a text in it looks like a wanted one.
    """
    if line.startswith(_CHANGE):
        return find_write(line)
    head = line[:_HEAD]
    if not any(kind in head for kind in wanted):
        return None
    event = event_lines.maybe_event(line)
    return event.envelope if event else None
