"""File records of a log next to its events, and how a file is recognised later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Envelope, FileChange, RecordedEvent, ToolCallEnd
from agent_ls.loop.turns import SteeringTurn
from agent_ls.store.journal import NO_FILE, HunkPositions, Intent, fingerprint, text_fingerprint
from agent_ls.store.log import Header, SessionLog
from agent_ls.store.reader import StoredSession, read_session
from agent_ls.store.recorder import StoreRecorder

pytestmark = pytest.mark.req("R3", "H6")

ONE = Intent("/w/a", "c1", "t1", "before", "after", "blob", pid=7)
TWO = Intent("/w/b", "c1", "t1", NO_FILE, "after")
OTHER = Intent("/w/c", "c2", "t1", "before", NO_FILE)


class Written:
    """A log that a test writes and reads. `event` numbers the events."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log.jsonl"
        log = SessionLog.create(self._path, Header("s-1", "now", "/w", "fake", "m"), _fail)
        self.recorder = StoreRecorder(log, folder / "outputs", _fail)
        self._seq = 0

    def event(self, event: RecordedEvent) -> None:
        self._seq += 1
        envelope = Envelope("s-1", self._seq, "now", event, "t1")
        self.recorder.event(envelope, event_codec.encode(envelope))

    def append(self, line: object) -> None:
        with self._path.open("ab") as log:
            log.write(json.dumps(line).encode() + b"\n")

    def read(self) -> StoredSession:
        return read_session(self._path)


def _fail(error: OSError) -> None:
    pytest.fail(str(error))


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def _end(call_id: str) -> ToolCallEnd:
    return ToolCallEnd(call_id, "edit_file", "", "", False, "", 0, 0)


def test_write_intents_are_pending_until_their_tool_call_has_ended(written: Written) -> None:
    written.recorder.intents([ONE, TWO])
    written.recorder.intents([OTHER])
    written.event(FileChange("c1", "/w/a", "modify", 1, 1, ""))
    state = written.read().state
    assert (state.intents, state.filed) == ([ONE, TWO, OTHER], {("c1", "/w/a")})
    written.event(_end("c1"))
    state = written.read().state
    assert (state.intents, state.filed) == ([OTHER], set())


def test_the_last_recorded_hunk_positions_of_each_file_are_restored(written: Written) -> None:
    last = HunkPositions("/w/a", "two", {"h1": (0, 1, 0, 2), "h2": (5, 5, 6, 7)})
    for positions in (
        HunkPositions("/w/a", "one", {"h1": (0, 1, 0, 1)}),
        HunkPositions("/w/b", "x", {}),
        last,
    ):
        written.recorder.ledger(positions)
    assert written.read().state.hunk_positions == {"/w/a": last, "/w/b": HunkPositions("/w/b", "x", {})}


def test_model_notices_are_pending_until_a_steering_turn_contains_their_text(written: Written) -> None:
    for text in ("kept", "undone", "undone"):
        written.recorder.notice(text)
    written.recorder.turn(SteeringTurn("undone", "now", source="review"))
    written.recorder.turn(SteeringTurn("kept", "now", source="user"))
    assert written.read().state.notices == ["kept", "undone"]


@pytest.mark.parametrize(
    "line",
    [
        {"intent": {"path": "/w/a"}},
        {"intent": "x"},
        {"ledger": {"path": "/w/a", "text": "", "places": {"h": [1, 2]}}},
        {"ledger": {"path": "/w/a", "text": "", "places": {"h": ["a", 2, 3, 4]}}},
        {"ledger": [1]},
        {"notice": {}},
        {"of a later version": 1},
    ],
)
def test_incomplete_records_are_skipped(line: object, written: Written) -> None:
    written.append(line)
    state = written.read().state
    assert (state.intents, state.hunk_positions, state.notices) == ([], {}, [])


def test_a_text_has_the_same_fingerprint_in_every_unicode_encoding() -> None:
    text = "é 😋\r\n"
    same = [text.encode(), b"\xef\xbb\xbf" + text.encode(), b"\xff\xfe" + text.encode("utf-16-le")]
    assert {fingerprint(data) for data in same} == {text_fingerprint(text)}
    others = [None, b"", b"\0", b"\0\0", text.encode("latin-1", "ignore"), b"\xe9"]
    prints = [fingerprint(data) for data in others]
    assert prints[0] == NO_FILE
    assert len({*prints, text_fingerprint(text)}) == len(others) + 1
