"""Reports about the command lines of other agents: closed pipes, exit codes, JSON on standard output, empty prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import environment, run, start

pytestmark = pytest.mark.req("H13")

CLOSED: list[Any] = [
    pytest.param(
        ("--help",),
        marks=pytest.mark.report(
            "agents-squads/squads-cli#138",
            "output that is piped to head ends with an error about the pipe",
            area="cli",
            before="failed",
        ),
    ),
    pytest.param(
        ("exec", "--help"),
        marks=pytest.mark.report(
            "datakurre/graph-agent#41",
            "a reader that closes the pipe early gets a trace of the program",
            area="cli",
            before="passed",
        ),
    ),
    pytest.param(
        ("doctor",),
        marks=pytest.mark.report(
            "golgor/cloud-sql-tracker#97",
            "a command that checks the set-up panics when its reader is gone",
            area="cli",
            before="passed",
        ),
    ),
    pytest.param(
        ("exec", "--json", "hi"),
        marks=pytest.mark.report(
            "heygen-com/hyperframes#1184",
            "an agent closes the pipe before the program has written all, and the program crashes",
            area="cli",
            before="passed",
        ),
    ),
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
    "nothing documents how a run without a user ends if its turn failed",
    area="cli",
    before="passed",
)
@pytest.mark.report(
    "Dicklesworthstone/coding_agent_account_manager#24",
    "a failure that is printed as JSON has the exit code of a success",
    area="cli",
    before="passed",
)
@pytest.mark.report(
    "langchain-ai/deepagents#5877",
    "standard output is not only JSON, and does not tell a failed run",
    area="cli",
    before="passed",
)
@pytest.mark.report(
    "in-the-loop-labs/pair-review#520",
    "a failed run prints nothing on standard output, only prose on standard error",
    area="cli",
    before="passed",
)
def test_a_failed_run_is_shown_by_its_json_and_its_exit_code(tmp_path: Path) -> None:
    done = run("exec", "--json", "hi", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 1
    (error,) = done.of_kind("error")
    assert error["errorKind"] == "configuration" and done.of_kind("processing_end") == [{"reason": "error"}]


PROMPTS: list[Any] = [
    pytest.param(
        ("exec", ""),
        "the prompt is empty",
        marks=pytest.mark.report(
            "agentic-os-org/ANOLISA#1610",
            "input that cannot be used gives no output and the exit code of a success",
            area="cli",
            before="passed",
        ),
    ),
    pytest.param(
        ("exec",),
        "the following arguments are required: prompt",
        marks=pytest.mark.report(
            "OpenRouterLabs/spawn#2892",
            "a run without a prompt fails late, after all was set up",
            area="cli",
            before="passed",
        ),
    ),
    (("exec", "-"), "the prompt is empty"),
]


@pytest.mark.parametrize(("words", "reason"), PROMPTS)
def test_a_run_without_a_prompt_is_refused_at_once(
    tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    done = run(*words, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and reason in done.err and not done.out
