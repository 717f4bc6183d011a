"""Any interleaving of what a user can do keeps the invariants of a session (L3, L6, L16)."""

from __future__ import annotations

from typing import TypeAlias

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, strategies as st

from agent_ls.environments.effects import CommandEffect
from agent_ls.loop.events.types import (
    ProcessingEnd,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    UserInput,
)
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, ToolResultsTurn, UserTurn
from agent_ls.tools.base import ToolContext, ToolOutput
from tests.support.fake_provider import FakeProvider, Piece, problem_of, text, tool_call
from tests.support.sessions import DEADLINE_S, AnyArguments, running_session, started_and_ended, tool

Move: TypeAlias = tuple[str, int]
MOVES = st.tuples(
    st.sampled_from(["submit", "steer", "follow_up", "unsteer", "interrupt", "nothing"]),
    st.integers(0, 12),  # steps of the event loop to wait before it
)


async def _run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
    context.on_output("stdout", "x")
    for _ in range(3):
        await checkpoint()
    return ToolOutput("ok", exit_code=0)


@pytest.mark.spec("conversation 4.14")
@pytest.mark.req("L3", "L6", "L16")
@given(st.lists(MOVES, min_size=1, max_size=14))
async def test_a_session_keeps_its_invariants_under_any_user_actions(moves: list[Move]) -> None:
    command = tool("shell", _run, category="admin", effect=CommandEffect("make", "/project"))
    answer: list[Piece] = [text("I ", "see."), tool_call("look", id="a"), tool_call("shell", id="b")]
    provider = FakeProvider([answer, text("Done."), answer, answer, text("Well.")])
    sent = 0
    steered: list[str] = []
    async with running_session(provider, tool("look"), command) as b:
        for move, steps in moves:
            for _ in range(steps):
                await checkpoint()
            match move:
                case "submit" | "follow_up":
                    sent += 1
                    (b.session.submit if move == "submit" else b.session.follow_up)(f"m{sent}")
                case "steer":
                    steered.append(b.session.steer(f"s{len(steered)}"))
                case "unsteer" if steered:
                    b.session.unsteer(steered[-1])
                case "interrupt":
                    b.session.interrupt()
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(DEADLINE_S):  # a cancellation on its way out of nested groups counts as blocked
            while b.session.state != "IDLE":
                await checkpoint()
        waiting = len(b.session.queue)
        assert problem_of(b.session.history.messages("p")) == ""
        left = {steer.id for steer in b.session.steering}

    record = b.recorder
    assert [e.seq for e in record.envelopes] == list(range(1, len(record.envelopes) + 1))
    assert {problem_of(request.messages) for request in provider.requests} <= {""}
    starts, ends = started_and_ended(record)
    assert sorted(starts) == sorted(ends)
    assert len(record.of(UserInput)) + waiting == sent
    texts = [turn.content for turn in record.turns if isinstance(turn, UserTurn)]
    assert texts == [event.text for event in record.of(UserInput)]
    injected = [turn.content for turn in record.turns if isinstance(turn, SteeringTurn)]
    assert injected == [event.text for event in record.of(SteeringInjected)]
    assert injected == sorted(injected, key=lambda said: int(said[1:]))
    gone = {event.steer_id for event in record.of(SteeringInjected)}
    gone |= {event.steer_id for event in record.of(SteeringRemoved)}
    assert gone | left == {event.steer_id for event in record.of(SteeringQueued)}
    assert not gone & left
    for before, after in zip(record.turns, record.turns[1:], strict=False):
        if isinstance(before, AssistantTurn) and before.tool_calls:
            assert isinstance(after, ToolResultsTurn)
    states = [kind for kind in record.kinds if kind in ("user_input", "processing_end")]
    assert not states or states[-1] == "processing_end"
    assert all(event.reason in ("completed", "interrupted") for event in record.of(ProcessingEnd))
