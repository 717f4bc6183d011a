"""Races between the end of a command and its last output, which may arrive in either order."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions, Stream
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.processes import background, foreground as processes
from agent_ls.environments.local.processes.output import BackgroundOutput
from tests.support.environments import opened_local
from tests.support.processes import LIMIT_SECONDS

pytestmark = pytest.mark.req("T5")


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[LocalEnvironment]:
    async with opened_local(tmp_path) as environment:
        yield environment


async def test_output_of_a_command_that_ended_while_the_event_loop_was_blocked_is_complete(
    env: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        processes, "DRAIN_SECONDS", 0
    )  # the time for reading has passed when the end is noticed

    def until_it_has_ended(stream: Stream, text: str) -> None:
        if stream == "stdout" and text[0].isdigit():
            with suppress(ChildProcessError):  # the status was already collected
                os.waitid(os.P_PID, int(text.split()[0]), os.WEXITED | os.WNOWAIT)

    result = await env.exec_command("echo $$; echo rest; echo more >&2", CommandOptions(), until_it_has_ended)

    assert (result.stdout.split()[1:], result.stderr, result.note) == (["rest"], "more\n", "")


async def test_a_read_after_a_background_process_ended_waits_for_its_last_output(
    env: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    class Slow(BackgroundOutput):
        def add(self, text: str) -> None:
            assert may_go_on.wait(LIMIT_SECONDS)
            super().add(text)

    monkeypatch.setattr(background, "BackgroundOutput", Slow)
    monkeypatch.setattr(background, "LAST_WORDS_SECONDS", LIMIT_SECONDS)
    read: list[str] = []

    async def read_all(process_id: str) -> None:
        read.append((await env.read_process(process_id))[0])

    process = await env.start_process("echo last", CommandOptions())
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await env.wait_process(process.id)).exit_code == 0
        async with anyio.create_task_group() as group:
            group.start_soon(read_all, process.id)
            await anyio.wait_all_tasks_blocked()
            may_go_on.set()

    assert read == ["last\n"]
