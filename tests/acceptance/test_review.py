"""Pending changes follow the buffer: undo and redo by the user, and decisions that persist."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import TEXT, OpenRig
from tests.acceptance.rig import NvimRig, Wire
from tests.support.loopback import ToolCall

READ = ToolCall("read_file", {"file_path": "notes.txt"})
LINES = TEXT.split()
EDITED = [*LINES[:2], "THREE", *LINES[3:7], "EIGHT", LINES[8]]


@pytest.fixture
def edited(open_rig: OpenRig, wire: Wire) -> NvimRig:
    """A project in which two calls have changed one line each; both changes are pending."""
    calls = [wire.edit("notes.txt", "three", "THREE"), wire.edit("notes.txt", "eight", "EIGHT")]
    made = open_rig([[READ], calls[:1], calls[1:], "All done.", "I see."])
    nvim = made.open("notes.txt")
    made.submit("Shout.")
    made.wait_done("All done.")
    assert nvim.lines() == EDITED
    assert made.hunk_states() == ["pending", "pending"]
    return made


@pytest.mark.req("H6", "H10")
def test_an_undone_hunk_is_pending_again_when_buffer_undo_restores_its_text(
    edited: NvimRig, wire: Wire
) -> None:
    nvim = edited.nvim
    nvim.keys("3G:AgentLs undo<CR>")
    edited.wait_hunk_states("undone", "pending")
    undone = [*LINES[:7], "EIGHT", LINES[8]]
    nvim.wait_lines(undone)

    nvim.keys("u")
    nvim.wait_lines(EDITED)
    edited.wait_hunk_states("pending", "pending")
    nvim.wait_until(lambda: edited.marks() == 2, "two marks")
    assert len(edited.hunks("notes.txt")) == 2

    nvim.keys("<C-r>")
    nvim.wait_lines(undone)
    nvim.wait_until(lambda: edited.marks() == 1, "one mark")
    (eighth,) = edited.hunks("notes.txt")
    assert eighth["newLines"] == ["EIGHT\n"]

    edited.submit("Go on.")
    edited.wait_done("I see.")


@pytest.mark.req("H6", "H10")
def test_buffer_undo_does_not_change_the_state_of_a_kept_hunk(edited: NvimRig) -> None:
    nvim = edited.nvim
    nvim.keys("3G:AgentLs keep<CR>")
    edited.wait_hunk_states("kept", "pending")

    nvim.keys("uu")
    nvim.wait_lines(LINES)
    edited.wait_hunk_states("kept", "gone")
    nvim.keys("<C-r><C-r>")
    nvim.wait_lines(EDITED)
    edited.wait_hunk_states("kept", "pending")
    assert edited.marks() == 1


@pytest.mark.req("H6", "H10")
def test_keep_and_undo_find_a_hunk_that_moved_because_the_user_typed_above(edited: NvimRig) -> None:
    nvim = edited.nvim
    nvim.keys("ggOmy own line<Esc>")
    nvim.wait_lines(["my own line", *EDITED])
    nvim.keys("4G:AgentLs undo<CR>")
    edited.wait_hunk_states("undone", "pending")
    nvim.wait_lines(["my own line", *LINES[:7], "EIGHT", LINES[8]])

    nvim.keys(":AgentLs keep_all<CR>")
    edited.wait_hunk_states("undone", "kept")
    assert edited.marks() == 0
    assert (edited.project / "notes.txt").read_text() == TEXT
