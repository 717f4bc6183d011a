"""What a log keeps of files beside its events: writes about to happen, and where hunks stood. Values and their JSON.

A content is named by its fingerprint: that of its text, where it is text, so that a file is known again whether it is
read from the disk (with a BOM, in another encoding) or from an editor. This module does not know that files exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_ls.environments.base import sha256
from agent_ls.text import decode, looks_binary

Place: TypeAlias = tuple[int, int, int, int]
"""Of a hunk: base_start, base_end, start, end (lines from 0)."""

NO_FILE = ""
"""The fingerprint of a file that does not exist."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A file that a call was about to write, as the log knows it before the write (PROTOCOL, Applying).

    `before` and `after` are fingerprints; `preimage` names the blob that holds the old bytes, "" where none is kept.
    `pid` is the process that was to write it.
    """

    path: str
    call_id: str
    turn_id: str
    before: str
    after: str
    preimage: str = ""
    pid: int = 0

    def to_json(self) -> dict[str, str | int]:
        return {
            "path": self.path,
            "callId": self.call_id,
            "turnId": self.turn_id,
            "before": self.before,
            "after": self.after,
            "preimage": self.preimage,
            "pid": self.pid,
        }


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written in the session's name: what a roll back takes back (X10).

    `before` and `after` are the hashes of its content, "" for no file: the names of blobs, where they were kept.
    """

    path: str
    call_id: str
    turn_id: str
    before: str
    after: str

    def to_json(self) -> dict[str, str]:
        return {
            "path": self.path,
            "callId": self.call_id,
            "turnId": self.turn_id,
            "before": self.before,
            "after": self.after,
        }


def written_from_json(raw: Mapping[str, Any]) -> Written:
    """
    Raises:
        KeyError, TypeError, ValueError: the record is not whole.
    """
    return Written(*(str(raw[name]) for name in ("path", "callId", "turnId", "before", "after")))


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the hunks of a file stood when its text had the fingerprint `text`: place by hunk id."""

    path: str
    text: str
    places: Mapping[str, Place]

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "text": self.text,
            "places": {id_: [*at] for id_, at in self.places.items()},
        }


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """One file of what a call proposes. `before` and `after` name the blobs with its bytes, None: there is no file.

    `mode_from` as in FileWrite.
    """

    path: str
    before: str | None
    after: str | None
    mode_from: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """What a call proposes before it is made, as the log knows it before anybody is shown it."""

    call_id: str
    turn_id: str
    files: tuple[ProposedFile, ...]

    def to_json(self) -> dict[str, Any]:
        files = [
            {"path": it.path, "before": it.before, "after": it.after, "modeFrom": it.mode_from}
            for it in self.files
        ]
        return {"callId": self.call_id, "turnId": self.turn_id, "files": files}


def intent_from_json(raw: Mapping[str, Any]) -> Intent:
    """
    Raises:
        KeyError, TypeError, ValueError: the record is not whole.
    """
    return Intent(
        path=str(raw["path"]),
        call_id=str(raw["callId"]),
        turn_id=str(raw["turnId"]),
        before=str(raw["before"]),
        after=str(raw["after"]),
        preimage=str(raw["preimage"]),
        pid=int(raw["pid"]),
    )


def standing_from_json(raw: Mapping[str, Any]) -> Standing:
    """
    Raises:
        KeyError, TypeError, ValueError: the record is not whole.
    """
    places = {str(id_): _place(at) for id_, at in raw["places"].items()}
    return Standing(str(raw["path"]), str(raw["text"]), places)


def review_from_json(raw: Mapping[str, Any]) -> Review:
    """
    Raises:
        KeyError, TypeError, ValueError: the record is not whole.
    """
    files = (
        ProposedFile(str(it["path"]), _name(it["before"]), _name(it["after"]), str(it["modeFrom"]))
        for it in raw["files"]
    )
    return Review(str(raw["callId"]), str(raw["turnId"]), tuple(files))


def _name(raw: Any) -> str | None:
    return None if raw is None else str(raw)


def _place(raw: Any) -> Place:
    base_start, base_end, start, end = map(int, raw)
    return base_start, base_end, start, end


def fingerprint(data: bytes | None) -> str:
    """None: there is no such file."""
    if data is None:
        return NO_FILE
    if looks_binary(data) or data.isascii():  # ASCII is its own text
        return sha256(data)
    return text_fingerprint(decode(data).text)


def text_fingerprint(text: str | None) -> str:
    return NO_FILE if text is None else sha256(text.encode("utf-8", "surrogatepass"))
