"""The agent works in the user's open buffer: it reads the visible text and changes only the necessary lines."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import TEXT, OpenRig
from tests.acceptance.rig import Wire
from tests.support.loopback import Gate, Text, ToolCall

READ = ToolCall("read_file", {"file_path": "notes.txt"})


@pytest.mark.req("H4", "H10")
def test_unsaved_text_is_read_and_edited_and_the_disk_stays_unchanged(open_rig: OpenRig, wire: Wire) -> None:
    made = open_rig([[READ], [wire.edit("notes.txt", "three", "THREE")], "All done."])
    nvim = made.open("notes.txt")
    nvim.keys("ggccone, not saved<Esc>Gonew last line<Esc>")
    mine = ["one, not saved", *TEXT.split()[1:], "new last line"]
    nvim.wait_lines(mine)

    made.submit("Shout the third line.")
    made.wait_done("All done.")

    (read,) = wire.results(made.model.requests[1].body)
    assert "one, not saved" in read
    assert "new last line" in read
    assert nvim.lines() == [*mine[:2], "THREE", *mine[3:]]
    assert nvim.lua("return vim.bo.modified")
    assert (made.project / "notes.txt").read_text() == TEXT
    nvim.cmd("write")
    assert (made.project / "notes.txt").read_text() == "\n".join([*mine[:2], "THREE", *mine[3:], ""])


@pytest.mark.req("H4", "H10")
def test_one_undo_reverts_one_edit_call_and_no_user_text(open_rig: OpenRig, wire: Wire) -> None:
    script = [
        [READ],
        [wire.edit("notes.txt", "three", "THREE")],
        [wire.edit("notes.txt", "same", "SAME", context=["six", "eight"])],
        "All done.",
    ]
    made = open_rig(script)
    nvim = made.open("notes.txt")
    nvim.keys("gg:7,9s/.*/same/<CR>:8s/.*/eight/<CR>")
    mine = [*TEXT.split()[:6], "same", "eight", "same"]
    nvim.wait_lines(mine)

    made.submit("Shout.")
    made.wait_done("All done.")

    one_edit = [*mine[:2], "THREE", *mine[3:]]
    assert nvim.lines() == [*one_edit[:6], "SAME", "eight", "SAME"]
    nvim.cmd("undo")
    assert nvim.lines() == one_edit
    nvim.cmd("undo")
    assert nvim.lines() == mine
    nvim.cmd("redo")
    nvim.cmd("redo")
    assert nvim.lines() == [*one_edit[:6], "SAME", "eight", "SAME"]


@pytest.mark.req("H4", "H10")
def test_an_edit_while_the_user_types_is_an_undo_step_of_its_own(open_rig: OpenRig, wire: Wire) -> None:
    gate = Gate()
    made = open_rig([[READ], [Text("I shout."), gate, wire.edit("notes.txt", "three", "THREE")], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Shout the third line.")
    gate.wait_reached()
    lines = TEXT.split()
    nvim.keys("Gobefore")
    nvim.wait_lines([*lines, "before"])

    gate.open()
    edited = [*lines[:2], "THREE", *lines[3:]]
    nvim.wait_lines([*edited, "before"])
    nvim.keys(" and after")
    nvim.wait_lines([*edited, "before and after"])
    made.wait_done("All done.")
    assert nvim.mode() == "i"
    nvim.keys("<Esc>")

    for expected in ([*edited, "before"], [*lines, "before"], lines):
        nvim.keys("u")
        nvim.wait_lines(expected)
    for expected in ([*lines, "before"], [*edited, "before"], [*edited, "before and after"]):
        nvim.keys("<C-r>")
        nvim.wait_lines(expected)


@pytest.mark.req("H4", "H5", "H10")
def test_a_buffer_with_only_agent_changes_is_saved_before_a_command_runs(
    open_rig: OpenRig, wire: Wire
) -> None:
    edit, look = (
        wire.edit("notes.txt", "three", "THREE"),
        ToolCall("shell", {"command": "cat notes.txt | tee seen.txt"}),
    )
    made = open_rig([[READ], [edit], [look], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Shout, then look.")
    made.allow()
    made.wait_done("All done.")

    assert "THREE" in wire.results(made.model.requests[-1].body)[-1]
    assert not nvim.lua("return vim.bo.modified")
    assert nvim.lines() == ["one", "two", "THREE", *TEXT.split()[3:]]
    nvim.cmd("undo")
    assert nvim.lines() == TEXT.split()


@pytest.mark.req("H4", "H5", "H10")
def test_user_changes_stay_unsaved_and_the_model_is_informed_when_a_command_reads_the_file(
    open_rig: OpenRig, wire: Wire
) -> None:
    edit, look = (
        wire.edit("notes.txt", "three", "THREE"),
        ToolCall("shell", {"command": "cat notes.txt | tee seen.txt"}),
    )
    made = open_rig([[READ], [edit], [look], "All done."])
    nvim = made.open("notes.txt")
    nvim.keys("ggccmine<Esc>")
    nvim.wait_lines(["mine", *TEXT.split()[1:]])
    made.submit("Shout, then look.")
    made.allow()
    made.wait_done("All done.")

    seen = wire.results(made.model.requests[-1].body)[-1]
    assert "THREE" not in seen
    assert "unsaved changes" in seen
    assert (made.project / "notes.txt").read_text() == TEXT
    assert nvim.lua("return vim.bo.modified")


@pytest.mark.req("H4", "H10")
def test_an_edit_of_a_closed_file_is_written_to_disk_and_marked_when_the_file_is_opened(
    open_rig: OpenRig, wire: Wire
) -> None:
    made = open_rig([[READ], [wire.edit("notes.txt", "three", "THREE")], "All done."])
    nvim = made.open("other.txt")
    made.submit("Shout.")
    made.wait_done("All done.")
    assert (made.project / "notes.txt").read_text() == TEXT.replace("three", "THREE")

    nvim.cmd("edit notes.txt")
    nvim.wait_until(lambda: made.marks() == 1, "one mark")
    nvim.keys("3G:AgentLs undo<CR>")
    nvim.wait_lines(TEXT.split())
