"""Ignore files of other agents in a session: what its tools and its commands see of the files that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported
from tests.support.session_rig import deny, running

pytestmark = pytest.mark.req("T6")

HIDING: list[Any] = [
    reported("google-gemini/gemini-cli#14546", ".geminiignore", "archive/\narchives/\n", "archive/a.txt"),
    reported("google-gemini/gemini-cli#16941", ".geminiignore", "/poc\n", "poc/a.txt"),
    reported("Chemaclass/agnostic-ai#625", ".aiexclude", "\ufeffsec.txt\n", "sec.txt"),
    reported("google-gemini/gemini-cli#653", ".aiexclude", "*.own.txt\n", "x/y.own.txt"),
    reported("cursor/cursor#2909", ".cursorignore", "*\n!kept.txt\n", "a/b.txt"),
    reported("jpoley/flowspec#368", ".claude/settings.json",
        '{"permissions": {"deny": ["Read(secrets/**)", "Bash(sudo:*)", "Write(CLAUDE.md)"]}}', "secrets/a.txt"),
    reported("mifunedev/openharness#974", ".claude/settings.json",
        '{"permissions": {"deny": ["Read(file_path=**/own.txt)", "NotebookEdit(x)",], /* all */}}', "deep/own.txt"),
    (".claude/settings.local.json", '{"permissions": {"deny": ["Read(./sec.txt)"]}}', "sec.txt"),
    (".claude/settings.json", '{"permissions": {"deny": ["Read(/a/*.txt)", "Read"]}}', "a/b.txt"),
    (".clineignore", "sec/\n", "sec/a.txt"),
    (".rooignore", "/sec/**\n", "sec/x/a.txt"),
    (".aiderignore", "# all\n\nsec.*", "SEC.txt"),
    (".cursorignore", "sec.txt\\\nx\\   \n", "sec.txt"),
    (".cursorignore", "sec\\/a.txt  \n", "sec/a.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rules", "hidden"), HIDING)
async def test_a_file_that_another_agent_must_not_see_is_hidden(
    tmp_path: Path, name: str, rules: str, hidden: str
) -> None:
    made = {"project/kept.txt": "needle", f"project/{hidden}": "needle SECRETWORD", f"project/{name}": rules}
    for path, content in made.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, "utf-8")
    calls = {
        "grep": {"pattern": "needle"},
        "glob": {"pattern": "**/*.txt"},
        "read_file": {"file_path": hidden},
        "write_file": {"file_path": hidden, "content": "x"},
        "shell": {"command": f"cat {hidden}"},
    }
    script: list[Piece] = [
        *(tool_call(tool, json.dumps(given), id=tool) for tool, given in calls.items()),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", deny, say="go")
        outputs = {it.call_id: it.output for it in talk.of(ToolCallEnd)}
    assert "kept.txt" in outputs["grep"] and "kept.txt" in outputs["glob"]
    assert not [it for it in outputs.values() if "SECRETWORD" in it]
    assert hidden not in outputs["grep"] + outputs["glob"]
    assert all("blocked by policy" in outputs[it] for it in ("read_file", "write_file"))
    assert [it.tool for it in talk.of(ApprovalRequested)] == ["shell"]


SHOWING: list[Any] = [
    reported("google-gemini/gemini-cli#20586", {".gitignore": "a.md\n", ".geminiignore": "!a.md\n"}),
    reported("google-gemini/gemini-cli#12290", {".gitignore": "#\na.md", ".geminiignore": "# x\n!a.md"}),
    reported("google-gemini/gemini-cli#15858", {".git/info/exclude": "a.md\n"}),
    {".cursorindexingignore": "a.md\n", ".continueignore": "a.md\n"},
    {".cursorignore": "*.md\n!a.md\n"},
    {".claude/settings.json": '{"permissions": {"deny": ["Read(//elsewhere/**)", "Edit(a.md)", 1]}}'},
    {".claude/settings.json": "no JSON"},
]  # fmt: skip


@pytest.mark.parametrize("rules", SHOWING)
async def test_a_file_that_is_only_left_out_of_searches_can_be_read(
    tmp_path: Path, rules: dict[str, str]
) -> None:
    for path, content in {"a.md": "needle", ".git/HEAD": "ref: refs/heads/main\n", **rules}.items():
        (tmp_path / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / path).write_text(content)
    script: list[Piece] = [tool_call("read_file", '{"file_path": "a.md"}'), text("Done.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="go")
    assert "needle" in talk.of(ToolCallEnd)[0].output
