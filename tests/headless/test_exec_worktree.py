"""`agent-ls exec --worktree`: the user's folder gets the changes at the end of the run."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import command, environment, provider_variables, run
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


@pytest.mark.report("anomalyco/opencode#22477")
@pytest.mark.parametrize("options", [(), ("--worktree",)], ids=["folder", "worktree"])
@pytest.mark.parametrize("is_linked", [False, True], ids=["main", "linked"])
def test_a_run_in_a_hook_leaves_the_index_of_the_commit(
    tmp_path: Path, options: tuple[str, ...], is_linked: bool
) -> None:
    project = main = repository(tmp_path / "project")
    if is_linked:
        project = tmp_path / "linked"
        subprocess.run(["git", "worktree", "add", "-q", str(project)], cwd=main, check=True)
    hook = main / ".git/hooks/pre-commit"
    words = [*command("exec", "review it", "--trust", "--mode", "full", *options)]
    hook.write_text(f"#!/bin/sh\nexec {shlex.join(words)} >{tmp_path}/out 2>&1\n")
    hook.chmod(0o755)
    (project / "a.txt").write_text("two\n")
    (project / "untracked.txt").write_text("mine\n")
    calls = [
        [EDIT],
        [ToolCall("shell", {"command": "git status --short; git worktree list; mv untracked.txt moved.txt"})],
    ]
    with AnthropicServer([*calls, "Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        who = ["-c", "user.name=Jo", "-c", "user.email=jo@example.org"]
        subprocess.run(["git", *who, "commit", "-qam", "all"], cwd=project, check=True, env=environ)
    assert "Done." in (tmp_path / "out").read_text()
    state = subprocess.run(
        ["git", "show", "--stat=80", "--format="], cwd=project, check=True, capture_output=True, text=True
    )
    assert state.stdout.split("\n")[0].split() == ["a.txt", "|", "2", "+-"] and "made" not in state.stdout
    subprocess.run(["git", "fsck", "--strict"], cwd=project, check=True, capture_output=True)
    status = subprocess.run(["git", "status", "--short"], cwd=project, capture_output=True, text=True).stdout
    assert sorted(status.split("\n")) == ["", "?? made.txt", "?? moved.txt"]
