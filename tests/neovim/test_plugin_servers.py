"""`:AgentLs mcp` lists the session's MCP servers with state, tools and errors, and switches them on and off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.neovim.conftest import Panel

pytestmark = pytest.mark.req("T11", "H10")


def server(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "state": "running", "source": "user", "target": f"npx {name}", "title": "",
        "era": "legacy", "tools": ["query"], "prompts": [], "resources": 0, **more,
    }  # fmt: skip


def test_mcp_servers_are_listed_and_a_selected_server_is_switched_off(panel: Panel) -> None:
    failed = server("web", state="failed", tools=[], error="it has ended with exit code 3")
    panel.server.replies["agent/mcpServers"] = {"servers": [server("db"), failed], "problems": []}
    panel.server.replies["agent/mcpSwitch"] = {}
    panel.nvim.keys("<Esc>:AgentLs mcp<CR>")
    panel.nvim.wait_screen("db  [running, 1 tools]", "web  [failed, 0 tools]  it has ended with exit code 3")
    assert panel.server.expect("agent/mcpServers") == {"sessionId": "s1"}
    panel.nvim.keys("1<CR>")
    panel.nvim.wait_screen("Switch the server off, also for later sessions", "Restart the server")
    panel.nvim.keys("1<CR>")
    asked = panel.server.expect("agent/mcpSwitch")
    assert (asked["sessionId"], asked["name"], asked["to"]) == ("s1", "db", "off")
    panel.server.expect("agent/mcpServers")
    panel.nvim.wait_screen("MCP servers")
    panel.nvim.keys("<Esc>")


def test_tools_and_error_of_an_mcp_server_are_displayed(panel: Panel) -> None:
    off = server("db", state="off", error="you switched it off")
    panel.server.replies["agent/mcpServers"] = {"servers": [off], "problems": ["x: it needs a command"]}
    panel.nvim.keys("<Esc>:AgentLs mcp<CR>")
    panel.nvim.wait_screen("db  [off, 1 tools]")
    panel.nvim.keys("1<CR>")
    panel.nvim.wait_screen("Switch the server on", "Show what it offers")
    panel.nvim.keys("2<CR>")
    panel.nvim.wait_screen("npx db", "you switched it off", "query")
    panel.nvim.keys("q")


def test_a_mentioned_resource_of_a_server_is_sent_with_the_message(panel: Panel) -> None:
    part = {"type": "resource", "server": "db", "uri": "db://rows"}
    item = {"kind": "resource", "label": "db:db://rows", "detail": "rows", "part": part}
    panel.server.replies["agent/complete"] = {"items": [item]}
    panel.nvim.keys("look at @db")
    panel.nvim.wait_screen("@db:db://rows")
    assert panel.server.expect("agent/complete")["sessionId"] == "s1"
    panel.nvim.keys("<C-n><C-y> please<Esc><CR>")
    assert panel.server.expect("agent/submit")["input"][0] == part
