"""Runs on machines whose home folder cannot be used, and with prompts that do not fit into an argument."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command, environment, provider_variables, run
from tests.support.loopback import AnthropicServer
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

HOMES: list[Any] = [
    reported(
        "anthropics/claude-code#34799",
        "file",
    ),
    pytest.param("file/below", id="below a file"),
]


@pytest.mark.parametrize("home", HOMES)
def test_a_home_that_cannot_be_written_is_told_with_what_to_do(project: Path, home: str) -> None:
    (project.parent / "file").write_text("")
    with AnthropicServer(["Fine."]) as server:
        environ = environment(project.parent / home, **provider_variables(server))
        del environ["AGENT_LS_STATE_DIR"]
        done = run("exec", "do it", cwd=project, environ=environ)
        given = environ | {"AGENT_LS_STATE_DIR": str(project.parent / "state")}
        again = run("exec", "do it", cwd=project, environ=given)
    assert done.code == 1 and "AGENT_LS_STATE_DIR" in done.err and "Traceback" not in done.err
    assert again.code == 0 and os.listdir(project) == ["a.py"]


@pytest.mark.report("brightbox/brightbox-cli#91")
@pytest.mark.report("fosrl/cli#44")
@pytest.mark.report("ya-luotao/claude-agent-sdk-ruby#82")
def test_a_run_needs_no_home_if_the_state_has_a_folder(project: Path) -> None:
    with AnthropicServer(["Fine.", "Again."]) as server:
        environ = environment(project.parent, **provider_variables(server))
        del environ["HOME"]
        done = run("exec", "--json", "do it", cwd=project, environ=environ)
        session = json.loads(done.out.splitlines()[0])["sessionId"]
        again = run("exec", "--resume", session, "more", cwd=project, environ=environ)
    assert (done.code, again.code) == (0, 0) and "Again." in again.out


SIZES: list[Any] = [
    reported(
        "librefang/librefang#4997",
        70_000,
    ),
    reported(
        "preloop/preloop#692",
        300_000,
    ),
]


@pytest.mark.parametrize("size", SIZES)
def test_a_large_prompt_is_read_from_standard_input(project: Path, size: int) -> None:
    with AnthropicServer(["Fine."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        done = subprocess.run(
            command("exec", "-"),
            cwd=project,
            env=environ,
            input="x é " * (size // 4) + "LAST",
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0 and "LAST" in json.dumps(server.requests[0].body), done


@pytest.mark.parametrize("arguments", [("exec", "do it"), ("sessions",), ("doctor", "--offline"), ("hooks",)])
def test_a_command_in_a_deleted_folder_says_what_to_do(project: Path, arguments: tuple[str, ...]) -> None:
    gone = project.parent / "gone"
    gone.mkdir()
    words = ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *command(*arguments)]
    environ = environment(project.parent / "home")
    done = subprocess.run(words, cwd=gone, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "change to a folder that exists" in done.stderr


@pytest.mark.parametrize("words", ["trust add", "keys set anthropic", "mcp add x -- y"])
def test_what_cannot_be_stored_names_the_state_folder(words: str, project: Path) -> None:
    (project.parent / "file").write_text("")
    state = project.parent / "file" / "state"
    environ = environment(project.parent, AGENT_LS_STATE_DIR=str(state))
    done = subprocess.run(
        command(*words.split()),
        cwd=project,
        env=environ,
        input="sk-key\n",
        capture_output=True,
        text=True,
        check=False,
    )
    first, second = done.stderr.splitlines()
    assert done.returncode == 1 and first.startswith(f"agent-ls {words.split()[0]}: "), done
    assert str(state) in second and str(project) not in first
