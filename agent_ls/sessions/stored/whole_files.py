"""Read from a session's log which files it changed without hunks: binary, very large and secret ones."""

from __future__ import annotations

from pathlib import Path

from agent_ls.loop.events.types import Envelope, FileChange, HunkStateChanged
from agent_ls.store import pages
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.logged_files import kinds, write_or_event

_KINDS = kinds("file_change", "hunk_state")


def read_whole_files(log: Path) -> dict[str, str | None]:
    """Return the files by path, each with the hash of its content before the session ("" for a new file). Blocks.

    The hash is None if the session does not know the earlier content.

    Raises:
        OSError: the log cannot be read.
    """
    before: dict[str, str] = {}
    changed: dict[str, None] = {}
    with_hunks: set[str] = set()
    with pages.open_part(log) as part:
        for line in part.forward(0):
            match write_or_event(line, _KINDS):
                case RecordedWrite(path=path, before=content):
                    before.setdefault(path, content)
                case Envelope(
                    event=FileChange(path=path, hunks=hunks) | HunkStateChanged(path=path, hunks=hunks)
                ):
                    changed[path] = None
                    with_hunks |= {path} if hunks else set()
                case _:
                    pass
    return {path: before.get(path) for path in changed if path not in with_hunks}
