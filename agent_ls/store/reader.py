"""A stored session, read: what is whole counts, what is torn or foreign is skipped and named (R3, R7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.loop import event_codec
from agent_ls.store.errors import BadSessionError
from agent_ls.store.fold import Fold
from agent_ls.store.journal import intent_from_json, review_from_json, standing_from_json
from agent_ls.store.log import Header, parse_header
from agent_ls.store.recorder import LATEST_KINDS
from agent_ls.store.records import images_from_json, prefix_from_json, result_from_json, turn_from_json

_EVENT = b'{"event":'


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A recorded event; `encoded` is the codec's bytes, ready for the wire."""

    seq: int
    encoded: bytes


@dataclass(frozen=True, slots=True)
class StoredSession:
    """`fold` is what the records add up to. `problems` says in words what was skipped.

    `latest` has the newest event of each kind of which only that one counts, encoded.
    """

    path: Path
    header: Header
    events: tuple[StoredEvent, ...]
    last_seq: int
    fold: Fold
    problems: tuple[str, ...]
    latest: Mapping[str, bytes]

    @property
    def title(self) -> str:
        """The last one given, else the beginning of the first input (of a log that is older than titles)."""
        return self.fold.title or self.header.title or self.fold.first_words

    def events_since(self, seq: int) -> tuple[StoredEvent, ...]:
        return tuple(event for event in self.events if event.seq > seq)


def read_session(path: Path) -> StoredSession:
    """Reads a log, also one that its session is still writing to.

    Raises:
        OSError: the file cannot be read.
        BadSessionError: it has no header. NewerFormatError.
    """
    lines = path.read_bytes().split(b"\n")
    if len(lines) < 2:
        raise BadSessionError(str(path), "its first line is torn")
    header = parse_header(lines[0], str(path))
    reading = _Reading()
    for number, line in enumerate(lines[1:-1], start=2):
        reading.line(line, number)
    if lines[-1]:
        reading.problems.append(f"line {len(lines)} is torn and was dropped")
    return StoredSession(
        path=path,
        header=header,
        events=tuple(reading.events),
        last_seq=reading.last_seq,
        fold=reading.fold,
        problems=tuple(reading.problems),
        latest=reading.latest,
    )


class _Reading:
    def __init__(self) -> None:
        self.fold = Fold()
        self.events: list[StoredEvent] = []
        self.last_seq = 0
        self.problems: list[str] = []
        self.latest: dict[str, bytes] = {}

    def line(self, line: bytes, number: int) -> None:
        if not line.strip():
            return
        try:
            if line.startswith(_EVENT):
                self._event(line[len(_EVENT) : -1], number)
            else:
                self._record(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.problems.append(f"line {number} was skipped: {error}")

    def _event(self, encoded: bytes, number: int) -> None:
        envelope = event_codec.decode(encoded)
        seq = json.loads(encoded)["seq"] if envelope is None else envelope.seq
        if not isinstance(seq, int) or seq <= self.last_seq:
            self.problems.append(
                f"line {number} was skipped: its event has number {seq} after {self.last_seq}"
            )
            return
        if seq != self.last_seq + 1:
            self.problems.append(f"events {self.last_seq + 1} to {seq - 1} are missing before line {number}")
        self.last_seq = seq
        self.events.append(StoredEvent(seq, encoded))
        if envelope and envelope.kind in LATEST_KINDS and not envelope.agent_id:
            self.latest[envelope.kind] = encoded
        if envelope:
            self.fold.event(envelope)

    def _record(self, record: Any) -> None:
        if not isinstance(record, dict):
            raise TypeError("a record is an object")
        if turn := record.get("turn"):
            if restored := turn_from_json(turn):
                self.fold.turn(restored)
        elif agent_turn := record.get("agentTurn"):
            if restored := turn_from_json(agent_turn["turn"]):
                self.fold.agent_turn(agent_turn["agentId"], restored)
        elif partial := record.get("partial"):
            self.fold.partial(partial)
        elif result := record.get("result"):
            self.fold.result(result["callId"], result_from_json(result["part"]))
        elif images := record.get("images"):
            self.fold.images[images["id"]] = images_from_json(images)
        elif shown := record.get("shown"):
            self.fold.shown[shown["path"]] = shown["digest"]
            self.fold.known.pop(shown["path"], None)
        elif known := record.get("known"):
            self.fold.known[known["path"]] = known["digest"]
        elif config := record.get("config"):
            self.fold.config.update(config)
        elif intent := record.get("intent"):
            self.fold.intents.append(intent_from_json(intent))
        elif review := record.get("review"):
            self.fold.review(review_from_json(review))
        elif standing := record.get("ledger"):
            self.fold.stand(standing_from_json(standing))
        elif isinstance(notice := record.get("notice"), str):
            self.fold.notices.append(notice)
        elif isinstance(prompt := record.get("prompt"), str):
            self.fold.prompt = prompt
        elif prefix := record.get("prefix"):
            self.fold.prefix = prefix_from_json(prefix)
