"""Approvals in the panel: displayed, and answered by key or command, but not by accident."""

from __future__ import annotations

from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

RULE = {"id": "rule1", "label": "commands that start with make", "scope": "session"}


@pytest.fixture
def asked(panel: Panel, nvim: Nvim) -> Panel:
    """A panel with a pending command; the cursor is in the transcript."""
    panel.ask(command="make test && rm -rf build", rules=[RULE])
    nvim.wait_screen("Run this command?")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    return panel


@pytest.mark.req("H7", "H10")
def test_an_approval_displays_the_exact_command_and_the_offered_rule(asked: Panel, nvim: Nvim) -> None:
    nvim.wait_screen(
        "┃   make test && rm -rf build",
        "a allow once   d deny   c change",
        "A commands that start with make",
        "waiting for you",
    )


@pytest.mark.req("H7", "H10")
@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("a", {"decision": "allow", "scope": "once"}),
        ("A", {"decision": "allow", "scope": "session", "ruleId": "rule1"}),
        ("c -n<CR>", {"decision": "allow", "replacement": {"command": "make test && rm -rf build -n"}}),
        ("c<CR>", {"decision": "allow", "replacement": None}),
        (":AgentLs edit<CR> -k<CR>", {"replacement": {"command": "make test && rm -rf build -k"}}),
        ("dtoo dangerous<CR>", {"decision": "deny", "reason": "too dangerous"}),
        ("d<CR>", {"decision": "deny", "reason": ""}),
        (":AgentLs approve<CR>", {"decision": "allow", "scope": "once"}),
        (":AgentLs allow<CR>", {"decision": "allow", "ruleId": "rule1"}),
        (":AgentLs deny not in this project<CR>", {"decision": "deny", "reason": "not in this project"}),
        ("i<M-a>", {"decision": "allow", "scope": "once"}),
    ],
)
def test_a_key_or_command_answers_an_approval(
    asked: Panel, server: StandIn, nvim: Nvim, keys: str, wanted: dict[str, Any]
) -> None:
    nvim.keys(keys)

    sent = server.expect("agent/approve")

    assert (sent["sessionId"], sent["requestId"]) == ("s1", "a1")
    assert {name: sent.get(name) for name in wanted} == wanted
    assert ("ruleId" in sent) == ("ruleId" in wanted)


