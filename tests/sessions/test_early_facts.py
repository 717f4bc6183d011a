"""The facts for the system prompt are gathered when a session is created, so the first message need not wait for
git.
"""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.profiles.create import create_profile
from agent_ls.services.context.prompts import EARLY_FACTS_MS, PromptWorkspace, SessionPrompts
from agent_ls.services.permissions.trust import TRUST_VARIABLE, Trusting
from agent_ls.sessions.new_session import SessionSpec
from tests.support.session_rig import PROVIDER, running
from tests.support.tool_calls import result

FILES = {"/project/.git/HEAD": "ref: refs/heads/main\n", "/project/.git/config": "[core]\n\tbare = false\n"}


class Repository:
    """A project that records the git commands run in it.

    The first command waits until a second one starts, so commands that run one after the other time out.
    """

    def __init__(self) -> None:
        self.programs: list[tuple[str, ...]] = []
        self._both = anyio.Event()
        self.environment = MemoryEnvironment(FILES, working_directory="/project", run_command=self._run)

    async def _run(self, command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        self.programs.append(options.argv[:1])
        if len(self.programs) >= 2:
            self._both.set()
        with anyio.fail_after(240):
            await self._both.wait()
        return result("0123456 Begin\n" if "log" in options.argv else " M a.py\n")


class Source:
    def __init__(self, repository: Repository) -> None:
        self.now_ms = 0
        self._environment = repository.environment
        self.prompts = SessionPrompts(
            PromptWorkspace(self._environment, self._environment, trusted=_yes), now_ms=lambda: self.now_ms
        )

    async def build(self) -> str:
        return await self.prompts.build(create_profile("anthropic"), self._environment, "", "")


async def _yes() -> bool:
    return True


async def test_git_facts_are_gathered_with_two_direct_git_commands_in_parallel() -> None:
    repository = Repository()
    assert "- 0123456 Begin" in await Source(repository).build()
    assert repository.programs == [("git",), ("git",)]


async def test_early_gathered_system_prompt_facts_are_used_by_all_messages() -> None:
    repository = Repository()
    source = Source(repository)
    await source.prompts.gather_early()
    source.now_ms = EARLY_FACTS_MS - 1
    first = await source.build()
    source.now_ms = EARLY_FACTS_MS * 10
    assert await source.build() == first
    assert len(repository.programs) == 2


async def test_early_gathered_system_prompt_facts_that_are_too_old_are_gathered_again() -> None:
    repository = Repository()
    source = Source(repository)
    await source.prompts.gather_early()
    source.now_ms = EARLY_FACTS_MS
    await source.build()
    assert len(repository.programs) == 4


async def test_a_first_message_waits_for_running_fact_gathering_and_does_not_repeat_it() -> None:
    repository = Repository()
    source = Source(repository)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.prompts.gather_early)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(source.build)
    assert len(repository.programs) == 2


@pytest.mark.parametrize("trusting", ["trusted", "asked"])
async def test_a_new_session_runs_git_before_the_first_message_only_if_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusting: Trusting
) -> None:
    programs, ran = tmp_path / "bin", tmp_path / "ran"
    programs.mkdir()
    ran.mkdir()
    # creates a file for each run, and prints nothing
    (programs / "git").write_text(f"#!/bin/sh\nmktemp {ran}/git.XXXXXX >/dev/null\n")
    (programs / "git").chmod(0o755)
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/.git/HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv(TRUST_VARIABLE)
    async with running(tmp_path, trusting=trusting) as sessions:
        live = await sessions.manager.new_session(
            SessionSpec(workspace_folder=str(sessions.folder), provider=PROVIDER)
        )
        assert live.gather_early is not None
        await live.gather_early()  # returns when the gathering that began with the session has finished
        runs = len(list(ran.iterdir()))
    assert runs == (2 if trusting == "trusted" else 0)
