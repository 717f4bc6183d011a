"""Read a stored session. Damaged or unknown lines are skipped, and reported as problems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.store.errors import BadSessionError
from agent_ls.store.event_lines import EVENT, EventLine, in_sequence, parse_event
from agent_ls.store.journal import hunk_positions_from_json, intent_from_json, review_from_json
from agent_ls.store.log import Header, parse_header
from agent_ls.store.recorder import LATEST_KINDS
from agent_ls.store.records import images_from_json, prefix_from_json, result_from_json, turn_from_json
from agent_ls.store.session_state import SessionState


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A recorded event. `encoded` is its JSON, which can be sent to clients unchanged."""

    seq: int
    encoded: bytes


@dataclass(frozen=True, slots=True)
class StoredSession:
    """The content of a log. `state` is computed from the records of the log.

    `problems` describes what was skipped, `damaged` counts the skipped lines. `latest` has the newest event
    of each kind in LATEST_KINDS, encoded.
    """

    path: Path
    header: Header
    events: tuple[StoredEvent, ...]
    last_seq: int
    state: SessionState
    problems: tuple[str, ...]
    damaged: int
    latest: Mapping[str, bytes]

    @property
    def title(self) -> str:
        """The last title that was set; without a title, the beginning of the first user message."""
        return self.state.title or self.header.title or self.state.first_words


def read_session(path: Path) -> StoredSession:
    """Read a log, even while another process writes to it.

    Raises:
        OSError: the file cannot be read.
        BadSessionError: the log has no header.
        NewerFormatError: a newer version wrote it.
    """
    lines = path.read_bytes().split(b"\n")
    if len(lines) < 2:
        raise BadSessionError(str(path), "the first line of the log is incomplete")
    header = parse_header(lines[0], str(path))
    reading = _Reading(header.session_id)
    reading.lines(lines[1:-1])
    if lines[-1]:
        reading.problems.append(f"line {len(lines)} is incomplete and was dropped")
    return StoredSession(
        path=path,
        header=header,
        events=tuple(reading.events),
        last_seq=reading.last_seq,
        state=reading.state,
        problems=tuple(reading.problems),
        damaged=reading.damaged,
        latest=reading.latest,
    )


class _Reading:
    """Builds the fields of StoredSession from the lines of a log. `damaged` counts the skipped lines."""

    def __init__(self, session_id: str) -> None:
        self.state = SessionState()
        self.events: list[StoredEvent] = []
        self.last_seq = 0
        self.problems: list[str] = []
        self.damaged = 0
        self.latest: dict[str, bytes] = {}
        self._session_id = session_id

    def lines(self, lines: Sequence[bytes]) -> None:
        """Read the lines after the header.

        Wrong event numbers are found first, by comparing the numbers of all events. Their events are skipped.
        """
        parsed = [(number, self._parse_line(line, number)) for number, line in enumerate(lines, start=2)]
        belongs = iter(in_sequence([item.seq for _, item in parsed if isinstance(item, EventLine)]))
        for number, item in parsed:
            if isinstance(item, EventLine):
                self._event(item, number, is_in_sequence=next(belongs))
            elif item.strip():
                try:
                    self._record(json.loads(item))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    self._skip(number, str(error))

    def _parse_line(self, line: bytes, number: int) -> EventLine | bytes:
        if not line.startswith(EVENT):
            return line
        try:
            event = parse_event(line)
            if event.session_id != self._session_id:
                raise ValueError("the event belongs to another session")
        except ValueError as error:
            self._skip(number, str(error))
            return b""
        return event

    def _skip(self, number: int, why: str) -> None:
        self.damaged += 1
        self.problems.append(f"line {number} was skipped: {why}")

    def _event(self, event: EventLine, number: int, *, is_in_sequence: bool) -> None:
        seq, envelope = event.seq, event.envelope
        if not is_in_sequence:
            self._skip(number, f"the event has number {seq}, but follows number {self.last_seq}")
            return
        if seq != self.last_seq + 1:
            self.problems.append(f"events {self.last_seq + 1} to {seq - 1} are missing before line {number}")
        self.last_seq = seq
        self.events.append(StoredEvent(seq, event.encoded))
        if envelope and envelope.kind in LATEST_KINDS and not envelope.agent_id:
            self.latest[envelope.kind] = event.encoded
        if envelope:
            self.state.event(envelope)

    def _record(self, record: Any) -> None:
        if not isinstance(record, dict):
            raise TypeError("a record must be an object")
        if turn := record.get("turn"):
            if restored := turn_from_json(turn):
                self.state.turn(restored)
        elif agent_turn := record.get("agentTurn"):
            if restored := turn_from_json(agent_turn["turn"]):
                self.state.agent_turn(agent_turn["agentId"], restored)
        elif partial := record.get("partial"):
            self.state.partial(partial)
        elif result := record.get("result"):
            self.state.result(result["callId"], result_from_json(result["part"]))
        elif images := record.get("images"):
            self.state.images[images["id"]] = images_from_json(images)
        elif shown := record.get("shown"):
            self.state.shown[shown["path"]] = shown["digest"]
            self.state.known.pop(shown["path"], None)
        elif known := record.get("known"):
            self.state.known[known["path"]] = known["digest"]
        elif record.get("copied"):
            self.state.end_copied()
        elif config := record.get("config"):
            self.state.config.update(config)
        elif intent := record.get("intent"):
            self.state.intents.append(intent_from_json(intent))
        elif change := record.get("change"):
            self.state.contents[change["path"]] = change["after"]
        elif review := record.get("review"):
            self.state.review(review_from_json(review))
        elif positions := record.get("ledger"):
            self.state.set_hunk_positions(hunk_positions_from_json(positions))
        elif isinstance(notice := record.get("notice"), str):
            self.state.notices.append(notice)
        elif isinstance(prompt := record.get("prompt"), str):
            self.state.prompt = prompt
        elif prefix := record.get("prefix"):
            self.state.prefix = prefix_from_json(prefix)
