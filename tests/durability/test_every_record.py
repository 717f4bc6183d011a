"""Cut the log of a long run after each record, as kill -9 would: complete records are restored, and each call has one
result.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

import anyio.to_thread
import pytest

from agent_ls.llm.messages import Role
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn
from agent_ls.store.reader import read_session
from agent_ls.store.recovery import recover
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import running

NOW = "2026-01-02T03:04:05.678Z"
TURNS, POINTS = 24, 300
SHARE = 17  # outside the sweep, every 17th point is tried; 17 does not divide the number of records in a turn


def long_script() -> list[Piece | list[Piece]]:
    numbers = count()
    script: list[Piece | list[Piece]] = []
    for turn in range(TURNS):
        read = tool_call("read_file", json.dumps({"file_path": "a.txt"}), f"c{next(numbers)}")
        old, new = f"{turn}\n", f"{turn + 1}\n"
        edit = {"file_path": "a.txt", "old_string": old, "new_string": new}
        script += [
            [text("I look."), read],
            tool_call("edit_file", json.dumps(edit), f"c{next(numbers)}"),
            text("Done."),
        ]
    return script


def check(log: Path, lines: list[bytes], cut: int) -> None:
    """Cut the log in the middle of the line after line `cut`, as a killed process leaves it; check the restored
    session.
    """
    log.write_bytes(b"".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
    stored = read_session(log)
    whole = [json.loads(line)["event"]["seq"] for line in lines[:cut] if line.startswith(b'{"event"')]
    assert [event.seq for event in stored.events] == whole
    assert len(stored.problems) == 1 and "incomplete" in stored.problems[0]
    restored = recover(stored, NOW)
    turns = [*restored.turns, *restored.settlement.turns]
    calls = [it.id for turn in turns if isinstance(turn, AssistantTurn) for it in turn.tool_calls]
    results = [it.tool_call_id for turn in turns if isinstance(turn, ToolResultsTurn) for it in turn.results]
    assert results == calls
    told = [message for message in ConversationHistory(turns).messages("") if message.role is Role.TOOL]
    assert sum(len(message.parts) for message in told) == len(calls)


@pytest.mark.req("R3", "R4")
@pytest.mark.sweep
async def test_a_session_log_that_ends_after_any_record_is_restored_up_to_that_record(tmp_path: Path) -> None:
    async with running(tmp_path, long_script()) as rig:
        (rig.folder / "a.txt").write_text("0\n")
        talk = await rig.talk(mode="full")
        for turn in range(TURNS):
            await talk.say(f"turn {turn}")
        log = talk.live.folder / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
    assert (tmp_path / "project" / "a.txt").read_text() == f"{TURNS}\n"
    assert len(lines) > POINTS
    step = 1 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else SHARE
    cuts = range(1, len(lines) - 1, step)

    def sweep() -> None:
        for cut in cuts:
            check(tmp_path / "cut.jsonl", lines, cut)

    await anyio.to_thread.run_sync(sweep)
