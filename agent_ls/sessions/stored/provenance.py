"""Tell who wrote each line of a file, from the logs of the stored sessions. All functions block."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.loop.events.types import FileChange, HunkStateChanged, SessionStart, UserInput
from agent_ls.review.provenance import UNKNOWN, USER, WrittenText, authors
from agent_ls.store import blobs, pages
from agent_ls.store.journal import RecordedWrite, written_from_json
from agent_ls.store.layout import Layout, blobs_path, log_path
from agent_ls.text import decode, looks_binary, split_lines

Decision: TypeAlias = Literal["", "kept", "pending", "edited"]
"""The user's decision about the write: "" if it is not known, `edited` if the user changed the text first."""

_CHANGE, _CONFIG = b'{"change":', b'{"config":'
_KINDS = (b'"kind":"user_input"', b'"kind":"file_change"', b'"kind":"session_start"', b'"kind":"hunk_state"')
_UNDO = "r-"  # the ids of roll backs begin with it


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
class BlamedLine:
    """One line of a file. `author` agent: `origin` says which call wrote it. unknown: contents are not recorded."""

    text: str
    author: Literal["user", "agent", "unknown"]
    origin: LineOrigin | None = None


@dataclass(slots=True)
class _Log:
    """The writes to one file in a log, with the messages and decisions."""

    writes: list[tuple[RecordedWrite, LineOrigin]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)


def blame(path: Path, layout: Layout | None = None) -> list[BlamedLine]:
    """Return the author of each line of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not text.
    """
    data = path.read_bytes()
    if looks_binary(data):
        raise ValueError("not text")
    current = _lines(data)
    stored = layout or Layout()
    real = Path(os.path.realpath(path))
    found = sorted(_writes(real, stored), key=lambda each: each[1].time)
    texts = [_text_of(write, origin, stored) for write, origin in found]
    numbers = authors(texts, current)
    return [_line(text, number, found) for text, number in zip(current, numbers, strict=True)]


def _line(text: str, number: int, found: Sequence[tuple[RecordedWrite, LineOrigin]]) -> BlamedLine:
    if number == USER:
        return BlamedLine(text, "user")
    if number == UNKNOWN:
        return BlamedLine(text, "unknown")
    return BlamedLine(text, "agent", found[number][1])


def _writes(path: Path, layout: Layout) -> Iterator[tuple[RecordedWrite, LineOrigin]]:
    """Yield the writes to a file by all sessions of the folders above it."""
    for folder in path.parents:
        for listed in layout.list_sessions(str(folder)):
            log = log_path(listed.folder)
            try:
                found = _read_log(log, listed.session_id, path)
            except OSError:  # the session is deleted in this moment
                continue
            for write, origin in found.writes:
                message = found.messages.get(origin.turn_id, "")
                yield (
                    write,
                    replace(origin, message=message, decision=found.decisions.get(origin.call_id, "")),
                )


def _read_log(log: Path, session_id: str, path: Path) -> _Log:
    found, model, time = _Log(), "", ""
    times: dict[str, str] = {}
    with pages.open_part(log) as part:
        for line in part.forward(0):
            if line.startswith(_CHANGE):
                if (write := _maybe_write(line)) and os.path.realpath(write.path) == str(path):
                    origin = LineOrigin(session_id, write.turn_id, write.call_id, model=model, time=time)
                    found.writes.append((write, origin))
            elif line.startswith(_CONFIG):
                model = _model_of(line) or model
            elif any(kind in line[:300] for kind in _KINDS) and (envelope := pages.maybe_event(line)):
                time = envelope.timestamp
                match envelope.event:
                    case UserInput(text=text):
                        found.messages[envelope.turn_id] = text
                    case SessionStart(provider=provider, model=name):
                        model = f"{provider}/{name}"
                    case FileChange(call_id=call_id, hunks=hunks):
                        times[call_id] = envelope.timestamp
                        found.decisions |= dict.fromkeys((hunk.call_id for hunk in hunks), "pending")
                    case HunkStateChanged(hunks=hunks):
                        found.decisions |= {
                            hunk.call_id: hunk.state
                            for hunk in hunks
                            if hunk.state in ("kept", "pending", "edited") and hunk.path == str(path)
                        }
                    case _:
                        pass
    found.writes = [
        (write, replace(origin, time=times.get(write.call_id, origin.time))) for write, origin in found.writes
    ]
    return found


def _maybe_write(line: bytes) -> RecordedWrite | None:
    try:
        return written_from_json(json.loads(line)["change"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _model_of(line: bytes) -> str:
    try:
        config: Mapping[str, Any] = json.loads(line)["config"]
        return f"{config['provider']}/{config['model']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _text_of(write: RecordedWrite, origin: LineOrigin, layout: Layout) -> WrittenText:
    folder = layout.find(origin.session_id)

    def lines(name: str) -> Sequence[str] | None:
        if not name:
            return ()
        data = blobs.read_blob(blobs_path(folder), name) if folder else None
        return None if data is None or looks_binary(data) else _lines(data)

    return WrittenText(lines(write.before), lines(write.after), write.turn_id.startswith(_UNDO))


def _lines(data: bytes) -> list[str]:
    """Return the lines of a text without their endings, which editors and git convert."""
    return [line.rstrip("\r\n") for line in split_lines(decode(data).text)]
