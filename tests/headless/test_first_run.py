"""Runs of exec that cannot begin: the first line is the reason, the second the next step, and nothing is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.commands import environment, provider_variables, run
from tests.support.first_runs import MADE, STATES, STOPPED, blocked
from tests.support.loopback import AnthropicServer

pytestmark = pytest.mark.req("H13", "U8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def options_of(choice: dict[str, str]) -> list[str]:
    return ["--approve", "edits", *(word for name, value in choice.items() for word in (f"--{name}", value))]


@pytest.mark.report("commit-0/commit0#76")
@pytest.mark.report("kagent-dev/kagent#1041")
@pytest.mark.report("open-octo/octo-agent#625")
@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "undecided"])
@pytest.mark.parametrize("name", STOPPED)
def test_a_run_that_cannot_begin_says_first_why_and_then_what_to_do(
    name: str, is_trusted: bool, project: Path
) -> None:
    with blocked(name, project) as state:
        environ = environment(project.parent / "home", **state.variables)
        if not is_trusted:
            environ.pop(TRUST_VARIABLE)
        options = options_of(state.choice)
        done = run("exec", *options, "do it", cwd=project, environ=environ)
        listed = run("sessions", "--all", "--json", cwd=project, environ=environ)
        as_json = run("exec", "--json", *options, "do it", cwd=project, environ=environ)
        listed_then = run("sessions", "--all", "--json", cwd=project, environ=environ)
    lines = done.out.splitlines()
    assert done.code == 1 and state.reason in lines[0].lower(), done
    # attempts that are repeated are reported as they happen, before the error
    (last,) = [number for number, line in enumerate(lines) if line.startswith("error:")]
    assert all(state.reason in line.lower() for line in lines[: last + 1]), done
    assert state.step in lines[last + 1].lower(), done
    assert sum(state.step in line.lower() for line in [*lines, *done.err.splitlines()]) == 1, done
    assert not listed.out and not listed_then.out
    assert "session " not in done.err
    assert as_json.code == 1 and as_json.events[-1]["kind"] == "session_end", as_json


@pytest.mark.report("lessweb/deepcode-cli#202")
@pytest.mark.parametrize("name", STATES)
def test_the_same_run_does_its_work_when_the_cause_is_mended(name: str, project: Path) -> None:
    with blocked(name, project) as state:
        environ = environment(project.parent / "home", **state.variables)
        arguments = ("exec", *options_of(state.choice), "do it")
        if not state.goes_on:
            blocked_run = run(*arguments, cwd=project, environ=environ)
            assert blocked_run.code != 0 and not (project / MADE).exists(), blocked_run
            state.mend()
        done = run(*arguments, cwd=project, environ=environ)
    assert done.code == 0 and (project / MADE).exists(), done


def test_a_provider_without_a_key_is_refused_though_another_has_one(project: Path) -> None:
    environ = environment(project.parent / "home", OPENAI_API_KEY="k")
    done = run("exec", "--provider", "anthropic", "do it", cwd=project, environ=environ)
    reason, step = done.out.splitlines()[:2]
    assert done.code == 1 and "no key for anthropic" in reason and "keys set anthropic" in step, done
    assert not run("sessions", "--all", "--json", cwd=project, environ=environ).out


def test_an_undecided_folder_is_named_before_the_answer(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        environ.pop(TRUST_VARIABLE)
        done = run("exec", "do it", cwd=project, environ=environ)
    assert done.code == 0, done
    assert done.out.index("agent-ls trust add") < done.out.index("Hello.")
    assert "agent-ls trust add" in done.err.splitlines()[0]
