"""Prompts, imports and entries of servers in public reports, each in its smallest form."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_ls.acp.servers import read_client_servers
from agent_ls.doctor.servers import server_findings
from agent_ls.features.mcp.prompt_commands import prompt_commands, prompt_text
from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.mcp.config import ConfigError, HttpTarget, StdioTarget, Target, fill_variables, parse_server
from agent_ls.mcp.sources import find_servers, read_file, servers_of
from agent_ls.services.errors import AppError
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.services.settings.model import Settings, SkillSettings
from tests.mcp.plans import raw_server, sent, user_file
from tests.mcp.rig import running
from tests.mcp.test_entry_reports import URL, VALUES
from tests.support.commands import environment, run
from tests.support.fake_provider import text
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

OPTIONAL = [{"name": "p", "required": False}]
NEEDED = [{"name": "repo", "required": True}]


@pytest.mark.report("Helmi/claude-simone#71")  # fmt: skip
@pytest.mark.report("anomalyco/opencode#14613")  # fmt: skip
@pytest.mark.report("Gitlawb/zero#179")  # fmt: skip
async def test_a_prompt_needs_only_its_required_arguments(tmp_path: Path) -> None:
    prompts = [
        {"name": "a", "arguments": OPTIONAL},
        {"name": "b", "arguments": []},
        {"name": "c", "arguments": NEEDED},
    ]
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", prompts=prompts, log=str(log)))
    async with running(tmp_path, [text("done")]) as rig:
        servers = (await rig.talk(say="go")).live.servers
        assert [it.name for it in prompt_commands(servers)] == ["raw:a", "raw:b", "raw:c"]
        assert "a {}" in await prompt_text(servers, "raw:a", "") and "b {}" in await prompt_text(
            servers, "raw:b", ""
        )
        with pytest.raises(AppError, match="repo"):
            await prompt_text(servers, "raw:c", "")
    assert [it["params"]["name"] for it in sent(log) if it.get("method") == "prompts/get"] == ["a", "b"]


ENTRIES: list[Any] = [
    reported("cline/cline#2157", {"command": "cmd", "args": ["/c", "npx", "-y", "x"]},
        StdioTarget("cmd", ("/c", "npx", "-y", "x"))),
    reported("modelcontextprotocol/servers#1332",
        {"disabled": False, "timeout": 600, "command": "npx", "args": ["tsx", "w"], "transportType": "stdio"},
        StdioTarget("npx", ("tsx", "w"))),
    reported("obot-platform/obot#3054", {"command": "${SERVER}", "args": ["--t=${TOKEN}"], "env": {"E": "${EMPTY}"}},
        StdioTarget(URL, ("--t=t-123456789",), (("E", ""),))),
    reported("KlaatAI/klaatcode#47", {"command": "${userHome}/s", "args": ["${workspaceFolder}/a", "${NOPE:-d}"]},
        StdioTarget("/h/s", ("/w/a", "d"))),
    reported("google-gemini/gemini-cli#28248", {"url": f"{URL}/$TOKEN", "headers": {"A": "${NOPE:-x}-{{VAR}}"}},
        HttpTarget(f"{URL}/t-123456789", (("A", "x-{{VAR}}"),))),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "target"), ENTRIES)
def test_an_entry_means_what_its_author_means(raw: dict[str, Any], target: Target) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


UNSET: list[Any] = [
    reported("langchain-ai/deepagents#3506", {"url": URL, "headers": {"A": "Bearer ${NO_KEY}"}}),
    reported("NousResearch/hermes-agent#44704", {"command": "a", "env": {"A": "${NO_KEY}"}}),
]  # fmt: skip


@pytest.mark.parametrize("raw", UNSET)
def test_a_variable_that_is_not_set_is_named(raw: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="NO_KEY"):
        fill_variables(parse_server("x", raw, "user"), VALUES)


FILES: list[Any] = [
    reported("toroleapinc/claude-brain#27", ".claude.json",
        '{"numStartups": 3, "mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {}}}}', ["a"]),
    reported("1jehuang/jcode#1327", "config.toml",
        'model = "m"\n[mcp_servers.a]\ncommand = "x"\nenabled = false\n[mcp_servers.b]\ncommand = "y"\n', ["b"]),
    reported("RooCodeInc/Roo-Code#2264", "mcp.json",
        '{"mcpServers": {"b": {"command": "cmd.exe", "args": ["/c", "npx"],}}}', ["b"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "on"), FILES)
def test_a_file_of_another_agent_has_these_servers(
    tmp_path: Path, name: str, content: str, on: list[str]
) -> None:
    (tmp_path / name).write_text(content)
    table = servers_of(read_file(tmp_path / name))
    assert [it for it, raw in table.items() if parse_server(it, raw, "user").is_enabled] == on


@pytest.mark.report("alex-feel/claude-code-toolbox#398")  # fmt: skip
def test_an_import_keeps_variables(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(
        json.dumps({"mcpServers": {"a": {"url": URL, "headers": {"A": "Bearer ${TOKEN}"}}}})
    )
    environ = environment(tmp_path / "home", TOKEN="t-123456789")
    assert run("mcp", "import", str(tmp_path / "other.json"), cwd=tmp_path, environ=environ).code == 0
    written = (tmp_path / "home/state/mcp.json").read_text()
    assert "${TOKEN}" in written and "t-123456789" not in written


MISSING: list[Any] = [
    reported("modelcontextprotocol/python-sdk#334", "uv-that-is-not-there"),
    reported("modelcontextprotocol/servers#1286", "/opt/elsewhere/bin/uv"),
    reported("cline/cline#1160", "uvx-that-is-not-there"),
]  # fmt: skip


@pytest.mark.parametrize("program", MISSING)
def test_a_program_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv(TRUST_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    user_file(tmp_path / "state", weather={"command": program, "args": ["run", "weather.py"]})
    assert any(program in it.text and it.grade != "good" for it in server_findings(Settings()))


CLIENT: list[Any] = [
    reported("mrmans0n/alas#657", {"name": "a", "command": "/x", "args": [], "env": [], "cwd": "/w"},
        StdioTarget("/x", cwd="/w")),
    reported("github/copilot-cli#1255", {"name": "a", "command": "/x", "args": ["--stdio"],
        "env": [{"name": "K", "value": "$V"}]}, StdioTarget("/x", ("--stdio",), (("K", "$V"),))),
    reported("stakpak/agent#399", {"type": "http", "name": "a", "url": URL, "headers": [{"name": "A", "value": "b"}]},
        HttpTarget(URL, (("A", "b"),))),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "target"), CLIENT)
def test_a_server_of_a_client_is_read(raw: dict[str, Any], target: Target) -> None:
    given = read_client_servers([raw])
    assert not given.problems and parse_server("a", given.entries["a"], "client").target == target


KINDS: list[Any] = [
    reported("mthines/agent-skills#83", "Read, mcp__lorekit__memory_list", "lorekit__memory_list", True),
    reported("langchain-ai/deepagents#5537", "Read, Grep", "db__drop_table", False),
    ("Read, mcp__lorekit__memory.list", "lorekit__memory_list", True),
    ("Read, mcp__my-db__query", "my_db__query", True),
]  # fmt: skip


@pytest.mark.parametrize(("tools", "tool", "is_kept"), KINDS)
def test_a_subagent_has_the_tools_of_servers_that_its_file_names(
    home: Path, tools: str, tool: str, is_kept: bool
) -> None:
    path = home / ".claude/agents/k.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: k\ndescription: d\ntools: {tools}\n---\nDo")
    kind = load_agent_kinds(SkillSettings(), str(home / "state"), None).found["k"]
    assert kind.keeps(SimpleNamespace(kind=tool, name=tool, category="other")) == is_kept


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_servers_in_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    user_file(tmp_path, a={"command": "a", "env": {"A": "$(x)"}}, b={"url": URL})
    assert [it.name for it in find_servers(tmp_path, None).servers] == ["b"]
