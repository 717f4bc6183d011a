"""Runs of exec that cannot begin: the first line is the reason, the second the next step, and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import AnthropicServer, ErrorReply

pytestmark = pytest.mark.req("H13", "U8")

NOBODY = "http://127.0.0.1:9"


@contextmanager
def state(name: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the variables and the options of exec for one state of the machine."""
    with AnthropicServer([ErrorReply(401)] if name == "wrong key" else []) as server:
        match name:
            case "no key":
                yield {}, []
            case "no key of this provider":
                yield {"OPENAI_API_KEY": "k"}, ["--provider", "anthropic"]
            case "wrong key":
                yield provider_variables(server), []
            case "no network":
                yield {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": NOBODY}, []
            case _:
                yield {"LMSTUDIO_BASE_URL": NOBODY}, ["--provider", "lmstudio", "--model", "m"]


STATES = {
    "no key": ("no key", "keys set"),
    "no key of this provider": ("no key", "key"),
    "wrong key": ("key", "key"),
    "no network": ("connection", "network"),
    "no model server": ("connection", "network"),
}


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "undecided"])
@pytest.mark.parametrize("name", STATES)
def test_a_run_that_cannot_begin_says_first_why_and_then_what_to_do(
    name: str, is_trusted: bool, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    reason, step = STATES[name]
    with state(name) as (variables, options):
        environ = environment(tmp_path / "home", **variables)
        if not is_trusted:
            environ.pop(TRUST_VARIABLE)
        done = run("exec", *options, "do it", cwd=project, environ=environ)
        listed = run("sessions", "--all", "--json", cwd=project, environ=environ)
        as_json = run("exec", "--json", *options, "do it", cwd=project, environ=environ)
        listed_then = run("sessions", "--all", "--json", cwd=project, environ=environ)
    lines = done.out.splitlines()
    assert done.code == 1 and reason in lines[0].lower(), done
    # attempts that are repeated are reported as they happen, before the error
    (last,) = [number for number, line in enumerate(lines) if line.startswith("error:")]
    assert all(reason in line.lower() for line in lines[: last + 1]) and step in lines[last + 1], done
    assert not listed.out and not listed_then.out
    assert "session " not in done.err
    assert as_json.code == 1 and as_json.events[-1]["kind"] == "session_end", as_json


def test_an_undecided_folder_is_named_before_the_answer(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with AnthropicServer(["Hello."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        environ.pop(TRUST_VARIABLE)
        done = run("exec", "do it", cwd=project, environ=environ)
    assert done.code == 0, done
    assert done.out.index("agent-ls trust add") < done.out.index("Hello.")
    assert "agent-ls trust add" in done.err.splitlines()[0]
