"""Runs of exec that cannot begin: the first line is the reason, the second the next step, and nothing is stored."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.commands import command, environment, provider_variables, run
from tests.support.first_runs import MADE, STATES, STOPPED, blocked
from tests.support.loopback import AnthropicServer
from tests.support.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.req("H13", "U8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def options_of(choice: dict[str, str]) -> list[str]:
    return ["--mode", "edits", *(word for name, value in choice.items() for word in (f"--{name}", value))]


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
    assert sum(state.step in line.lower() for line in lines) == 1, done
    assert not listed.out and not listed_then.out
    assert "session " not in done.err
    # nobody may see the standard output: it goes to a file, or to another program
    for err in (done.err.lower().splitlines(), as_json.err.lower().splitlines()):
        assert state.reason in err[0] and state.step in err[1], err
    assert as_json.code == 1 and as_json.events[-1]["kind"] == "session_end", as_json


@pytest.mark.parametrize("name", ["no key", "wrong key"])
def test_the_reason_is_written_once_if_both_outputs_go_to_the_same_file(name: str, project: Path) -> None:
    with blocked(name, project) as state, (project.parent / "log").open("w+") as log:
        environ = environment(project.parent / "home", **state.variables)
        subprocess.run(
            command("exec", "do it"), cwd=project, env=environ, stdout=log, stderr=log, check=False
        )
        log.seek(0)
        lines = log.read().lower().splitlines()
    assert state.reason in lines[0] and state.step in lines[1], lines
    assert sum(state.step in line for line in lines) == 1, lines


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


QUESTION = "or type the reason for denying: "


@pytest.mark.req("H7")
@pytest.mark.parametrize("name", STOPPED)
def test_a_run_on_a_terminal_that_cannot_begin_says_first_why_and_works_when_it_is_mended(
    name: str, project: Path
) -> None:
    with blocked(name, project) as state:
        environ = environment(project.parent / "home", **state.variables)
        argv = command("exec", "--ask", *options_of(state.choice)[2:], "do it")
        with PseudoTerminal(argv, cwd=project, environ=environ) as shown:
            assert shown.exit_code() == 1
            lines = [line.lower() for line in shown.printed.splitlines()]
        (last,) = [number for number, line in enumerate(lines) if "error:" in line]
        assert state.reason in lines[0] and state.step in lines[last + 1], lines
        assert not run("sessions", "--all", "--json", cwd=project, environ=environ).out
        state.mend()
        with PseudoTerminal(argv, cwd=project, environ=environ) as shown:
            shown.until(QUESTION)
            shown.type("y\n")
            assert shown.exit_code() == 0
    assert (project / MADE).exists()


@pytest.mark.parametrize(("name", "is_asked"), [("no key", False), ("wrong key", True)])
def test_nobody_is_asked_about_a_folder_for_a_run_without_a_key_and_nothing_is_stored(
    name: str, is_asked: bool, project: Path
) -> None:
    with blocked(name, project) as state:
        environ = environment(project.parent / "home", **state.variables)
        environ.pop(TRUST_VARIABLE)
        argv = command("exec", "--ask", "do it")
        with PseudoTerminal(argv, cwd=project, environ=environ) as shown:
            if is_asked:
                shown.until(QUESTION)
                shown.type("y\n")
            assert shown.exit_code() == 1
            assert (QUESTION in shown.printed, "session s-" in shown.printed) == (False, False)
            assert is_asked or "error:" in shown.printed.splitlines()[0]
    assert not run("sessions", "--all", "--json", cwd=project, environ=environ).out
