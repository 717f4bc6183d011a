"""The look of the panel: readable rows, one block per change, errors with actions, progress, and the empty panel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

TRANSCRIPT = "require('agent_ls.chat.transcript')"


def go_to(nvim: Nvim, text: str) -> None:
    """Move the cursor of the transcript to the line with this text."""
    nvim.keys("<Esc>")
    nvim.lua(
        "local win = require('agent_ls.chat.view').window() vim.api.nvim_set_current_win(win)"
        " vim.api.nvim_win_set_cursor(win, { 1, 0 }) vim.fn.search(..., 'cW')",
        rf"\V{text}",
    )


def edit(server: StandIn, panel: Panel, path: str, request_id: str = "a1") -> None:
    """Emit an edit of the agent that was allowed."""
    panel.call("c1", "edit_file", "one.txt", '{"file_path": "one.txt", "old_string": "two"}')
    panel.ask(request_id)
    server.emit(
        "approval_resolved",
        {"requestId": request_id, "decision": "allow", "scope": "once", "decidedBy": "user"},
    )
    diff = "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
    change = {"callId": "c1", "path": path, "uri": f"file://{path}", "action": "modify", "diff": diff}
    server.emit("file_change", change | {"added": 1, "removed": 1, "hunks": []})
    panel.call_end("c1", "edit_file", summary="1 replacement")


@pytest.mark.req("H10")
def test_file_change_is_one_panel_block_with_diff_and_approval_decision(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    edit(server, panel, "/w/one.txt")

    shot = nvim.wait_screen("± /w/one.txt +1 −1", "allowed once", "+ TWO")

    assert "Edited" not in shot and "✓" not in shot


@pytest.mark.req("H10")
def test_key_on_a_file_change_displays_the_raw_tool_arguments(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    edit(server, panel, "/w/one.txt")
    nvim.wait_screen("± /w/one.txt")
    go_to(nvim, "one.txt")

    nvim.keys("K")

    nvim.wait_screen("edit_file", "old_string: two")


@pytest.mark.req("H10")
def test_consecutive_file_reads_are_one_expandable_row(panel: Panel, nvim: Nvim) -> None:
    for number in range(3):
        panel.call(f"c{number}", "read_file", f"file{number}.py", '{"offset": 40, "limit": 21}')
        panel.call_end(f"c{number}", "read_file")
    shot = nvim.wait_screen("▸ Read 3 files")
    assert "file0.py" not in shot
    go_to(nvim, "Read 3 files")

    nvim.keys("<CR>")
    nvim.wait_screen("▾ Read 3 files", "✓ Read file0.py 40–60", "✓ Read file2.py 40–60")
    nvim.keys("<CR>")
    nvim.wait_gone("file1.py")


@pytest.mark.req("H10")
def test_gf_on_a_read_file_call_opens_the_file_at_its_lines(panel: Panel, nvim: Nvim, project: Any) -> None:
    (project / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 100)))
    panel.call("c1", "read_file", "long.txt", '{"file_path": "long.txt", "offset": 40, "limit": 21}')
    panel.call_end("c1", "read_file", summary="21 lines")
    nvim.wait_screen("✓ Read long.txt 40–60 · 21 lines")
    go_to(nvim, "long.txt")

    nvim.keys("gf")

    nvim.wait_screen("line 40")
    assert nvim.lua("return vim.fn.line('.')") == 40


@pytest.mark.req("H10")
def test_a_call_waiting_for_approval_is_not_displayed_as_running(panel: Panel, nvim: Nvim) -> None:
    panel.call("c1", "shell", "make test")
    panel.ask(command="make test")

    shot = nvim.wait_screen("Run this command?", "make test")

    assert "Running" not in shot


@pytest.mark.req("H10", "H7")
def test_command_of_an_approval_is_highlighted(panel: Panel, nvim: Nvim) -> None:
    panel.ask(command="echo 'hello there' | grep hello")
    nvim.wait_screen("Run this command?")

    quoted, plain = nvim.highlight_at("hello there"), nvim.highlight_at("in /")

    assert quoted.get("foreground") not in (None, plain.get("foreground"))


@pytest.mark.req("H10")
def test_progress_displays_the_activity_and_disappears_with_the_turn(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.emit("state", {"state": "PROCESSING"})
    server.emit("user_input", {"text": "go"})
    nvim.wait_screen("Waiting for the model · 0 s · <C-c> stops")
    panel.call("c1", "shell", "make test")
    nvim.wait_screen("● Running make test", "Running make test · ")
    # the timer advances here and in the row of the call
    nvim.wait_screen("Running make test · 1 s · <C-c> stops")
    nvim.wait_screen("● Running make test   1 s")
    panel.call_end("c1", "shell", summary="exit 0: ok", exitCode=0)
    server.emit("processing_end", {"reason": "completed"})
    server.emit("state", {"state": "IDLE"})

    nvim.wait_gone("stops")
    assert nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()"))[-1] == "✓ Ran make test · ok"


@pytest.mark.req("H10", "H7")
def test_timers_do_not_count_the_time_until_an_approval(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.lua(
        "local started = vim.uv.hrtime() _G.passed = 0 vim.uv.hrtime = function() return started + passed end"
    )
    server.emit("state", {"state": "PROCESSING"})
    server.emit("user_input", {"text": "go"})
    panel.call("c1", "shell", "make test")
    panel.ask(command="make test")
    server.emit("state", {"state": "AWAITING_INPUT"})
    nvim.wait_screen("Run this command?", "waiting for you")
    nvim.lua("_G.passed = 60e9")  # the user thinks for a minute

    answer = {"requestId": "a1", "decision": "allow", "scope": "once", "decidedBy": "user"}
    server.emit("approval_resolved", answer)
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("● Running make test", "Running make test · 0 s", "● working 0 s")
    nvim.lua("_G.passed = 65e9")

    nvim.wait_screen("Running make test   5 s", "Running make test · 5 s", "● working 5 s")


@pytest.mark.req("H10", "H28")
def test_an_error_is_a_block_whose_key_performs_the_suggested_action(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.emit("user_input", {"text": "fix it"})
    error = {"message": "The stream was cut.", "errorKind": "transport", "hint": "The answer is kept."}
    server.emit("error", error | {"action": "continue"})
    nvim.wait_screen("✗ The stream was cut.", "┃ The answer is kept.", "<CR> continue · send again")
    nvim.lua("vim.ui.select = function(items, options, done) vim.g.offered = items; done(items[1]) end")
    go_to(nvim, "The stream was cut")

    nvim.keys("<CR>")

    assert server.expect("agent/submit")["input"] == [{"type": "text", "text": "Continue."}]
    assert nvim.lua("return vim.g.offered") == ["continue", "retry"]
    server.emit("user_input", {"text": "Continue."})
    nvim.wait_gone("send again")  # the error is over, so its block stays without actions


@pytest.mark.req("H10")
def test_the_markdown_of_an_answer_is_rendered(panel: Panel, nvim: Nvim) -> None:
    table = "| name | n |\n| --- | --- |\n| a | 1 |\n| longer | 22 |"
    code = "```lua\nlocal answer = 'x'\n```"
    panel.say(f"{table}\n\n- [ ] open\n- [x] done\n\n{code}\n\nSee [the docs](https://example.org/x).")

    shot = nvim.wait_screen("☐ open", "☑ done", "See the docs.", "local answer")

    rows = [row.split("│")[-1].strip() for row in shot.split("\n") if "|" in row]
    assert [row.index("|", 1) for row in rows] == [rows[0].index("|", 1)] * 4
    keyword, name = nvim.highlight_at("local"), nvim.highlight_at("answer =")
    assert keyword != name, "the code is not highlighted"


@pytest.mark.req("H10")
def test_rows_wrap_at_spaces_and_links_take_the_width_of_their_text(
    start_nvim: StartNvim, server: StandIn
) -> None:
    nvim = start_nvim("one.txt", columns=80, rows=24)
    panel = Panel(nvim, server)
    panel.open()
    panel.say(
        "It is rounded in agent_ls/loop/session.py:203, and :AgentLs demo is e.g. quick.\n\n"
        "See [the long documentation](https://example.org/a/long/page.html#round) of it.\n\n"
        "> Quoted words that wrap: they too."
    )

    shot = nvim.wait_screen("  too.")

    rows = [row.split("│")[-1].strip() for row in shot.split("\n")]
    first = next(at for at, row in enumerate(rows) if row.startswith("It is"))
    assert rows[first : first + 9] == [
        "It is rounded in",
        "agent_ls/loop/session.py:203,",
        "and :AgentLs demo is e.g. quick.",
        "",
        "See the long documentation of",
        "it.",
        "",
        "> Quoted words that wrap: they",
        "too.",
    ]
    assert "│   too." in shot, "a wrapped quote is not indented"
    go_to(nvim, "See the long")
    nvim.keys("w")
    assert nvim.lua("return vim.ui._get_urls()") == ["https://example.org/a/long/page.html#round"]


@pytest.mark.req("H10")
def test_wrapped_lines_of_a_change_under_approval_keep_the_bar_of_the_request(
    start_nvim: StartNvim, server: StandIn
) -> None:
    nvim = start_nvim("one.txt", columns=80, rows=24)
    panel = Panel(nvim, server)
    panel.open()
    panel.call("c1", "edit_file", "one.txt")
    diff = "@@ -1,2 +1,2 @@\n one\n-    amount = amount - DISCOUNT_RATE\n+    amount = amount * (1 - RATE)\n"
    file = {"path": "/w/one.txt", "action": "modify", "diff": diff}
    data = {"requestId": "a1", "callId": "c1", "tool": "edit_file", "summary": "one.txt", "reason": ""}
    server.emit("approval_requested", data | {"effect": {"files": [file]}, "digest": "d", "rules": []})

    shot = nvim.wait_screen("Make this change?", "DISCOUNT_RATE")

    rows = [row.split("│")[-1].rstrip() for row in shot.split("\n")]
    first = next(at for at, row in enumerate(rows) if "-     amount" in row)
    assert rows[first + 1] == rows[first].partition("-")[0] + "  DISCOUNT_RATE"


@pytest.mark.req("H10")
@pytest.mark.parametrize(("columns", "is_below"), [(80, True), (200, False)])
def test_a_message_too_long_for_the_panel_is_also_in_the_message_line(
    start_nvim: StartNvim, server: StandIn, columns: int, is_below: bool
) -> None:
    nvim = start_nvim("one.txt", columns=columns, rows=24)
    Panel(nvim, server).open()
    server.replies["agent/mcpServers"] = {"servers": [], "problems": []}
    nvim.keys("<Esc>")
    nvim.cmd("AgentLs mcp")
    shot = nvim.wait_screen("No MCP servers are set up:", "agent-ls-mcp")
    assert ("agent-ls: No MCP servers" in shot) is is_below


@pytest.mark.req("H10")
@pytest.mark.parametrize("own", ["", " -"], ids=["default", "set by the user"])
@pytest.mark.parametrize("set_while_open", ["", " !"], ids=["", "set while the panel is open"])
def test_option_breakat_of_the_user_is_kept_when_the_panel_closes(
    start_nvim: StartNvim, own: str, set_while_open: str
) -> None:
    nvim = start_nvim("one.txt")
    options = nvim.nvim.options
    options["breakat"] = own or options["breakat"]
    before = options["breakat"]
    nvim.cmd("AgentLs")
    nvim.wait_screen("What should change?")
    assert options["breakat"] == (own or " \t")
    if set_while_open:
        options["breakat"] = before = set_while_open
    nvim.cmd("AgentLs close")
    nvim.wait_gone("What should change?")
    assert options["breakat"] == before


@pytest.mark.req("H10")
def test_empty_panel_offers_example_prompts_and_previous_sessions(
    start_nvim: StartNvim, server: StandIn
) -> None:
    server.session("s7", title="The old one", workspaceFolder="")
    nvim = start_nvim("one.txt")
    folder = nvim.lua("return vim.uri_from_fname(require('agent_ls.files').find_root())")
    server.session("s7").info["workspaceFolder"] = folder
    server.replies["agent/models"] = {
        "defaultProvider": "anthropic",
        "defaultMode": "edits",
        "providers": [{"id": "anthropic", "name": "Anthropic", "hasKey": False, "keyVariable": "A_KEY"}],
        "models": [],
    }
    nvim.cmd("AgentLs")
    nvim.wait_screen("❯ Review my uncommitted changes", "↻ ", "The old one", "! no API key is set")
    nvim.wait_screen(" edits")

    go_to(nvim, "Review my")
    nvim.keys("<CR>")
    nvim.wait_for("require('agent_ls.chat.input').read_text() == 'Review my uncommitted changes'")
    go_to(nvim, "The old one")
    nvim.keys("<CR>")
    assert server.expect("agent/subscribe")["sessionId"] == "s7"


@pytest.mark.req("H10")
def test_the_prompt_displays_the_attached_file_and_a_key_removes_it(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.session().info["effort"] = "high"
    nvim.wait_screen("@one.txt")

    nvim.keys("<M-c>")
    nvim.wait_screen("without @one.txt")
    states = [server.expect("agent/editorState")]
    while "activeUri" in states[-1]:
        states.append(server.expect("agent/editorState"))
    assert states[-1]["visibleUris"] == []
    nvim.keys("<M-c>")
    assert server.expect("agent/editorState")["activeUri"].endswith("one.txt")


@pytest.mark.req("H10")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50)])
def test_no_row_of_the_panel_is_wider_than_its_window(
    server: StandIn, start_nvim: StartNvim, columns: int, rows: int
) -> None:
    nvim = start_nvim("one.txt", columns=columns, rows=rows)
    panel = Panel(nvim, server)
    panel.open()
    panel.call("c1", "shell", "python -m pytest -q tests/unit tests/integration --maxfail=1")
    panel.call_end("c1", "shell", summary="exit 1: 3 failed in 2.05s", isError=True, exitCode=1)
    panel.call("c2", "read_file", "a/rather/deep/folder/with_a_long_name.py")
    panel.call_end("c2", "read_file", summary="120 lines")
    nvim.wait_screen("3 failed", "long_name.py")

    width = nvim.lua("return vim.api.nvim_win_get_width(require('agent_ls.chat.view').window())")
    lines = nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()"))
    assert max(len(line) for line in lines) <= width
