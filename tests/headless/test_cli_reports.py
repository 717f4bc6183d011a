"""Reports about the command lines of other agents: closed pipes, exit codes, JSON on standard output, empty prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import environment, run, start
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

CLOSED: list[Any] = [
    reported("agents-squads/squads-cli#138", ("--help",)),
    reported("datakurre/graph-agent#41", ("exec", "--help")),
    reported("golgor/cloud-sql-tracker#97", ("doctor",)),
    reported("heygen-com/hyperframes#1184", ("exec", "--json", "hi")),
]


@pytest.mark.parametrize("words", CLOSED)
def test_a_reader_that_closes_the_output_early_causes_no_trace(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    process = start(*words, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        said = errors.read()
    process.wait()
    assert "Traceback" not in said and "Broken" not in said


@pytest.mark.report(
    "zai-org/feedback#418",
    "Dicklesworthstone/coding_agent_account_manager#24",
    "langchain-ai/deepagents#5877",
    "in-the-loop-labs/pair-review#520",
)
def test_a_failed_run_is_shown_by_its_json_and_its_exit_code(tmp_path: Path) -> None:
    done = run("exec", "--json", "hi", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 1
    (error,) = done.of_kind("error")
    assert error["errorKind"] == "configuration" and done.of_kind("processing_end") == [{"reason": "error"}]


PROMPTS: list[Any] = [
    reported("agentic-os-org/ANOLISA#1610", ("exec", ""), "the prompt is empty"),
    reported("OpenRouterLabs/spawn#2892", ("exec",), "prompt is missing"),
    (("exec", "-"), "the prompt is empty"),
]


@pytest.mark.parametrize(("words", "reason"), PROMPTS)
def test_a_run_without_a_prompt_is_refused_at_once(
    tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    done = run(*words, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and reason in done.err and not done.out


MISTYPED: list[Any] = [
    reported(
        "pikkujs/pikku#999",
        [("sesions",), ("sessions", "--runing")],
        ["agent-ls sessions", "did you mean --running?"],
    ),
    reported(
        "datakurre/graph-agent#91",
        [("batch", "tasks.jsonl", "--output", "x")],
        ["did you mean --out?"],
    ),
    reported(
        "simonw/llm#1050",
        [("exec", "fix", "the", "tests")],
        ["quotation marks"],
    ),
    reported(
        "can1357/oh-my-pi#11839",
        [("udpate",)],
        ["agent-ls"],
    ),
]


@pytest.mark.parametrize(("calls", "hints"), MISTYPED)
def test_a_mistyped_command_line_ends_at_once_with_what_was_meant(
    tmp_path: Path, calls: list[tuple[str, ...]], hints: list[str]
) -> None:
    for words, hint in zip(calls, hints, strict=True):
        done = run(*words, cwd=tmp_path, environ=environment(tmp_path / "home"))
        _, step = done.err.splitlines()
        assert done.code == 2 and not done.out
        assert hint in step


@pytest.mark.report("google-gemini/gemini-cli#8924")
def test_help_with_the_name_of_a_command_prints_its_help(tmp_path: Path) -> None:
    done = run("help", "sessions", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 0 and "agent-ls sessions" in done.out and not done.err
