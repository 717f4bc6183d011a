"""Repositories with links, or with others below them: no command in the sandbox plants files that programs run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions
from tests.support.sandboxes import make_sandbox, needs_bubblewrap

pytestmark = pytest.mark.req("X4", "X8")

ATTACKS = {
    "a link to a folder is replaced": (
        "mkdir cfg; ln -s cfg .vscode",
        "rm .vscode && mkdir .vscode && echo evil > .vscode/tasks.json",
        ".vscode/tasks.json",
    ),
    "a link to nothing is replaced": (
        "ln -s /no/such .vscode",
        "rm .vscode && mkdir .vscode && echo evil > .vscode/tasks.json",
        ".vscode/tasks.json",
    ),
    "the target of a link is made": (
        "ln -s cfg .vscode",
        "mkdir cfg && echo evil > cfg/tasks.json",
        ".vscode/tasks.json",
    ),
    "hooks that are a link": (
        "git init -q; rm -r .git/hooks; mkdir hk; ln -s ../hk .git/hooks",
        "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        ".git/hooks/pre-commit",
    ),
    "a git folder that is a link": (
        "git init -q --separate-git-dir gitdir; rm .git; ln -s gitdir .git",
        "rm .git; cp -r gitdir .git; echo evil > .git/hooks/pre-commit",
        ".git/hooks/pre-commit",
    ),
    "a file that is a link": ("echo ok > real; ln -s real .envrc", "rm .envrc; echo evil > .envrc", ".envrc"),
    "a link to a file that is made": ("ln -s real .envrc", "echo evil > real", ".envrc"),
    "a link is turned": (
        "mkdir cfg evil; ln -s cfg .vscode; echo evil > evil/tasks.json",
        "ln -sfn evil .vscode",
        ".vscode/tasks.json",
    ),
    "a link is renamed": (
        "mkdir cfg; ln -s cfg .husky",
        "mv .husky old; mkdir .husky; echo evil > .husky/pre-commit",
        ".husky/pre-commit",
    ),
}


_NESTED = "mkdir sub; git init -q sub; rm -rf sub/.git/hooks/*.sample; "
NESTED = {
    "a hook of a nested repository": (
        _NESTED,
        "echo evil > sub/.git/hooks/pre-commit",
        "sub/.git/hooks/pre-commit",
    ),
    "settings of a nested repository": (_NESTED, "echo evil >> sub/.git/config", "sub/.git/config"),
    "settings by git itself": (_NESTED, "git -C sub config core.fsmonitor evil", "sub/.git/config"),
    "settings of a nested work tree": (
        _NESTED,
        "echo evil > sub/.git/config.worktree",
        "sub/.git/config.worktree",
    ),
    "another common folder": (_NESTED, "echo evil > sub/.git/commondir", "sub/.git/commondir"),
    "hooks that were missing": (
        _NESTED + "rm -r sub/.git/hooks",
        "mkdir sub/.git/hooks; echo evil > sub/.git/hooks/pre-commit",
        "sub/.git/hooks/pre-commit",
    ),
    "a git folder that is replaced": (
        _NESTED,
        "mv sub/.git sub/x; cp -r sub/x sub/.git; echo evil >> sub/.git/config",
        "sub/.git/config",
    ),
    "a nested repository that is replaced": (
        _NESTED,
        "mv sub x; mkdir sub; cp -r x/.git sub; echo evil >> sub/.git/config",
        "sub/.git/config",
    ),
    "a submodule": (
        "git init -q; mkdir -p .git/modules/a sub; git init -q --separate-git-dir .git/modules/a/b sub",
        "echo evil > .git/modules/a/b/hooks/pre-commit",
        ".git/modules/a/b/hooks/pre-commit",
    ),
    "the file that names a git folder": (
        "git init -q --separate-git-dir .git-of-sub sub",
        "echo gitdir: evil > sub/.git",
        "sub/.git",
    ),
    "a repository below many folders": (
        "mkdir -p a/b/c/d/e; git init -q a/b/c/d/e",
        "echo evil > a/b/c/d/e/.git/hooks/pre-commit",
        "a/b/c/d/e/.git/hooks/pre-commit",
    ),
    "a linked work tree": (
        "git init -q; git -c user.name=a -c user.email=a@b commit -qm x --allow-empty; git worktree add -q wt",
        "echo evil > .git/worktrees/wt/commondir",
        ".git/worktrees/wt/commondir",
    ),
}


@pytest.mark.report("openai/codex#15725", "openai/codex#20716")
@pytest.mark.report("openai/codex#37081")
@pytest.mark.parametrize("kind", [pytest.param("bubblewrap", marks=needs_bubblewrap)])
@pytest.mark.parametrize(
    ("repository", "line", "planted"), [*ATTACKS.values(), *NESTED.values()], ids=[*ATTACKS, *NESTED]
)
def test_a_command_cannot_plant_files_that_programs_run(
    tmp_path: Path, kind: str, repository: str, line: str, planted: str
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["sh", "-c", repository], cwd=root, check=True)
    sandbox = make_sandbox(root, tmp_path / "state", use=kind)
    anyio.run(sandbox.start_sandbox)
    try:
        inside = sandbox.wrap_command(f"{line}; echo ran", CommandOptions(), str(root), is_read_only=False)
        assert inside, "the sandbox starts"
        done = subprocess.run(
            ["sh", "-c", inside.command], cwd=root, capture_output=True, text=True, check=False
        )
        sandbox.rename_forbidden_files(inside)
    finally:
        sandbox.take_down()
    assert "ran" in done.stdout, done.stderr
    found = root / planted
    assert not found.exists() or "evil" not in found.read_text()


@pytest.mark.parametrize("kind", [pytest.param("bubblewrap", marks=needs_bubblewrap)])
def test_a_command_can_work_in_a_nested_repository(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["sh", "-c", "mkdir sub; git init -q sub"], cwd=root, check=True)
    sandbox = make_sandbox(root, tmp_path / "state", use=kind)
    anyio.run(sandbox.start_sandbox)
    try:
        commit = "cd sub; echo x > a; git add a; git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline"
        inside = sandbox.wrap_command(commit, CommandOptions(), str(root), is_read_only=False)
        assert inside
        done = subprocess.run(
            ["sh", "-c", inside.command], cwd=root, capture_output=True, text=True, check=False
        )
        assert sandbox.rename_forbidden_files(inside) == ""
    finally:
        sandbox.take_down()
    assert done.returncode == 0 and " x\n" in done.stdout, done.stderr
