"""Read from logs which calls wrote which files, with the messages and decisions. All functions block.

A log is read on from where it was left, so a program that asks often reads each line once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from agent_ls.loop.events.types import Envelope, FileChange, HunkStateChanged, SessionStart, UserInput
from agent_ls.store import pages
from agent_ls.store.elsewhere import sessions_elsewhere
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.layout import Layout, log_path
from agent_ls.store.logged_files import kinds, write_or_event

Decision: TypeAlias = Literal["", "kept", "pending", "edited"]
"""The user's decision about the write: "" if it is not known, `edited` if the user changed the text first."""

_CONFIG = b'{"config":'
_KINDS = kinds("user_input", "file_change", "session_start", "hunk_state")


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The call that wrote a line. `message` is the user's message of its turn; `time` is ISO 8601."""

    session_id: str
    turn_id: str
    call_id: str
    message: str = ""
    model: str = ""
    time: str = ""
    decision: Decision = ""


@dataclass(frozen=True, slots=True)
class OriginalWrite:
    """A write of a file, the call that made it, and the folder of its session."""

    write: RecordedWrite
    origin: LineOrigin
    folder: Path


@dataclass(slots=True)
class LogWrites:
    """The writes in one log. `read` reads what is new in it."""

    folder: Path
    session_id: str
    writes: list[tuple[RecordedWrite, LineOrigin]] = field(default_factory=list)
    _messages: dict[str, str] = field(default_factory=dict)
    _decisions: dict[tuple[str, str], Decision] = field(default_factory=dict)
    _times: dict[str, str] = field(default_factory=dict)
    _model: str = ""
    _time: str = ""
    _offset: int = 0
    _size: int = -1

    def read(self) -> None:
        """Read the lines that were written since the last call. A log that did not grow is not opened.

        Raises:
            OSError: the log cannot be read.
        """
        size = log_path(self.folder).stat().st_size
        if size == self._size:
            return
        self._size = size
        with pages.open_part(log_path(self.folder)) as part:
            if part.size > self._offset:
                for line in part.forward(self._offset):
                    self._take(line)
                self._offset = part.size

    def original(self, write: RecordedWrite, origin: LineOrigin) -> OriginalWrite:
        """Return a write of this log with all that the log says of its call."""
        known = replace(
            origin,
            message=self._messages.get(origin.turn_id, ""),
            time=self._times.get(origin.call_id, origin.time),
            decision=self._decisions.get((origin.call_id, write.path), ""),
        )
        return OriginalWrite(write, known, self.folder)

    def _take(self, line: bytes) -> None:
        if line.startswith(_CONFIG):
            self._model = _model_of(line) or self._model
            return
        match write_or_event(line, _KINDS):
            case RecordedWrite() as write:
                origin = LineOrigin(
                    self.session_id, write.turn_id, write.call_id, model=self._model, time=self._time
                )
                self.writes.append((write, origin))
            case Envelope() as envelope:
                self._time = envelope.timestamp
                self._follow(envelope)

    def _follow(self, envelope: Envelope) -> None:
        match envelope.event:
            case UserInput(text=text):
                self._messages[envelope.turn_id] = text
            case SessionStart(provider=provider, model=name):
                self._model = f"{provider}/{name}"
            case FileChange(call_id=call_id, hunks=hunks):
                self._times[call_id] = envelope.timestamp
                self._decisions |= dict.fromkeys(((hunk.call_id, hunk.path) for hunk in hunks), "pending")
            case HunkStateChanged(hunks=hunks):
                for hunk in hunks:
                    if hunk.state in ("kept", "pending", "edited"):
                        self._decisions[hunk.call_id, hunk.path] = hunk.state
            case _:
                pass


@dataclass(slots=True)
class WrittenFiles:
    """The writes of all stored sessions of some folders. Safe to use from several threads."""

    layout: Layout
    _logs: dict[Path, LogWrites] = field(default_factory=dict)
    _reading: Lock = field(default_factory=Lock)

    def in_folders(self, folders: Sequence[str]) -> list[OriginalWrite]:
        """Return the writes of the sessions of these folders, and of those that wrote files in them, oldest first."""
        with self._reading:
            found: list[tuple[str, OriginalWrite]] = []
            for place, session_id in self._sessions(folders).items():
                log = self._logs.setdefault(place, LogWrites(place, session_id))
                try:
                    log.read()
                except OSError:  # the session is deleted in this moment
                    self._logs.pop(place, None)
                    continue
                newest = ""
                for write, origin in log.writes:
                    newest = max(newest, origin.time)  # a clock may go back, the order of a log does not
                    found.append((newest, log.original(write, origin)))
            return [each for _, each in sorted(found, key=lambda timed: timed[0])]

    def _sessions(self, folders: Sequence[str]) -> dict[Path, str]:
        """Return folder and id of each session of these folders, and of those that wrote files in them."""
        found = {
            listed.folder: listed.session_id
            for folder in folders
            for listed in self.layout.list_sessions(folder)
        }
        for folder in folders:
            found |= {place: session_id for session_id, place in sessions_elsewhere(self.layout, folder)}
        return found


def _model_of(line: bytes) -> str:
    try:
        config: Mapping[str, Any] = json.loads(line)["config"]
        return f"{config['provider']}/{config['model']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
