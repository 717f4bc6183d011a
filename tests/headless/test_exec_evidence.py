"""`exec` says what was checked after the last change, and can require it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import Answer, ChatServer, ToolCall

EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
READ = ToolCall("read_file", {"file_path": "a.py"})


def command(line: str) -> ToolCall:
    return ToolCall("shell", {"command": line})


def play(folder: Path, answers: Sequence[Answer], *options: str) -> Finished:
    project = folder / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")
    with ChatServer([*answers, "Done."]) as server:
        environ = environment(folder / "home", **provider_variables(server))
        return run("exec", "--trust", "--mode", "full", *options, "do it", cwd=project, environ=environ)


@pytest.mark.parametrize(
    ("answers", "code", "result"),
    [
        ([[READ], [EDIT]], 1, None),
        ([[READ], [EDIT], [command("python3 -m compileall -q a.py")]], 0, "passed"),
        ([[READ], [EDIT], [command("python3 -m unittest missing")]], 1, "failed"),
        ([[READ], [EDIT], [command("python3 -m compileall -q a.py || true")]], 1, "unclear"),
        ([[READ], [command("python3 -m compileall -q a.py")], [EDIT]], 1, None),
        ([[READ], [EDIT], [command("test -s a.py")]], 1, None),
        ([[READ], [EDIT], [command("python3 -m compileall -h")]], 1, None),
        ([[READ], [EDIT], [command("python3 -m compileall -q a.py && echo 'y = 1' >> a.py")]], 1, None),
        ([[READ], [EDIT], [command("echo 'y = 1' >> a.py && python3 -m compileall -q a.py")]], 0, "passed"),
        ([[READ], [EDIT], [command("bash -c 'python3 -m compileall -q a.py'")]], 0, "passed"),
        ([[READ]], 0, None),
    ],
)
def test_required_evidence_is_a_check_that_passed_after_the_last_change(
    answers: Sequence[Answer], code: int, result: str | None, tmp_path: Path
) -> None:
    done = play(tmp_path, answers, "--require-evidence", "--json")
    facts = [
        event["data"] for line in done.out.splitlines() if (event := json.loads(line))["kind"] == "turn_facts"
    ]

    assert done.code == code, done
    assert bool(facts) == ([EDIT] in answers)
    assert [check["result"] for data in facts for check in data["checks"]] == ([result] if result else [])


def test_a_check_of_the_users_own_counts(tmp_path: Path) -> None:
    answers = [[READ], [EDIT], [command("test -s a.py")]]
    done = play(tmp_path, answers, "--require-evidence", "--set", 'checks=["test -s"]')
    assert done.code == 0, done
    assert "`test -s a.py` passed" in done.out
