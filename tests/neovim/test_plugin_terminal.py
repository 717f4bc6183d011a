"""Commands of the agent in terminal buffers, and background processes that the user may end."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim


@pytest.fixture
def running(panel: Panel, server: StandIn, nvim: Nvim) -> Panel:
    panel.call("c1", "shell", "make test")
    server.emit(
        "terminal_open", {"terminalId": "term1", "callId": "c1", "title": "make test", "background": False}
    )
    server.delta("tool_call_output_delta", "c1:out", 0, "one\n\x1b[31mred\x1b[0m\n", name="stdout")
    nvim.wait_screen("│ red")
    nvim.keys("<Esc>")
    return panel


@pytest.mark.req("H5", "H10")
def test_a_running_command_shows_its_last_lines_in_the_panel(running: Panel, nvim: Nvim) -> None:
    nvim.wait_screen("● shell make test", "│ one", "│ red")
    running.call_end("c1", "shell", "one\nred\n", "red", exitCode=2, isError=True, errorKind="exit")

    nvim.wait_screen("✗ shell make test   exit 2 · red")
    nvim.wait_gone("│ one")


@pytest.mark.req("H5", "H10")
def test_a_terminal_shows_what_came_before_and_what_comes(
    running: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.cmd("AgentLs terminal")
    nvim.wait_screen("$ make test")
    red = nvim.highlight_at("red")
    server.delta("tool_call_output_delta", "c1:out", 16 + len("one\nred\n") - 8 - 3, "", name="stdout")
    server.delta(
        "tool_call_output_delta", "c1:out", len("one\n\x1b[31mred\x1b[0m\n"), "blue\nlast", name="stdout"
    )
    nvim.wait_screen("blue", "last")

    running.call_end("c1", "shell", "one\nred\nblue\nlast", "last", exitCode=0, durationMs=1500)

    nvim.wait_screen("[exit 0, 1.5 s]")
    assert red.get("foreground") is not None
    assert nvim.lua("return vim.bo.buftype") == "terminal"
    nvim.keys("q")
    nvim.wait_gone("[exit 0")


@pytest.mark.req("H5", "H10")
def test_a_terminal_opens_from_its_call_in_the_transcript(running: Panel, nvim: Nvim) -> None:
    nvim.cmd("wincmd k")
    nvim.keys("gggt")

    nvim.wait_screen("$ make test")


@pytest.mark.req("T5", "H10")
def test_a_background_process_is_listed_and_ended_only_when_asked(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.call("c1", "shell", "make serve")
    server.emit(
        "terminal_open", {"terminalId": "bg1", "callId": "c1", "title": "make serve", "background": True}
    )
    panel.call_end("c1", "shell", "started", "started")
    process = {"terminalId": "bg1", "command": "make serve", "pid": 4711, "startedMs": 0, "background": True}
    waited_for = {"terminalId": "c2", "command": "make all", "startedMs": 0, "background": False}
    server.session().info["terminals"] = [process, waited_for]
    nvim.wait_screen("✓ shell make serve")

    nvim.keys("<Esc>:AgentLs terminals<CR>")
    nvim.wait_screen("make serve  [background, running]")
    nvim.keys("1<CR>")
    nvim.wait_screen("End it")
    assert "agent/terminalKill" not in server.seen()
    nvim.keys("2<CR>")

    sent = server.expect("agent/terminalKill")
    assert (sent["sessionId"], sent["terminalId"]) == ("s1", "bg1")


def test_the_list_of_commands_when_none_has_run_says_so(panel: Panel, nvim: Nvim) -> None:
    nvim.cmd("AgentLs terminals")

    nvim.wait_screen("No command has run yet.")
