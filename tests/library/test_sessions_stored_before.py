"""A session that version 0.1 stored in November 2026 can be opened. The test writes its log in the format of that
version.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.store.layout import Layout
from tests.support.fake_provider import FakeProvider, text

BEFORE, AFTER = b"one\ntwo\nthree\n", b"one\nTWO\nthree\n"
SESSION, TURN, CALL, HUNK = "s-c8cdb410d6a547c9", "t-e34c9c00da3142e7", "call_0~2", "h118a6bfd59de"
TIME = "2026-11-23T03:50:31.000Z"
TOKENS = {
    "input_tokens": 10, "output_tokens": 5, "reasoning_tokens": None, "cache_read_tokens": None,
    "cache_write_tokens": None, "reported_cost_usd": None,
}  # fmt: skip
WIRE_TOKENS = {
    "inputTokens": 10, "outputTokens": 5, "reasoningTokens": None, "cacheReadTokens": None, "cacheWriteTokens": None,
    "reportedCostUsd": None,
}  # fmt: skip
ARGUMENTS = '{"file_path": "a.txt", "old_string": "two\\n", "new_string": "TWO\\n"}'


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def answer(*parts: dict[str, Any], finish: str) -> dict[str, Any]:
    return {
        "turn": {
            "type": "assistant", "timestamp": TIME, "parts": parts, "usage": TOKENS, "responseId": "r1",
            "provider": "anthropic", "model": "claude-sonnet-5-5", "finish": {"kind": finish, "raw": finish},
        }
    }  # fmt: skip


def records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a log with one turn: the model edited a file, and its change is pending."""
    path, seq = str(folder / "a.txt"), iter(range(1, 99))
    contents = {"before": digest(BEFORE), "after": digest(AFTER)}
    change = {"path": path, "callId": CALL, "turnId": TURN, **contents}
    hunk = {
        "id": HUNK, "sessionId": SESSION, "turnId": TURN, "callId": CALL, "path": path, "what": "content",
        "state": "pending", "baseStart": 1, "baseEnd": 2, "start": 1, "end": 2, "baseLines": ["two\n"],
        "lines": ["TWO\n"], "link": "", "laterTurns": [],
    }  # fmt: skip

    def event(kind: str, /, **data: Any) -> dict[str, Any]:
        head = {"sessionId": SESSION, "seq": next(seq), "kind": kind, "timestamp": TIME, "turnId": TURN}
        return {"event": {**head, "data": data}}

    return [
        {
            "format": 1, "sessionId": SESSION, "created": TIME, "workspaceFolder": str(folder), "provider": "anthropic",
            "model": "claude-sonnet-5-5", "title": "",
        },
        {
            "config": {
                "provider": "anthropic", "model": "claude-sonnet-5-5", "effort": None, "mode": "full",
                "review": "after", "limits": {},
            }
        },
        event(
            "session_start", provider="anthropic", model="claude-sonnet-5-5", workingDirectory=str(folder),
            resumed=False, isWalkthrough=False,
        ),
        event("state", state="PROCESSING"),
        {"turn": {"type": "user", "timestamp": TIME, "content": "Change it.", "images": []}},
        event("user_input", text="Change it.", clientKey="", queuedId=""),
        event("title", title="Change it."),
        {"prompt": "You are agent-ls, a coding agent working inside the user's editor."},
        {
            "prefix": {
                "tools": [{"name": "edit_file", "description": "Edit a file.", "parameters": {"type": "object"}}],
                "provider": "anthropic", "model": "claude-sonnet-5-5", "instructions": "", "documents": "",
                "documentsChars": 0,
            }
        },
        answer({"type": "tool_call", "id": "call_0", "name": "edit_file", "arguments": ARGUMENTS}, finish="tool_calls"),
        event(
            "usage", call=WIRE_TOKENS, total=WIRE_TOKENS, contextTokens=1225, contextWindowTokens=1000000,
            callCostUsd=7e-05, totalCostUsd=7e-05,
            context={"system": 523, "tools": 699, "documents": 0, "history": 3, "toolOutput": 0}, calibration=0.25,
            durationMs=0, firstOutputMs=0,
        ),
        event("tool_call_start", callId=CALL, index=0, name="edit_file", arguments=ARGUMENTS, summary="a.txt"),
        {"intent": {**change, "preimage": digest(BEFORE), "pid": 19180}},
        event(
            "file_change", callId=CALL, path=path, action="modify", added=1, removed=1,
            diff="--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", hunks=[hunk],
        ),
        {"ledger": {"path": path, "text": digest(AFTER), "places": {HUNK: [1, 2, 1, 2]}}},
        {"change": change},
        {"shown": {"path": path, "digest": digest(AFTER)}},
        event(
            "tool_call_end", callId=CALL, name="edit_file", output="Edited a.txt: 1 replacement, line 2.",
            summary="Edited a.txt: 1 replacement, line 2.", isError=False, errorKind="", durationMs=7, outputChars=36,
            outputRef="", exitCode=None, modelChars=36,
        ),
        {
            "turn": {
                "type": "tool_results", "timestamp": TIME,
                "results": [
                    {
                        "type": "tool_result", "id": "call_0", "name": "edit_file",
                        "content": "Edited a.txt: 1 replacement, line 2.", "isError": False, "images": [],
                    }
                ],
            }
        },
        event("assistant_text_start", partId="p-f3188554345945d4"),
        event("assistant_text_end", partId="p-f3188554345945d4", text="Changed.", interrupted=False),
        answer({"type": "text", "text": "Changed."}, finish="stop"),
        event("state", state="IDLE"),
        event("processing_end", reason="completed"),
        event("state", state="CLOSED"),
        event("session_end", state="CLOSED", reason="completed"),
    ]  # fmt: skip


def stored(state: Path, folder: Path) -> None:
    """Write the stored session as version 0.1 left it, with the file that it changed."""
    folder.mkdir()
    (folder / "a.txt").write_bytes(AFTER)
    layout = Layout(state)
    layout.describe_workspace(str(folder))
    place = layout.session_folder(str(folder), SESSION)
    (place / "blobs").mkdir(parents=True)
    for data in (BEFORE, AFTER):
        (place / "blobs" / digest(data)).write_bytes(data)
    (place / "title").write_text("Change it.", encoding="utf-8")
    lines = (json.dumps(record, separators=(",", ":")) for record in records(folder))
    (place / "log.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.mark.req("R7")
async def test_a_session_stored_by_version_0_1_continues_with_its_history_and_hunks(tmp_path: Path) -> None:
    folder, model = tmp_path / "project", FakeProvider([text("Again.")])
    stored(tmp_path / "state", folder)
    given = {"state_dir": tmp_path / "state", "adapters": {"anthropic": model}, "trusted": True}
    async with agent_ls.open_session(folder, mode="full", resume=SESSION, **given) as session:  # type: ignore[arg-type]
        (hunk,) = session.hunks()[str(folder / "a.txt")]
        assert (hunk.id, hunk.state, hunk.base_lines, hunk.lines) == (HUNK, "pending", ("two\n",), ("TWO\n",))
        (record,) = await session.calls()
        assert record.name == "edit_file"
        assert session.usage.input_tokens == 20

        assert await session.ask("And now?") == "Again."
        sent = model.requests[-1].messages
        assert [message.text for message in sent if message.text][1:] == [
            "Change it.",
            "Changed.",
            "And now?",
        ]
        assert any("Edited a.txt: 1 replacement" in str(message.parts) for message in sent)

        assert await session.review("undo") == []
        assert (folder / "a.txt").read_bytes() == BEFORE
