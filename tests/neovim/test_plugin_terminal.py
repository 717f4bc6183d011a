"""Commands of the agent in terminal buffers, and background processes that the user may end."""

from __future__ import annotations

from pathlib import Path

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
def test_panel_displays_the_last_output_lines_of_a_running_command(running: Panel, nvim: Nvim) -> None:
    nvim.wait_screen("● Running make test", "│ one", "│ red")
    running.call_end("c1", "shell", "one\nred\n", "red", exitCode=2, isError=True, errorKind="exit")

    nvim.wait_screen("✗ Ran make test · red")
    nvim.wait_gone("│ one")


@pytest.mark.req("H5", "H10")
def test_the_panel_displays_no_remains_of_escape_sequences(
    running: Panel, server: StandIn, nvim: Nvim
) -> None:
    output = "one\n\x1b[31mred\x1b[0m\n"
    server.delta(
        "tool_call_output_delta", "c1:out", len(output), "\x1b(B\x1b[mend\x1bPq#0\x1b\\ed\n", name="stdout"
    )

    nvim.wait_screen("│ ended")


@pytest.mark.req("H5", "H10")
def test_terminal_displays_output_from_before_and_after_it_was_opened(
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


def runs_in_terminal(server: StandIn, project: Path) -> None:
    """Request, as the server does, that the command runs in a terminal of this editor."""
    terminal = {"terminalId": "t9", "argv": ["sh", "-c", "echo its own; cat"], "cwd": str(project)}
    for what, params in (
        ("terminalOpen", terminal | {"title": "agent-ls"}),
        ("terminalRuns", {"terminalId": "t9", "callId": "c1"}),
    ):
        asked = {"requestId": what, "clientId": "c1", "what": what, "params": params, "deadlineMs": 30_000}
        server.tell({"sessionId": "s1", "kind": "client_request", "timestamp": "", "data": asked})
        assert server.expect("agent/clientAnswer")["result"] == {}


@pytest.mark.req("H5", "H10")
def test_terminal_in_a_window_of_few_rows_displays_the_first_output(
    running: Panel, server: StandIn, nvim: Nvim, project: Path
) -> None:
    runs_in_terminal(server, project)
    own = "vim.iter(vim.api.nvim_list_bufs()):find(function(b) return vim.bo[b].buftype == 'terminal' end)"
    nvim.wait_for(f"vim.api.nvim_buf_get_lines({own}, 0, 1, false)[1] == 'its own'")

    nvim.cmd("AgentLs terminal")

    lines, height = "vim.api.nvim_buf_line_count(0)", "vim.api.nvim_win_get_height(0)"
    nvim.wait_for(f"{lines} == {height}")
    nvim.wait_screen("its own")


@pytest.mark.req("H5", "H10")
def test_an_output_window_opened_before_the_commands_terminal_switches_to_it(
    running: Panel, server: StandIn, nvim: Nvim, project: Path
) -> None:
    nvim.cmd("AgentLs terminal")
    nvim.wait_screen("$ make test")
    windows = nvim.lua("return #vim.api.nvim_list_wins()")

    runs_in_terminal(server, project)

    nvim.wait_screen("its own")
    nvim.wait_gone("$ make test")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == windows
    nvim.keys("i")
    nvim.wait_mode("t")
    nvim.keys("typed into it<CR>")
    nvim.wait_screen("typed into it")
    nvim.keys("<C-\\><C-n>q")
    nvim.wait_gone("typed into it")


@pytest.mark.req("H5", "H10")
def test_terminal_opens_from_its_tool_call_in_the_transcript(running: Panel, nvim: Nvim) -> None:
    nvim.cmd("wincmd k")
    nvim.keys("gggt")

    nvim.wait_screen("$ make test")


@pytest.mark.req("T5", "H10")
def test_background_process_is_listed_and_killed_only_on_user_request(
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
    nvim.wait_screen("✓ Ran make serve")

    nvim.keys("<Esc>:AgentLs terminals<CR>")
    nvim.wait_screen("make serve  [background, running]")
    nvim.keys("1<CR>")
    nvim.wait_screen("End it")
    assert "agent/terminalKill" not in server.seen()
    nvim.keys("2<CR>")

    sent = server.expect("agent/terminalKill")
    assert (sent["sessionId"], sent["terminalId"]) == ("s1", "bg1")


def test_the_list_of_terminals_without_commands_shows_a_message(panel: Panel, nvim: Nvim) -> None:
    nvim.cmd("AgentLs terminals")

    nvim.wait_screen("No command has run yet.")
