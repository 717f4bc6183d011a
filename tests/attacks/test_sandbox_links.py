"""A repository with links where the sandbox protects paths: no command plants files that other programs run."""

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


@pytest.mark.report("openai/codex#15725", "openai/codex#20716")
@pytest.mark.parametrize("kind", [pytest.param("bubblewrap", marks=needs_bubblewrap)])
@pytest.mark.parametrize(("repository", "line", "planted"), ATTACKS.values(), ids=ATTACKS.keys())
def test_a_command_cannot_plant_files_at_a_protected_link(
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
