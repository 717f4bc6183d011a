"""Actions of the user on a conversation: roll back, answers, queued messages, drafts, compaction, models, deletion
(H10).
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim, look_of
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

PLAN = {
    "session": {"id": "s1"},
    "revertId": "",
    "inputText": "Fix the total.",
    "turns": ["t1"],
    "restoredTurns": [],
    "files": [
        {
            "path": "/w/cart.py",
            "uri": "file:///w/cart.py",
            "action": "modify",
            "state": "planned",
            "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-new line\n+old line\n",
            "reason": "",
            "conflicts": [],
        }
    ],
}


def transcript(nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")


@pytest.mark.req("H10", "X10")
@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("y", {"files": "restore"}),
        ("f", {"files": "restore", "conversation": False}),
        ("c", {"files": "keep"}),
    ],
)
def test_a_roll_back_is_previewed_and_a_key_selects_its_scope(
    panel: Panel, server: StandIn, nvim: Nvim, key: str, wanted: dict[str, Any]
) -> None:
    server.replies["agent/revert"] = PLAN
    server.emit("user_input", {"text": "Fix the total.", "clientKey": "", "queuedId": ""})
    nvim.wait_screen("❯ Fix the total.")
    transcript(nvim)

    nvim.keys("gggR")
    nvim.wait_screen("Back to before: Fix the total.", "change back /w/cart.py", "+old line")
    assert server.expect("agent/revert")["files"] == "preview"
    nvim.keys(key)

    sent = server.expect("agent/revert")
    assert (sent["atTurnId"], sent["sessionId"]) == ("t1", "s1")
    assert {name: sent[name] for name in wanted} == wanted
    if key != "f":
        nvim.wait_for("require('agent_ls.chat.input').read_text() == 'Fix the total.'")


@pytest.mark.req("X10")
def test_rolled_back_messages_are_dimmed_and_the_roll_back_can_be_reverted(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.replies["agent/revert"] = PLAN | {
        "turns": [],
        "restoredTurns": ["t1"],
        "files": [],
        "inputText": "",
    }
    server.emit("user_input", {"text": "Fix the total.", "clientKey": "", "queuedId": ""})
    data = {"revertId": "r1", "atTurnId": "t1", "conversation": True, "turns": ["t1"], "restoredTurns": []}
    server.emit("reverted", data | {"files": []})
    nvim.wait_screen("↶ Rolled back 1 message.", "gR reverts it")
    dimmed = nvim.lua("return vim.api.nvim_get_hl(0, {name = 'NonText', link = false}).fg")
    assert nvim.highlight_at("❯ Fix the total.")["foreground"] == dimmed
    transcript(nvim)

    nvim.keys("GgR")
    nvim.wait_screen("Brings 1 message back into the conversation.", "No file will be changed.")
    nvim.keys("y")

    server.expect("agent/revert")
    assert server.expect("agent/revert")["atTurnId"] == "r1"


def ask(server: StandIn, *, multiple: bool = False, choices: tuple[str, ...] = ("Euro", "Dollar")) -> None:
    data = {
        "questionId": "q1",
        "callId": "c1",
        "question": "Which one?",
        "purpose": "question",
    }
    server.emit("question_asked", data | {"choices": list(choices), "multiple": multiple})
    server.emit("state", {"state": "AWAITING_INPUT"})


@pytest.mark.req("H10", "L8")
def test_enter_on_a_choice_in_the_transcript_answers_the_question(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    ask(server)
    nvim.wait_screen("┃ Which one?", "1 Euro", "2 Dollar", "waiting for you")
    transcript(nvim)

    nvim.keys("/Dollar<CR><CR>")

    sent = server.expect("agent/answer")
    assert (sent["questionId"], sent["answers"]) == ("q1", ["Dollar"])
    answered = {
        "questionId": "q1",
        "answers": ["Dollar"],
        "declined": False,
        "decidedBy": "",
        "clientKey": "",
    }
    server.emit("question_answered", answered)
    nvim.wait_screen("✓ Which one?")
    nvim.wait_gone("1 Euro")


@pytest.mark.req("H10", "L8")
def test_several_choices_are_marked_and_sent_in_one_answer(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    ask(server, multiple=True, choices=("A1", "B2", "C3"))
    nvim.wait_screen("☐ A1", "☐ C3")
    transcript(nvim)

    nvim.keys("/A1<CR><CR>/C3<CR><CR>")
    nvim.wait_screen("☑ A1", "☐ B2", "☑ C3")
    nvim.keys("a")

    assert server.expect("agent/answer")["answers"] == ["A1", "C3"]


@pytest.mark.req("H10", "L8")
def test_a_question_is_answered_with_free_text_or_declined(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    ask(server)
    nvim.wait_screen("┃ Which one?")
    nvim.keys("<Esc><M-a>")
    nvim.wait_screen("3: Something else…")
    nvim.keys("3<CR>")
    nvim.wait_screen("Answer:")
    nvim.keys("Neither<CR>")
    assert server.expect("agent/answer")["answers"] == ["Neither"]

    nvim.keys(":AgentLs decline<CR>")
    sent = server.expect("agent/answer")
    assert (sent["answers"], sent["declined"]) == ([], True)


@pytest.mark.req("H10")
def test_a_subagent_is_displayed_as_one_line_that_a_key_expands(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    about: dict[str, Any] = {
        "agentId": "agent_1",
        "callId": "c1",
        "task": "Look for totals",
        "model": "m",
        "workingDir": "/w",
    }
    about |= {"reason": "", "output": "", "turnsUsed": 0}
    server.emit("subagent", about | {"status": "running"})
    call = {"callId": "c9", "index": 0, "name": "grep", "arguments": "{}", "summary": "total"}
    server.emit("tool_call_start", call | look_of("grep"), agent_id="agent_1")
    server.emit("subagent", about | {"status": "completed", "output": "In cart.py.", "turnsUsed": 2})
    nvim.wait_screen("◆ agent_1 Look for totals", "└ In cart.py.", "done · 2 rounds")
    assert "grep" not in nvim.screen()
    transcript(nvim)

    nvim.keys("gg<CR>")
    nvim.wait_screen("┊ ● Searching total")
    nvim.keys("<CR>")
    nvim.wait_gone("grep")


@pytest.mark.req("H10", "E7")
def test_a_nearly_full_context_is_reported_listed_by_category_and_compacted(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    total = {"inputTokens": 160_000, "outputTokens": 10}
    parts = {"system": 4000, "tools": 6000, "documents": 0, "history": 30000, "toolOutput": 123456}
    usage = {"call": total, "total": total, "contextTokens": 163_456, "contextWindowTokens": 200_000}
    server.emit("usage", usage | {"totalCostUsd": None, "callCostUsd": None, "context": parts})
    nvim.wait_screen("163.5k 82% ! :AgentLs compact")

    nvim.keys("<Esc>:AgentLs context<CR>")
    nvim.wait_screen("82%   163,456 of 200,000 tokens", "Output of tools", "123,456")
    nvim.keys("q:AgentLs compact Keep the names.<CR>")

    assert server.expect("agent/compact")["instructions"] == "Keep the names."


MODELS = {
    "defaultProvider": "anthropic",
    "defaultMode": "ask",
    "providers": [
        {"id": "anthropic", "name": "Anthropic", "hasKey": True, "keyVariable": "A"},
        {"id": "openai", "name": "OpenAI", "hasKey": False, "keyVariable": "O"},
        {"id": "ollama", "name": "Ollama", "hasKey": False, "keyVariable": ""},
    ],
    "models": [
        {"provider": "openai", "id": "wide", "name": "Wide", "contextTokens": 400000},
        {"provider": "ollama", "id": "qwen", "name": "qwen", "address": "http://127.0.0.1:11434"},
    ],
}


@pytest.mark.req("H10", "P5")
def test_a_model_is_chosen_from_the_list_of_found_models_and_remembered(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.replies["agent/models"] = MODELS
    nvim.keys("<Esc>:AgentLs model<CR>")
    nvim.wait_screen("1: qwen  [Ollama, http://127.0.0.1:11434]", "2: Wide  [OpenAI, 400k, no key]")
    assert server.expect("agent/models") == {"look": True}

    nvim.keys("1<CR>")

    sent = server.expect("agent/configure")
    assert (sent["provider"], sent["model"], sent["remember"]) == ("ollama", "qwen", True)


@pytest.mark.req("H10")
def test_a_queued_message_is_edited(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    server.emit("queue", {"items": [{"queuedId": "q1", "text": "later", "clientKey": "", "images": 2}]})
    nvim.wait_screen("1 queued")

    nvim.keys("<Esc>:AgentLs queued<CR>")
    nvim.wait_screen("1: later + 2 pictures")
    nvim.keys("1<CR>")
    nvim.wait_screen("1: Change it", "4: Remove it")
    nvim.keys("1<CR>")
    nvim.wait_screen("queued message + 2 pictures")
    nvim.keys("ccmuch later<Esc>:w<CR>")

    edit = server.expect("agent/queue")["edit"]
    text = {"type": "text", "text": "much later"}
    assert edit == {"queuedId": "q1", "input": [text], "keepImages": True}


@pytest.mark.req("H10", "H7")
def test_a_draft_is_stored_with_its_session_and_restored_with_it(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.keys("half a thought")
    assert server.expect("agent/draft")["text"] == "half a thought"
    server.session("s9").draft = {"text": "of another session", "attachments": []}

    nvim.lua("require('agent_ls.session').open('s9')")
    nvim.wait_screen("of another session")
    nvim.wait_gone("half a thought")
    nvim.lua("require('agent_ls.session').open('s1')")
    nvim.wait_screen("half a thought")

    nvim.keys("<C-s>")
    server.expect("agent/submit")
    assert server.expect("agent/draft")["text"] == ""


@pytest.mark.req("H10", "H7")
def test_a_draft_typed_just_before_a_session_switch_is_stored_with_its_own_session(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.session("s9")
    nvim.keys("half a thought")
    nvim.wait_for("require('agent_ls.chat.input').read_text() == 'half a thought'")

    nvim.lua("require('agent_ls.session').open('s9')")

    draft = server.expect("agent/draft")
    assert (draft["sessionId"], draft["text"]) == ("s1", "half a thought")
    nvim.wait_gone("half a thought")
    nvim.lua("require('agent_ls.session').open('s1')")
    nvim.wait_screen("half a thought")


@pytest.mark.req("H10", "H7")
@pytest.mark.parametrize(("before", "goes_along"), [("", True), ("of the first: ", False)])
def test_a_draft_begun_while_a_session_is_created_moves_to_it_but_an_earlier_draft_does_not(
    panel: Panel, server: StandIn, nvim: Nvim, before: str, goes_along: bool
) -> None:
    text = f"{before}and this"
    nvim.keys(f"{before}<Esc>")
    nvim.wait_mode("n")
    may_be_made = threading.Event()
    server.before_answer["agent/newSession"] = lambda: may_be_made.wait(30)
    nvim.cmd("AgentLs new")
    nvim.wait_mode("i")
    nvim.keys("and this")
    nvim.wait_for("require('agent_ls.chat.input').read_text() == ...", text)

    may_be_made.set()
    nvim.wait_for("require('agent_ls.session').current_id() == 's2'")

    found = nvim.lua("return require('agent_ls.chat.input').read_text()")
    assert found == (text if goes_along else "")
    wanted = {"s1": "" if goes_along else text, "s2": found}
    nvim.wait_until(lambda: drafts(server) == wanted, f"drafts {wanted}")


def drafts(server: StandIn) -> dict[str, str]:
    return {name: (each.draft or {}).get("text", "") for name, each in server.sessions.items()}


@pytest.mark.req("H10")
def test_deleting_a_session_is_confirmed_once_and_again_if_it_has_pending_changes(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.refuse("agent/deleteSession", "changes wait", kind="session_has_hunks")
    nvim.keys("<Esc>:AgentLs delete<CR>")
    nvim.wait_screen("1: Delete permanently")
    nvim.keys("1<CR>")
    nvim.wait_screen("1: Delete it anyway")
    assert "force" not in server.expect("agent/deleteSession")
    server.refusals.clear()
    server.replies["agent/deleteSession"] = {}
    nvim.keys("1<CR>")

    assert server.expect("agent/deleteSession")["force"] is True
    nvim.wait_for("require('agent_ls.session').current_id() == nil")


@pytest.mark.req("H10", "H17")
def test_a_command_of_several_lines_can_be_edited_before_it_runs(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    panel.ask(command="make\nmake test")
    nvim.wait_screen("Run this command?")
    transcript(nvim)
    nvim.keys("Gc")
    nvim.wait_screen("run instead")
    nvim.keys("Gccmake check<Esc>:w<CR>")

    sent = server.expect("agent/approve")
    assert (sent["decision"], sent["replacement"]) == ("allow", {"command": "make\nmake check"})


@pytest.mark.req("H10")
def test_a_message_sent_while_a_session_is_created_goes_to_that_session(
    start_nvim: StartNvim, server: StandIn
) -> None:
    nvim = start_nvim("one.txt")
    nvim.lua("vim.cmd('AgentLs demo') vim.cmd('AgentLs send Hello')")

    assert server.expect("agent/submit")["sessionId"] == "s1"
    assert list(server.sessions) == ["s1"]


@pytest.mark.req("H10", "H17")
def test_a_rule_is_listed_and_removed(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    rule = {"id": "r1", "label": "make in this folder", "scope": "project", "hits": 3}
    server.replies["agent/rules"] = {"rules": [rule]}
    server.replies["agent/removeRule"] = {"removed": 1}

    nvim.keys("<Esc>:AgentLs rules<CR>")
    nvim.wait_screen("1: make in this folder  [project, used 3 times]")
    assert server.expect("agent/rules")["sessionId"] == "s1"
    nvim.keys("1<CR>")
    nvim.wait_screen("1: Remove this rule")
    nvim.keys("1<CR>")

    assert server.expect("agent/removeRule")["ruleId"] == "r1"


@pytest.mark.req("X8", "H17")
def test_the_trust_of_the_folder_is_displayed_and_changed_by_the_trust_command(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    folder = {"workspaceFolder": "file:///home/ada/shop", "folders": []}
    server.replies["agent/trust"] = {**folder, "trust": "trusted"}

    nvim.keys("<Esc>:AgentLs trust<CR>")
    nvim.wait_screen("/home/ada/shop: trusted", "1: Do not trust this folder")
    assert "decision" not in server.expect("agent/trust")
    server.replies["agent/trust"] = {**folder, "trust": "restricted"}
    nvim.keys("1<CR>")
    nvim.wait_screen("/home/ada/shop: restricted")

    assert server.expect("agent/trust")["decision"] == "restrict"


@pytest.mark.req("X8", "H7")
def test_a_folder_trust_request_is_answered_by_one_key(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    request = {
        "requestId": "a1",
        "callId": "",
        "tool": "trust",
        "summary": "trust /home/ada/shop",
        "reason": "Why.",
        "effect": {"type": "TrustEffect", "folder": "/home/ada/shop", "owner": "1000"},
        "digest": "d",
        "rules": [],
    }
    server.emit("approval_requested", request)
    nvim.wait_screen("Do you trust this folder?")
    nvim.keys("<M-d>")

    answer = server.expect("agent/approve")
    assert (answer["requestId"], answer["decision"]) == ("a1", "deny")


@pytest.mark.req("H28", "H10")
def test_an_error_offers_a_command_and_retry_sends_the_last_message_again(
    panel: Panel, server: StandIn
) -> None:
    server.emit("user_input", {"text": "fix it"})
    server.emit(
        "error",
        {"message": "Anthropic rejected this key.", "errorKind": "authentication", "action": "setKey"},
    )
    panel.nvim.wait_screen("Anthropic rejected this key.", "set a key…")

    panel.nvim.cmd("AgentLs retry")

    assert server.expect("agent/submit")["input"] == [{"type": "text", "text": "fix it"}]
