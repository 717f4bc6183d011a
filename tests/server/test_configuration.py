"""Settings that arrive while earlier ones are still being checked: the last ones win."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from agent_ls.server.features.configuration import Configuration, SettingsClient
from agent_ls.server.lsp.capabilities import ClientAbilities
from tests.support.session_rig import DEADLINE_S, running


def sent(**settings: Any) -> dict[str, Any]:
    return {"settings": {"agentLs": settings}}


@pytest.mark.req("H2")
async def test_settings_that_arrive_while_earlier_settings_are_checked_take_precedence(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        manager, is_changed = rig.manager, anyio.Event()

        async def ask(method: str, params: Any) -> Any:
            raise AssertionError(f"{method} was asked")

        configuration = Configuration(
            manager,
            SettingsClient(ClientAbilities(), ask, lambda problems: None),
            first={},
            displayed=(),
            folders=lambda: [str(rig.folder)],
            start=lambda work: None,
        )

        async def send_others() -> None:
            group.start_soon(configuration.handle_change, sent(maxTurns=2))
            await anyio.wait_all_tasks_blocked()
            if anyio.to_thread.current_default_thread_limiter().borrowed_tokens > 1:
                await is_changed.wait()  # the second check runs at the same time and ends sooner

        looks = [send_others]

        def of_editor() -> Sequence[str]:
            if looks:
                anyio.from_thread.run(looks.pop())
            return ()

        rig.client.trusted = of_editor
        rig.client.on_settings = lambda settings: is_changed.set()
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                await configuration.handle_change(sent(maxTurns=1))
        assert manager.settings.max_turns == 2


@pytest.mark.req("H2")
async def test_session_creation_before_initialized_waits_for_the_settings_of_the_client(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig, anyio.create_task_group() as group:
        has_waited = anyio.Event()

        async def ask(method: str, params: Any) -> Any:
            return [{"maxTurns": 3}]

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            await work()

        def start(work: Callable[[], Awaitable[None]]) -> None:
            group.start_soon(run, work)

        configuration = Configuration(
            rig.manager,
            SettingsClient(ClientAbilities(configuration=True), ask, lambda problems: None),
            first={},
            displayed=(),
            folders=lambda: [str(rig.folder)],
            start=start,
        )

        async def wait_for_them() -> None:
            await configuration.wait_for_settings()
            assert rig.manager.settings.max_turns == 3
            has_waited.set()

        group.start_soon(wait_for_them)
        await anyio.wait_all_tasks_blocked()
        assert not has_waited.is_set()
        await configuration.initialized({})
