"""A request must be visible before it can be allowed: it stays on screen, and its keys work in every window."""

from __future__ import annotations

from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

LONG = [f"Allow commands like this one, variant {number}" for number in range(5)]


@pytest.mark.req("H7", "H10")
def test_a_command_stays_visible_on_a_small_screen(server: StandIn, start_nvim: StartNvim) -> None:
    small = start_nvim("one.txt", columns=80, rows=24)
    Panel(small, server).open()
    rules = [{"id": f"r{n}", "label": label, "scope": "session"} for n, label in enumerate(LONG)]
    asked = {
        "requestId": "a1",
        "callId": "c1",
        "tool": "shell",
        "summary": "x",
        "reason": "it may change files",
    }
    command = "\n".join(f"rm -rf build/{number}" for number in range(12))
    effect = {"command": command, "workingDir": "/w", "envVars": []}
    server.emit("approval_requested", asked | {"effect": effect, "digest": "d", "rules": rules})

    small.wait_screen("Run this command?", "rm -rf build/0", "rm -rf build/11", "<M-a> allow")


COMMAND = {"command": "echo " + "some words " * 8, "workingDir": "/w"}
CARDS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a long command": (
        "approval_requested",
        {"requestId": "a1", "callId": "c1", "tool": "shell", "effect": COMMAND, "digest": "d"},
        "Run this command?",
        "a allow once",
    ),
    "a long question": (
        "question_asked",
        {
            "questionId": "q1",
            "callId": "c1",
            "question": "Which of " + "these words " * 6,
            "choices": ["this " * 9],
        },
        "Which of these",
        "or write below",
    ),
    "a long failure": (
        "error",
        {
            "message": "It failed.",
            "errorKind": "authentication",
            "hint": "Do this. " * 12,
            "action": "setKey",
        },
        "Enter a key",
        "walkthrough",
    ),
}


@pytest.mark.req("H10")
@pytest.mark.parametrize("name", CARDS)
def test_the_border_of_a_card_is_on_each_row_where_its_lines_wrap(
    server: StandIn, start_nvim: StartNvim, name: str
) -> None:
    kind, data, first, last = CARDS[name]
    small = start_nvim("one.txt", columns=80, rows=24)
    Panel(small, server).open()
    server.emit("user_input", {"text": "Go on."})

    server.emit(kind, data)

    rows = [row.split("│", 1)[1].strip() for row in small.wait_screen(first, last).split("\n") if "│" in row]
    begin = next(at for at, row in enumerate(rows) if first in row)
    end = next(at for at, row in enumerate(rows) if last in row)
    assert end - begin >= 3 and all(row.startswith("┃") for row in rows[begin : end + 1]), rows


@pytest.mark.req("H7", "H10")
def test_the_changed_lines_and_the_keys_of_an_edit_are_visible_on_a_small_screen(
    server: StandIn, start_nvim: StartNvim
) -> None:
    small = start_nvim("one.txt", columns=80, rows=24)
    Panel(small, server).open()
    indent = " " * 12
    around = [f" {indent}# a comment of some length about line {number}" for number in range(3)]
    lines = ["--- a", "+++ b", "@@ -1,8 +1,8 @@", *around]
    lines += [f'-{indent}if request.http_version < b"1.1":', f'+{indent}if request.http_version == b"1.0":']
    lines += [f"-{indent}    return old", f"+{indent}    return new", *around]
    effect = {"files": [{"path": "/w/a.py", "action": "modify", "diff": "\n".join(lines) + "\n"}]}
    asked = {"requestId": "a1", "callId": "c1", "tool": "edit_file", "summary": "a.py", "reason": "Mode Ask"}
    rules = [{"id": f"r{n}", "label": label, "scope": "session"} for n, label in enumerate(LONG)]
    server.emit("approval_requested", asked | {"effect": effect, "digest": "d", "rules": rules})

    shot = small.wait_screen("Make this change?", 'b"1.1":', 'b"1.0":', "<M-a> allow", "line 2")

    assert "line 1" not in shot, "one line of context"
    rows = [row.split("│", 1)[1].strip() for row in shot.split("\n") if "│" in row]
    card = rows[rows.index("┃ Make this change?") :]
    keys = next(at for at, row in enumerate(card) if "allow once" in row)
    assert all(row.startswith("┃") for row in card[:keys])


@pytest.mark.req("H7", "H10")
def test_a_key_allows_only_a_visible_request(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    panel.ask(command="make test", rules=[])
    nvim.wait_screen("Run this command?")
    lines = "\n".join(f"line {number}" for number in range(60))
    panel.say(lines, "p9")
    nvim.wait_screen("line 9")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.keys("G")
    nvim.wait_gone("Run this command?")

    nvim.keys("<M-a>")
    nvim.wait_screen("Run this command?", "The request is now in view: read it, then press the key again.")
    assert "agent/approve" not in server.seen()


@pytest.mark.req("H7", "H10")
def test_a_request_newer_than_the_last_frame_is_drawn_before_it_can_be_allowed(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'AgentLsApprovalWanted', command = 'AgentLs approve' })"
    )
    panel.ask(command="make test", rules=[])
    nvim.wait_screen("Run this command?")
    assert "The request is now in view" in nvim.lua("return vim.fn.execute('messages')")
    assert "agent/approve" not in server.seen()


