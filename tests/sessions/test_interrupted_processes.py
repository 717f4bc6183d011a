"""An interrupt ends the background processes of the interrupted turn on request, and never those of earlier turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.loop.events.types import TerminalExit, TerminalOpen
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import allow, running

pytestmark = pytest.mark.req("T5", "L6")


def start(number: int) -> Piece:
    return tool_call(
        "shell", json.dumps({"command": f"exec sleep {1000 + number}", "background": True}), f"call-{number}"
    )


async def test_ending_an_interrupted_turn_ends_and_reports_only_the_processes_of_that_turn(
    tmp_path: Path,
) -> None:
    wait = tool_call("shell", json.dumps({"command": "exec sleep 1000", "timeout_ms": 600_000}), "call-9")
    script: list[Piece] = [start(1), text("Started."), start(2), wait]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", answers=allow)
        session = talk.live.session
        await talk.say("one")
        session.submit("two")
        await talk.until("terminal_open", 3)
        turn_id = session.turn_id
        session.interrupt()
        session.terminals.end_turn(turn_id)
        await talk.until("terminal_exit", 2)
        ids = {event.terminal_id: event.title for event in talk.of(TerminalOpen)}
        assert {ids[event.terminal_id] for event in talk.of(TerminalExit)} == {
            "exec sleep 1002",
            "exec sleep 1000",
        }
        assert [
            it.exit_code for it in await session.terminals.list_terminals() if it.command.endswith("1001")
        ] == [None]


async def test_ending_the_processes_of_a_turn_ignores_ended_processes_and_unknown_turns(
    tmp_path: Path,
) -> None:
    done = tool_call("shell", json.dumps({"command": "true", "background": True}))
    async with running(tmp_path, [done, text("Done.")]) as rig:
        talk = await rig.talk("full", say="go")
        await talk.until("terminal_exit")
        session = talk.live.session
        for turn_id in (talk.envelopes[-1].turn_id or "t-none", "t-none", talk.of(TerminalOpen)[0].call_id):
            session.terminals.end_turn(turn_id)
        assert len(talk.of(TerminalExit)) == 1
