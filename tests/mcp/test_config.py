"""Configuration of MCP servers: the files, the digest that an approval is bound to, and the expansion of variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.mcp.project_files import digest_of_code
from agent_ls.jsonc import parse_jsonc
from agent_ls.mcp.config import (
    ConfigError,
    HttpTarget,
    ServerConfig,
    StdioTarget,
    VariableValues,
    fill_variables,
    parse_server,
    secret_values,
    shown_variables,
)
from agent_ls.mcp.sources import SuppliedServers, find_servers
from tests.mcp.plans import project_file, user_file

pytestmark = pytest.mark.req("T11")

ENTERED = {"key": "entered"}
VALUES = VariableValues({"TOKEN": "t-123456789"}.get, lambda server, name: ENTERED.get(name), "/w")


def test_a_user_server_overrides_a_project_server_of_the_same_name_with_a_warning(
    tmp_path: Path,
) -> None:
    state, folder = tmp_path / "state", tmp_path / "project"
    user_file(state, db={"command": "mine"})
    project_file(folder, db={"command": "theirs"}, more={"command": "other"})

    found = find_servers(state, folder)

    assert [(it.name, it.source) for it in found.servers] == [("db", "user"), ("more", "project")]
    [problem] = found.problems
    assert "server db" in problem and str(state / "mcp.json") in problem


def test_a_server_supplied_by_the_client_overrides_a_server_of_the_same_name_in_settings(
    tmp_path: Path,
) -> None:
    given = SuppliedServers(
        {"a": {"command": "settings"}, "b": {"command": "b"}}, {"a": {"command": "client"}}
    )

    found = find_servers(tmp_path, None, given)

    assert [(it.name, it.source) for it in found.servers] == [("a", "client"), ("b", "settings")]


def test_servers_of_vs_code_are_read_with_comments_and_inputs(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    text = """{
      // what the team uses
      "inputs": [{"type": "promptString", "id": "key", "password": true}],
      "servers": {
        "db": {"type": "stdio", "command": "db", "env": {"KEY": "${input:key}", "U": "http://x//y"}, },
        "web": {"type": "http", "url": "https://a.example/mcp", /* later */ "headers": {"X": "${env:TOKEN}"}},
      },
    }"""
    (tmp_path / ".vscode" / "mcp.json").write_text(text, "utf-8")

    db, web = find_servers(tmp_path / "state", tmp_path).servers

    assert db.inputs == ("key",)
    assert fill_variables(db, VALUES).target == StdioTarget(
        "db", (), (("KEY", "entered"), ("U", "http://x//y"))
    )
    assert fill_variables(web, VALUES).target == HttpTarget("https://a.example/mcp", (("X", "t-123456789"),))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "needs a command or a url"),
        ({"command": "a", "url": "https://b"}, "give only one of them"),
        ({"type": "sse", "url": "https://b"}, "streamable HTTP"),
        ({"type": "http", "command": "a"}, "needs a url"),
        ({"command": "a", "envFile": ".env"}, "file of environment variables"),
        ({"command": "a", "sandboxed": {}}, "sandboxed: is not known"),
        ({"command": "a", "args": 5}, "args"),
        ({"url": "file:///etc/passwd"}, "http"),
        ({"url": "http://[x"}, "http"),
        ({"url": "https://x:99999/"}, "http"),
        ("npx", "not an object"),
    ],
)
def test_an_unusable_server_entry_is_refused_with_the_reason(raw: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_server("x", raw, "user")


def test_an_invalid_server_entry_does_not_affect_the_others(tmp_path: Path) -> None:
    user_file(tmp_path, bad={"command": 3}, good={"command": "a"})

    found = find_servers(tmp_path, None)

    assert [it.name for it in found.servers] == ["good"]
    assert len(found.problems) == 1 and "the server bad" in found.problems[0]


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', "\xff"])
def test_an_invalid_server_file_is_reported_with_its_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "mcp.json").write_bytes(text.encode("latin-1"))

    found = find_servers(tmp_path, None)

    assert not found.servers and str(tmp_path / "mcp.json") in found.problems[0]


@pytest.mark.parametrize(
    "change",
    [
        {"command": "other"},
        {"args": ["-y", "b"]},
        {"env": {"NODE_OPTIONS": "--require ./evil.js"}},
        {"env": {"A": "${TOKEN}"}},
        {"cwd": "sub"},
    ],
)
def test_the_server_digest_changes_with_every_field_that_the_approval_displays(
    change: dict[str, Any],
) -> None:
    raw = {"command": "npx", "args": ["-y", "a"], "env": {"A": "1"}}

    assert parse_server("x", {**raw, **change}, "project").digest != parse_server("x", raw, "project").digest
    assert parse_server("y", raw, "project").digest != parse_server("x", raw, "project").digest


def test_the_server_digest_does_not_depend_on_variable_values() -> None:
    config = parse_server("x", {"command": "a", "env": {"K": "${TOKEN}"}}, "project")

    other = VariableValues({"TOKEN": "another"}.get, VALUES.inputs, "/w")
    assert fill_variables(config, VALUES).target != fill_variables(config, other).target
    assert config.digest == parse_server("x", {"command": "a", "env": {"K": "${TOKEN}"}}, "project").digest


def test_variable_without_value_is_an_error_unless_it_has_a_default() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        fill_variables(
            parse_server("x", {"command": "a", "args": ["${ANTHROPIC_API_KEY}"]}, "project"), VALUES
        )
    with pytest.raises(ConfigError, match="agent-ls mcp login x"):
        fill_variables(parse_server("x", {"command": "a", "args": ["${input:other}"]}, "project"), VALUES)
    found = fill_variables(
        parse_server("x", {"command": "a", "args": ["${NO:-d}", "${workspaceFolder}/b"]}, "user"), VALUES
    )
    assert found.target == StdioTarget("a", ("d", "/w/b"))


def test_a_project_cannot_make_its_servers_annotations_trusted() -> None:
    raw = {"command": "a", "trust": "annotations"}

    assert parse_server("x", raw, "user").trusts_annotations
    assert not parse_server("x", raw, "project").trusts_annotations


def test_approval_displays_variables_but_no_value_of_a_secret_one() -> None:
    config = parse_server(
        "x", {"command": "a", "env": {"MODE": "dev", "API_KEY": "k-1", "T": "${TOKEN}"}}, "project"
    )

    assert shown_variables(config) == ("MODE=dev", "API_KEY", "T=${TOKEN}")


def test_the_approval_displays_variables_used_in_headers() -> None:
    headers = {
        "X-Data": "v1 ${AWS_SECRET_ACCESS_KEY}",
        "Accept": "text/html",
        "Authorization": "Bearer literal",
    }
    config = parse_server("x", {"url": "https://a", "headers": headers}, "project")
    assert shown_variables(config) == ("X-Data=${AWS_SECRET_ACCESS_KEY}", "Accept", "Authorization")


def test_a_server_entry_from_a_client_has_no_secrets_in_its_digest_and_no_expanded_variables() -> None:
    def config(secret: str, mode: str = "dev") -> ServerConfig:
        entry = {"command": "run", "args": ["${HOME}"], "env": {"API_KEY": secret, "MODE": mode}}
        return parse_server("x", entry, "client")

    assert config("one").digest == config("two").digest != config("one", "prod").digest
    assert config("one").needs_approval and shown_variables(config("one")) == ("API_KEY", "MODE=dev")
    assert fill_variables(
        config("one"), VariableValues({"HOME": "/home/ada"}.get, lambda *_: None, "/w")
    ) == config("one")


def test_values_of_headers_and_secret_variables_are_registered_as_secrets() -> None:
    http = parse_server("x", {"url": "https://a", "headers": {"Authorization": "Bearer ${TOKEN}"}}, "user")
    stdio = parse_server("x", {"command": "a", "env": {"API_KEY": "k-1", "MODE": "dev"}}, "user")

    assert set(secret_values(http, fill_variables(http, VALUES), VALUES)) == {
        "Bearer t-123456789",
        "t-123456789",
    }
    assert set(secret_values(stdio, fill_variables(stdio, VALUES), VALUES)) == {"k-1"}


def test_commands_that_download_their_program_are_recognised() -> None:
    commands = {
        "npx": True,
        "/usr/bin/uvx": True,
        "docker": True,
        "NPX.CMD": True,
        "node": False,
        "./serve": False,
    }

    for command, expected in commands.items():
        assert parse_server("x", {"command": command}, "project").is_fetched is expected, command


def test_tools_are_filtered_by_patterns_and_deny_wins() -> None:
    config = parse_server("x", {"command": "a", "tools": {"allow": ["get_*"], "deny": ["*_all"]}}, "user")

    assert [config.is_offered(it) for it in ("get_one", "get_all", "put")] == [True, False, False]


def test_parse_jsonc_keeps_strings_that_look_like_comments() -> None:
    value = {"a": "// no, /* no */ \\", "b": ["x,]", "y"]}

    assert parse_jsonc("/* c */ " + json.dumps(value)[:-1] + ", } // end") == value


def test_a_file_of_the_project_is_compared_also_behind_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "x.py").write_text("1")
    entries = [{"command": "python3", "args": ["~/p/x.py"]}, {"command": "~/p/x.py"}]
    for entry in entries:
        config = parse_server("x", entry, "user")
        before = digest_of_code(config, tmp_path / "p")
        (tmp_path / "p" / "x.py").write_text(before)
        assert before and digest_of_code(config, tmp_path / "p") != before
