"""Reports of git in the environment of another repository, as in a hook: what the session and its commands use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments.test_ignore_rule_reports import run_git
from tests.sessions.test_shell_reports import read_by_model, shell

pytestmark = pytest.mark.req("H5")


@pytest.mark.report("Parslee-ai/neo#179")
@pytest.mark.report("evilmartians/lefthook#1265")
@pytest.mark.report("pre-commit/pre-commit#321")
async def test_commands_use_the_repository_of_their_folder_also_below_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, project = tmp_path / "other", tmp_path / "project"
    for folder in (other, project):
        folder.mkdir()
        run_git(folder, "init", "-q", "-b", folder.name)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    (output,) = await read_by_model(
        tmp_path, shell("git symbolic-ref --short HEAD; git rev-parse --show-toplevel")
    )
    assert output.startswith(f"project\n{project}\n")


@pytest.mark.report("MFlowCode/MFC#1776")
async def test_commands_in_a_linked_worktree_use_its_own_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, project = tmp_path / "main", tmp_path / "project"
    main.mkdir()
    run_git(main, "init", "-q")
    run_git(main, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
    run_git(main, "worktree", "add", "-q", "-b", "side", str(project))
    for folder in (main, project):
        (folder / f"{folder.name}.txt").write_text("x")
        run_git(folder, "add", ".")
    monkeypatch.setenv("GIT_DIR", str(main / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(main / ".git" / "index"))
    (output,) = await read_by_model(tmp_path, shell("git ls-files; git branch --show-current"))
    assert output.startswith("project.txt\nside\n")


async def test_variables_of_the_own_repository_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    (output,) = await read_by_model(tmp_path, shell("echo $GIT_DIR"))
    assert output.startswith(f"{project}/.git\n")


@pytest.mark.parametrize(("of", "names"), [("other", ""), ("project", "index.lock"), ("", "alternative")])
async def test_a_hook_of_git_commit_with_a_gives_its_index_only_to_its_repository(
    of: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "other", tmp_path / "project"):
        folder.mkdir()
        run_git(folder, "init", "-q")
    index = tmp_path / of / ".git" / "index.lock" if of else tmp_path / "alternative"
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    (output,) = await read_by_model(tmp_path, shell('echo "<${GIT_INDEX_FILE##*/}>"'))
    assert output.startswith(f"<{names}>\n")
