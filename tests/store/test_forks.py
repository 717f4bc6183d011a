"""Forks of a log: the records that they copy and leave out, and their end; parts of outputs (H2, E3, R3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.store.errors import UnknownOutputError, UnknownTurnError
from agent_ls.store.forks import fork_log
from agent_ls.store.outputs import read_part


def event(kind: str, turn: str = "", **data: Any) -> dict[str, Any]:
    return {
        "event": {
            "sessionId": "s-1",
            "seq": 0,
            "kind": kind,
            "timestamp": "then",
            "turnId": turn,
            "data": data,
        }
    }


def turn(type_: str) -> dict[str, Any]:
    return {"turn": {"type": type_}}


LOG: list[dict[str, Any]] = [
    {"prompt": "Be good."},
    {"config": {"mode": "ask"}},
    event("session_start"),
    turn("user"),
    event("user_input", "t1", text="one"),
    event("title", title="One"),
    {"intent": {"path": "/w/a"}},
    event("file_change", "t1", path="/w/a", hunks=[{"id": "h1"}]),
    event("tool_call_end", "t1", outputRef="0123456789abcdef"),
    event("steering_queued", "t1", steerId="st1"),
    event("steering_injected", "t1", steerId="st1"),
    event("steering_queued", "t1", steerId="st2"),
    event("queue", "t1", items=[{"queuedId": "q1"}]),
    turn("assistant"),
    turn("user"),
    event("user_input", "t2", text="two", queuedId="q1"),
    turn("assistant"),
    event("processing_end", "t2", reason="completed"),
    event("hunk_state", hunks=[{"id": "h1"}]),
    {"config": {"mode": "edits"}},
    turn("user"),
    event("user_input", "t3", text="three"),
]


def lines(records: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(item).encode() for item in records]


def kinds(made: tuple[bytes, ...]) -> list[str]:
    found = []
    for line in made:
        item = json.loads(line)
        found.append(item["event"]["kind"] if "event" in item else next(iter(item)))
    return found


@pytest.mark.req("H2")
def test_a_fork_contains_only_complete_turns_and_no_records_specific_to_the_source_session() -> None:
    made = fork_log(lines(LOG), "s-2")

    assert kinds(made.lines) == [
        "prompt", "config", "session_start", "turn", "user_input", "file_change", "tool_call_end",
        "steering_queued", "steering_injected", "turn", "turn", "user_input", "turn", "processing_end", "config",
        "copied",
    ]  # fmt: skip
    events = [json.loads(line)["event"] for line in made.lines if b'"event"' in line]
    assert [item["seq"] for item in events] == list(range(1, len(events) + 1))
    assert {item["sessionId"] for item in events} == {"s-2"}
    assert [item["data"]["hunks"] for item in events if item["kind"] == "file_change"] == [[]]
    assert json.loads(made.lines[-2]) == {"config": {"mode": "edits"}}
    assert made.output_refs == ("0123456789abcdef",)


@pytest.mark.req("H2")
def test_a_fork_at_a_turn_before_a_follow_up_ends_with_a_processing_end_event() -> None:
    made = fork_log(lines(LOG), "s-2", "t1")

    assert kinds(made.lines)[-5:] == ["turn", "config", "state", "processing_end", "copied"]
    assert json.loads(made.lines[-2])["event"]["turnId"] == "t1"
    assert b'"two"' not in b"".join(made.lines)


@pytest.mark.parametrize("at_turn", ["t3", "t9"])
def test_a_fork_at_a_running_or_unknown_turn_is_refused(at_turn: str) -> None:
    with pytest.raises(UnknownTurnError, match=at_turn):
        fork_log(lines(LOG), "s-2", at_turn)
    with pytest.raises(UnknownTurnError, match="yet"):
        fork_log(lines(LOG[:6]), "s-2")


@pytest.mark.req("R3")
def test_damaged_lines_do_not_keep_a_session_from_being_forked() -> None:
    damaged = [b"{", b"[]", b'{"event":null}', b'{"event":{"kind":"x"}}', b"\xff", b"7"]

    assert fork_log([*damaged, *lines(LOG), *damaged], "s-2") == fork_log(lines(LOG), "s-2")


@pytest.mark.req("E3")
def test_an_output_is_read_in_parts_of_code_points(tmp_path: Path) -> None:
    text = "aß😋" * 500_000
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "0123456789abcdef.txt").write_text(text, "utf-8")

    middle = read_part(tmp_path, "0123456789abcdef", 1_000_001, 4)
    assert (middle.text, middle.total_chars, middle.next_offset) == (
        text[1_000_001:1_000_005],
        1_500_000,
        1_000_005,
    )
    last = read_part(tmp_path, "0123456789abcdef", 1_499_999, 10)
    assert (last.text, last.next_offset) == ("😋", None)
    beyond = read_part(tmp_path, "0123456789abcdef", 2_000_000, 10)
    assert (beyond.text, beyond.next_offset) == ("", None)


@pytest.mark.req("E3")
@pytest.mark.parametrize("ref", ["fedcba9876543210", "../log", "", "event-0", "event-99", "event-1"])
def test_an_unknown_output_reference_is_an_error(tmp_path: Path, ref: str) -> None:
    (tmp_path / "log.jsonl").write_bytes(
        b"".join(line + b"\n" for line in [b"{}", json.dumps({**event("x")}).encode()])
    )
    with pytest.raises(UnknownOutputError):
        read_part(tmp_path, ref, 0, 10)
