"""Reduce events to items: the events that start and complete each kind of item (H3)."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from agent_ls.loop.events import items
from agent_ls.loop.events.items import OUTPUT_SHARE_CHARS, ItemReducer, to_json
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    Error,
    FileChange,
    LoopDetection,
    ProcessingEnd,
    ReasoningEnd,
    ReasoningStart,
    RecordedEvent,
    Retry,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    TerminalOpen,
    ToolCallEnd,
    ToolCallStart,
    TurnLimit,
    UserInput,
    Warning,
)

HEAD = {"turnId": "t-1", "timestamp": "now"}
CALL = ToolCallStart("c1", 0, "shell", '{"command":"ls"}', "ls")
REQUEST = ApprovalRequested("a1", "c1", "shell", "ls", "commands are asked about", {"type": "X"}, "d")


def ended(output: str = "out", *, is_error: bool = False, output_ref: str = "") -> ToolCallEnd:
    return ToolCallEnd("c1", "shell", output, "exit 0", is_error, "", 5, len(output), output_ref, 0)


def changed(path: str, action: Any, added: int, removed: int) -> FileChange:
    return FileChange("c1", path, action, added, removed, "")


def fold(*events: RecordedEvent | Delta) -> list[dict[str, Any]]:
    reducer = ItemReducer()
    seq = 0
    for event in events:
        seq += not isinstance(event, Delta)
        reducer.add(Envelope("s", None if isinstance(event, Delta) else seq, "now", event, "t-1"))
    return [to_json(item) for item in reducer.items]


def one(*events: RecordedEvent | Delta) -> dict[str, Any]:
    (item,) = fold(*events)
    assert {name: item.pop(name) for name in HEAD} == HEAD
    assert (item.pop("id"), item.pop("seq")) == ("i1", 1)
    return item


def test_user_inputs_retries_warnings_and_errors_are_separate_items() -> None:
    assert one(UserInput("hi", "key")) == {"kind": "user", "text": "hi"}
    assert one(Retry(2, 500, "overloaded", "Busy.")) == {
        "kind": "retry", "attempt": 2, "delayMs": 500, "text": "Busy.",
    }  # fmt: skip
    assert one(Warning("Careful.", "context")) == {"kind": "notice", "level": "warn", "text": "Careful."}
    assert one(LoopDetection("Again.")) == {"kind": "notice", "level": "warn", "text": "Again."}
    assert one(TurnLimit("rounds", 3, "Enough.")) == {"kind": "notice", "level": "info", "text": "Enough."}
    error = {"kind": "notice", "level": "error", "text": "No key.", "hint": "Set one."}
    assert one(Error("No key.", "authentication", "Set one.")) == error


@pytest.mark.parametrize(
    ("end", "status"),
    [(None, "waiting"), (SteeringInjected("st1", "left"), "injected"), (SteeringRemoved("st1"), "removed")],
)
def test_a_steer_is_waiting_until_it_is_injected_or_withdrawn(end: RecordedEvent | None, status: str) -> None:
    item = one(SteeringQueued("st1", "left"), *([end] if end else []))

    assert item == {"kind": "steer", "steerId": "st1", "text": "left", "status": status}


@pytest.mark.req("E2")
@pytest.mark.parametrize(
    ("start", "end", "kind"),
    [(AssistantTextStart, AssistantTextEnd, "text"), (ReasoningStart, ReasoningEnd, "reasoning")],
)
def test_a_text_item_grows_with_deltas_and_its_end_event_replaces_the_text(
    start: Any, end: Any, kind: str
) -> None:
    open_ = {"kind": kind, "partId": "p1", "text": "", "interrupted": False}
    deltas = [
        Delta("assistant_text_delta", "p1", 0, "Hel"),
        Delta("assistant_text_delta", "p1", 3, "lo"),
    ]

    assert one(start("p1")) == open_
    assert one(start("p1"), *deltas) == {**open_, "text": "Hello"}
    assert one(start("p1"), *deltas, end("p1", "Hello.")) == {**open_, "text": "Hello."}
    assert one(start("p1"), end("p1", "He", True)) == {**open_, "text": "He", "interrupted": True}


def test_a_tool_call_item_is_running_until_its_end_event_and_names_its_terminal() -> None:
    running = {
        "kind": "tool", "callId": "c1", "name": "shell", "summary": "ls", "arguments": '{"command":"ls"}',
        "status": "running",
    }  # fmt: skip
    terminal = {"terminalId": "c1", "background": False}

    assert one(CALL) == running
    assert one(CALL, TerminalOpen("c1", "c1", "ls")) == {**running, **terminal}
    done = one(CALL, TerminalOpen("c1", "c1", "ls"), ended())
    assert (done["status"], done["result"]["output"], done["result"]["exitCode"]) == ("done", "out", 0)
    assert done.items() >= terminal.items()
    assert one(CALL, ended(is_error=True))["status"] == "failed"


@pytest.mark.req("E3")
def test_a_long_output_is_cut_and_has_a_reference_to_the_complete_one() -> None:
    whole = "a" * OUTPUT_SHARE_CHARS + "middle" + "z" * OUTPUT_SHARE_CHARS

    result = one(CALL, ended(whole))["result"]
    assert result["output"] == (
        "a" * OUTPUT_SHARE_CHARS + "\n[... 6 characters ...]\n" + "z" * OUTPUT_SHARE_CHARS
    )
    assert result["outputRef"] == "event-2"
    assert one(CALL, ended(whole, output_ref="0123456789abcdef"))["result"]["outputRef"] == "0123456789abcdef"
    assert one(CALL, ended("a" * 2 * OUTPUT_SHARE_CHARS))["result"]["outputRef"] == ""


def test_an_approval_is_pending_until_it_is_decided() -> None:
    pending = one(REQUEST)
    assert (pending["status"], pending["request"]["requestId"]) == ("pending", "a1")
    assert "decidedBy" not in pending

    decided = one(REQUEST, ApprovalResolved("a1", "deny", "once", "c-1", "not now"))
    assert {name: decided[name] for name in ("status", "reason", "scope", "decidedBy")} == {
        "status": "deny", "reason": "not now", "scope": "once", "decidedBy": "c-1",
    }  # fmt: skip


def test_the_end_item_lists_the_files_changed_in_its_turn() -> None:
    items = fold(
        changed("/w/old", "modify", 9, 9),
        ProcessingEnd("completed"),
        changed("/w/new", "create", 3, 0),
        changed("/w/new", "modify", 1, 2),
        changed("/w/gone", "modify", 1, 1),
        changed("/w/gone", "delete", 0, 5),
        ProcessingEnd("interrupted"),
    )

    assert items[0] == {
        **HEAD, "id": "i1", "seq": 1, "kind": "file", "callId": "c1", "path": "/w/old", "action": "modify",
        "added": 9, "removed": 9, "diff": "", "hunks": [], "copyOf": "",
    }  # fmt: skip
    assert [file["path"] for file in items[1]["files"]] == ["/w/old"]
    assert items[-1]["reason"] == "interrupted"
    assert items[-1]["files"] == [
        {"path": "/w/new", "action": "create", "added": 4, "removed": 2},
        {"path": "/w/gone", "action": "delete", "added": 1, "removed": 6},
    ]


def test_items_without_an_end_in_a_damaged_log_end_with_their_turn_except_steers() -> None:
    items = fold(
        AssistantTextStart("p"), CALL, REQUEST, SteeringQueued("st", "x"), ProcessingEnd("interrupted")
    )

    assert [(item["kind"], item.get("status")) for item in items] == [
        ("text", None),
        ("tool", "failed"),
        ("approval", "deny"),
        ("steer", "waiting"),
        ("end", None),
    ]
    assert items[0]["interrupted"]


def test_end_events_of_unknown_items_are_ignored() -> None:
    resolved = ApprovalResolved("a0", "allow", "once", "c")
    items = fold(
        AssistantTextEnd("p0", "x"), ended(), resolved, SteeringInjected("s0", "x"), UserInput("here")
    )

    assert [item["kind"] for item in items] == ["user"]


def test_every_class_of_item_has_a_kind_of_its_own() -> None:
    kinds = [body.kind for body in get_args(items.Body) if body is not items.SaidItem]

    assert sorted(kinds) == [
        "approval",
        "end",
        "file",
        "notice",
        "question",
        "retry",
        "reverted",
        "steer",
        "subagent",
        "tool",
        "user",
    ]
