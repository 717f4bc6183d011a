"""A program stops or steers one subagent, while the turn and its other subagents go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import Gate, text

pytestmark = pytest.mark.req("A1", "A2", "H2")

DEADLINE_S = 120


def ended(events: list[Any]) -> dict[str, tuple[str, str]]:
    return {
        it.task: (it.status, it.reason)
        for it in events
        if isinstance(it, agent_ls.SubagentChanged) and it.status != "running"
    }


@pytest.mark.parametrize("waits", [True, False], ids=["its parent waits", "its parent has ended its text"])
async def test_a_stopped_subagent_ends_alone_and_its_parent_learns_of_it(tmp_path: Path, waits: bool) -> None:
    slow, other = Gate(), Gate()
    last = [wait_for("agent_1"), wait_for("agent_2", "w2")] if waits else [text("I wait.")]
    model: Any = Cast(
        [[spawn("slow", "s1"), spawn("other", "s2")], *last, text("Done.")],
        {"slow": [text("Never", slow)], "other": [text("Other", other)]},
    )
    events: list[Any] = []
    slow_id: list[str] = []
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:

            async def read() -> None:
                async for event in session.run("go"):
                    events.append(event)
                    if isinstance(event, agent_ls.SubagentChanged) and event.task == "slow":
                        slow_id.append(event.agent_id)  # agents start in parallel, in any order

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await slow.reached.wait()
                await other.reached.wait()
                while not slow_id:
                    await anyio.lowlevel.checkpoint()
                session.interrupt(agent_id=slow_id[0])
                with pytest.raises(agent_ls.AppError):
                    session.interrupt(agent_id="agent_7")
                other.open()
    assert ended(events) == {"slow": ("failed", "stopped"), "other": ("completed", "")}
    assert [it.reason for it in events if isinstance(it, agent_ls.ProcessingEnd)] == ["completed"]
    said = str(model.requests[-1].messages)
    assert "stopped" in said and "Other" in said


async def test_a_steered_subagent_reads_the_message_before_its_next_step(tmp_path: Path) -> None:
    gate = Gate()
    model: Any = Cast(
        [spawn("work"), wait_for("agent_1"), text("Done.")],
        {"work": [[gate, call("glob", pattern="*")], text("Faster.")]},
    )
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:

            async def steer() -> None:
                await gate.reached.wait()
                assert session.steer("hurry", agent_id="agent_1")
                gate.open()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(steer)
                assert await session.ask("go") == "Done."
            with pytest.raises(agent_ls.AppError):
                session.steer("more", agent_id="agent_1")
    worker = model.agents["work"].requests
    assert worker[-1].messages[-1].text == "hurry"
    assert all("hurry" not in it.messages[-1].text for it in model.requests)
