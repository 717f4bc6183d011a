"""`agent-ls exec --worktree`: the user's folder gets the changes at the end of the run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H23")

EDIT = ToolCall("write_file", {"file_path": "made.txt", "content": "made\n"})


def repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    git = ["git", "-c", "user.name=Jo", "-c", "user.email=jo@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.report("microsoft/vscode#282043")
def test_changes_of_a_worktree_run_are_applied_to_the_users_folder_when_the_run_ends(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    check = ToolCall("shell", {"command": "python3 -m compileall -q made.txt"})
    script: list[Answer] = [[EDIT], [check], "Done."]
    with AnthropicServer(script) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        options = ("exec", "--worktree", "--trust", "--mode", "full", "--require-evidence", "do it")
        done = run(*options, cwd=project, environ=environ)
        listed = run("sessions", "--json", cwd=project, environ=environ)
        session = json.loads(listed.out)
        running = run("sessions", "--running", cwd=project, environ=environ)
        deleted = run("sessions", "delete", session["id"], "--force", cwd=project, environ=environ)

    assert done.code == 0, done.err
    assert (project / "made.txt").read_text() == "made\n"
    assert "of the worktree" in done.out
    assert "1 file changed +1" in done.out and "made.txt` passed" in done.out
    assert session["worktree"] is True
    assert "session is open" in running.out
    assert deleted.code == 0
    worktrees = subprocess.run(
        ["git", "worktree", "list"], cwd=project, check=True, capture_output=True, text=True
    )
    assert len(worktrees.stdout.splitlines()) == 1


def test_exec_worktree_refuses_a_folder_that_is_not_in_a_git_repository(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    with AnthropicServer([]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--worktree", "--trust", "do it", cwd=folder, environ=environ)

    assert done.code == 2
    assert "a git repository" in done.err and "git init" in done.err
