"""Approvals in the panel: the exact text of a request is shown, and the model receives the user's decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import TEXT, OpenRig
from tests.acceptance.rig import Wire
from tests.support.loopback import Text, ToolCall

READ = ToolCall("read_file", {"file_path": "notes.txt"})
COMMAND = "printf '%s\\n' \"a  b\" '$HOME' | tee made.txt  # ä 😋\necho done && ls made.txt"
"""Quotes, blanks that count, two lines, and characters that must not be lost."""


def run(command: str = COMMAND) -> list[Text | ToolCall]:
    return [Text("I must run this."), ToolCall("shell", {"command": command})]


@pytest.mark.req("H7", "H10")
def test_a_command_is_displayed_verbatim_and_runs_once_when_allowed(
    open_rig: OpenRig, wire: Wire, project: Path
) -> None:
    made = open_rig([run(), run(), "All done."])
    nvim = made.open("notes.txt", mode="ask")
    made.submit("Run it.")
    made.wait_asked()
    shown = made.wait_transcript("Run this command?")
    first, second = COMMAND.split("\n")
    assert f"┃   {first}" in shown
    assert f"┃   {second}" in shown
    assert not (project / "made.txt").exists()

    nvim.cmd("AgentLs open")
    nvim.keys("<M-a>")
    made.model.wait_for_requests(2)
    assert (project / "made.txt").read_text() == "a  b\n$HOME\n"
    (project / "made.txt").unlink()

    made.wait_asked()
    nvim.keys("<M-d>")
    nvim.wait_mode("c")
    nvim.keys("once is enough<CR>")
    made.wait_done("All done.")

    assert not (project / "made.txt").exists()
    allowed, denied = wire.results(made.model.requests[-1].body)
    assert "done\nmade.txt" in allowed
    assert "once is enough" in denied
    assert "Exit code" not in denied
    nvim.wait_screen("denied: “once is enough”")


@pytest.mark.req("H7", "H6", "H10")
def test_the_first_edit_needs_approval_and_its_rule_applies_for_the_session(
    open_rig: OpenRig, wire: Wire
) -> None:
    calls = [wire.edit("notes.txt", "three", "THREE"), wire.edit("notes.txt", "eight", "EIGHT")]
    made = open_rig([[READ], calls[:1], calls[1:], "All done.", [READ], calls[:1]])
    nvim = made.open("notes.txt", mode="ask")
    made.submit("Shout.")
    shown = made.wait_transcript("Make this change?")
    assert [line for line in shown if line.startswith(("┃ - ", "┃ + "))] == ["┃ - three", "┃ + THREE"]
    assert nvim.lines() == TEXT.split()

    nvim.cmd("AgentLs open")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.keys("A")
    made.wait_done("All done.")

    edited = ["one", "two", "THREE", *TEXT.split()[3:7], "EIGHT", "nine"]
    nvim.cmd("wincmd h")
    assert nvim.lines() == edited
    assert made.hunk_states() == ["pending", "pending"]
    assert nvim.lua("return vim.tbl_count(require('agent_ls.session').snapshot().requests)") == 1


@pytest.mark.req("H7", "H10")
def test_a_denied_edit_leaves_the_buffer_unchanged_and_the_model_gets_the_reason(
    open_rig: OpenRig, wire: Wire
) -> None:
    made = open_rig([[READ], [wire.edit("notes.txt", "three", "THREE")], "I leave it."])
    nvim = made.open("notes.txt", mode="ask")
    made.submit("Shout.")
    made.wait_transcript("Make this change?")

    nvim.cmd("AgentLs deny keep it low")
    made.wait_done("I leave it.")

    assert nvim.lines() == TEXT.split()
    assert made.hunk_states() == []
    assert "keep it low" in wire.results(made.model.requests[-1].body)[-1]


@pytest.mark.req("R4", "H7", "L3", "H10")
@pytest.mark.parametrize("how", ["killed", "quit"])
def test_an_approval_pending_when_neovim_ends_is_restored_and_its_answer_continues_the_turn(
    open_rig: OpenRig, wire: Wire, project: Path, how: str
) -> None:
    made = open_rig(
        [[READ], [wire.edit("notes.txt", "three", "THREE")], run("echo done > made.txt"), "All done."]
    )
    nvim = made.open("notes.txt", mode="ask")
    made.submit("Shout, then run it.")
    before = made.wait_transcript("Make this change?")
    session_id = made.session_id

    if how == "killed":
        nvim.kill()
    else:
        nvim.close()
    nvim = made.open("notes.txt", mode="ask")
    assert nvim.lines() == TEXT.split()
    made.resume()
    made.wait_asked()
    shown = made.wait_transcript("Make this change?")

    assert made.session_id == session_id
    assert made.state == "AWAITING_INPUT"
    assert [line for line in shown if line.startswith(("┃ - ", "┃ + "))] == ["┃ - three", "┃ + THREE"]
    assert sum("Make this change?" in line for line in shown) == 1
    assert [line for line in before if line.startswith("❯")] == [
        line for line in shown if line.startswith("❯")
    ]
    assert len(made.model.requests) == 2
    nvim.wait_screen("waiting")

    nvim.cmd("AgentLs open")
    nvim.keys("<M-a>")
    made.wait_transcript("Run this command?")
    assert nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('notes.txt'), 2, 3, false)") == ["THREE"]
    assert not (project / "made.txt").exists()
    nvim.keys("<M-d>")
    nvim.wait_mode("c")
    nvim.keys("not now<CR>")
    made.wait_done("All done.")

    edited, denied = wire.results(made.model.requests[-1].body)[1:]
    assert "rror" not in edited
    assert "not now" in denied
    assert made.hunk_states() == ["pending"]
