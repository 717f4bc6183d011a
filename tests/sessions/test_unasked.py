"""`agent-ls policy log`: everything that may run in a folder without a question, and how to take each back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.hooks.test_session import write_hooks

pytestmark = [pytest.mark.req("X5"), pytest.mark.skipif(os.name == "nt", reason="POSIX hooks")]


def run(folder: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        input=stdin,
        check=False,
    )
    return done.stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS", raising=False)
    folder = tmp_path / "project"
    write_hooks(folder / ".agent-ls/hooks.json", PreToolUse="./check.sh")
    (folder / "check.sh").write_text("true")
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "evil"}}}))
    return folder


def kinds(folder: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in run(folder, "policy", "log", "--json").splitlines()]


@pytest.mark.report(
    "QwenLM/qwen-code#4615",
    "an approval of a project's server has to be bound to its definition, not to its name",
    area="safety",
    before="passed",
)
def test_each_entry_is_listed_and_its_command_takes_it_back(project: Path) -> None:
    assert not kinds(project)
    run(project, "trust", "add")
    run(project, "mcp", "add", "mine", "--", "serve")
    run(project, "hooks", "--confirm")
    assert kinds(project) == ["trust", "hook", "server"], "the server of the project is not approved"
    for line in run(project, "policy", "log", "--json").splitlines()[::-1]:
        entry = json.loads(line)
        assert entry["what"] and entry["shown"]
        run(project, *entry["undo"].removeprefix("agent-ls ").split())
    assert not kinds(project)


def test_a_hook_that_changed_is_not_listed(project: Path) -> None:
    run(project, "trust", "add")
    run(project, "hooks", "--confirm")
    assert kinds(project) == ["trust", "hook"]
    (project / "check.sh").write_text("false")
    assert kinds(project) == ["trust"]
