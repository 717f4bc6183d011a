"""Pending changes follow the buffer: the user's own undo and redo, and verdicts that stay."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import TEXT, OpenDesk
from tests.support.acceptance import Desk, Wire
from tests.support.loopback import ToolCall

READ = ToolCall("read_file", {"file_path": "notes.txt"})
LINES = TEXT.split()
EDITED = [*LINES[:2], "THREE", *LINES[3:7], "EIGHT", LINES[8]]


@pytest.fixture
def edited(desk: OpenDesk, wire: Wire) -> Desk:
    """Two calls have changed a line each; both changes wait for the user."""
    calls = [wire.edit("notes.txt", "three", "THREE"), wire.edit("notes.txt", "eight", "EIGHT")]
    made = desk([[READ], calls[:1], calls[1:], "All done.", "I see."])
    nvim = made.open("notes.txt")
    made.submit("Shout.")
    made.wait_done("All done.")
    assert nvim.lines() == EDITED
    assert made.hunk_states() == ["pending", "pending"]
    return made


@pytest.mark.req("H6", "H10")
def test_the_users_undo_over_a_change_sets_it_gone_and_redo_pending(edited: Desk) -> None:
    nvim = edited.nvim
    assert edited.marks() == 2
    third, eighth = edited.hunks("notes.txt")

    nvim.keys("u")
    edited.wait_hunk_states("pending", "gone")
    assert edited.hunks("notes.txt") == [third]
    nvim.wait_until(lambda: edited.marks() == 1, "one mark")
    nvim.keys("u")
    edited.wait_hunk_states("gone", "gone")
    assert edited.hunks("notes.txt") == []
    nvim.wait_until(lambda: edited.marks() == 0, "no mark")
    assert nvim.lines() == LINES

    nvim.keys("<C-r><C-r>")
    edited.wait_hunk_states("pending", "pending")
    nvim.wait_until(lambda: edited.marks() == 2, "two marks")
    assert edited.hunks("notes.txt") == [third, eighth]
    assert nvim.lines() == EDITED


@pytest.mark.req("H6", "H10")
def test_a_change_that_was_undone_by_review_stays_undone(edited: Desk, wire: Wire) -> None:
    nvim = edited.nvim
    nvim.keys("3G:AgentLs undo<CR>")
    edited.wait_hunk_states("undone", "pending")
    undone = [*LINES[:7], "EIGHT", LINES[8]]
    nvim.wait_lines(undone)

    for key, lines in (("u", EDITED), ("<C-r>", undone), ("u", EDITED)):
        nvim.keys(key)
        nvim.wait_lines(lines)
        # What the user put back is the user's own text: no change of the agent comes alive again.
        (eighth,) = edited.hunks("notes.txt")
        assert eighth["newLines"] == ["EIGHT\n"]
        assert edited.hunk_states() == ["undone", "pending"]
        assert edited.marks() == 1

    edited.submit("Go on.")
    edited.wait_done("I see.")
    told = [text for who, text in wire.said(edited.model.requests[-1].body) if who == "user"]
    assert sum("undid 1 of your changes" in text for text in told) == 1


@pytest.mark.req("H6", "H10")
def test_a_change_that_was_kept_stays_kept_when_the_buffer_goes_back(edited: Desk) -> None:
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
def test_a_change_is_kept_or_undone_where_it_stands_after_the_user_typed(edited: Desk) -> None:
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
