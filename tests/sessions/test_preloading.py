"""Preloading works in small steps, because the user's first turn may run at the same time."""

from __future__ import annotations

import itertools

import anyio

from agent_ls.llm.client import Client
from agent_ls.loop.events import codec
from agent_ls.services.models.warm_up import warm_up


async def test_preloading_yields_to_the_event_loop_between_building_event_validators() -> None:
    codec._adapter.cache_clear()
    seen = [0]

    async def watch() -> None:
        while True:
            seen.append(codec._adapter.cache_info().currsize)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await warm_up(Client({}), "anthropic", "")
        tasks.cancel_scope.cancel()

    built = codec._adapter.cache_info().currsize
    assert built == len(list(codec.builders()))
    assert built > 30
    # Two steps can end between two checkpoints of `watch`.
    assert max(later - earlier for earlier, later in itertools.pairwise(seen)) <= 2
