"""A session whose environment hangs while it starts: the program gives up, and nothing is left open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import agent_ls

pytestmark = pytest.mark.req("H13", "R5")

LIMIT_S = 0.05


class Hanging(agent_ls.MemoryEnvironment):
    def __init__(self) -> None:
        super().__init__({})
        self.ends: list[str] = []

    async def initialize(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ends.append("initialize")

    async def cleanup(self) -> None:
        self.ends.append("cleanup")


class Closing(agent_ls.ScriptedModel):
    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


def options(place: agent_ls.ExecutionEnvironment, model: Closing, **more: Any) -> dict[str, Any]:
    return {"environment": place, "provider": "test", "adapters": {"test": model}, **more}


async def by_timeout(given: dict[str, Any]) -> None:
    async with asyncio.timeout(LIMIT_S):
        await agent_ls.open_session(**given)


async def in_block(given: dict[str, Any]) -> None:
    async with asyncio.timeout(LIMIT_S), agent_ls.open_session(**given):
        pass


async def by_argument(given: dict[str, Any]) -> None:
    with pytest.raises(agent_ls.AppError):
        await agent_ls.open_session(**given, open_timeout_s=LIMIT_S)
    raise TimeoutError


@pytest.mark.parametrize("give_up", [by_timeout, in_block, by_argument])
async def test_giving_up_leaves_nothing_open(
    give_up: Callable[[dict[str, Any]], Awaitable[None]], tmp_path: Path
) -> None:
    place, model = Hanging(), Closing("Hi.")
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        await give_up(options(place, model, state_dir=tmp_path / "state"))
    assert place.ends == ["initialize", "cleanup"]
    assert model.is_closed
    assert asyncio.all_tasks() == before
    assert await agent_ls.list_sessions(state_dir=tmp_path / "state") == []


def test_a_blocking_opening_gives_up_by_an_argument() -> None:
    place, model = Hanging(), Closing("Hi.")
    with pytest.raises(agent_ls.AppError):
        agent_ls.open_session_sync(**options(place, model, stored=False), open_timeout_s=LIMIT_S)
    assert place.ends == ["initialize", "cleanup"] and model.is_closed
    with pytest.raises(agent_ls.BadChoiceError):
        agent_ls.open_session_sync(**options(place, model, stored=False), open_timeout_s=0)
