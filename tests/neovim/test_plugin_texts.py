"""Short texts of the panel (placeholder, state, list of keys) fit each window size."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim


@pytest.mark.req("H10")
def test_the_placeholder_is_hidden_while_commands_are_completed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    part = {"type": "command", "name": "tests", "arguments": ""}
    item = {"kind": "command", "label": "/tests", "detail": "Write tests", "part": part}
    server.replies["agent/complete"] = {"items": [item]}

    nvim.keys("/")
    nvim.wait_for("vim.fn.pumvisible() == 1")
    nvim.keys("te")

    nvim.wait_screen("/te", "Write tests")
    marks = "vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('agent_ls_input'), 0, -1, {})"
    nvim.wait_for(f"#{marks} == 0")  # the placeholder is removed a moment after the completions appear
    nvim.cmd("redraw!")  # Neovim draws nothing of its own accord while it completes
    shot = nvim.wait_gone("change?")
    assert "history" not in shot and "Write tests" in shot


@pytest.mark.req("H10")
@pytest.mark.parametrize(
    ("columns", "hint"), [(80, "What should change?  @ / ↑"), (200, "@ file · / command · ↑ history")]
)
def test_the_placeholder_fits_the_prompt(
    server: StandIn, start_nvim: StartNvim, columns: int, hint: str
) -> None:
    nvim = start_nvim("one.txt", columns=columns)
    Panel(nvim, server).open()

    (row,) = [row for row in nvim.wait_screen(hint).split("\n") if "What should change?" in row]
    assert row.endswith(hint)


@pytest.mark.req("H10")
def test_the_list_of_keys_breaks_lines_between_words(server: StandIn, start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", columns=50, rows=90)
    Panel(nvim, server).open()
    nvim.keys("<Esc>g?")
    nvim.wait_screen("agent-ls keys", "Commands: :help")

    shot, lines = nvim.screen(), nvim.lines()

    width = nvim.lua("return vim.api.nvim_win_get_width(0)")
    assert max(len(line) for line in lines) > width, "no line is too long: nothing is tried"
    broken = [word for line in lines for word in line.split() if word not in shot]
    assert broken == []


@pytest.mark.req("H10")
def test_the_list_of_keys_indicates_more_keys_below(server: StandIn, start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", columns=80, rows=24)
    Panel(nvim, server).open()

    nvim.keys("<Esc>g?")

    shot = nvim.wait_screen("agent-ls keys", "more below")
    assert "Commands: :help" not in shot
    nvim.keys("G")
    nvim.wait_screen("Commands: :help")


@pytest.mark.req("H10", "H28")
def test_session_closed_by_a_refused_api_key_is_displayed_as_failed_until_it_resumes(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.emit("user_input", {"text": "Go on."})
    error = {"message": "Anthropic refused the key.", "errorKind": "authentication", "action": "setKey"}
    server.emit("error", error | {"hint": "Check ANTHROPIC_API_KEY."})
    server.emit("processing_end", {"reason": "error"})
    server.emit("session_end", {"state": "CLOSED"})

    shot = nvim.wait_screen("✗ failed", "set a key…", "Write a message to continue this session")
    assert "closed" not in shot
    assert "✗ failed" in nvim.lua("return require('agent_ls').status()")

    server.emit("session_start", {"provider": "anthropic", "model": "model-x", "resumed": True})
    nvim.wait_screen("○ idle")
