"""Pure: the log records about files: planned writes, finished writes, hunk positions, proposals.

File contents are compared by fingerprint. The fingerprint of a text file is computed from its decoded text.
It is therefore the same for the bytes on disk (with a BOM, or in another encoding) and for the text in an
editor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_ls.environments.base import sha256
from agent_ls.text import decode, looks_binary

HunkPosition: TypeAlias = tuple[int, int, int, int]
"""The lines of a hunk, from 0: base_start and base_end in the base text, start and end in the current text."""

NO_FILE = ""
"""The fingerprint of a file that does not exist."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A file that a call is about to write, recorded in the log before the write (docs/durability.md).

    `before` and `after` are fingerprints; `preimage` names the blob with the old bytes, "" if there is none.
    `pid` is the id of the process that is going to write the file.
    """

    path: str
    call_id: str
    turn_id: str
    before: str
    after: str
    preimage: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """A write of a file by the session, recorded for a later revert.

    `before` and `after` are hashes of the file's content before and after the write, "" if the file did not
    exist. If a content was stored, its hash is the name of the blob. `mode` are the permission bits of a file that
    was deleted, None if they are not known.
    """

    path: str
    call_id: str
    turn_id: str
    before: str
    after: str
    mode: int | None = None


def find_write(line: bytes) -> RecordedWrite | None:
    """Return the write that a line of a log records; None for other and damaged lines."""
    try:
        raw = json.loads(line)["change"]
        path, call_id, turn_id, before, after = (
            str(raw[name]) for name in ("path", "callId", "turnId", "before", "after")
        )
        mode = raw.get("mode")
        is_mode = type(mode) is int and 0 <= mode <= 0o7777
        return RecordedWrite(path, call_id, turn_id, before, after, mode if is_mode else None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class HunkPositions:
    """The positions of a file's hunks, by hunk id, while the file's text has the fingerprint `text`."""

    path: str
    text: str
    positions: Mapping[str, HunkPosition]

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "text": self.text,
            "places": {id_: [*at] for id_, at in self.positions.items()},
        }


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """One file of a call's proposal. `before` and `after` name the blobs with the file's content, None if the
    file does not exist.

    `mode_from` names the file whose permission bits the file gets (used for a move), "" for none.
    """

    path: str
    before: str | None
    after: str | None
    mode_from: str = ""


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """The file changes that a call proposes, recorded before they are displayed."""

    call_id: str
    turn_id: str
    files: tuple[ProposedFile, ...]


def intent_from_json(raw: Mapping[str, Any]) -> Intent:
    """Restore an Intent from the JSON of a log record.

    Raises:
        KeyError, TypeError, ValueError: the JSON is incomplete.
    """
    path, call_id, turn_id, before, after, preimage = (
        str(raw[name]) for name in ("path", "callId", "turnId", "before", "after", "preimage")
    )
    return Intent(path, call_id, turn_id, before, after, preimage, int(raw["pid"]))


def hunk_positions_from_json(raw: Mapping[str, Any]) -> HunkPositions:
    """Restore HunkPositions from the JSON of a log record.

    Raises:
        KeyError, TypeError, ValueError: the JSON is incomplete.
    """
    positions = {str(id_): _position_from_json(at) for id_, at in raw["places"].items()}
    return HunkPositions(str(raw["path"]), str(raw["text"]), positions)


def review_from_json(raw: Mapping[str, Any]) -> ProposalRecord:
    """Restore a ProposalRecord from the JSON of a log record.

    Raises:
        KeyError, TypeError, ValueError: the JSON is incomplete.
    """
    files = (
        ProposedFile(str(it["path"]), _name(it["before"]), _name(it["after"]), str(it["modeFrom"]))
        for it in raw["files"]
    )
    return ProposalRecord(str(raw["callId"]), str(raw["turnId"]), tuple(files))


def _name(raw: Any) -> str | None:
    return None if raw is None else str(raw)


def _position_from_json(raw: Any) -> HunkPosition:
    base_start, base_end, start, end = map(int, raw)
    return base_start, base_end, start, end


def fingerprint(data: bytes | None) -> str:
    """Return the fingerprint of a file's bytes. `data` is None if the file does not exist."""
    if data is None:
        return NO_FILE
    if looks_binary(data) or data.isascii():  # ASCII bytes need not be decoded: the text has the same bytes
        return sha256(data)
    return text_fingerprint(decode(data).text)


def text_fingerprint(text: str | None) -> str:
    return NO_FILE if text is None else sha256(text.encode("utf-8", "surrogatepass"))
