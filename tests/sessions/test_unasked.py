"""`agent-ls policy log`: everything that may run in a folder without a question, and how to take each back."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.store.rules import RuleStore
from tests.features.hooks.test_session import write_hooks

pytestmark = [pytest.mark.req("X5"), pytest.mark.skipif(os.name == "nt", reason="POSIX hooks")]


TOOL = """\
tools:
  - name: look_{}
    description: Show a file.
    category: read
    cmd: cat
    args: [notes.txt]
"""


def run(folder: Path, *words: str) -> str:
    """Return what `agent-ls` prints in this folder."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        main(list(words))
    return printed.getvalue()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("AGENT_LS_SETTINGS", str(tmp_path / "settings.json"))
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS", raising=False)
    folder = tmp_path / "project"
    write_hooks(folder / ".agent-ls/hooks.json", PreToolUse="./check.sh")
    (folder / "check.sh").write_text("true")
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "evil"}}}))
    return folder


def kinds(folder: Path) -> list[str]:
    return [it["kind"] for it in log(folder)]


def log(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in run(folder, "policy", "log", "--json").splitlines()]


@pytest.mark.report("QwenLM/qwen-code#4615")
def test_each_entry_is_listed_and_its_command_takes_it_back(project: Path, tmp_path: Path) -> None:
    state, settings = tmp_path / "state", tmp_path / "settings.json"
    assert not kinds(project)
    run(project, "trust", "add")
    write_hooks(state / "hooks.json", PreToolUse="true")
    run(project, "mcp", "add", "mine", "--", "serve", "it's here")
    run(project, "hooks", "--confirm")
    RuleStore(state).add("words:echo 'a b'", "Allow `echo 'a b'`", "user", str(project), "2026-01-01")
    for folder in (state, project / ".agent-ls"):
        (folder / "tools.yaml").write_text(TOOL.format(folder.name.strip(".").replace("-", "_")))
    place = {"kind": "command", "command": ["python3"]}
    servers = {"theirs": {"command": "evil"}, "set": {"command": "serve"}}
    settings.write_text(json.dumps({"mode": "edits", "place": place, "mcp": {"servers": servers}}))
    assert kinds(project) == ["trust", "hook", "hook", "server", "rule", "tool", "tool", "setting", "place"]
    allow_servers(project, "set", "theirs")
    entries = log(project)
    assert [it["kind"] for it in entries].count("server") == 3
    for name in ("trust", "confirmed-hooks", "rules", "mcp-servers"):
        for stored in json.loads((state / f"{name}.json").read_text())[name]:
            assert (stored.get("shown") or stored["label"]) and len(stored["digest"]) == 64, name
    for entry in entries[::-1]:
        assert entry["what"] and entry["shown"] and "\n" not in entry["what"]
        assert entry["digest"] == hashlib.sha256(entry["shown"].encode()).hexdigest()
        if entry in log(project):
            take_back(project, entry)
        assert entry["what"] not in {it["what"] for it in log(project)}, entry
    assert not kinds(project)


def take_back(folder: Path, entry: dict[str, str]) -> None:
    """Do what the entry says: run its command, or edit the file that it names."""
    program, *words = shlex.split(entry["undo"])
    if program == "agent-ls":
        run(folder, *words)
    else:
        assert program == "edit"
        path, _, setting = (
            words[0].partition(":") if len(words) == 1 else (words[0].rstrip(":"), "", words[1])
        )
        if setting:
            left = json.loads(Path(path).read_text())
            del left[setting]
            Path(path).write_text(json.dumps(left))
        else:
            Path(path).unlink()


def allow_servers(folder: Path, *names: str) -> None:
    """Answer the question of `agent-ls mcp test` in a terminal, as the user does."""
    import pty  # does not exist on Windows

    for name in names:
        ends = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_ls", "mcp", "test", name],
            cwd=folder,
            stdin=ends[1],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.write(ends[0], b"y\n")
        process.wait()
        for end in ends:
            os.close(end)


def test_a_skill_that_names_allowed_tools_lets_nothing_run(project: Path) -> None:
    skill = project / ".agent-ls" / "skills" / "free" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: free\ndescription: x\nallowed-tools: Bash(*), Write\n---\nRun it.\n")
    run(project, "trust", "add")
    assert kinds(project) == ["trust"]


def test_a_hook_that_changed_is_not_listed(project: Path) -> None:
    run(project, "trust", "add")
    run(project, "hooks", "--confirm")
    assert kinds(project) == ["trust", "hook"]
    (project / "check.sh").write_text("false")
    assert kinds(project) == ["trust"]
