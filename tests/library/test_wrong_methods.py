"""Code of a program that cannot be called as agreed is refused when it is passed, not in the middle of a turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.llm.requests import Request
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("X8")
RESULT = ExecResult(stdout="", stderr="", output="ran", exit_code=0, timed_out=False, duration_ms=1)


class Sync(agent_ls.MemoryEnvironment):
    def exec_command(self, command: str, options: CommandOptions, on_output: Any = None) -> ExecResult:  # type: ignore[override]
        return RESULT


class Short(agent_ls.MemoryEnvironment):
    async def exec_command(self, command: str) -> ExecResult:  # type: ignore[override]
        return RESULT


class Wrapped(agent_ls.MemoryEnvironment):
    def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> Coroutine[Any, Any, ExecResult]:
        return super().exec_command(command, options, on_output)


class NoGenerator(FakeProvider):
    async def stream(self, request: Request) -> AsyncIterator[Any]:  # type: ignore[override]
        raise AssertionError


class SyncClose(FakeProvider):
    def close(self) -> None:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"environment": Sync()}, "environment.exec_command is no async function"),
        ({"environment": Short()}, "environment.exec_command cannot be called with"),
        ({"adapters": {"mine": NoGenerator()}}, "stream is no async generator"),
        ({"adapters": {"mine": SyncClose()}}, "close is no async function"),
    ],
    ids=["sync", "other parameters", "no generator", "sync close"],
)
def test_a_method_of_another_form_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(agent_ls.AppError, match=named) as refused:
        agent_ls.open_session(**given)
    assert refused.value.hint


def sync_command(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
    return RESULT


async def run_command(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
    return RESULT


class Commands:
    async def __call__(
        self, command: str, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        return RESULT


@wraps(run_command)
def wrapped(*args: Any) -> Any:
    return run_command(*args)


def later(command: str, options: CommandOptions, on_output: OutputSink | None) -> Awaitable[ExecResult]:
    return run_command(command, options, on_output)


def test_a_function_that_runs_commands_must_be_async() -> None:
    with pytest.raises(TypeError, match="async def sync_command"):
        agent_ls.MemoryEnvironment(run_command=sync_command)  # type: ignore[arg-type]


FORMS: dict[str, Callable[..., Awaitable[ExecResult]]] = {
    "async": run_command,
    "object": Commands(),
    "partial": partial(run_command),
    "wrapped": wrapped,
    "annotated": later,
    "lambda": lambda *args: run_command(*args),
}


@pytest.mark.parametrize("form", FORMS)
async def test_any_function_that_returns_an_awaitable_runs_commands(tmp_path: Path, form: str) -> None:
    place = Wrapped({"a.py": ""}, run_command=FORMS[form])
    given = options(tmp_path, FakeProvider([text("Done.")]), environment=place, trusted=True)
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Done."
