"""Sessions in the plugin: missed events are fetched, a restart restores everything, a crashed server loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

TRANSCRIPT = "require('agent_ls.chat.transcript')"


def transcript(nvim: Nvim) -> list[str]:
    """Return the lines of the transcript without those of the progress display."""
    lines = nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()"))
    return lines[: len(lines) - 2 * (lines[-2:] == ["", ""])]


def begin_turn(panel: Panel) -> None:
    """Emit the middle of a turn: a text, a finished call, a second text and a running command, both still open."""
    server = panel.server
    server.emit("state", {"state": "PROCESSING"})
    server.emit("user_input", {"text": "do it"})
    panel.say("I will.", "p1")
    panel.call("c1", "grep", "x")
    panel.call_end("c1", "grep", "", "no match")
    panel.call("c2", "shell", "make")
    server.emit(
        "terminal_open", {"terminalId": "term1", "callId": "c2", "title": "make", "background": False}
    )
    server.emit("assistant_text_start", {"partId": "p2"})
    server.session().open_parts = [
        {"partId": "p2", "kind": "assistant_text_delta", "text": "Half a sen", "name": ""},
        {"partId": "c2:out", "kind": "tool_call_output_delta", "text": "cc one.c\n", "name": "stdout"},
    ]


WHOLE_TURN = [
    "❯ do it",
    "",
    "I will.",
    "",
    "✓ Searched x · no match",
    "● Running make",
    "│ cc one.c",
    "│ cc two.c",
    "",
    "Half a sentence.",
]


def end_turn(server: StandIn) -> None:
    server.delta("assistant_text_delta", "p2", 10, "tence.")
    server.delta("tool_call_output_delta", "c2:out", 9, "cc two.c\n")


@pytest.mark.req("H3", "H10")
def test_a_missed_event_leads_to_a_new_subscription_from_the_last_one(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.say("first")
    nvim.wait_screen("first")
    server.record("user_input", {"text": "lost on the way"})

    server.emit("user_input", {"text": "came through"})

    assert server.expect("agent/subscribe") == {"sessionId": "s1", "since": 2}
    nvim.wait_screen("first", "❯ lost on the way", "❯ came through")
    assert transcript(nvim) == ["first", "", "❯ lost on the way", "", "❯ came through"]


@pytest.mark.req("H3")
def test_a_missed_delta_leads_to_a_new_subscription_and_the_text_so_far(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.emit("assistant_text_start", {"partId": "p1"})
    server.delta("assistant_text_delta", "p1", 0, "one ")
    nvim.wait_screen("one")
    part = {"partId": "p1", "kind": "assistant_text_delta", "text": "one two three ", "name": ""}
    server.session().open_parts = [part]

    server.delta("assistant_text_delta", "p1", 8, "three ")
    server.expect("agent/subscribe")
    server.delta("assistant_text_delta", "p1", 14, "four")

    nvim.wait_screen("one two three four")


@pytest.mark.req("H3")
def test_a_permanent_gap_in_the_deltas_causes_a_limited_number_of_subscriptions(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.session().events = []
    for n in range(40):
        server.delta("assistant_text_delta", "p1", 10 + n, "x")
    server.tell({"sessionId": "s1", "seq": 1, "kind": "title", "timestamp": "", "data": {"title": "T"}})
    nvim.wait_screen(" T ")

    assert server.seen().count("agent/subscribe") <= 4


@pytest.mark.req("H3")
def test_events_received_before_the_subscribe_response_are_displayed(nvim: Nvim, server: StandIn) -> None:
    server.before_answer["agent/subscribe"] = lambda: server.emit("user_input", {"text": "an early bird"})

    nvim.cmd("AgentLs new")

    nvim.wait_screen("❯ an early bird")
    assert transcript(nvim) == ["❯ an early bird"]


@pytest.mark.req("H3", "H10", "R4")
def test_a_restart_of_the_editor_during_a_turn_restores_the_whole_turn(
    panel: Panel, server: StandIn, nvim: Nvim, start_nvim: StartNvim
) -> None:
    begin_turn(panel)
    nvim.close()

    again = start_nvim("one.txt")
    again.cmd("AgentLs resume")
    assert server.expect("agent/sessions")["workspaceFolder"].startswith("file://")
    again.wait_screen("Half a sen")
    end_turn(server)
    again.wait_screen("Half a sentence.", "cc two.c", "working")

    assert transcript(again) == WHOLE_TURN


@pytest.mark.req("H3")
def test_reopening_the_session_in_the_same_editor_leaves_the_transcript_unchanged(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    begin_turn(panel)
    nvim.wait_screen("I will.")

    nvim.cmd("AgentLs resume")
    assert server.expect("agent/subscribe")["since"] > 0
    nvim.wait_screen("Half a sen")
    end_turn(server)
    nvim.wait_screen("Half a sentence.", "cc two.c")

    assert transcript(nvim) == WHOLE_TURN


@pytest.mark.req("H10", "R5")
def test_a_crashed_server_is_reported_and_the_next_message_continues_the_session(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.say("before the fall")
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("working")

    server.drop_connection()
    nvim.wait_screen("The server ended unexpectedly (exit code", "○ idle")
    nvim.keys("still there?<C-s>")

    assert server.expect("agent/subscribe") == {"sessionId": "s1", "since": 3}
    assert server.expect("agent/submit")["input"] == [{"type": "text", "text": "still there?"}]
    nvim.wait_screen("before the fall")
    assert not nvim.is_blocked()


@pytest.mark.req("H10", "R5")
def test_a_message_being_sent_when_the_server_crashes_is_restored_to_the_prompt(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.silent.add("agent/submit")
    nvim.keys("precious words<C-s>")
    server.expect("agent/submit")

    server.drop_connection()

    nvim.wait_screen("The server ended unexpectedly", "precious words")
    assert nvim.lines(nvim.lua("return require('agent_ls.chat.input').buffer()")) == ["precious words"]


@pytest.mark.req("H10")
def test_a_missing_server_program_is_reported_with_a_hint(start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", command=["no-such-agent-ls", "serve"])

    nvim.cmd("AgentLs")
    nvim.keys("hello<C-s>")

    nvim.wait_screen('cannot find the program "no-such-agent-ls"', "checkhealth agent_ls", "hello")


@pytest.mark.req("H10")
def test_a_server_program_that_fails_at_once_is_reported(start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", command=["false"])

    nvim.cmd("AgentLs new")

    nvim.wait_screen("✗ The server ended unexpectedly (exit code", "server:")


@pytest.mark.req("H2", "H10")
def test_sessions_are_chosen_from_a_list(
    panel: Panel, server: StandIn, nvim: Nvim, project: Path, start_nvim: StartNvim
) -> None:
    here = project.as_uri()
    server.session("s7", title="Rename the cart", workspaceFolder=here, live=False)
    server.record("user_input", {"text": "rename it"}, "s7")
    server.session("s8", title="Elsewhere", workspaceFolder="file:///somewhere/else")

    nvim.keys("<Esc>:AgentLs sessions<CR>")
    shown = nvim.wait_screen("Rename the cart  [stored, model-x]")
    assert "Elsewhere" not in shown
    nvim.keys("1<CR>")

    nvim.wait_screen("❯ rename it")
    assert nvim.lua("return require('agent_ls.session').current_id()") == "s7"


@pytest.mark.req("H2")
def test_events_of_another_session_are_not_displayed(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs new")
    nvim.wait_for("require('agent_ls.session').current_id() == 's2'")

    server.emit("user_input", {"text": "in the first"}, "s1")
    server.emit("user_input", {"text": "in the second"}, "s2")

    nvim.wait_screen("❯ in the second")
    assert transcript(nvim) == ["❯ in the second"]


def test_resume_without_a_stored_session_shows_a_message(nvim: Nvim) -> None:
    nvim.cmd("AgentLs resume")

    nvim.wait_screen("There is no session for this folder yet.")


@pytest.mark.req("H19")
def test_the_server_ends_when_the_editor_exits(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.close()

    assert server.ended.wait(30)


@pytest.mark.req("H10", "R4")
@pytest.mark.parametrize("command", ["qa", "wqa", "confirm qa"])
def test_quit_while_the_agent_works_is_refused_once_and_changes_nothing(
    panel: Panel, server: StandIn, nvim: Nvim, command: str
) -> None:
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("● working")
    nvim.keys("<Esc>")
    windows = "vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_list_wins())"
    before, buffers = nvim.lua(f"return {windows}"), len(nvim.lua("return vim.api.nvim_list_bufs()"))

    nvim.keys(f":{command}<CR>")
    if command.startswith("confirm"):
        nvim.wait_mode("r?")
        nvim.keys("c")

    nvim.wait_until(lambda: "AgentLs stop" in nvim.nvim.command_output("messages"), "what to do")
    assert nvim.lua(f"return {windows}") == before
    assert len(nvim.lua("return vim.api.nvim_list_bufs()")) == buffers
    assert not server.ended.is_set()


@pytest.mark.req("H10")
def test_quit_right_after_typing_keeps_the_draft(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.lua("require('agent_ls.chat.input').set_text('not sent yet')")
    server.seen()

    nvim.quit()

    assert server.expect("agent/draft")["text"] == "not sent yet"


@pytest.mark.req("H10")
def test_quit_while_an_approval_is_pending_is_not_refused(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("state", {"state": "AWAITING_INPUT"})
    panel.ask()
    nvim.wait_screen("Run this command?")

    nvim.quit()

    assert server.ended.wait(30)
