"""Kinds of subagents in the files of more agents, in the forms that public reports show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.skills.agents import AgentKinds, load_agent_kinds
from agent_ls.services.settings.model import SkillSettings
from agent_ls.tools.foreign_names import names_of_tool
from tests.features.skills.folders import command, placed
from tests.support.reports import reported

pytestmark = pytest.mark.req("T16")


def kinds(home: Path, folder: str = ".") -> AgentKinds:
    return load_agent_kinds(SkillSettings(), str(home / "state"), str(placed(home, folder)))


AGENTS: list[Any] = [
    reported(
        "anomalyco/opencode#8733",
        "~/.config/opencode/agent/tester.md",
        "---\ndescription: Tests.\nmode: subagent\n---\n\nDo",
        "tester",
    ),
    reported(
        "google-antigravity/antigravity-cli#674",
        ".agents/agents/child/agent.md",
        "---\nname: child\ndescription: d\nmainAgent: false\n---\nDo",
        "child",
    ),
    reported(
        "anthropics/claude-code#44385",
        ".claude/agents/python-engineer.md",
        "---\nmodel: sonnet\nname: Python Engineer\ndescription: d\n---\nDo",
        "python-engineer",
    ),
    reported(
        "anthropics/claude-code#91890",
        "~/.claude/agents/fe.md",
        "---\nname: fe\ndescription: For ALL - Svelte 5, ...\nmodel: opus\nskills:\n  - a:b\n  - c:d\n---\nDo",
        "fe",
    ),
    reported(
        "openai/codex#15345",
        "~/.codex/agents/scout.toml",
        'name = "scout"\ndescription = "d"\ndeveloper_instructions = "Do"\nmodel = "gpt-5"',
        "scout",
    ),
    (".github/agents/my.agent.md", "---\ndescription: d\n---\nDo", "MY"),
    reported(
        "github/copilot-cli#694",
        ".github/agents/crlf.md",
        "---\r\nname: t\ndescription: 'd'\r\n---\n\r\nDo\r\n",
        "t",
    ),
    ("~/.copilot/agents/plain.md", "---\ndescription: d\n---\nDo", "plain"),
    reported(
        "anthropics/claude-code#13627",
        ".claude/agents/test-agent.md",
        '---\nname: test-agent\ndescription: "Use this agent for any test."\ncolor: yellow\n---\n\nDo',
        "test-agent",
    ),
    reported(
        "anomalyco/opencode#2369",
        ".claude/agents/subagents/deep.md",
        "---\ndescription: d\n---\nDo",
        "deep",
    ),
    reported(
        "agentscope-ai/agentscope-java#2328",
        ".claude/agents/test-agent.md",
        "---\ndescription: 'test'\nmodel: openai:gpt-4o-mini\nsteps: 3\nhidden: true\ntools: [read_file]\n---\nDo",
        "test-agent",
    ),
    reported(
        "anthropics/claude-code#57584",
        ".claude/agents/castor.md",
        '---\nname: castor\ndescription: Owns it: UniFi (VLANs), Docker/Podman. Examples: <x>user: "hi"</x>\n---\nDo',
        "castor",
    ),
    reported(
        "letta-ai/letta-code#1424",
        ".claude/agents/r.md",
        "\ufeff---\r\nname: r\r\ndescription: d\r\nmodel:\r\n---\r\nDo",
        "r",
    ),
    reported(
        "anthropics/claude-code#11205",
        "~/.claude/agents/mine.md",
        "---\nname: mine\ndescription: d\n---\nDo",
        "mine",
    ),
]


@pytest.mark.parametrize(("name", "text", "wanted"), AGENTS)
def test_a_subagent_is_found_by_its_name(home: Path, name: str, text: str, wanted: str) -> None:
    real = command(home / "dotfiles/real", text)
    path = placed(home, name)
    path.parent.mkdir(parents=True)
    if name.startswith("~/"):
        os.symlink(real, path)
    else:
        path.write_text(text, newline="")
    found = kinds(home).find(wanted)
    assert found and found.instructions == "Do"


def test_a_subagent_in_toml_that_cannot_be_read_is_told(home: Path) -> None:
    command(home / ".codex/agents/a.toml", 'name = "a')
    assert len(kinds(home).problems) == 1 and not kinds(home).found


@pytest.mark.report("github/copilot-cli#1859")
def test_subagents_of_the_root_and_of_the_folder_are_found(home: Path) -> None:
    for name in (".github/agents/one.agent.md", "src/team/.github/agents/two.agent.md"):
        command(placed(home, name), "---\ndescription: d\n---\nDo")
    assert [*kinds(home, "src/team").found] == ["one", "two"]


TOOLS: list[Any] = [
    reported(
        "anthropics/claude-code#56398",
        "Read, Grep, Glob",
        ["read_file", "grep", "glob"],
        ["shell", "edit_file"],
    ),
    reported(
        "github/copilot-cli#2638",
        "['my-mcp/search_code']",
        ["my-mcp__search_code"],
        ["my-mcp__search_workitem", "read_file"],
    ),
    reported("microsoft/vscode-copilot-release#14096", "['*']", ["shell", "read_file", "x__y"], []),
    reported(
        "github/copilot-cli#3337",
        "[execute, read, edit, search, todo, context7/*, ado/wit_get]",
        ["shell", "read_file", "edit_file", "grep", "plan", "context7__find", "ado__wit_get"],
        ["ado__wit_list", "web_fetch"],
    ),
    reported(
        "microsoft/vscode#317044",
        "['search', 'read', 'vscode/memory', 'execute/getTerminalOutput', 'agent']",
        ["grep", "read_file", "spawn_agent"],
        ["edit_file"],
    ),
    reported(
        "microsoft/vscode-copilot-release#9452",
        "['codebase', 'terminalLastCommand', 'editFiles', 'runCommands']",
        ["grep", "edit_file", "shell"],
        ["web_fetch"],
    ),
    reported(
        "anthropics/claude-code#17928",
        "Read, Bash, mcp__delegator__invoke_agent, mcp__context7__*",
        ["context7__docs", "delegator__invoke_agent", "read_file"],
        ["delegator__other"],
    ),
    reported(
        "anthropics/claude-code#53865",
        "mcp__codemaps-direct, Read",
        ["codemaps-direct__find", "read_file"],
        ["other__find"],
    ),
    reported(
        "anthropics/claude-code#95651",
        "mcp__*iteworks*__get, mcp__*__list",
        ["Kiteworks__get", "db__list"],
        ["db__get"],
    ),
    reported("Jamie-BitFlight/claude_skills#3136", "Read Grep", ["read_file", "grep"], ["shell"]),
    reported("QwenLM/qwen-code#792", "\n  - Shell\n  - ReadFile", ["shell", "read_file"], ["write_file"]),
    reported(
        "Jamkris/everything-gemini-code#35",
        "\n  - grep_search\n  - list_directory\n  - search_file_content\n  - mcp_github_list",
        ["grep", "list_dir", "github__list"],
        ["shell", "github__get"],
    ),
    reported(
        "anomalyco/opencode#1781", "\n  '*': false\n  db_query: true", ["db__query"], ["db__list", "shell"]
    ),
    reported(
        "github/copilot-cli#4023",
        "['read', 'web', 'search']",
        ["read_file", "web_fetch", "web_search", "grep", "glob"],
        ["shell"],
    ),
    reported(
        "anthropics/claude-code#38920",
        "",
        ["playwriter__execute", "shell", "use_skill"],
        [],
    ),
    reported(
        "anthropics/claude-code#5304",
        "Bash, Read, Write, Grep, Glob",
        ["shell", "read_file", "write_file", "grep", "glob"],
        ["web_fetch"],
    ),
    ("[terminal, find_path, list_directory]", ["shell", "glob", "list_dir"], ["read_file"]),
    ("mcp__*, Read", ["db__list", "read_file"], ["shell"]),
    ("['@git', '@db/list']", ["git__log", "db__list"], ["db__get", "shell"]),
    ("\n  '*': false\n  read: true", ["read_file"], ["shell", "db__list"]),
    ("mcp__lorekit__memory_list", ["lorekit__memory_list"], ["lorekit__memory_write"]),
]


@pytest.mark.parametrize(("written", "kept", "left"), TOOLS)
def test_a_subagent_has_the_tools_that_its_file_names(
    home: Path, written: str, kept: list[str], left: list[str]
) -> None:
    command(home / ".claude/agents/a.md", f"---\ndescription: d\ntools: {written}\n---\nDo")
    kind = kinds(home).found["a"]
    for names, expected in ((kept, True), (left, False)):
        got = {name: kind.keeps(Named(name)) for name in names}
        assert got == dict.fromkeys(names, expected)


@pytest.mark.report("anomalyco/opencode#23045")
def test_tools_of_a_server_are_denied_by_their_prefix(home: Path) -> None:
    command(
        home / ".config/opencode/agents/a.md",
        "---\ndescription: d\npermission:\n  'db_*': deny\n  github_get: deny\n---\nDo",
    )
    kind = kinds(home).found["a"]
    names = ["db__query", "github__get", "github__list", "read_file"]
    assert [name for name in names if kind.keeps(Named(name))] == ["github__list", "read_file"]


@pytest.mark.report("anthropics/claude-code#68880")
@pytest.mark.parametrize(
    ("denied", "left"),
    [
        ("mcp__github, mcp__db__*", ["read_file", "files__get"]),
        ("mcp__*", ["read_file"]),
        ("'*'", []),
        ("Read, '@github'", ["db__query", "files__get"]),
    ],
)
def test_denied_tools_of_servers_are_taken_away(home: Path, denied: str, left: list[str]) -> None:
    command(home / ".claude/agents/a.md", f"---\ndescription: d\ndisallowedTools: [{denied}]\n---\nDo")
    kind = kinds(home).found["a"]
    names = ["read_file", "github__get", "db__query", "files__get"]
    assert [name for name in names if kind.keeps(Named(name))] == left


@pytest.mark.report("anomalyco/opencode#41712")
def test_a_tool_whose_calls_are_all_denied_is_taken_away(home: Path) -> None:
    rows = 'edit: deny\n  bash:\n    "*": deny\n    "git *": allow\n  skill:\n    "*": deny'
    command(home / ".config/opencode/agents/a.md", f"---\ndescription: d\npermission:\n  {rows}\n---\nDo")
    kind = kinds(home).found["a"]
    assert [kind.keeps(Named(name)) for name in ("use_skill", "edit_file", "shell")] == [False, False, True]


@pytest.mark.report("anthropics/claude-code#27099")
@pytest.mark.report("anthropics/claude-code#52293")
@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("allowed-tools:\n  - Read\n  - Glob", ["read_file", "glob"]),
        ("allowed-tools: Read, Bash(git *)", ["read_file", "shell"]),
        reported(
            "shanraisshan/claude-code-best-practice#172",
            "allowedTools: [Read, WebFetch]",
            ["read_file"],
        ),
        ("allowed_tools: Read", ["read_file"]),
        ("disallowed-tools: Bash, Agent", ["read_file", "glob"]),
        ("disallowed_tools: [Glob, Bash]\ntools: Read, Glob, Bash", ["read_file"]),
        ("tools: Read\nallowed-tools: Bash", ["read_file"]),
        ("tools: Agent(a), Agent(b), Read", ["read_file", "spawn_agent"]),
        ("tools: read_file, execute_command", ["read_file", "shell"]),
    ],
)
def test_tools_are_limited_in_the_field_of_a_skill_too(home: Path, rows: str, kept: list[str]) -> None:
    command(home / ".claude/agents/a.md", f"---\ndescription: d\n{rows}\n---\nDo")
    kind = kinds(home).found["a"]
    names = ["read_file", "glob", "shell", "spawn_agent"]
    assert [name for name in names if kind.keeps(Named(name))] == kept


class Named:
    """A tool of which only the name counts."""

    category = "read"

    def __init__(self, name: str) -> None:
        self.kind = self.name = name
        assert name in names_of_tool(name, name)
