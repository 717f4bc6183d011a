"""The progress of a session is read from the end of its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.store.progress import StoredProgress, read_progress

pytestmark = pytest.mark.req("H23")


def log(path: Path, *events: tuple[str, dict[str, Any]]) -> Path:
    lines = [
        json.dumps(
            {"event": {"sessionId": "s1", "seq": seq, "kind": kind, "data": data}}, separators=(",", ":")
        )
        for seq, (kind, data) in enumerate(events, 1)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


WORKING = ("state", {"state": "PROCESSING"})
ASKED = ("approval_requested", {"requestId": "a1", "summary": 'a "kind":"state" of text'})
ANSWERED = ("approval_resolved", {"requestId": "a1", "decision": "allow"})


@pytest.mark.parametrize(
    ("events", "progress"),
    [
        ([], StoredProgress("idle")),
        ([WORKING], StoredProgress("working")),
        ([WORKING, ASKED], StoredProgress("waiting")),
        ([WORKING, ASKED, ANSWERED], StoredProgress("working")),
        ([WORKING, ("question_asked", {"questionId": "q1"})], StoredProgress("waiting")),
        ([WORKING, ("state", {"state": "AWAITING_INPUT"})], StoredProgress("waiting")),
        ([WORKING, ASKED, ("processing_end", {"reason": "interrupted"})], StoredProgress("idle")),
        ([ASKED], StoredProgress("waiting")),
        (
            [WORKING, ("usage", {"totalCostUsd": 0.25}), ("state", {"state": "IDLE"})],
            StoredProgress("idle", 0.25),
        ),
        ([WORKING, ("processing_end", {"reason": "completed"})], StoredProgress("idle")),
    ],
)
def test_session_progress_is_read_from_the_last_events_of_the_log(
    tmp_path: Path, events: list[tuple[str, dict[str, Any]]], progress: StoredProgress
) -> None:
    assert read_progress(log(tmp_path / "log.jsonl", *events)) == progress


def test_a_session_with_an_unreadable_log_counts_as_idle(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "none") == StoredProgress("idle")
