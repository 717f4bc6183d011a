"""The panel: streamed texts, messages of the user, and undisturbed focus."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

TRANSCRIPT = "require('agent_ls.chat.transcript')"
VIEW = "require('agent_ls.chat.view')"


def transcript(nvim: Nvim) -> list[str]:
    return nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()"))


@pytest.mark.req("H10")
def test_a_message_without_a_session_starts_one_and_is_sent(nvim: Nvim, server: StandIn) -> None:
    nvim.cmd("AgentLs")
    nvim.keys("Fix the tests,<CR>please<C-s>")

    server.expect("agent/newSession")
    sent = server.expect("agent/submit")

    assert sent["input"] == [{"type": "text", "text": "Fix the tests,\nplease"}]
    assert sent["whenBusy"] == "steer"
    assert sent["sessionId"] == "s1"
    assert len(sent["clientKey"]) == 36
    nvim.wait_screen("What should change?")


@pytest.mark.req("H10")
def test_streamed_text_appears_with_each_delta(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("user_input", {"text": "hello"})
    server.emit("assistant_text_start", {"partId": "p1"})
    server.delta("assistant_text_delta", "p1", 0, "The first ")
    nvim.wait_screen("❯ hello", "The first")
    server.delta("assistant_text_delta", "p1", 10, "**line**\nand `the` second")
    nvim.wait_screen("The first line", "and the second")
    server.emit("assistant_text_end", {"partId": "p1", "text": "The first **line**\nand `the` second.\n"})
    nvim.wait_screen("and the second.")

    assert transcript(nvim) == ["❯ hello", "", "The first **line**", "and `the` second."]
    assert nvim.highlight_at("line")["bold"] is True


@pytest.mark.req("H10")
def test_a_delta_writes_one_line_in_a_transcript_of_any_length(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    long = "\n".join(f"word {n}" for n in range(3000))
    for n in range(5):
        panel.say(long, f"before{n}")
    server.emit("assistant_text_start", {"partId": "p"})
    server.delta("assistant_text_delta", "p", 0, long)
    nvim.wait_for(f"vim.api.nvim_buf_line_count({TRANSCRIPT}.buffer()) >= 18000")

    server.delta("assistant_text_delta", "p", len(long), " and on")

    nvim.wait_screen("word 2999 and on")
    assert nvim.lua(f"return {TRANSCRIPT}.lines_written") == 1


@pytest.mark.req("H10")
def test_many_deltas_are_drawn_in_few_frames(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.lua(
        f"frames = 0; local draw = {VIEW}.draw; {VIEW}.draw = function() frames = frames + 1; draw() end"
    )
    server.emit("assistant_text_start", {"partId": "p"})
    started = nvim.lua("return vim.uv.hrtime()")
    for n in range(2000):
        server.delta("assistant_text_delta", "p", n * 5, f"{n:4}\n")

    nvim.wait_screen("1999")

    took_ms = (nvim.lua("return vim.uv.hrtime()") - started) / 1e6
    assert nvim.lua("return frames") <= took_ms / 33 + 2
    assert transcript(nvim)[-2:] == ["1999", ""]


@pytest.mark.req("H10", "H17")
def test_the_view_follows_new_text_only_while_it_is_at_the_end(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.say("\n".join(f"line {n}" for n in range(100)))
    nvim.wait_screen("line 99")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.keys("gg")
    nvim.wait_screen("line 0")

    panel.say("the newest", "p2")
    nvim.wait_for(f"vim.api.nvim_buf_line_count({TRANSCRIPT}.buffer()) == 102")
    assert "the newest" not in nvim.screen()
    assert nvim.lua("return vim.fn.line('.')") == 1

    nvim.keys("G")
    panel.say("newer still", "p3")
    nvim.wait_screen("newer still")


@pytest.mark.req("H17")
def test_new_output_never_changes_focus_or_mode(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    nvim.keys("jA typing")
    nvim.wait_mode("i")
    before = nvim.lua("return {vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)}")

    panel.say("text")
    panel.ask()
    server.emit("error", {"message": "Something failed.", "errorKind": "x", "hint": "", "retryable": False})
    nvim.wait_screen("Run this command?", "Something failed.")

    assert nvim.lua("return {vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)}") == before
    assert nvim.mode() == "i"


@pytest.mark.req("L6", "H10")
def test_a_message_sent_during_a_turn_is_a_steer_displayed_as_waiting_until_injected(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("Steer the agent while it works…", "<C-s> steer")

    nvim.keys("use pathlib<Esc><CR>")
    assert server.expect("agent/submit")["whenBusy"] == "steer"
    server.emit("steering_queued", {"steerId": "st1", "text": "use pathlib", "clientKey": ""})
    nvim.wait_screen("↪ use pathlib   waiting")
    server.emit("steering_injected", {"steerId": "st1", "text": "use pathlib"})
    nvim.wait_gone("waiting")

    assert transcript(nvim) == ["↪ use pathlib", "", ""]  # followed by the two lines of the progress display


@pytest.mark.req("L6")
def test_a_waiting_steer_can_be_removed(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("steering_queued", {"steerId": "st1", "text": "no", "clientKey": ""})
    nvim.wait_screen("↪ no")

    nvim.cmd("AgentLs unsteer")

    assert server.expect("agent/unsteer")["steerId"] == "st1"


@pytest.mark.req("H2", "L16")
def test_ctrl_c_during_a_turn_stops_it(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("working")
    nvim.keys("<C-c>")
    assert server.expect("agent/interrupt")["sessionId"] == "s1"

    server.emit("state", {"state": "IDLE"})
    server.emit("processing_end", {"reason": "interrupted"})
    nvim.wait_screen("· Stopped.", "○ idle")


@pytest.mark.req("H2")
@pytest.mark.parametrize(
    ("command", "method", "wanted"),
    [
        ("send do it", "agent/submit", {"input": [{"type": "text", "text": "do it"}]}),
        ("steer more care", "agent/steer", {"input": [{"type": "text", "text": "more care"}]}),
        ("queue then docs", "agent/followUp", {"input": [{"type": "text", "text": "then docs"}]}),
        ("stop", "agent/interrupt", {}),
        ("abort", "agent/abort", {}),
        ("model model-y", "agent/configure", {"model": "model-y"}),
        ("mode plan", "agent/configure", {"mode": "plan"}),
        ("effort high", "agent/configure", {"effort": "high"}),
    ],
)
def test_each_agentls_subcommand_sends_its_request_to_the_server(
    panel: Panel, server: StandIn, nvim: Nvim, command: str, method: str, wanted: dict[str, object]
) -> None:
    nvim.cmd(f"AgentLs {command}")

    sent = server.expect(method)

    assert sent["sessionId"] == "s1"
    assert len(sent["clientKey"]) == 36
    assert {name: sent[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("choice", "method", "wanted"),
    [
        ("2", "agent/interrupt", {"agentId": "agent_2"}),
        ("1", "agent/steer", {"agentId": "agent_2", "input": [{"type": "text", "text": "hurry"}]}),
    ],
)
def test_one_running_subagent_gets_a_message_or_is_stopped(
    panel: Panel, server: StandIn, nvim: Nvim, choice: str, method: str, wanted: dict[str, object]
) -> None:
    about = {"task": "look", "reason": "", "output": "", "turnsUsed": 0}
    server.emit("subagent", {**about, "agentId": "agent_1", "status": "completed"})
    server.emit("subagent", {**about, "agentId": "agent_2", "status": "running"})
    nvim.wait_screen("at work")
    nvim.keys("<Esc>:AgentLs subagent<CR>")
    nvim.wait_screen("agent_2: look")
    nvim.keys(f"{choice}<CR>")
    if choice == "1":
        nvim.wait_screen("Message to agent_2")
        nvim.keys("hurry<CR>")

    sent = server.expect(method)
    assert {name: sent[name] for name in wanted} == wanted


@pytest.mark.req("H12", "H10")
def test_send_with_a_range_sends_the_selected_lines(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    nvim.cmd("2,3AgentLs send what is this?")

    selection, text = server.expect("agent/submit")["input"]

    assert selection["type"] == "selection"
    assert selection["uri"].endswith("/one.txt")
    assert (selection["startLine"], selection["endLine"], selection["text"]) == (1, 3, "two\nthree\n")
    assert text == {"type": "text", "text": "what is this?"}


def test_completion_offers_subcommands_and_values(nvim: Nvim) -> None:
    complete = "return vim.fn.getcompletion(..., 'cmdline')"

    assert {"send", "steer", "stop", "resume", "keep_all", "demo"} <= set(nvim.lua(complete, "AgentLs "))
    assert nvim.lua(complete, "AgentLs keep_") == [
        "keep_all",
        "keep_file",
        "keep_session",
        "keep_turn",
    ]
    assert nvim.lua(complete, "AgentLs mode ") == ["ask", "edits", "full", "plan"]


@pytest.mark.req("H10", "R1")
def test_a_refused_message_is_reported_and_restored_to_the_prompt(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.refuse(
        "agent/submit", "No key for anthropic is set.", hint="Set ANTHROPIC_API_KEY, or try :AgentLs demo."
    )

    nvim.keys("do it<C-s>")

    nvim.wait_screen("✗ No key for anthropic is set.", "┃ Set ANTHROPIC_API_KEY", "do it")
    assert nvim.lines(nvim.lua("return require('agent_ls.chat.input').buffer()")) == ["do it"]


def test_a_message_that_was_sent_is_recalled_with_up(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.keys("first<C-s>second<C-s>")
    server.expect("agent/submit")
    server.expect("agent/submit")
    prompt = nvim.lua("return require('agent_ls.chat.input').buffer()")

    nvim.keys("<Up>")
    nvim.wait_lines(["second"], prompt)
    nvim.keys("<Up>")
    nvim.wait_lines(["first"], prompt)
    nvim.keys("<Down><Down>")
    nvim.wait_lines([""], prompt)


@pytest.mark.req("H10")
def test_tool_calls_are_displayed_as_one_line_and_expanded_by_a_key(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.call("c1", "grep", "TODO", '{"pattern": "TODO"}')
    nvim.wait_screen("● Searching TODO")
    panel.call_end("c1", "grep", "a.py:1:TODO\nb.py:2:TODO", "2 matches")
    nvim.wait_screen("✓ Searched TODO · 2 matches")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")

    nvim.keys("<CR>")
    nvim.wait_screen("pattern: TODO", "│ a.py:1:TODO", "│ b.py:2:TODO")
    nvim.keys("za")
    nvim.wait_gone("a.py:1:TODO")


@pytest.mark.req("H10")
def test_reasoning_is_folded_and_opened_by_a_key(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("reasoning_start", {"partId": "r1"})
    server.delta("reasoning_delta", "r1", 0, "First this,\nthen that")
    nvim.wait_screen("▸ Thinking: then that")
    server.emit("reasoning_end", {"partId": "r1", "text": "First this,\nthen that", "interrupted": False})
    nvim.wait_screen("▸ Thought: First this,")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")

    nvim.keys("<CR>")

    nvim.wait_screen("First this,", "then that")


@pytest.mark.req("H10", "H17")
def test_the_statusline_component_displays_state_model_and_tokens(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    usage = {"inputTokens": 12000, "outputTokens": 345}
    numbers = {"call": usage, "total": usage, "contextTokens": 12345, "contextWindowTokens": 200000}

    assert nvim.lua("return require('agent_ls').status()") == "agent-ls ○ idle · model-x"
    server.emit("state", {"state": "PROCESSING"})
    server.emit("usage", numbers)
    nvim.wait_for("require('agent_ls').status() == 'agent-ls ● working · model-x · 12.3k 6%'")
    panel.ask()
    nvim.wait_for("require('agent_ls').status() == 'agent-ls ◆ waiting for you · model-x · 12.3k 6%'")


def test_the_statusline_component_is_empty_before_there_is_a_session(nvim: Nvim) -> None:
    assert nvim.lua("return require('agent_ls').status()") == ""


@pytest.mark.req("H14")
def test_demo_starts_a_walkthrough_session_and_displays_it(nvim: Nvim, server: StandIn) -> None:
    nvim.cmd("AgentLs demo")

    assert server.expect("agent/newSession")["provider"] == "walkthrough"
    nvim.wait_screen("walkthrough (no model)")


@pytest.mark.req("H10")
def test_options_of_new_sessions_come_from_setup(start_nvim: StartNvim, server: StandIn) -> None:
    nvim = start_nvim("one.txt", setup="{ provider = 'openai', model = 'm', mode = 'plan', width = 40 }")

    nvim.cmd("AgentLs new")

    asked = server.expect("agent/newSession")
    assert (asked["provider"], asked["model"], asked["mode"]) == ("openai", "m", "plan")
    assert nvim.wait_for(f"{VIEW}.window() and vim.api.nvim_win_get_width({VIEW}.window())") == 40


@pytest.mark.req("H10")
def test_the_panel_keeps_its_texts_and_the_draft_while_it_is_closed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.say("said before")
    nvim.keys("half a message")
    nvim.wait_screen("said before", "half a message")

    nvim.keys("<Esc>")
    nvim.cmd("AgentLs")
    nvim.wait_gone("half a message")
    panel.say("said meanwhile", "p2")
    nvim.cmd("AgentLs")

    nvim.wait_screen("said before", "said meanwhile", "half a message")


def test_closing_the_prompt_window_closes_the_whole_panel(panel: Panel, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("quit")

    nvim.wait_for("#vim.api.nvim_tabpage_list_wins(0) == 1")


def test_a_file_is_never_opened_inside_the_panel(panel: Panel, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.lua("require('agent_ls.chat.view').show_file('other.py', 2)")

    assert nvim.lua("return vim.fn.expand('%:t')") == "other.py"
    assert nvim.lua("return vim.fn.line('.')") == 2
    nvim.wait_screen("What should change?")


def test_a_file_is_opened_next_to_the_panel_if_no_other_window_exists(panel: Panel, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h | close")
    nvim.lua("require('agent_ls.chat.view').show_file('other.py')")

    assert nvim.lua("return vim.fn.expand('%:t')") == "other.py"
    assert nvim.lua("return {vim.wo.winbar, vim.wo.winfixbuf, vim.wo.winhighlight}") == ["", False, ""]
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 3


@pytest.mark.req("H10")
def test_deleting_the_buffers_of_the_panel_loses_no_text_of_the_session(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.say("said before")
    nvim.wait_screen("said before")
    nvim.keys("<Esc>")
    nvim.cmd("%bdelete!")
    panel.say("said meanwhile", "p2")

    nvim.cmd("AgentLs")

    nvim.wait_screen("said before", "said meanwhile", "What should change?")
    nvim.keys("go on<C-s>")
    assert server.expect("agent/submit")["input"] == [{"type": "text", "text": "go on"}]


def test_a_change_is_expanded_completely_and_then_collapsed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    diff = "--- a\n+++ b\n@@ -1,5 +1,5 @@\n far\n near\n-old\n+new\n near too\n far too\n"
    data = {
        "callId": "c1",
        "path": "/x/a.py",
        "action": "modify",
        "added": 1,
        "removed": 1,
        "diff": diff,
        "hunks": [],
    }
    server.emit("file_change", data)
    nvim.wait_screen("- old", "+ new", "near too")
    assert "far" not in nvim.screen()
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")

    nvim.keys("gg<CR>")
    nvim.wait_screen("far too")
    nvim.keys("<CR>")
    nvim.wait_gone("+ new")
    nvim.keys("<CR>")
    nvim.wait_screen("+ new")


@pytest.mark.req("H10")
def test_reopening_a_panel_after_its_prompt_window_was_closed_leaves_no_stale_prompt(
    panel: Panel, nvim: Nvim
) -> None:
    nvim.keys("<Esc>:wincmd h<CR>:q<CR>:wincmd j<CR><C-w>o")
    nvim.wait_gone("What should change?")

    nvim.cmd("AgentLs open")
    nvim.wait_screen("What should change?")

    names = nvim.lua(
        "return vim.tbl_map(function(w) return vim.fn.bufname(vim.api.nvim_win_get_buf(w)) end, "
        "vim.api.nvim_list_wins())"
    )
    assert len(names) == len(set(names))
