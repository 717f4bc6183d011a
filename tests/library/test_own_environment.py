"""Environments of a program: folders that do not exist, files outside of them, and commands that do not end."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import agent_ls
from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.environments.wrappers import own
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5", "X1")


class Rows(agent_ls.BasicEnvironment):
    def __init__(self, working_directory: str = "/files", rows: dict[str, bytes] | None = None) -> None:
        super().__init__(working_directory)
        self.rows = rows or {}

    async def files(self) -> dict[str, bytes]:
        return self.rows


@pytest.mark.parametrize("environment", [agent_ls.MemoryEnvironment, Rows])
def test_a_relative_working_directory_is_refused(environment: Any) -> None:
    with pytest.raises(TypeError, match="working_directory"):
        environment(working_directory="project")


async def test_a_working_directory_that_an_own_method_returns_must_be_absolute(tmp_path: Path) -> None:
    place = type("Place", (Rows,), {"working_directory": lambda self: "project"})()
    with pytest.raises(agent_ls.AppError, match="absolute"):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), environment=place))


@pytest.mark.parametrize("is_wrapped", [False, True])
async def test_an_environment_of_a_missing_folder_is_refused(tmp_path: Path, is_wrapped: bool) -> None:
    place: Any = agent_ls.LocalEnvironment(tmp_path / "none")
    given = agent_ls.ReadOnlyEnvironment(place) if is_wrapped else place
    with pytest.raises(agent_ls.AppError, match="none"):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), environment=given))


async def test_files_outside_of_the_folder_are_left_out_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = Rows(rows={"/abs": b"1", "../up": b"2", "in": b"3"})
    with caplog.at_level(logging.WARNING, "agent_ls"):
        assert [await place.file_exists(path) for path in ("/abs", "../up", "in")] == [False, False, True]
    (record,) = caplog.records
    assert "'/abs', '../up'" in record.getMessage()


@pytest.mark.parametrize("is_terminal", [False, True])
async def test_a_command_that_does_not_end_is_cancelled_at_its_time_limit(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    ended: list[str] = []
    waits: list[bool] = []

    class Watcher:
        def report_terminal(self, terminal: object) -> None: ...

        def report_waiting(self, waiting: bool) -> None:
            waits.append(waiting)

    async def run(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        assert on_output
        on_output("stdout", "begun\n")
        if options.terminal:
            options.terminal.report_waiting(True)
            options.terminal.report_waiting(False)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(command)
        raise AssertionError

    monkeypatch.setattr(own, "GRACE_MS", 0)
    place = own.OwnEnvironment(agent_ls.MemoryEnvironment({}, run_command=run))
    await place.initialize()
    heard: list[str] = []
    given = CommandOptions(timeout_ms=1, terminal=Watcher() if is_terminal else None)
    result = await place.exec_command("make", given, lambda _stream, text: heard.append(text))
    assert result.timed_out and result.exit_code and result.note == own.CUT_OFF
    assert (result.output, result.stdout, heard, ended) == ("begun\n", "begun\n", ["begun\n"], ["make"])
    assert waits == ([True, False] if is_terminal else [])


async def test_a_turn_goes_on_after_a_command_that_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(own, "GRACE_MS", 0)
    place = agent_ls.MemoryEnvironment({}, run_command=run)
    model = FakeProvider([call("shell", command="make", timeout_ms=1), text("One."), text("Two.")])
    given = options(tmp_path, model, environment=place, mode="full", trusted=True)
    async with agent_ls.open_session(**given) as session:
        ends = [event async for event in session.run("go") if isinstance(event, agent_ls.ToolCallEnd)]
        said = await session.ask("again")
    assert ([end.error_kind for end in ends], said) == (["shell_timeout"], "Two.")


class Counted(agent_ls.BasicEnvironment):
    """Counts how often it is asked for its files."""

    asked = 0

    async def files(self) -> dict[str, bytes]:
        self.asked += 1
        return {"a.txt": b"%d" % self.asked}


async def test_an_environment_is_asked_once_for_its_files_when_a_message_begins(tmp_path: Path) -> None:
    place = Counted()
    model = FakeProvider([text("One."), text("Two."), call("read_file", file_path="a.txt"), text("Three.")])
    given = options(tmp_path, model, environment=place, trusted=True)
    async with agent_ls.open_session(**given) as session:
        for word in ("one", "two"):
            before = place.asked
            await session.ask(word)
            assert place.asked == before + 1
        before = place.asked
        await session.ask("three")
        (record,) = await session.calls()
        assert (
            place.asked <= before + 4
        )  # the message, the call, and the instructions of the folder of the file
        assert str(before + 2) in record.output  # the call reads the files as they are


async def steps_of_another_task(tmp_path: Path, said: str) -> int:
    """Return how often another task ran between the end of a command that printed `said` and the end of its call."""
    steps = 0
    ended: list[int] = []

    async def step() -> None:
        nonlocal steps
        while True:
            steps += 1
            await anyio.lowlevel.checkpoint()

    async def run(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        ended.append(steps)
        return ExecResult(stdout=said, stderr="", output=said, exit_code=0, timed_out=False, duration_ms=5)

    place = agent_ls.MemoryEnvironment({}, run_command=run)
    model = FakeProvider([call("shell", command="make"), text("Done.")])
    given = options(tmp_path, model, environment=place, mode="full", trusted=True)
    async with agent_ls.open_session(**given) as session, anyio.create_task_group() as group:
        group.start_soon(step)
        ended += [steps async for event in session.run("go") if isinstance(event, agent_ls.ToolCallEnd)]
        group.cancel_scope.cancel()
    return ended[1] - ended[0]


async def test_a_long_output_of_a_command_does_not_block_the_event_loop(tmp_path: Path) -> None:
    line = "a line of text\n"
    short = await steps_of_another_task(tmp_path, line)
    assert await steps_of_another_task(tmp_path, line * 600_000) > short + 100
