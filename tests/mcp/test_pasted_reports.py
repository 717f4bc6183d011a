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
        table(name="A", transport={"type": "command", "url": "http://localhost:8080"}, command="x"), StdioTarget("x"),
        what="mcp, failed: a program whose transport is called command, with an address that only the program uses"),
    (JSON, table(type="command", command="x", args=["--port", "8080"], enabled=True),
        StdioTarget("x", ("--port", "8080"))),
    (JSON, table(type="http", url=URL, command="x"), HttpTarget(URL)),
    (JSON, table(type="Streaming HTTP", url=URL), HttpTarget(URL)),
    reported("cloudflare/mcp-server-cloudflare#223", JSON,
        table(type="streamable-http", url=URL, headers={"X": "k"}, disabled=False), HttpTarget(URL, (("X", "k"),)),
        what="mcp, passed: an entry of Roo Code with its own name of the transport"),
    reported("hangwin/mcp-chrome#173", JSON, table(type="streamableHttp", url=URL), HttpTarget(URL),
        what="mcp, passed: a server is left out silently because its transport is written in camel case"),
    reported("DeusData/codebase-memory-mcp#24", JSON,
        '{"context_servers": {"a": {"command": "/h/c", "source": "custom", "args": [""],},},}',
        StdioTarget("/h/c", ("",)),
        what="mcp, passed: an installer writes an entry of Zed that lacks the arguments, and refuses commas at ends"),
    reported("zed-industries/zed#27435", JSON,
        '{"context_servers": {"a": {"settings": {}, "command": {"path": "/b", "args": ["-d"], "env": {}}}}}',
        StdioTarget("/b", ("-d",)), what="mcp, flaw: an entry in the first form of Zed with empty settings"),
    reported("openai/codex#5241", TOML,
        f'[mcp_servers.a]\nurl = "{URL}"\nhttp_headers = {{X = "1"}}\nenv_http_headers = {{Y = "TOKEN"}}\n',
        HttpTarget(URL, (("X", "1"), ("Y", "t-123456789"))), what="mcp, passed: own headers for a server by HTTP"),
    reported("bastani-inc/atomic#3088", JSON, table(url=URL, auth="bearer", bearerTokenEnv="TOKEN"), bearer(),
        what="mcp, failed: the variable with the token is not read, and the server is used without it"),
    (JSON, table(url=URL, bearerTokenEnvVar="TOKEN"), bearer()),
    (JSON, table(url=URL, apiKey="abc"), bearer("abc")),
    reported("AltimateAI/altimate-code#655", JSON,
        '{"mcp": {"a": {"type": "local", "command": ["x", "$${KEEP}"], "environment": {"M": "${APP:-prod}"}}}}',
        StdioTarget("x", ("${KEEP}",), (("M", "prod"),)), what="mcp, failed: a variable that is meant as text"),
    (JSON, table(command="x", args=["$${A}-${TOKEN}", "$${input:a}"]),
        StdioTarget("x", ("${A}-t-123456789", "${input:a}"))),
    reported("github/copilot-cli#1841", JSON,
        f'{{"servers": {{"a": {{"type": "http", "url": "{URL}", "headers": {{"K": "${{input:k}}"}}}},}},'
        '"inputs": [{"id": "k", "type": "promptString"}]}', HttpTarget(URL, (("K", "entered"),)),
        what="mcp, passed: a value that the user enters reaches the server as a placeholder"),
    reported("bitrise-io/bitrise-mcp#2", JSON,
        '{"mcp": {"inputs": [{"id": "w"}], "servers": {"a": {"command": "x", "env": {"T": "${input:w}"}}}}}',
        StdioTarget("x", (), (("T", "entered"),)), what="mcp, passed: servers and inputs in the settings of VS Code"),
    reported("continuedev/continue#6109", YAML,
        f"schema: v1\nmcpServers:\n  - name: a\n    type: streamable-http\n    url: {URL}\n"
        '    requestOptions:\n      headers: { Authorization: "Bearer ABC" }\n', bearer("ABC"),
        what="mcp, failed: the headers of a server in a file of Continue are not sent"),
    reported("DeusData/codebase-memory-mcp#1675", YAML,
        "extensions:\n  a:\n    type: stdio\n    cmd: /b/c\n    args: []\n    enabled: true\n", StdioTarget("/b/c"),
        what="mcp, failed: an extension of goose without a name is left out silently"),
    (YAML, f"extensions:\n  a: {{type: streamable_http, uri: {URL}, envs: {{}}, timeout: 300}}\n", HttpTarget(URL)),
    (YAML, "extensions:\n  a: {cmd: x, envs: {A: b}, env_keys: [TOKEN]}\nat: 2024-01-02\n",
        StdioTarget("x", (), (("TOKEN", "t-123456789"), ("A", "b")))),
    reported("kirodotdev/Kiro#4323", JSON, table(disabled=False, command="uvx", args=["p", URL]),
        StdioTarget("uvx", ("p", URL)), what="mcp, passed: all tools of a server are to be approved by a star"),
    reported("pathintegral-institute/mcpm.sh#92", JSON, table(command="npx", args=["-y"], env={}, fromGalleryId="x.y"),
        StdioTarget("npx", ("-y",)), what="mcp, passed: an entry of Trae names its gallery"),
    reported("nanbingxyz/5ire#74", JSON,
        '{"servers": [{"key": "a", "command": "npx", "description": "d", "args": ["x"], "isActive": true}]}',
        StdioTarget("npx", ("x",)), what="mcp, failed: a list of servers whose names are keys"),
    (JSON, '{"mcpServers": [{"id": "a", "command": "x"}]}', StdioTarget("x")),
    reported("Aas-ee/open-webSearch#3", JSON,
        json.dumps({"a": {"url": URL, "headers": {"Authorization": "Bearer ABC"}}}),
        bearer("ABC"), what="mcp, failed: servers without a table around them, as LM Studio documents one"),
    reported("charmbracelet/crush#718", JSON, '"a": {"command": "uv", "args": ["run"], "env": {}}',
        StdioTarget("uv", ("run",)), what="mcp, flaw: a server is pasted without brackets around it"),
    (JSON, '\n"mcpServers": {"a": {"command": "x"}},\n', StdioTarget("x")),
    reported("microsoft/vscode#319528", JSON, table(type="http", url=URL, headers={"X": "v"}),
        HttpTarget(URL, (("X", "v"),)), what="mcp, passed: the headers in a file of a project are not sent"),
    reported("Aas-ee/open-webSearch#26", JSON, table(transport={"type": "streamableHttp", "url": URL}), HttpTarget(URL),
        what="mcp, passed: an example has its address in an object that the client does not read"),
    reported("anthropics/claude-code#10955", JSON,
        json.dumps({"a": {"command": "npx", "args": ["n"], "env": {"MODE": "stdio"}}}),
        StdioTarget("npx", ("n",), (("MODE", "stdio"),)), what="mcp, passed: the variables of a server are not set"),
    reported("anthropics/claude-code#1254", JSON, table(command="x", args=["--token", "A"], env={"A": "b"}),
        StdioTarget("x", ("--token", "A"), (("A", "b"),)), what="mcp, passed: a server does not get its variable"),
    reported("coulsontl/ai-toolbox#195", JSON, table(serverUrl=URL), HttpTarget(URL),
        what="mcp, passed: an agent has another name for the address than others"),
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
    reported("microsoft/vscode#264448", JSON, '{"servers": {"a": {"command": "x", "env": {"K": "${TOKEN}"}}}', "line 1",
        what="mcp, passed: a file that lacks a bracket"),
    reported("yzfly/mcp-excel-server#2", JSON, '{"mcpServers": {"command": "uvx", "args": ["x"], "env": {"A": "b"}}}',
        "without a name", what="mcp, flaw: a server in the place of the table, so that its keys are taken for servers"),
    reported("Project-N-E-K-O/N.E.K.O#2413", JSON, json.dumps({"type": "http", "url": URL}), "without a name",
        what="mcp, passed: the keys of a server without a name are taken for servers"),
    reported("huggingface/mcp-course#174", JSON, '{"model": "m", "servers": [{"config": {"command": "x"}}]}',
        "without a name", what="mcp, passed: a list of servers without names, each in an object of its own"),
    reported("verygoodplugins/mcp-automem#21", JSON, '{"name": "a/b", "version": "1", "remotes": [{"type": "sse"}]}',
        "mcp add", what="mcp, flaw: the entry of a server in a registry is no configuration"),
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


