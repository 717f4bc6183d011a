"""Entries of MCP servers with variables as Windows writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.config import (
    ConfigError,
    HttpTarget,
    StdioTarget,
    Target,
    VariableValues,
    fill_variables,
    parse_server,
    shown_variables,
)
from agent_ls.mcp.sources import find_servers
from tests.mcp.plans import user_file

pytestmark = pytest.mark.req("T11")

URL = "https://x.example/mcp"
ENVIRON = {
    "APPDATA": r"C:\Users\u\AppData",
    "ProgramFiles(x86)": r"C:\Program Files (x86)",
    "MY_TOKEN": "t-123456789",
    "USERPROFILE": r"C:\Users\u",
}
VALUES = VariableValues(ENVIRON.get, lambda server, name: "entered", "/w")
FILLED: list[tuple[dict[str, Any], Target]] = [
    (
        {"command": r"%APPDATA%\npm\x.cmd", "args": ["--root", r"%USERPROFILE%\p"], "cwd": r"%UserProfile%"},
        StdioTarget(r"C:\Users\u\AppData\npm\x.cmd", ("--root", r"C:\Users\u\p"), cwd=r"C:\Users\u"),
    ),
    (
        {"command": r"%ProgramFiles(x86)%\x.exe", "env": {"T": "%MY_TOKEN%", "P": "%MY_TOKEN%;%NOT_SET%"}},
        StdioTarget(
            r"C:\Program Files (x86)\x.exe", (), (("T", "t-123456789"), ("P", "t-123456789;%NOT_SET%"))
        ),
    ),
    ({"url": f"{URL}?q=%20a%20", "headers": {"A": "Bearer %MY_TOKEN%"}},
        HttpTarget(f"{URL}?q=%20a%20", (("A", "Bearer t-123456789"),))),
    ({"command": "a", "args": ["date", "+%Y%m%d", "%name%", "100%", "%D%"]},
        StdioTarget("a", ("date", "+%Y%m%d", "%name%", "100%", "%D%"))),
    ({"command": "sh", "args": ["-c", "date +%MY_TOKEN%"]}, StdioTarget("sh", ("-c", "date +%MY_TOKEN%"))),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "target"), FILLED)
def test_a_variable_of_windows_is_replaced(raw: dict[str, Any], target: Target) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


@pytest.mark.parametrize("name", ["LOCALAPPDATA", "ProgramData"])
def test_a_variable_of_windows_that_is_not_set_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        fill_variables(parse_server("x", {"command": rf"%{name}%\x.exe"}, "user"), VALUES)


def test_an_approval_shows_the_name_and_not_the_value() -> None:
    shown = str(shown_variables(parse_server("x", {"url": URL, "headers": {"A": "%MY_TOKEN%"}}, "project")))
    assert "MY_TOKEN" in shown and "t-123456789" not in shown


def test_an_entry_of_an_editor_keeps_its_text(tmp_path: Path) -> None:
    user_file(tmp_path / "user", a={"command": "a", "args": ["%APPDATA%"]})
    (config,) = find_servers(tmp_path / "user", tmp_path / "project").servers
    assert fill_variables(config, VALUES).target == StdioTarget("a", (ENVIRON["APPDATA"],))
    given = parse_server("a", {"command": "a", "args": ["%APPDATA%"]}, "client")
    assert fill_variables(given, VALUES).target == StdioTarget("a", ("%APPDATA%",))
