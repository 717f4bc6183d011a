"""Entries of servers as users of other agents write them, in files that several agents read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.config import (
    ConfigError,
    HttpTarget,
    OAuthClient,
    StdioTarget,
    Target,
    VariableValues,
    fill_variables,
    parse_server,
    secret_values,
    shown_variables,
)
from agent_ls.mcp.sources import find_servers
from tests.mcp.plans import user_file
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

URL = "https://a.example/mcp"
VALUES = VariableValues(
    {"TOKEN": "t-123456789", "EMPTY": "", "SERVER": URL, "HOME": "/h"}.get,
    lambda server, name: "entered",
    "/w",
)
BEARER = HttpTarget(URL, (("Authorization", "Bearer abc"),))
ENTRIES: list[Any] = [
    reported("zed-industries/zed#33539",
        {"source": "custom", "command": {"path": "npx", "args": ["-y", "x"], "env": {"T": "v"}}},
        StdioTarget("npx", ("-y", "x"), (("T", "v"),))),
    reported("vanillagreencom/kendex#2184",
        {"command": "x", "env": {"T": "${env:TOKEN}"}, "args": None, "cwd": None, "tools": None},
        StdioTarget("x", (), (("T", "t-123456789"),))),
    reported("pantheon-org/tekhne#226", {"transport": "stdio", "command": "x", "environment": {"N": 5}},
        StdioTarget("x", (), (("N", "5"),))),
    pytest.param({"command": "x", "env": ["A=b=c", {"name": "D", "value": "e"}]},
        StdioTarget("x", (), (("A", "b=c"), ("D", "e")))),
    pytest.param({"type": "HTTP", "url": f" {URL} ", "headers": [{"name": "A", "value": "b"}]},
        HttpTarget(URL, (("A", "b"),))),
    reported("getnao/nao#389", {"transport": "streamable-http", "url": URL}, HttpTarget(URL)),
    reported("tbxark/mcp-proxy#6", {"transportType": "streamable-http", "url": URL}, HttpTarget(URL)),
    reported("stbenjam/skillsaw#304", {"type": "streamable-http", "url": URL}, HttpTarget(URL)),
    reported("esengine/DeepSeek-Reasonix#2233",
        {"url": URL, "headers": {"X": "Bearer ${TOKEN}", "Y": "${env:TOKEN}"}},
        HttpTarget(URL, (("X", "Bearer t-123456789"), ("Y", "t-123456789")))),
    reported("netease-lcap/wave-agent#940",
        {"url": "${MISSING:-https://a.example}/mcp", "headers": {"X": "${MISSING:-fallback}"}},
        HttpTarget(URL, (("X", "fallback"),))),
    reported("langchain-ai/deepagents#4681",
        {"command": "${MISSING:-db}", "args": ["--token=${TOKEN}"], "env": {"A": "${TOKEN}"}},
        StdioTarget("db", ("--token=t-123456789",), (("A", "t-123456789"),))),
    reported("anomalyco/opencode#18058", {"command": "a", "_onyx_scanner_original": {"command": "b"}},
        StdioTarget("a")),
    reported("DeusData/codebase-memory-mcp#1640",
        {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "1"}, "enabled": True},
        StdioTarget("npx", ("-y", "x"), (("A", "1"),))),
    reported("intellectronica/ruler#520", {"url": URL, "oauth": {"clientId": "id", "callbackPort": 3118}},
        HttpTarget(URL)),
    reported("toolsdk-ai/toolsdk-mcp-registry#113",
        {"type": "stdio", "command": "a", "args": ["-p", 8080], "env": {"DEBUG": True, "PORT": 8080}},
        StdioTarget("a", ("-p", "8080"), (("DEBUG", "true"), ("PORT", "8080")))),
    reported("RooCodeInc/Roo-Code#628",
        {"command": "/opt/Program Files/node", "args": ["/opt/a b.js"], "disabled": False, "alwaysAllow": []},
        StdioTarget("/opt/Program Files/node", ("/opt/a b.js",))),
    reported("microsoft/copilot-eclipse-feedback#66",
        {"url": URL, "requestInit": {"headers": {"Authorization": "Bearer ${input:pat}"}}},
        HttpTarget(URL, (("Authorization", "Bearer entered"),))),
    reported("BigPizzaV3/CodexPlusPlus#803", {"url": URL, "bearer_token": "abc"}, BEARER),
    ({"url": URL, "bearerToken": "abc"}, BEARER),
    ({"type": "url", "url": URL, "authorization_token": "abc"}, BEARER),
    ({"url": URL, "authToken": "abc", "headers": {"X": "1"}},
        HttpTarget(URL, (("X", "1"), ("Authorization", "Bearer abc")))),
    reported("openai/codex#3196", {"transport": "http", "url": URL}, HttpTarget(URL)),
    reported("clawboo/clawboo#177",
        {"url": URL, "http_headers": {"A": "Bearer ${TOKEN}"}, "env_http_headers": {"X": "TOKEN"}},
        HttpTarget(URL, (("A", "Bearer t-123456789"), ("X", "t-123456789")))),
    reported("mastra-ai/mastra#18578", {"url": "${SERVER}"}, HttpTarget(URL)),
    reported("gsd-build/gsd-2#2150", {"url": f"{URL}?key=${{TOKEN}}"}, HttpTarget(f"{URL}?key=t-123456789")),
    reported("QwenLM/qwen-code#11499", {"httpUrl": URL, "headers": {"A": "Bearer ${TOKEN}"}},
        HttpTarget(URL, (("A", "Bearer t-123456789"),))),
    reported("anthropics/claude-code#6204", {"transport": {"type": "http", "url": URL, "headers": {"X": "${TOKEN}"}}},
        HttpTarget(URL, (("X", "t-123456789"),))),
    ({"transport": {"type": "stdio", "command": "a", "args": ["b"]}, "disabled": False}, StdioTarget("a", ("b",))),
    ({"connection": {"type": "streamable-http", "url": URL}}, HttpTarget(URL)),
    ({"config": {"command": "a", "env": {"A": "${TOKEN}"}}}, StdioTarget("a", (), (("A", "t-123456789"),))),
    reported("gilby125/mcp-proxmox#1", {"command": "node", "args": ["C:/a/x.js"], "cwd": "C:/a"},
        StdioTarget("node", ("C:/a/x.js",), cwd="C:/a")),
    reported("open-webui/mcpo#288", {"command": "a", "cwd": "/tmp"}, StdioTarget("a", cwd="/tmp")),
    reported("NousResearch/hermes-agent#18226", {"command": "a", "workdir": "/k"}, StdioTarget("a", cwd="/k")),
    ({"command": "a", "workingDirectory": "/k"}, StdioTarget("a", cwd="/k")),
    ({"command": "a", "working_dir": "/k", "cwd": None}, StdioTarget("a", cwd="/k")),
    ({"command": "a", "working_directory": "${SUB:-/k}"}, StdioTarget("a", cwd="/k")),
    reported("bytedance/deer-flow#5643", {"command": "a", "cwd": ""}, StdioTarget("a")),
    reported("openai/codex#5246", {"command": "a", "env_vars": ["TOKEN"], "env": {"B": "1"}},
        StdioTarget("a", (), (("TOKEN", "t-123456789"), ("B", "1")))),
    ({"command": "a", "envVars": ["TOKEN"]}, StdioTarget("a", (), (("TOKEN", "t-123456789"),))),
    ({"command": "a", "env_vars": ["NOT_SET"]}, StdioTarget("a", (), (("NOT_SET", ""),))),
    ({"command": "a", "env_vars": "TOKEN", "env": {"TOKEN": "x"}}, StdioTarget("a", (), (("TOKEN", "x"),))),
    reported("anomalyco/opencode#5739", {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${env:TOKEN}"}},
        StdioTarget("npx", ("-y", "x"), (("KEY", "t-123456789"),))),
    reported("google-gemini/gemini-cli#14621", {"httpUrl ": URL, "headers": {"A": "Bearer $TOKEN"}},
        HttpTarget(URL, (("A", "Bearer t-123456789"),))),
    ({"command": "a", "env": {"A": "$TOKEN", "B": "pa$TOKEN", "C": "$t"}},
        StdioTarget("a", (), (("A", "t-123456789"), ("B", "pa$TOKEN"), ("C", "$t")))),
    reported("1jehuang/jcode#789",
        {"command": "${NO:-db}", "args": ["--token=${TOKEN}", "${NO:-}"], "env": {"A": "${NO:-b}"}},
        StdioTarget("db", ("--token=t-123456789", ""), (("A", "b"),))),
    reported("RooCodeInc/Roo-Code#4739",
        {"command": "a", "args": ["${workspaceFolder}", "${fileWorkspaceFolder}", "${cwd}", "${workspaceFolder:x}"]},
        StdioTarget("a", ("/w", "/w", "/w", "/w"))),
    ({"command": "a", "args": ["${localEnv:TOKEN}"]}, StdioTarget("a", ("t-123456789",))),
    reported("modelcontextprotocol/servers#113", {"command": "uvx", "args": ["mcp-server-fetch"]},
        StdioTarget("uvx", ("mcp-server-fetch",))),
    reported("Chemaclass/agnostic-ai#546", {"command": {"path": "a", "args": [], "env": {"B": "c"}}},
        StdioTarget("a", (), (("B", "c"),))),
    reported("can1357/oh-my-pi#3180",
        {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "b"}, "enabled": True},
        StdioTarget("npx", ("-y", "x"), (("A", "b"),))),
    reported("anomalyco/opencode#41229",
        {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
        StdioTarget("npx", ("-y", "x"), (("A", "b"),))),
    reported("anomalyco/opencode#26332", {"type": "local", "command": ["x"], "env": {"A": "b"}},
        StdioTarget("x", (), (("A", "b"),))),
    reported("cline/cline#6767", {"type": "streamableHttp", "url": URL}, HttpTarget(URL)),
    reported("wenb1n-dev/mysql_mcp_server_pro#30",
        {"name": "my", "type": "streamableHttp", "description": "", "isActive": True, "baseUrl": URL}, HttpTarget(URL)),
    reported("zcaceres/fetch-mcp#17", {"command": "node", "args": ["~/mcp/index.js", "a~/b"]},
        StdioTarget("node", ("/h/mcp/index.js", "a~/b"))),
    reported("mark3labs/mcphost#117", {"type": "local", "command": ["uv", "run", "-p", "/v", "x"], "cwd": "/d"},
        StdioTarget("uv", ("run", "-p", "/v", "x"), cwd="/d")),
    reported("bcurts/agentchattr#34", {"httpUrl": URL, "trust": True}, HttpTarget(URL)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("oauth", "client"),
    [
        (
            {"clientId": "id", "callbackPort": 3118},
            OAuthClient("id", redirect="http://localhost:3118/callback"),
        ),
        (
            {
                "clientId": "id",
                "clientSecret": "{env:TOKEN}",
                "scope": "a b",
                "redirectUri": "http://127.0.0.1:1/x",
            },
            OAuthClient("id", "t-123456789", "a b", "http://127.0.0.1:1/x"),
        ),
        ({"enabled": True, "scopes": ["a", "b"]}, OAuthClient(scopes="a b")),
        reported(
            "soulcodex/agentic#39",
            {"clientId": "id", "callbackPort": 8080},
            OAuthClient("id", redirect="http://localhost:8080/callback"),
        ),
        (
            {"authServerMetadataUrl": "https://a.example/.well-known/oauth-authorization-server/x"},
            OAuthClient(server="https://a.example/x"),
        ),
        ({"issuer": "https://a.example/"}, OAuthClient(server="https://a.example")),
        ({"authorizationServerUrl": "https://a.example"}, OAuthClient(server="https://a.example")),
        ({"tokenUrl": "https://a.example/oauth/token"}, OAuthClient(server="https://a.example")),
        (False, OAuthClient()),
    ],
)
def test_logins_in_entries_of_other_agents_are_read(oauth: object, client: OAuthClient) -> None:
    config = parse_server("x", {"url": URL, "oauth": oauth}, "user")
    assert fill_variables(config, VALUES).oauth == client


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.example/x",
        "http://evil.example:80/x",
        "http://localhost:0/x",
        "x",
        "http://localhost:99999/x",
    ],
)
def test_a_login_redirects_to_this_machine_only(redirect: str) -> None:
    with pytest.raises(ConfigError):
        parse_server("x", {"url": URL, "oauthRedirect": redirect}, "user")


def test_a_secret_of_a_login_is_shown_by_its_variable_and_registered_as_secret() -> None:
    config = parse_server("x", {"url": URL, "oauthClientSecret": "${TOKEN}"}, "project")
    assert shown_variables(config) == ("oauthClientSecret=${TOKEN}",)
    assert "t-123456789" in secret_values(config, fill_variables(config, VALUES), VALUES)
    assert config.digest != parse_server("x", {"url": URL}, "project").digest


@pytest.mark.parametrize(("raw", "target"), ENTRIES)
def test_an_entry_of_another_agent_is_read_as_it_is_meant(raw: dict[str, Any], target: Target) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


@pytest.mark.parametrize(
    ("raw", "target"),
    [
        ({"serverUrl": URL}, HttpTarget(URL)),
        ({"httpUrl": URL, "timeout": 5000, "trust": True}, HttpTarget(URL)),
        ({"type": "remote", "url": URL}, HttpTarget(URL)),
        ({"url": URL, "requestInit": {"headers": {"X": "1"}}}, HttpTarget(URL, (("X", "1"),))),
        (
            {"url": URL, "bearer_token_env_var": "TOKEN"},
            HttpTarget(URL, (("Authorization", "Bearer t-123456789"),)),
        ),
        ({"url": URL, "env_http_headers": {"X": "TOKEN"}}, HttpTarget(URL, (("X", "t-123456789"),))),
        ({"type": "local", "command": "a", "args": [], "tools": ["*"]}, StdioTarget("a")),
    ],
)
def test_further_forms_of_entries_are_read(raw: dict[str, Any], target: Target) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


@pytest.mark.parametrize(
    "raw",
    [
        {"excludeTools": ["drop"]},
        {"disabledTools": ["drop"]},
        {"includeTools": ["keep"]},
        {"tools": ["keep"]},
        reported("dyoshikawa/rulesync#1007", {"enabled_tools": ["keep", "drop"], "disabled_tools": ["drop"]}),
        reported("RooCodeInc/Roo-Code#11259", {"allowedTools": ["keep"]}),
        reported("nicobailon/pi-mcp-adapter#136", {"includeTools": ["k*", "drop"], "excludeTools": ["d*"]}),
        {"allowed_tools": ["keep"]},
        {"disallowedTools": ["drop"]},
        {"blockedTools": ["drop"]},
        reported(
            "openai/codex#5367",
            {
                "enabled_tools": ["keep", "drop"],
                "disabled_tools": ["drop"],
                "tools": {"drop": {"enabled": False}, "keep": {"approval_mode": "approve"}},
            },
        ),
        {"tools": {"keep": True, "drop": False}},
    ],
)
def test_a_tool_that_another_agent_was_told_to_leave_out_is_not_offered(raw: dict[str, Any]) -> None:
    config = parse_server("x", {"command": "a", **raw}, "user")
    assert config.is_offered("keep") and not config.is_offered("drop")


@pytest.mark.parametrize(
    "raw",
    [
        reported("github/copilot-sdk#989", {"tools": []}),
        {"includeTools": []},
        {"enabled_tools": []},
        {"allowedTools": [], "disabledTools": ["x"]},
    ],
)
def test_an_empty_list_of_allowed_tools_of_another_agent_allows_none(raw: dict[str, Any]) -> None:
    assert not parse_server("x", {"command": "a", **raw}, "user").is_offered("any")


LIMITS: list[Any] = [
    reported("esengine/DeepSeek-Reasonix#2023", {"requestTimeoutMs": 120_000}, 120_000),
    reported("can1357/oh-my-pi#5774", {"timeout": 180_000}, 180_000),
    reported("probelabs/probe#325", {"timeout": 5000}, 5_000),
    reported("bytedance/UI-TARS-desktop#1176", {"timeout": 180}, 180_000),
    reported("cline/cline#3900", {"timeout": 60, "transportType": "stdio", "autoApprove": [], "disabled": False},
        60_000),
    reported("PrefectHQ/fastmcp#1031", {"sse_read_timeout": 300}, 300_000),
    ({"tool_timeout_sec": "2.5"}, 2_500),
    reported("RooCodeInc/Roo-Code#584", {"timeout": 3600}, 3_600_000),
    reported("anomalyco/opencode#50807", {"type": "local", "timeout": 60_000}, 60_000),
    reported("agentscope-ai/QwenPaw#4292", {"timeout": 30, "sse_read_timeout": 300}, 30_000),
    reported("cline/cline#12546", {"timeout": "60"}, 60_000),
    reported("can1357/oh-my-pi#1415", {"timeout": 0}, 86_400_000),
    ({"timeout": True, "timeoutMs": 7}, 0),
    ({"timeoutMs": 7, "timeout": 60}, 7),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "limit"), LIMITS)
def test_the_time_limit_of_calls_is_read_in_the_unit_that_its_agent_means(
    raw: dict[str, Any], limit: int
) -> None:
    if limit:
        assert parse_server("x", {"command": "a", **raw}, "user").timeout_ms == limit
    else:
        with pytest.raises(ConfigError, match="timeout"):
            parse_server("x", {"command": "a", **raw}, "user")


@pytest.mark.parametrize(
    ("raw", "limit"),
    [
        reported(
            "openai/codex#3326",
            {"initialize_timeout_s": 20},
            20_000,
        ),
        ({"connectionTimeout": 15_000}, 15_000),
        reported("affaan-m/ECC#971", {"startup_timeout_sec": 30}, 30_000),
        reported("openai/codex#3182", {"startup_timeout_ms": 20_000}, 20_000),
        ({"startupTimeoutSec": 1.5}, 1_500),
        ({"initTimeout": 60}, 60_000),
        ({"startTimeoutMs": 5, "startup_timeout_sec": 30}, 5),
    ],
)
def test_the_time_limit_of_a_start_is_read(raw: dict[str, Any], limit: int) -> None:
    assert parse_server("x", {"command": "a", **raw}, "user").start_timeout_ms == limit


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        reported("bastani-inc/atomic#1840", {"command": "a", "timeoutMs": "abc"}, "timeoutMs"),
        ({"command": "a", "timeoutMs": -5}, "timeoutMs"),
        reported("modelcontextprotocol/inspector#420", {"url": URL, "headers": ["token"]}, "headers"),
        reported("partITech/php-mistral#49", {"url": URL, "args": {"Authorization": "x"}}, "args"),
        reported("openai/codex#29396", {"startup_timeout_sec": 60}, "needs a command or a url"),
        reported("czlonkowski/n8n-mcp#566", {"type": "stramable-http", "url": URL}, "type"),
        reported("crystaldba/postgres-mcp#58", {"type": "sse", "serverUrl": URL}, "HTTP with SSE"),
    ],
)
def test_a_wrong_entry_is_named_and_the_others_are_used(
    tmp_path: Path, raw: dict[str, Any], word: str
) -> None:
    user_file(tmp_path, wrong=raw, right={"command": "b"})
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["right"]
    assert "wrong" in found.problems[0] and word in found.problems[0]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        reported("omnigent-ai/omnigent#4404", "${NOPE}/mcp", "NOPE"),
        reported(
            "anthropics/claude-code#51581",
            f"{URL}?key=${{STITCH_KEY}}",
            "STITCH_KEY",
        ),
        (f"{URL}/${{config:a.b}}", "only VS Code knows"),
        (f"{URL}/${{command:a.b}}", "only VS Code knows"),
        (f"{URL}/${{file}}", "only VS Code knows"),
    ],
)
def test_a_variable_without_a_value_is_named(url: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        fill_variables(parse_server("x", {"url": url}, "user"), VALUES)


@pytest.mark.report("microsoft/vscode#256546")
def test_the_command_that_asks_for_a_value_can_be_copied() -> None:
    entry = {"type": "stdio", "command": "echo", "args": ["Hello, ${input:test-input}!"]}
    values = replace(VALUES, inputs=lambda server, name: None)
    with pytest.raises(ConfigError, match="mcp login 'Test MCP Server'"):
        fill_variables(parse_server("Test MCP Server", entry, "user"), values)


def test_a_text_of_a_client_is_no_variable() -> None:
    config = parse_server("x", {"command": "a", "env": {"A": "$TOKEN"}}, "client")
    assert fill_variables(config, VALUES).target == StdioTarget("a", (), (("A", "$TOKEN"),))


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        reported(
            "anthropics/claude-code#47789",
            {"url": URL, "headersHelper": "${CLAUDE_PLUGIN_ROOT}/scripts/headers.sh"},
            "`headers`",
        ),
        ({"command": "a", "autoApprove": ["x"]}, "--allow"),
        ({"command": "a", "alwaysAllow": ["x"]}, "--allow"),
        ({"command": "a", "default_tools_approval_mode": "approve"}, "--allow"),
        ({"url": URL, "trust": True}, "--allow"),
        ({"command": "a", "trust": False, "autoApprove": [], "source": "custom"}, ""),
    ],
)
def test_a_key_without_effect_is_told_with_the_next_step(
    tmp_path: Path, raw: dict[str, Any], step: str
) -> None:
    user_file(tmp_path, a=raw)
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["a"] and step in " ".join(found.problems)
    assert bool(found.problems) == bool(step)


@pytest.mark.parametrize(
    ("words", "is_fetched"),
    [
        reported("Schniz/fnm#1477", ["fnm", "exec", "--using=default", "npx", "-y", "x"], True),
        (["cmd", "/c", "npx", "-y", "x"], True),
        (["sh", "-c", "cd /x && npx -y x"], True),
        (["node", "/n/npm/bin/npx-cli.js", "-y", "x"], True),
        (["C:\\n\\npx.cmd", "-y", "x"], True),
        (["node", "server.js", "--engine", "docker"], False),
        (["bash", "start.sh"], False),
    ],
)
def test_a_command_that_fetches_its_code_by_another_program_says_so(
    words: list[str], is_fetched: bool
) -> None:
    entry = {"command": words[0], "args": words[1:]}
    assert parse_server("x", entry, "project").is_fetched == is_fetched


@pytest.mark.report("thunderbird/thunderbolt#942")
@pytest.mark.report("anomalyco/opencode#39431", "openai/codex#10206", "jundot/omlx#1987")
def test_a_key_that_is_not_known_is_told_and_the_server_is_used(tmp_path: Path) -> None:
    odd = {"command": "a", "totally_bogus_nested_key_xyz": {"a": 1}, "inherit_env": True}
    user_file(tmp_path, a=odd, **{"": {"command": "b"}})
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["a", ""]
    assert "totally_bogus_nested_key_xyz, inherit_env" in " ".join(found.problems)


@pytest.mark.parametrize(
    "entry", [{"disabled": "true"}, {"disabled": True}, {"isActive": "False"}, {"enabled": "false"}]
)
def test_a_server_that_is_switched_off_stays_off_however_it_is_written(entry: dict[str, Any]) -> None:
    assert not parse_server("s", {"command": "x", **entry}, "user").is_enabled
