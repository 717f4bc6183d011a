"""Messages of the plugin beyond the chat: cursor, diagnostics, mentions and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn

SECRET = "sk-secret-0123456789"


def state_with(server: StandIn, **wanted: Any) -> dict[str, Any]:
    """Return the next editorState with these members."""
    while True:
        state = server.expect("agent/editorState")
        if all(state.get(name) == value for name, value in wanted.items()):
            return state


@pytest.mark.req("H10", "H12")
def test_the_cursor_and_selected_lines_are_reported(panel: Panel, project: Path) -> None:
    nvim, uri = panel.nvim, (project / "one.txt").as_uri()
    nvim.keys("<Esc><C-w>p3G")
    cursor = {"startLine": 2, "startCharacter": 0, "endLine": 2, "endCharacter": 0}
    state = state_with(panel.server, selection=cursor)
    assert state["activeUri"] == uri and state["visibleUris"] == [uri]
    nvim.keys("Vk")
    selected = {"startLine": 1, "startCharacter": 0, "endLine": 3, "endCharacter": 0}
    state_with(panel.server, selection=selected)


@pytest.mark.req("H10", "H12")
def test_diagnostics_are_reported_when_they_appear_and_disappear(panel: Panel, project: Path) -> None:
    assert panel.server.initialize["capabilities"]["experimental"]["agentLs"]["diagnostics"] is True
    uri = (project / "one.txt").as_uri()
    panel.server.wait_open(uri)
    panel.nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), vim.fn.bufnr('one.txt'), "
        "{{lnum = 1, col = 2, end_col = 3, severity = 2, message = 'odd', source = 'lint', code = 7}})"
    )
    report = panel.server.expect("agent/diagnostics")
    assert (report["uri"], report["settled"]) == (uri, True)
    assert report["items"] == [
        {
            "startLine": 1,
            "startCharacter": 2,
            "endLine": 1,
            "endCharacter": 3,
            "severity": 2,
            "message": "odd",
            "source": "lint",
            "code": "7",
        }
    ]
    panel.nvim.lua("vim.diagnostic.reset()")
    assert panel.server.expect("agent/diagnostics")["items"] == []


@pytest.mark.req("H10", "H12")
def test_an_edit_of_a_file_without_language_server_reports_empty_diagnostics_for_the_new_version(
    panel: Panel, project: Path
) -> None:
    uri = (project / "one.txt").as_uri()
    panel.server.wait_open(uri)
    start = {"line": 0, "character": 0}
    panel.server.apply_edit(uri, [{"range": {"start": start, "end": start}, "newText": "zero\n"}])
    document = panel.server.wait_text(uri, "zero\none\ntwo\nthree\nfour\nfive\n")
    report = panel.server.expect("agent/diagnostics")
    assert report["version"] == document.version and report["items"] == []


@pytest.mark.req("H10", "H12")
def test_a_file_is_mentioned_by_a_few_letters_and_attached(panel: Panel, project: Path) -> None:
    part = {"type": "file", "uri": (project / "other.py").as_uri()}
    item = {"kind": "file", "label": "other.py", "detail": "open", "part": part}
    panel.server.replies["agent/complete"] = {"items": [item]}
    panel.nvim.keys("look at @oth")
    panel.nvim.wait_screen("@other.py")
    # the placeholder is removed a moment after the completions appear
    assert "@other.py" in panel.nvim.wait_gone("What should change?")
    asked = panel.server.expect("agent/complete")
    assert (asked["trigger"], asked["workspaceFolder"]) == ("@", project.as_uri())
    panel.nvim.keys("<C-n><C-y>, please")
    panel.nvim.wait_screen("look at @other.py, please")
    panel.nvim.keys("<Esc><CR>")
    sent = panel.server.expect("agent/submit")["input"]
    assert sent == [part, {"type": "text", "text": "look at @other.py, please"}]


@pytest.mark.req("H10")
def test_a_command_is_offered_and_sent_with_its_arguments(panel: Panel) -> None:
    part = {"type": "command", "name": "tests", "arguments": ""}
    item = {"kind": "command", "label": "/tests", "detail": "Write tests", "part": part}
    panel.server.replies["agent/complete"] = {"items": [item]}
    panel.nvim.keys("/te")
    panel.nvim.wait_screen("Write tests")
    panel.nvim.keys("<C-n><C-y> of the cart<Esc><CR>")
    assert panel.server.expect("agent/submit")["input"] == [{**part, "arguments": "of the cart"}]


@pytest.mark.req("H10", "H16")
def test_an_api_key_is_entered_without_being_displayed_and_sent_to_the_server(panel: Panel) -> None:
    panel.server.replies["agent/setCredential"] = {"ok": True}
    panel.nvim.keys("<Esc>:AgentLs key openai<CR>")
    panel.nvim.wait_screen("Key for openai:")
    panel.nvim.keys(SECRET)
    assert SECRET not in panel.nvim.screen()
    panel.nvim.keys("<CR>")
    sent = panel.server.expect("agent/setCredential")
    assert (sent["provider"], sent["secret"]) == ("openai", SECRET)
    panel.nvim.wait_screen("key for openai is set")
    history = "vim.fn.execute('messages') .. vim.fn.execute('history all')"
    assert SECRET not in panel.nvim.screen() + panel.nvim.lua(f"return {history}")
    panel.nvim.cmd("AgentLs forget_key openai")
    assert panel.server.expect("agent/setCredential")["secret"] is None


@pytest.mark.req("H10", "T7", "E6")
def test_the_plan_and_the_cost_are_displayed(panel: Panel) -> None:
    steps = [{"text": "Read it", "status": "done"}, {"text": "Mend it", "status": "active"}]
    panel.server.emit("plan", {"explanation": "", "items": steps})
    tokens = {"inputTokens": 1, "outputTokens": 1}
    used = {"call": tokens, "total": tokens, "contextTokens": 1000, "contextWindowTokens": 100_000}
    panel.server.emit("usage", {**used, "callCostUsd": 0.5, "totalCostUsd": 1.25})
    panel.nvim.wait_screen("✓ Read it", "▶ Mend it", "$1.25")
    panel.server.emit("usage", {**used, "callCostUsd": None, "totalCostUsd": None})
    panel.nvim.wait_gone("$1.25")
