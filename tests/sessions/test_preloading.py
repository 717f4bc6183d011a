"""Preloading works in small steps, because the user's first turn may run at the same time."""

from __future__ import annotations

import itertools

import anyio
import pytest
from anyio.lowlevel import checkpoint

from agent_ls.llm.client import Client
from agent_ls.loop.events import codec
from agent_ls.loop.events.types import State
from agent_ls.services.models.warm_up import warm_up
from agent_ls.sessions.quiet import CHECK_S, PATIENCE_S, QUIET_MS, QuietTime
from tests.support.fake_clock import FakeClock


async def test_preloading_yields_to_the_event_loop_between_building_event_validators() -> None:
    codec._adapters.clear()
    seen = [0]

    async def watch() -> None:
        while True:
            seen.append(len(codec.built_kinds()))
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await warm_up(Client({}), "anthropic", "", checkpoint)
        tasks.cancel_scope.cancel()

    built = len(codec.built_kinds())
    assert built == len(list(codec.builders()))
    assert built > 30
    # Two steps can end between two checkpoints of `watch`.
    assert max(later - earlier for earlier, later in itertools.pairwise(seen)) <= 2


async def test_no_step_of_preloading_begins_while_a_session_works() -> None:
    codec._adapters.clear()
    clock = FakeClock()
    session: tuple[State, int] = ("IDLE", 0)
    quiet = QuietTime(lambda: [session], clock)
    turns = 0

    async def until_quiet() -> None:
        nonlocal session, turns
        built = len(codec.built_kinds())
        if built in (3, 20) and session[0] == "IDLE":  # a turn begins after some steps
            session, turns = ("PROCESSING", session[1] + 5), turns + 1
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(quiet.wait)
            for _ in range(10):
                await anyio.wait_all_tasks_blocked()
                if session[0] == "PROCESSING":
                    session = "PROCESSING", session[1] + 1
                clock.advance(CHECK_S)
            if session[0] == "PROCESSING":
                assert len(codec.built_kinds()) == built
                session = "IDLE", session[1] + 1
            for _ in range(10):
                await anyio.wait_all_tasks_blocked()
                clock.advance(CHECK_S)

    await warm_up(Client({}), "anthropic", "", until_quiet)
    assert turns == 2 and len(codec.built_kinds()) == len(list(codec.builders()))


@pytest.mark.parametrize(
    ("sessions", "checks"),
    [
        ([], 0),
        ([("IDLE", 0)], 0),
        ([("AWAITING_INPUT", 7)], QUIET_MS / 1000 / CHECK_S),
        ([("IDLE", 7), ("PROCESSING", 3)], QUIET_MS / 1000 / CHECK_S),
    ],
)
async def test_background_work_waits_for_sessions_that_worked_but_not_without_end(
    sessions: list[tuple[State, int]], checks: float
) -> None:
    clock = FakeClock()
    quiet = QuietTime(lambda: sessions, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(quiet.wait)
        for _ in range(round(PATIENCE_S / CHECK_S) + 5):
            await anyio.wait_all_tasks_blocked()
            clock.advance(CHECK_S)
    assert len(clock.slept_s) == pytest.approx(checks, abs=1)
    with anyio.fail_after(60):
        await quiet.wait()
