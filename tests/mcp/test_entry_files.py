"""Files with MCP servers as users of other agents write them: their table of servers, and their syntax."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.sources import FoundServers, find_servers, read_file, servers_of
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


@pytest.mark.parametrize("start", ["", "\ufeff", "// servers\n"])
def test_a_file_with_a_byte_order_mark_or_a_comment_is_read(tmp_path: Path, start: str) -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "a"}}}).replace("}}}", "},}}")
    (tmp_path / "mcp.json").write_text(start + text, "utf-8")
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["a"] and not found.problems


TABLES: list[Any] = [
    reported("upstash/context7#563", '{"mcpServers": {"a": {"url": "https://mcp.example/mcp",}}}'),
    '{"mcpServers": [{"name": "a", "command": "x"}]}',
    '{"context_servers": {"a": {"command": "x"}}}',
    '{"mcp": {"servers": {"a": {"command": "x"}}}}',
    '{"mcp": {"a": {"type": "local", "command": ["x", "y"]}}}',
    '{"mcp.servers": {"a": {"command": "x"}}}',
    reported(
        "augustocdias/vscode-shell-command#161",
        '{"mcp": {"inputs": [{"id": "t", "type": "command"},], "servers": {"a": {"command": "x"}}}}',
    ),
    '\ufeff// servers\r\n{"mcp_servers": {"a": {"command": "x"}}}',
    reported(
        "intellectronica/ruler#66",
        '{"$schema": "x", "mcp": {"a": {"type": "remote", "url": "https://a.example"}}}',
    ),
    reported(
        "google-gemini/gemini-cli#3813",
        '{"contextFilePath": "./GEMINI.md", "mcpServers": {"a": {"command": "docker", "args": ["run", "-i", "x"]}}}',
    ),
]


@pytest.mark.parametrize("written", TABLES)
def test_the_table_of_servers_is_found_under_its_other_names(tmp_path: Path, written: str) -> None:
    (tmp_path / "mcp.json").write_text(written, "utf-8")
    found = find_servers(tmp_path, None)
    assert [it.name for it in found.servers] == ["a"] and not found.problems


@pytest.mark.parametrize(
    "written",
    [
        reported(
            "openai/codex#3441",
            '[mcp.servers."a"]\ncommand = "x"\nargs = []\nenv.KEY = "${TOKEN}"\n',
        ),
        reported(
            "DataDog/documentation#34947",
            '{"mcpServers": {"a": {"command": "x"}}}',
        ),
    ],
)
def test_servers_in_a_file_of_codex_are_found(tmp_path: Path, written: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(written, "utf-8")
    assert [*servers_of(read_file(path))] == ["a"]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        reported(
            "tanviet12/chat-quality-agent#49", '{"a": 1}\n{"mcpServers": {"a": {"command": "x"}}}', "line 2"
        ),
        reported(
            "apify/mcp-server-rag-web-browser#8",
            '{"mcpServers": {"a": {"command": "x", "args": [\n"y",\n]\n"env": {}}}}',
            "line 4",
        ),
        ('{"mcpServers": {"a": {"command": "C:\\x"}}}', "line 1"),
    ],
)
def test_a_file_that_is_no_json_says_where(tmp_path: Path, written: str, place: str) -> None:
    (tmp_path / "mcp.json").write_text(written, "utf-8")
    found = find_servers(tmp_path, None)
    assert not found.servers and place in found.problems[0] and "mcp.json" in found.problems[0]


@pytest.mark.parametrize("written", ["", "  \n", "{}", '{"mcpServers": null}'])
def test_a_file_without_servers_is_no_error(tmp_path: Path, written: str) -> None:
    (tmp_path / "mcp.json").write_text(written, "utf-8")
    assert find_servers(tmp_path, None) == FoundServers()
