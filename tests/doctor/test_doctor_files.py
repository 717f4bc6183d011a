"""`agent-ls doctor` names each file of servers, skills and hooks that is wrong, the entry in it, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.doctor.findings import DoctorFinding
from agent_ls.doctor.servers import server_findings
from agent_ls.doctor.user_files import user_file_findings
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.services.settings.model import Settings

FILES_AND_FINDINGS = [
    pytest.param("state/mcp.json", '{"mcpServers": {"a": 1,\n\n}', "", ["line 3"], id="user's servers"),
    pytest.param(
        ".mcp.json", '{"mcpServers": {"db": {"comand": "x", "command": "true"}}}', "",
        ["the server db: comand: is not known"], id="servers of the project",
    ),
    pytest.param(
        ".vscode/mcp.json", '{\n/* two\nlines */\n"servers": {"db": {"command": 3}}', "",
        ["line 4"], id="servers of VS Code with a comment",
    ),
    pytest.param(
        ".mcp.json", '{"mcpServers": {"db": {"command": "true", "env": {"A": "${NOT_SET_ANYWHERE}"}}}}', "default",
        ["the server db: the environment variable NOT_SET_ANYWHERE is not set"], id="variable that is not set",
    ),
    pytest.param(
        ".mcp.json", '{"mcpServers": {"db": {"command": "no-such-program-here"}}}', "install no-such-program-here",
        ["the server db: no-such-program-here is not found on PATH"], id="program that is not installed",
    ),
    pytest.param(
        ".agent-ls/hooks.json", '{"hooks": {"Stop": [{"hooks": []}, {"hooks": [{"type": "http"}]}]}}', "correct",
        ["Stop, entry 2: only hooks of type `command`"], id="hook of another type",
    ),
    pytest.param(
        "state/hooks.json", '{"hooks": 3}', "correct", ["`hooks` must be an object"], id="hooks without their row",
    ),
    pytest.param(
        ".agent-ls/hooks.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}',
        "agent-ls hooks --confirm", ["1 hooks do not run"], id="hook that is not confirmed",
    ),
    pytest.param(
        ".cursor/hooks.json", '{"version": 1, "hooks": {"beforeShellExecution": []}}', "agent-ls docs hooks",
        ["hooks of another agent"], id="hooks of Cursor",
    ),
    pytest.param(
        ".claude/settings.json", '{"hooks": {"Stop": []}}', "hooks.foreign",
        ["hooks of another agent"], id="hooks of Claude Code",
    ),
    pytest.param(
        ".claude/settings.json", '{"permissions": {"deny": ["Read(a)", "Bash(sudo:*)"], "ask": ["Edit(b)"]}}', "a hook",
        ["rules of permissions: Bash(sudo:*), Edit(b)"], id="rules of Claude Code",
        marks=pytest.mark.report("anthropics/claude-code#47053"),
    ),
    pytest.param(
        ".claude/settings.local.json", '{"enabledPlugins": {"p@m": true, "off@m": false}}', "skills.folders",
        ["does not read plugins, here p@m"], id="plugins of Claude Code",
        marks=pytest.mark.report("anthropics/claude-code#32486"),
    ),
    pytest.param(
        ".claude-plugin/plugin.json", '{"name": "p"}', "skills.folders",
        ["does not read this plugin's"], id="a plugin of Claude Code",
        marks=pytest.mark.report("anthropics/claude-code#17524"),
    ),
    pytest.param(
        ".agents/skills/x/SKILL.md", "---\n- [\n---\n", "agent-ls skills",
        ["not valid YAML"], id="skill",
    ),
    pytest.param(".gemini/commands/x.toml", "prompt = ", "agent-ls skills", ["not valid TOML"], id="command"),
    pytest.param(
        ".github/agents/x.agent.md", "---\ndescription: d\nmcp-servers: {}\n---\n", "agent-ls skills",
        ["its mcp-servers are ignored"], id="kind of subagent",
    ),
]  # fmt: skip


@pytest.fixture
def own_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `tmp_path` the current folder and a trusted project. It contains the folder `state`, too."""
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(TRUST_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def about_files() -> list[DoctorFinding]:
    return [*server_findings(Settings()), *user_file_findings(Settings())]


@pytest.mark.req("T11", "T12", "T15", "T16", "H11")
@pytest.mark.parametrize(("name", "content", "hint", "words"), FILES_AND_FINDINGS)
def test_an_invalid_file_is_reported_with_its_entry_and_a_hint(
    name: str, content: str, hint: str, words: list[str], own_project: Path
) -> None:
    path = own_project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    [finding] = about_files()
    assert str(path) in finding.text and all(word in finding.text for word in words), finding
    assert finding.grade != "good" and finding.hint and hint in finding.hint, finding


@pytest.mark.req("T12", "H11")
def test_doctor_reports_links_out_of_a_skills_folder_but_not_links_within_the_project(
    own_project: Path,
) -> None:
    elsewhere = own_project / "elsewhere"
    for name in ("a", "b"):
        path = elsewhere / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {name}\ndescription: d. Use it.\n---\n")
    skills = own_project / ".agents/skills"
    (skills / "b").mkdir(parents=True)
    (skills / "a").symlink_to(elsewhere / "a")
    (skills / "b/SKILL.md").symlink_to(elsewhere / "b/SKILL.md")
    (own_project / ".claude").mkdir()
    (own_project / ".claude/skills").symlink_to(skills)  # many projects have it, for another agent
    (own_project / ".claude/agents").symlink_to(elsewhere)
    linked = [it.text for it in about_files() if "this symbolic link to" in it.text]
    assert [text.split(": ")[0] for text in linked] == [
        str(own_project / ".claude/agents"), str(skills / "a"), str(skills / "b/SKILL.md"),
    ]  # fmt: skip


@pytest.mark.req("X4", "H11")
def test_files_of_a_folder_that_is_not_trusted_are_named_and_not_read(
    own_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    for name in (".mcp.json", ".agent-ls/hooks.json", ".agents/skills/x/SKILL.md"):
        (own_project / name).parent.mkdir(parents=True, exist_ok=True)
        (own_project / name).write_text("SECRETWORD")
    servers, others = about_files()
    assert ".mcp.json: not read" in servers.text and "trust add" in servers.hint
    assert ".agent-ls/hooks.json, .agents/skills: not read" in others.text
    assert "SECRETWORD" not in f"{servers}{others}"


@pytest.mark.req("T15", "H11")
@pytest.mark.parametrize("matcher", ["append_file", "find_tools", "think", "execute_bash", "Bash"])
def test_a_hook_may_name_any_tool_that_a_session_can_have(matcher: str, own_project: Path) -> None:
    path = own_project / ".agent-ls/hooks.json"
    path.parent.mkdir()
    hook = {"type": "command", "command": "true"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}}), "utf-8")
    assert [it for it in about_files() if "matches no tool" in it.text] == []
