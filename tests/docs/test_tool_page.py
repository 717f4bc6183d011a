"""The tool of docs/adding-a-tool.md: its own tests pass, and a session dispatches it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.events import ToolCallEnd, ToolCallStart
from agent_ls.profiles.base import ProviderProfile
from tests.docs.examples import run_tests, write_programs
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.sessions import bench

PAGE = "docs/adding-a-tool.md"


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, Path]:
    return write_programs(PAGE, tmp_path)


@pytest.fixture
def profile(programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> ProviderProfile:
    monkeypatch.syspath_prepend(str(programs["count_lines.py"].parent))
    try:
        made = runpy.run_path(str(programs["host.py"]))["profile"]
    finally:
        sys.modules.pop("count_lines", None)
    assert isinstance(made, ProviderProfile)
    return made


def test_the_tests_of_the_example_pass(programs: dict[str, Path]) -> None:
    done = run_tests(programs["test_count_lines.py"], folder=programs["count_lines.py"].parent)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


def test_the_example_is_told_to_the_model_last_and_with_a_plain_schema(profile: ProviderProfile) -> None:
    definition = profile.registry.definitions()[-1]

    assert definition.name == "count_lines"
    assert definition.parameters["required"] == ["file_path"]
    assert definition.parameters["additionalProperties"] is False


@pytest.mark.req("P6", "T1")
@pytest.mark.parametrize(
    ("arguments", "is_error", "output"),
    [
        ('{"file_path": "a.md"}', False, "3 lines, 3 words"),
        ('{"file_path": "none.md"}', True, "Tool error (count_lines): File not found: /project/none.md"),
        ('{"file": "a.md"}', True, "file_path"),
    ],
)
async def test_a_session_dispatches_the_example(
    profile: ProviderProfile, arguments: str, is_error: bool, output: str
) -> None:
    model = FakeProvider([tool_call("count_lines", arguments), text("I see.")])
    environment = MemoryEnvironment({"a.md": "one two\n\nthree\n"})

    async with bench(model, environment=environment, registry=profile.registry) as session:
        await session.say("How long is it?")

    (start,), (end,) = session.recorder.of(ToolCallStart), session.recorder.of(ToolCallEnd)
    assert start.name == "count_lines"
    assert (end.is_error, output in end.output) == (is_error, True)