TOLD: list[Any] = [
    reported("LoamStudios/zed-mcp-server-github#1", {"settings": {"github_token": "x"}}, "Zed extension",
        what="mcp, flaw: an entry has only the settings of an extension"),
    ({"source": "extension", "enabled": True}, "Zed extension"),
    reported("microsoft/vscode#245828", {"type": "sse", "url": URL, "headers": {"A": "b"}}, "streamable HTTP",
        what="mcp, passed: headers of a server with the obsolete transport are refused"),
    reported("arrase/ollama-agent#45", {"type": "http", "url": URL, "agent": {"name": "s"}}, "agent",
        what="mcp, passed: an entry with keys of one agent fails without a reason"),
    reported("Dokploy/mcp#28", {"command": {"path": "npx"}, "settings": {"D_URL": "https://x"}}, "into `env`",
        what="mcp, flaw: an example writes the variables of a server into its settings"),
    reported("kirodotdev/Kiro#8391", {"type": "registry", "env": {"A": "$TOKEN"}}, "registry",
        what="mcp, flaw: variables of a server of a registry are not replaced"),
    ({"type": "builtin", "name": "developer"}, "part of goose"),
    ({"type": "websocket", "url": "wss://a.example"}, "WebSocket"),
    ({"type": "stdoi", "command": "x"}, "write stdio or http"),
    ({"url": URL, "authProviderType": "google_credentials"}, "get a token"),
    ({"url": URL, "requestOptions": {"verifySsl": False}}, "SSL_CERT_FILE"),
    ({"command": "x", "watchPaths": ["a.js"]}, "restart the server"),
    ({"command": "x", "required": True}, "does not start"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "said"), TOLD)
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