@pytest.mark.req("H7")
def test_cancelling_the_input_of_a_denial_reason_does_not_deny_the_approval(
    asked: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.keys("d")
    nvim.wait_mode("c")
    nvim.keys("<Esc>a")

    assert server.expect("agent/approve")["decision"] == "allow"


@pytest.mark.req("H7")
def test_approval_keys_typed_in_the_prompt_do_not_answer_an_approval(
    asked: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.keys("iadd A dad<Esc>aA<C-s>")

    server.expect("agent/submit")

    assert "agent/approve" not in server.seen()


@pytest.mark.req("H7", "H10")
def test_control_characters_in_the_diff_of_an_approval_are_displayed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\r\n+evil()\r# fine \x1b]also()\x07\r\n"
    effect = {"files": [{"path": "/w/a.py", "action": "modify", "diff": diff}]}
    asked = {"requestId": "a1", "callId": "c1", "tool": "edit_file", "summary": "a.py", "reason": ""}
    server.emit("approval_requested", asked | {"effect": effect, "digest": "d", "rules": []})

    nvim.wait_screen("- old", "+ evil()^M# fine ^[]also()^G")


@pytest.mark.req("H7", "T11")
def test_what_a_server_says_and_has_changed_about_its_tool_is_displayed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    effect = {"text": '{"a": 1}', "server": "notes", "about": "Adds.", "change": "-Adds.\n+Sends your keys."}
    asked = {"requestId": "a1", "callId": "c1", "tool": "notes__add", "summary": "add", "reason": ""}
    server.emit("approval_requested", asked | {"effect": effect, "digest": "d", "rules": []})

    nvim.wait_screen('{"a": 1}', "the server notes describes its tool:", "| Adds.", "| +Sends your keys.")


@pytest.mark.req("H7", "H10")
def test_one_of_several_rules_can_be_chosen(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    panel.ask(rules=[RULE, {"id": "rule2", "label": "all commands", "scope": "turn"}])
    nvim.wait_screen("Run this command?")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")

    nvim.keys("A")
    nvim.wait_mode("c")
    nvim.keys("2<CR>")

    sent = server.expect("agent/approve")
    assert (sent["ruleId"], sent["scope"]) == ("rule2", "turn")


@pytest.mark.req("H7")
def test_of_two_approvals_the_one_under_the_cursor_or_the_oldest_is_answered(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.ask("a1", "make one")
    panel.ask("a2", "make two")
    nvim.wait_screen("make one", "make two")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.keys("Ga")
    assert server.expect("agent/approve")["requestId"] == "a2"

    nvim.cmd("AgentLs approve")
    assert server.expect("agent/approve")["requestId"] == "a1"


@pytest.mark.req("H7")
@pytest.mark.parametrize("key", ["a", "A", "i<M-a>"])
def test_a_key_held_down_answers_only_one_approval(
    panel: Panel, server: StandIn, nvim: Nvim, key: str
) -> None:
    panel.ask("a1", "make one", rules=[RULE])
    panel.ask("a2", "make two", rules=[RULE])
    nvim.wait_screen("make one", "make two")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.lua("require('agent_ls.chat.approvals').repeat_ms = 60000")
    nvim.keys("gg" + key)
    assert server.expect("agent/approve")["requestId"] == "a1"
    server.emit(
        "approval_resolved", {"requestId": "a1", "decision": "allow", "scope": "once", "decidedBy": "t"}
    )
    nvim.wait_screen("allowed once: make one")

    nvim.keys(key * 3)
    nvim.cmd("AgentLs deny no")

    answer = server.expect("agent/approve")
    assert (answer["requestId"], answer["decision"]) == ("a2", "deny")


@pytest.mark.req("H7")
def test_pressing_the_approval_key_again_answers_the_next_approval(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.ask("a1", "make one")
    panel.ask("a2", "make two")
    nvim.wait_screen("make one", "make two")
    nvim.lua("require('agent_ls.chat.approvals').repeat_ms = 0")
    for asked in ("a1", "a2"):
        nvim.keys("<M-a>")
        assert server.expect("agent/approve")["requestId"] == asked
        resolved = {"requestId": asked, "decision": "allow", "scope": "once", "decidedBy": "t"}
        server.emit("approval_resolved", resolved)
        nvim.wait_screen(f"allowed once: make {'one' if asked == 'a1' else 'two'}")


@pytest.mark.req("H7")
def test_the_decision_of_another_client_on_an_approval_is_displayed(
    asked: Panel, server: StandIn, nvim: Nvim
) -> None:
    data = {"requestId": "a1", "decision": "deny", "scope": "once", "decidedBy": "other", "reason": "no rm"}
    server.emit("approval_resolved", data)

    nvim.wait_screen("✗ denied: make test && rm -rf build", "“no rm”")
    nvim.keys("a")
    nvim.wait_screen("No request waits for your approval.")
    assert "agent/approve" not in server.seen()


@pytest.mark.req("H7")
def test_an_approval_survives_closing_the_panel(asked: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs close")
    nvim.wait_gone("Run this command?")
    nvim.cmd("AgentLs")

    nvim.wait_screen("Run this command?")
    nvim.cmd("AgentLs approve")
    assert server.expect("agent/approve")["requestId"] == "a1"


@pytest.mark.req("H7", "R4")
def test_an_approval_survives_a_restart_of_the_editor(
    asked: Panel, server: StandIn, nvim: Nvim, start_nvim: StartNvim
) -> None:
    nvim.close()
    again = start_nvim("one.txt")
    again.cmd("AgentLs resume")

    again.wait_screen("Run this command?", "make test && rm -rf build")
    again.keys(":AgentLs deny<CR>")
    again.wait_mode("c")
    again.keys("<CR>")
    assert server.expect("agent/approve")["requestId"] == "a1"


@pytest.mark.req("H17")
def test_the_user_is_notified_of_an_approval_while_the_panel_is_hidden(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.keys("<Esc>")
    nvim.lua("told = {}; vim.notify = function(text) table.insert(told, text) end")
    nvim.cmd("AgentLs close")

    panel.ask(command="make test")
    nvim.wait_for("#told == 1")
    server.emit("processing_end", {"reason": "completed"})
    nvim.wait_for("#told == 2")

    assert nvim.lua("return told") == ["agent-ls: asks: make test (:AgentLs)", "agent-ls: done"]


PATH = "/shop/cart.py"


def proposal(name: str) -> dict[str, Any]:
    """Return a proposed hunk."""
    lines = {"baseStart": 0, "baseEnd": 1, "start": 0, "end": 1, "baseLines": ["a\n"], "lines": ["b\n"]}
    whose = {
        "id": name,
        "sessionId": "s1",
        "turnId": "t1",
        "callId": "c1",
        "path": PATH,
        "uri": f"file://{PATH}",
    }
    return whose | lines | {"what": "content", "state": "proposed"}


HEARD = """
told, sent = {}, {}
vim.notify = function(text) table.insert(told, text) end
local send = vim.api.nvim_chan_send
vim.api.nvim_chan_send = function(channel, data)
  if channel == vim.v.stderr then table.insert(sent, data) else return send(channel, data) end
end
"""
ASKED = "agent-ls: asks: make test (:AgentLs)"
DESKTOP = "\x1b]9;agent-ls: asks: make test  (:AgentLs)\x1b\\"


@pytest.mark.req("H17")
@pytest.mark.parametrize(
    ("notify", "focus", "expected"),
    [
        ("off", "FocusLost", ([], [])),
        ("away", "FocusGained", ([], [])),
        ("away", "FocusLost", ([ASKED], ["\a"])),
        ("unseen", "FocusGained", ([ASKED], [])),
        ("unseen", "FocusLost", ([ASKED], ["\a"])),
        ("system", "FocusGained", ([ASKED], ["\a"])),
        ("system", "FocusLost", ([ASKED], ["\a", DESKTOP])),
        (True, "FocusGained", ([ASKED], [])),
        (False, "FocusLost", ([], [])),
    ],
)
def test_approval_notifications_follow_the_notify_option_and_do_not_move_the_focus(
    panel: Panel,
    nvim: Nvim,
    server: StandIn,
    notify: str | bool,
    focus: str,
    expected: tuple[list[str], list[str]],
) -> None:
    nvim.keys("<Esc>")
    given = f'"{notify}"' if isinstance(notify, str) else str(notify).lower()
    nvim.lua(f'require("agent_ls.config").set({{ notify = {given} }})')
    nvim.lua(HEARD)
    nvim.cmd("AgentLs close")
    nvim.cmd(f"doautocmd {focus}")
    before = nvim.lua("return {vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)}")

    panel.ask(command="make test")
    nvim.wait_for('require("agent_ls").status():find("waiting for you") ~= nil')
    nvim.wait_for(f"#told == {len(expected[0])}")

    assert (nvim.lua("return told"), nvim.lua("return sent")) == expected
    assert nvim.lua("return {vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)}") == before
    assert nvim.mode() == "n"


@pytest.mark.req("H17")
def test_the_user_is_notified_of_questions_proposals_and_turn_ends(
    panel: Panel, nvim: Nvim, server: StandIn
) -> None:
    nvim.keys("<Esc>")
    nvim.lua(HEARD)
    nvim.cmd("AgentLs close")

    server.emit(
        "question_asked", {"questionId": "q", "question": "Tabs or spaces?", "choices": [], "multiple": False}
    )
    nvim.wait_for("#told == 1")
    hunks = [proposal("h1"), proposal("h2")]
    server.emit(
        "hunk_state", {"path": PATH, "uri": f"file://{PATH}", "hunks": hunks, "by": "agent", "comment": ""}
    )
    nvim.wait_for("#told == 2")
    server.emit(
        "hunk_state", {"path": PATH, "uri": f"file://{PATH}", "hunks": hunks, "by": "agent", "comment": ""}
    )
    server.emit("processing_end", {"reason": "completed"})
    nvim.wait_for("#told == 3")

    assert nvim.lua("return told") == [
        "agent-ls: asks: Tabs or spaces? (:AgentLs)",
        "agent-ls: proposes a change to /shop/cart.py (:AgentLs)",
        "agent-ls: done, 2 changes to review",
    ]


@pytest.mark.req("H17")
def test_no_notification_is_sent_for_an_approval_while_the_panel_is_visible(panel: Panel, nvim: Nvim) -> None:
    nvim.lua("told = {}; vim.notify = function(text) table.insert(told, text) end")

    panel.ask()

    nvim.wait_screen("Run this command?")
    assert nvim.lua("return told") == []
