"""Stop a real session at every await point: parallel tools, a subagent, commands, files, the log (L16, R2).

Each call has one result, a provider accepts the conversation, and no agent, task, process, file descriptor or
lock is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.loop.events.types import ProcessingEnd, SessionEnd, SubagentChanged, ToolCallEnd, ToolCallStart
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn, Turn
from agent_ls.store.reader import read_session
from agent_ls.store.recovery import recover
from tests.durability.steps import Steps, counted_steps
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import Piece, problem_of, reasoning, text, tool_call
from tests.support.processes import eventually, new_token, processes_with, zombies_of_ours
from tests.support.session_rig import DEADLINE_S, Talk, running

SEED, SHARE = 6, 4  # points per kind of stop; the sweep takes all
IDLE_STEPS = 150
"""The most await points from a stop to IDLE if no command runs, because only records are written."""


@dataclass(frozen=True)
class Stop:
    """A kind of stop. `how` stops the session. `lives`: the session accepts another message afterwards."""

    name: str
    how: Callable[[Talk], object]
    lives: bool


STOPS = (
    Stop("interrupt", lambda talk: talk.live.session.interrupt(), lives=True),
    Stop("abort", lambda talk: talk.live.session.abort(), lives=False),
)


def cast(token: str) -> Cast:
    """Return scripts for the main agent and for a subagent, which works next to the main agent's command."""
    own: list[Piece] = [
        text("I ", "count."),
        tool_call("grep", json.dumps({"pattern": "o"}), "c1"),
        tool_call("read_file", json.dumps({"file_path": "a.txt"}), "c2"),
    ]
    return Cast(script(token), {"count": [own, [reasoning("Two."), text("There are ", "two.")]]})


def script(token: str) -> list[list[Piece]]:
    command = {"command": f"echo half; sleep 0.02; echo {token} >/dev/null"}
    server = {"command": f"echo {token} up; sleep 60", "background": True}
    return [
        [
            reasoning("First ", "this."),
            text("I ", "look."),
            tool_call("read_file", json.dumps({"file_path": "a.txt"}), "c1"),
            tool_call("grep", json.dumps({"pattern": "two"}), "c2"),
            tool_call("read_file", json.dumps({"file_path": "missing.txt"}), "c3"),
            spawn("count the lines", "a1"),
            tool_call("shell", json.dumps(command), "c4"),
            tool_call("write_file", json.dumps({"file_path": "b.txt", "content": "b\n"}), "c5"),
        ],
        [
            tool_call("shell", json.dumps(server), "c6"),
            tool_call("glob", '{"pattern": "*.txt"}', "c7"),
            wait_for("agent_1", "a2"),
        ],
        [text("Done.")],
    ]


def prepare(root: Path) -> None:
    (root / "project").mkdir(parents=True)
    (root / "project" / "a.txt").write_text("one\ntwo\n")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def played(root: Path, at: int, stop: Stop) -> Steps:
    """Stop at the await point `at` (0: never) and check the invariants."""
    token = new_token()
    prepare(root)
    tasks, files, others = len(asyncio.all_tasks()), open_files(), zombies_of_ours()
    idle_at: list[int] = []
    with counted_steps() as steps:
        async with running(root, model=cast(token)) as rig:
            talk = await rig.talk("full")
            steps.arm(at, lambda: stop.how(talk))
            with anyio.fail_after(DEADLINE_S), talk.live.session.subscribe() as events:
                talk.live.session.submit("go")
                async for item in events:
                    if isinstance(item.envelope.event, ProcessingEnd):
                        break
            idle_at.append(steps.count)
            steps.disarm()
            check(talk)
            if not at:
                assert [event.status for event in talk.of(SubagentChanged)] == ["running", "completed"]
                assert len(talk.of(ToolCallEnd)) == 11
            if steps.count < at:
                return steps  # the run had fewer await points than the counted one, so it was not stopped
            if at and stop.lives:
                assert talk.live.session.state == "IDLE"
                await talk.say("and now?")
                assert problem_of(rig.model.requests[-1].messages) == ""
            elif at:
                await talk.live.ended.wait()
                assert isinstance(talk.envelopes[-1].event, SessionEnd)
            assert rig.model.open_streams == 0
            for agent in rig.model.agents.values():
                assert not [why for it in agent.requests if (why := problem_of(it.messages))]
        ran = any(
            end.exit_code is not None or end.error_kind == "interrupted" for end in talk.of(ToolCallEnd)
        )
        if at and not ran:
            assert idle_at[0] - at < IDLE_STEPS
    await eventually(lambda: not processes_with(token))
    await eventually(lambda: zombies_of_ours() <= others)
    assert len(asyncio.all_tasks()) == tasks
    assert open_files() <= files
    async with running(root, state=root / "state") as rig:  # the lock is free and the log complete
        await anyio.to_thread.run_sync(check_agents, talk.live.folder / "log.jsonl")
        again = await rig.reopen(talk.session_id)
        check(again)
        await again.say("still there?")
        assert problem_of(rig.model.requests[-1].messages) == ""
    return steps


def check(talk: Talk) -> None:
    starts = [event.call_id for event in talk.of(ToolCallStart)]
    ends = [event.call_id for event in talk.of(ToolCallEnd)]
    assert sorted(starts) == sorted(ends) and len(set(starts)) == len(starts)
    agents = [event.status for event in talk.of(SubagentChanged)]
    assert agents in ([], ["running", "completed"], ["running", "failed"])
    asked = paired(talk.live.session.history.turns)
    # A call that started early in an interrupted answer has no entry in the history.
    assert len(starts) >= len(asked)
    assert problem_of(talk.live.session.history.messages("p")) == ""


def paired(turns: Sequence[Turn]) -> list[str]:
    """Return the calls of a history in order; check that each has one result."""
    asked = [call.id for turn in turns if isinstance(turn, AssistantTurn) for call in turn.tool_calls]
    given = [
        part.tool_call_id for turn in turns if isinstance(turn, ToolResultsTurn) for part in turn.results
    ]
    assert asked == given
    return asked


def check_agents(log: Path) -> None:
    """Check that every started subagent has an end event and a complete history."""
    for agent in recover(read_session(log), "2026-01-02T03:04:05.678Z").agents:
        assert agent.changed.status != "running"
        paired(agent.turns)


def points(steps: int, seed: int) -> list[int]:
    if os.environ.get("AGENT_LS_SWEEPS") == "whole":
        return list(range(1, steps + 1))
    return sorted(random.Random(seed).sample(range(1, steps + 1), SHARE))


@pytest.mark.spec("loop 9.1.6", "conversation 4.12", "safety S5.8")
@pytest.mark.req("L16", "R2", "L8")
@pytest.mark.sweep
@pytest.mark.timeout(1800 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 300)
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
async def test_a_stop_at_any_await_point_leaves_no_open_tool_call_process_file_or_lock(
    stop: Stop, tmp_path: Path
) -> None:
    whole = await played(tmp_path / "whole", 0, stop)
    await played(tmp_path / "again", 0, stop)  # opens the files that a process opens only once
    assert whole.count > 100
    for at in points(whole.count, SEED + STOPS.index(stop)):
        try:
            await played(tmp_path / str(at), at, stop)
        except BaseException as error:
            error.add_note(f"stopped at await point {at} of about {whole.count}")
            raise