@pytest.mark.req("H7", "H10")
def test_approval_keys_work_in_a_file_while_a_request_is_pending(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    before = nvim.lines(nvim.lua("return vim.fn.bufnr('one.txt')"))
    panel.ask(command="make", rules=[])
    nvim.wait_screen("Run this command?", "<M-a> allow")

    nvim.keys("<M-a>")

    assert server.expect("agent/approve")["decision"] == "allow"
    assert nvim.lines(nvim.lua("return vim.fn.bufnr('one.txt')")) == before
    assert nvim.lua("return vim.fn.mode()") == "n"


@pytest.mark.req("H10")
def test_the_users_key_mapping_is_restored_after_an_approval_is_answered(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.lua("vim.keymap.set('n', '<M-a>', function() vim.g.own = 1 end)")
    panel.ask(command="make", rules=[])
    nvim.wait_screen("Run this command?")
    server.emit(
        "approval_resolved", {"requestId": "a1", "decision": "allow", "scope": "once", "decidedBy": "t"}
    )
    nvim.wait_screen("allowed once")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")

    nvim.keys("<M-a>")

    assert nvim.lua("return vim.g.own") == 1


@pytest.mark.req("H7", "H10")
def test_each_line_of_a_long_approval_reason_begins_with_the_card_border(
    server: StandIn, start_nvim: StartNvim
) -> None:
    small = start_nvim("one.txt", columns=80, rows=24)
    Panel(small, server).open()
    asked = {"requestId": "a1", "callId": "c1", "tool": "shell", "summary": "x"}
    reason = "Asked because of `trap`: it can run code that this line does not show"
    effect = {"command": "make", "workingDir": "/"}
    server.emit(
        "approval_requested", asked | {"reason": reason, "effect": effect, "digest": "d", "rules": []}
    )

    small.wait_screen("Run this command?", "does not show")

    rows = [row.split("│", 1)[1].strip() for row in small.screen().split("\n") if "│" in row]
    card = rows[rows.index("┃ Run this command?") : rows.index("┃ a allow once  d deny  c change")]
    assert all(row.startswith("┃") for row in card)
    assert "does not show" in card[-2] + card[-1]


def command_of(joint: str) -> dict[str, Any]:
    parts = [*(f"echo part {number}" for number in range(60)), "rm -rf ~"]
    return {"command": joint.join(parts), "workingDir": "/w", "envVars": []}


def edit_of(*line_counts: int) -> dict[str, Any]:
    files = []
    for number, count in enumerate(line_counts, 1):
        lines = [*(f"+line {at} of {number}" for at in range(count)), f"+rm -rf ~ {number}"]
        diff = "\n".join(["--- /dev/null", "+++ b", f"@@ -0,0 +1,{count + 1} @@", *lines, ""])
        files.append({"path": f"/w/{number}.sh", "action": "create", "diff": diff})
    return {"files": files}


LONG_EFFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "lines of a command": (command_of("\n"), "rm -rf ~"),
    "one line": (command_of(" && "), "rm -rf ~"),
    "a change": (edit_of(30), "rm -rf ~ 1"),
    "a change of more lines than were once shown": (edit_of(100), "rm -rf ~ 1"),
    "changes of two files": (edit_of(10, 20), "rm -rf ~ 2"),
}


@pytest.mark.req("H7", "H10")
@pytest.mark.parametrize("name", LONG_EFFECTS)
def test_a_request_longer_than_the_window_is_allowed_only_after_its_end_was_in_view(
    name: str, server: StandIn, start_nvim: StartNvim
) -> None:
    effect, last = LONG_EFFECTS[name]
    small = start_nvim("one.txt", columns=80, rows=24)
    Panel(small, server).open()
    asked = {"requestId": "a1", "callId": "c1", "tool": "shell", "summary": "x", "reason": ""}
    server.emit("approval_requested", asked | {"effect": effect, "digest": "d", "rules": []})
    small.wait_screen("<M-a> read on")

    for _ in range(20):
        if last in small.screen():
            break
        small.lua("require('agent_ls.chat.approvals').allow()")
        assert "agent/approve" not in server.seen(), "allowed before its end was in view"
    small.wait_screen(last, "<M-a> allow")
    small.lua("require('agent_ls.chat.approvals').allow()")

    assert server.expect("agent/approve")["decision"] == "allow"
