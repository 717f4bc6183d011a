"""The tool of docs/adding-a-tool.md: its own tests pass, and a session dispatches it."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm.messages import ToolResultPart
from tests.docs.examples import run_tests, write_programs
from tests.docs.pages import blocks, read
from tests.support.commands import environment, provider_variables, run
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.loopback import AnthropicServer, Script, ToolCall

PAGE = "docs/adding-a-tool.md"


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, Path]:
    return write_programs(PAGE, tmp_path)


Host: TypeAlias = Callable[..., Awaitable[str]]


@pytest.fixture
def host(programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(programs["count_lines.py"].parent))
    try:
        made: Host = runpy.run_path(str(programs["host.py"]))["main"]
    finally:
        sys.modules.pop("count_lines", None)
    return made


def test_the_tests_of_the_example_tool_on_the_page_pass(programs: dict[str, Path]) -> None:
    done = run_tests(programs["test_count_lines.py"], folder=programs["count_lines.py"].parent)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


@pytest.mark.req("P6", "T1")
@pytest.mark.parametrize(
    ("arguments", "is_error", "output"),
    [
        ('{"file_path": "a.md"}', False, "3 lines, 3 words"),
        ('{"file_path": "none.md"}', True, "Tool error (count_lines): File not found: /project/none.md"),
        ('{"file": "a.md"}', True, "file_path"),
    ],
)
async def test_a_session_lists_and_runs_the_example_tool_of_the_page(
    host: Host, arguments: str, is_error: bool, output: str, tmp_path: Path
) -> None:
    model = FakeProvider([tool_call("count_lines", arguments), text("I see.")])
    environment = MemoryEnvironment({"a.md": "one two\n\nthree\n"})

    said = await host(
        "",
        "How long is it?",
        provider="anthropic",
        adapters={"anthropic": model},
        environment=environment,
        state_dir=tmp_path / "state",
    )

    assert said == "I see."
    (definition,) = (tool for tool in model.requests[0].tools if tool.name == "count_lines")
    assert definition.parameters["required"] == ["file_path"]
    assert definition.parameters["additionalProperties"] is False
    (result,) = (part for part in model.requests[-1].messages[-1].parts if isinstance(part, ToolResultPart))
    assert (result.is_error, output in result.content) == (is_error, True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, and the page's file of tools in the user's own folder."""
    (definition,) = [block for block in blocks(read(PAGE), "yaml") if block.tag == "tools.yaml"]
    (tmp_path / "home" / "state").mkdir(parents=True)
    (tmp_path / "home" / "state" / "tools.yaml").write_text(definition.text)
    folder = tmp_path / "project"
    (folder / "scripts").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "scripts" / "deploy").write_text('#!/bin/sh\necho "$@" ${#DEPLOY_TOKEN} > deployed\n')
    (folder / "scripts" / "deploy").chmod(0o755)
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "The first; $(it)"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.req("T10")
def test_the_yaml_tools_on_the_page_are_listed_by_the_tools_command(project: Path) -> None:
    done = run("tools", cwd=project, environ=environment(project.parent / "home"))
    assert (done.code, done.err) == (0, "")
    assert "commits_of  (read)" in done.out and "deploy  (admin)" in done.out
    assert "git log --oneline --max-count={{count}} -- {{path}}" in done.out


@pytest.mark.req("T10", "X8")
@pytest.mark.parametrize("allowed", [[], ["--allow", "deploy"]])
def test_the_yaml_tools_on_the_page_run_as_documented(project: Path, allowed: list[str]) -> None:
    calls: Script = [
        [ToolCall("commits_of", {"path": "a.txt", "count": 5})],
        [ToolCall("deploy", {"place": "staging", "dry_run": True, "tag": "v1.2"})],
        [ToolCall("deploy", {"place": "staging; reboot"})],
        "Done.",
    ]
    with AnthropicServer(calls) as server:
        variables = provider_variables(server) | {"DEPLOY_TOKEN": "a-token"}
        environ = environment(project.parent / "home", **variables)
        done = run("exec", "--mode", "full", *allowed, "deploy it", cwd=project, environ=environ)
        bodies = json.dumps([request.body for request in server.requests])
    assert "The first; $(it)" in bodies, done
    assert "'staging' or 'production'" in bodies
    deployed = project / "deployed"
    assert deployed.exists() is bool(allowed), done
    if allowed:
        assert deployed.read_text() == "--to staging --dry-run --tag v1.2 7\n"
        assert "a-token" not in done.out
