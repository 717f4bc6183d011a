"""Values in entries of servers that other agents give to a shell: `$NAME` within a text, and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.config import HttpTarget, StdioTarget, Target, fill_variables, parse_server, shown_variables
from agent_ls.mcp.sources import find_servers
from tests.mcp.plans import project_file, user_file
from tests.mcp.test_entry_reports import URL, VALUES
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

FILLED: list[Any] = [
    reported("charmbracelet/crush#2684", {"command": "a", "args": ["--key", "$TOKEN"]},
        StdioTarget("a", ("--key", "t-123456789"))),
    reported("anthropics/claude-code#916", {"command": "a", "env": {"DB": "pg://$TOKEN@localhost:3306/d"}},
        StdioTarget("a", (), (("DB", "pg://t-123456789@localhost:3306/d"),))),
    reported("aws/amazon-q-developer-cli#3646", {"url": URL, "headers": {"KEY": "$TOKEN"}},
        HttpTarget(URL, (("KEY", "t-123456789"),))),
    reported("RooCodeInc/Roo-Code#2548", {"command": "a", "env": {"T": "${env:TOKEN}"}},
        StdioTarget("a", (), (("T", "t-123456789"),))),
    reported("RooCodeInc/Roo-Code#4014", {"command": "npx", "args": ["-y", "x", "--key", "${env:TOKEN}"]},
        StdioTarget("npx", ("-y", "x", "--key", "t-123456789"))),
    reported("langchain-ai/langchain-mcp-adapters#437", {"command": "a", "type": "stdio", "env": {"T": "${TOKEN}"}},
        StdioTarget("a", (), (("T", "t-123456789"),))),
    reported("CommandCodeAI/command-code#599", {"url": URL, "headers": {"x-api-key": "${TOKEN}"}},
        HttpTarget(URL, (("x-api-key", "t-123456789"),))),
    ({"url": "$SERVER"}, HttpTarget(URL)),
    ({"url": f"{URL}?key=$TOKEN&$filter=$top"}, HttpTarget(f"{URL}?key=t-123456789&$filter=$top")),
    ({"url": URL, "headers": {"A": "ApiKey id:$TOKEN", "B": "p$TOKEN $$TOKEN \\$TOKEN $UNSET $5"}},
        HttpTarget(URL, (("A", "ApiKey id:t-123456789"), ("B", "p$TOKEN $$TOKEN \\$TOKEN $UNSET $5")))),
    ({"command": "sh", "args": ["-lc", "a $TOKEN $(cat x)"]}, StdioTarget("sh", ("-lc", "a $TOKEN $(cat x)"))),
    ({"command": "docker", "args": ["run", "i", "sh", "-c", "a $(x)"]},
        StdioTarget("docker", ("run", "i", "sh", "-c", "a $(x)"))),
    ({"command": "a", "env": {"A": "$$(date)", "B": "`x` $( (y)", "C": "$()"}},
        StdioTarget("a", (), (("A", "$(date)"), ("B", "`x` $( (y)"), ("C", "$()")))),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "target"), FILLED)
def test_a_variable_of_a_shell_is_replaced_where_no_shell_gets_it(
    raw: dict[str, Any], target: Target
) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


COMMANDS: list[Any] = [
    reported("anthropics/claude-code#17719",
        {"command": "npx", "args": ["-y", "x"], "env": {"T": "$(op read 'op://E/T/token')"}}, "env.T"),
    reported("kirodotdev/Kiro#9116", {"url": URL, "headers": {"Authorization": "Bearer $(cat ~/.config/t)"}},
        "headers.Authorization"),
    reported("charmbracelet/crush#2782", {"command": "a", "args": ["--key=$(vault kv get x)"]}, "args"),
    ({"url": f"{URL}?key=$(cat t)"}, "url"),
    ({"command": "a", "env": [{"name": "T", "value": "$(cat t)"}]}, "env.T"),
]  # fmt: skip


@pytest.mark.parametrize("source", ["user", "project"])
@pytest.mark.parametrize(("raw", "place"), COMMANDS)
def test_a_command_in_a_value_is_never_run_but_named(
    tmp_path: Path, raw: dict[str, Any], place: str, source: str
) -> None:
    write = user_file if source == "user" else project_file
    write(tmp_path / source, wrong=raw, right={"command": "b"})
    found = find_servers(tmp_path / "user", tmp_path / "project")
    assert [it.name for it in found.servers] == ["right"]
    (problem,) = found.problems
    assert f"{place} has a command" in problem and "${NAME}" in problem


def test_an_approval_shows_a_variable_within_a_header() -> None:
    config = parse_server("x", {"url": URL, "headers": {"A": "key=$TOKEN"}}, "project")
    assert "TOKEN" in str(shown_variables(config)) and "t-123456789" not in str(shown_variables(config))


def test_a_client_has_no_shell() -> None:
    raw = {"command": "a", "args": ["$TOKEN"], "env": {"A": "$(date)"}}
    assert parse_server("x", raw, "client").target == StdioTarget("a", ("$TOKEN",), (("A", "$(date)"),))
