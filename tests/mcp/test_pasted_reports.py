"""Whole files with MCP servers, pasted from the documentation and the reports of other agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.mcp.user_file import read_servers
from agent_ls.mcp.config import (
    HttpTarget,
    OAuthClient,
    StdioTarget,
    VariableValues,
    fill_variables,
    parse_server,
)
from agent_ls.mcp.sources import find_servers
from agent_ls.services.errors import BadChoiceError
from tests.mcp.plans import user_file
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

URL = "https://a.example/mcp"
VALUES = VariableValues({"TOKEN": "t-123456789"}.get, lambda server, name: "entered", "/w")
TOML, YAML, JSON = "config.toml", "config.yaml", "mcp.json"


def bearer(token: str = "t-123456789") -> HttpTarget:
    return HttpTarget(URL, (("Authorization", f"Bearer {token}"),))


def table(**entry: Any) -> str:
    return json.dumps({"mcpServers": {"a": entry}})


FILES: list[Any] = [
    reported("disruption-hub/payloadcmsmcp#2", JSON,
        table(name="A", transport={"type": "command", "url": "http://localhost:8080"}, command="x"), StdioTarget("x")),
    (JSON, table(type="command", command="x", args=["--port", "8080"], enabled=True),
        StdioTarget("x", ("--port", "8080"))),
    (JSON, table(type="http", url=URL, command="x"), HttpTarget(URL)),
    (JSON, table(type="Streaming HTTP", url=URL), HttpTarget(URL)),
    reported("cloudflare/mcp-server-cloudflare#223", JSON,
        table(type="streamable-http", url=URL, headers={"X": "k"}, disabled=False), HttpTarget(URL, (("X", "k"),))),
    reported("hangwin/mcp-chrome#173", JSON, table(type="streamableHttp", url=URL), HttpTarget(URL)),
    reported("DeusData/codebase-memory-mcp#24", JSON,
        '{"context_servers": {"a": {"command": "/h/c", "source": "custom", "args": [""],},},}',
        StdioTarget("/h/c", ("",))),
    reported("zed-industries/zed#27435", JSON,
        '{"context_servers": {"a": {"settings": {}, "command": {"path": "/b", "args": ["-d"], "env": {}}}}}',
        StdioTarget("/b", ("-d",))),
    reported("openai/codex#5241", TOML,
        f'[mcp_servers.a]\nurl = "{URL}"\nhttp_headers = {{X = "1"}}\nenv_http_headers = {{Y = "TOKEN"}}\n',
        HttpTarget(URL, (("X", "1"), ("Y", "t-123456789")))),
    reported("bastani-inc/atomic#3088", JSON, table(url=URL, auth="bearer", bearerTokenEnv="TOKEN"), bearer()),
    (JSON, table(url=URL, bearerTokenEnvVar="TOKEN"), bearer()),
    (JSON, table(url=URL, apiKey="abc"), bearer("abc")),
    reported("AltimateAI/altimate-code#655", JSON,
        '{"mcp": {"a": {"type": "local", "command": ["x", "$${KEEP}"], "environment": {"M": "${APP:-prod}"}}}}',
        StdioTarget("x", ("${KEEP}",), (("M", "prod"),))),
    (JSON, table(command="x", args=["$${A}-${TOKEN}", "$${input:a}"]),
        StdioTarget("x", ("${A}-t-123456789", "${input:a}"))),
    reported("github/copilot-cli#1841", JSON,
        f'{{"servers": {{"a": {{"type": "http", "url": "{URL}", "headers": {{"K": "${{input:k}}"}}}},}},'
        '"inputs": [{"id": "k", "type": "promptString"}]}', HttpTarget(URL, (("K", "entered"),))),
    reported("bitrise-io/bitrise-mcp#2", JSON,
        '{"mcp": {"inputs": [{"id": "w"}], "servers": {"a": {"command": "x", "env": {"T": "${input:w}"}}}}}',
        StdioTarget("x", (), (("T", "entered"),))),
    reported("continuedev/continue#6109", YAML,
        f"schema: v1\nmcpServers:\n  - name: a\n    type: streamable-http\n    url: {URL}\n"
        '    requestOptions:\n      headers: { Authorization: "Bearer ABC" }\n', bearer("ABC")),
    reported("DeusData/codebase-memory-mcp#1675", YAML,
        "extensions:\n  a:\n    type: stdio\n    cmd: /b/c\n    args: []\n    enabled: true\n", StdioTarget("/b/c")),
    (YAML, f"extensions:\n  a: {{type: streamable_http, uri: {URL}, envs: {{}}, timeout: 300}}\n", HttpTarget(URL)),
    (YAML, "extensions:\n  a: {cmd: x, envs: {A: b}, env_keys: [TOKEN]}\nat: 2024-01-02\n",
        StdioTarget("x", (), (("TOKEN", "t-123456789"), ("A", "b")))),
    reported("kirodotdev/Kiro#4323", JSON, table(disabled=False, command="uvx", args=["p", URL]),
        StdioTarget("uvx", ("p", URL))),
    reported("pathintegral-institute/mcpm.sh#92", JSON, table(command="npx", args=["-y"], env={}, fromGalleryId="x.y"),
        StdioTarget("npx", ("-y",))),
    reported("nanbingxyz/5ire#74", JSON,
        '{"servers": [{"key": "a", "command": "npx", "description": "d", "args": ["x"], "isActive": true}]}',
        StdioTarget("npx", ("x",))),
    (JSON, '{"mcpServers": [{"id": "a", "command": "x"}]}', StdioTarget("x")),
    reported("Aas-ee/open-webSearch#3", JSON,
        json.dumps({"a": {"url": URL, "headers": {"Authorization": "Bearer ABC"}}}),
        bearer("ABC")),
    reported("charmbracelet/crush#718", JSON, '"a": {"command": "uv", "args": ["run"], "env": {}}',
        StdioTarget("uv", ("run",))),
    (JSON, '\n"mcpServers": {"a": {"command": "x"}},\n', StdioTarget("x")),
    reported("microsoft/vscode#319528", JSON, table(type="http", url=URL, headers={"X": "v"}),
        HttpTarget(URL, (("X", "v"),))),
    reported("Aas-ee/open-webSearch#26", JSON, table(transport={"type": "streamableHttp", "url": URL}),
        HttpTarget(URL)),
    reported("anthropics/claude-code#10955", JSON,
        json.dumps({"a": {"command": "npx", "args": ["n"], "env": {"MODE": "stdio"}}}),
        StdioTarget("npx", ("n",), (("MODE", "stdio"),))),
    reported("anthropics/claude-code#1254", JSON, table(command="x", args=["--token", "A"], env={"A": "b"}),
        StdioTarget("x", ("--token", "A"), (("A", "b"),))),
    reported("coulsontl/ai-toolbox#195", JSON, table(serverUrl=URL), HttpTarget(URL)),
    (TOML, '[mcp_servers.a]\ncommand = "x"\nenv_vars = ["B", {name = "TOKEN", source = "remote"}]\n',
        StdioTarget("x", (), (("B", ""), ("TOKEN", "t-123456789")))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "written", "target"), FILES)
def test_a_server_in_a_pasted_file_is_read_as_it_is_meant(
    tmp_path: Path, name: str, written: str, target: HttpTarget | StdioTarget
) -> None:
    path = tmp_path / name
    path.write_text(written, "utf-8")
    user_file(tmp_path, **read_servers(path))
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["a"] and not found.problems
    assert fill_variables(found.servers[0], VALUES).target == target


REFUSED: list[Any] = [
    reported("microsoft/vscode#264448", JSON, '{"servers": {"a": {"command": "x", "env": {"K": "${TOKEN}"}}}',
        "line 1"),
    reported("yzfly/mcp-excel-server#2", JSON, '{"mcpServers": {"command": "uvx", "args": ["x"], "env": {"A": "b"}}}',
        "without a name"),
    reported("Project-N-E-K-O/N.E.K.O#2413", JSON, json.dumps({"type": "http", "url": URL}), "without a name"),
    reported("huggingface/mcp-course#174", JSON, '{"model": "m", "servers": [{"config": {"command": "x"}}]}',
        "without a name"),
    reported("verygoodplugins/mcp-automem#21", JSON, '{"name": "a/b", "version": "1", "remotes": [{"type": "sse"}]}',
        "mcp add"),
    (YAML, "a: [1\n", "not valid YAML"),
    (YAML, "a: &b {command: x}\nc: *b\n", "aliases"),
    (YAML, "a: " + "[" * 200, "nested"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "written", "said"), REFUSED)
def test_a_pasted_file_that_cannot_be_used_says_why(
    tmp_path: Path, name: str, written: str, said: str
) -> None:
    (tmp_path / name).write_text(written, "utf-8")
    with pytest.raises(BadChoiceError, match=said):
        read_servers(tmp_path / name)


ADVISED: list[Any] = [
    reported("LoamStudios/zed-mcp-server-github#1", {"settings": {"github_token": "x"}}, "Zed extension"),
    ({"source": "extension", "enabled": True}, "Zed extension"),
    reported("microsoft/vscode#245828", {"type": "sse", "url": URL, "headers": {"A": "b"}}, "streamable HTTP"),
    reported("arrase/ollama-agent#45", {"type": "http", "url": URL, "agent": {"name": "s"}}, "agent"),
    reported("Dokploy/mcp#28", {"command": {"path": "npx"}, "settings": {"D_URL": "https://x"}}, "into `env`"),
    reported("kirodotdev/Kiro#8391", {"type": "registry", "env": {"A": "$TOKEN"}}, "registry"),
    ({"type": "builtin", "name": "developer"}, "part of goose"),
    ({"type": "websocket", "url": "wss://a.example"}, "WebSocket"),
    ({"type": "stdoi", "command": "x"}, "write stdio or http"),
    ({"url": URL, "authProviderType": "google_credentials"}, "get a token"),
    ({"url": URL, "requestOptions": {"verifySsl": False}}, "SSL_CERT_FILE"),
    ({"command": "x", "watchPaths": ["a.js"]}, "restart the server"),
    ({"command": "x", "required": True}, "does not start"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "said"), ADVISED)
def test_what_an_entry_asks_for_in_vain_is_told_with_the_next_step(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    user_file(tmp_path, a=entry)
    (problem,) = find_servers(tmp_path, None).problems
    assert said in problem


@pytest.mark.parametrize(
    ("entry", "client"),
    [
        (
            {"auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "s", "scopes": ["a", "b"]}},
            OAuthClient("id", "s", "a b"),
        ),
        ({"oauth": {"client_id": "id", "client_secret": "s"}}, OAuthClient("id", "s")),
        ({"oauthScopes": ["a", "b"]}, OAuthClient(scopes="a b")),
        ({"auth": "oauth"}, OAuthClient()),
    ],
)
def test_the_client_of_a_login_is_read_under_its_other_names(
    entry: dict[str, Any], client: OAuthClient
) -> None:
    assert parse_server("a", {"url": URL, **entry}, "user").oauth == client
