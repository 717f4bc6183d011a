"""Review before a change: proposals are virtual text, and only the user's decision applies them."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import TEXT, OpenRig
from tests.acceptance.rig import Wire
from tests.support.loopback import ToolCall

READ = ToolCall("read_file", {"file_path": "notes.txt"})
LINES = TEXT.split()


@pytest.mark.req("H6", "H10", "T3", "T4")
def test_a_proposed_hunk_is_displayed_moves_with_typing_and_is_kept_or_undone(
    open_rig: OpenRig, wire: Wire
) -> None:
    calls = [wire.edit("notes.txt", "three", "THREE"), wire.edit("notes.txt", "eight", "EIGHT")]
    made = open_rig([[READ], calls[:1], calls[1:], "All done."])
    nvim = made.open("notes.txt", review="before")
    made.submit("Shout.")

    nvim.wait_until(lambda: made.marks() == 1, "a proposed change")
    assert nvim.lines() == LINES
    nvim.wait_screen("THREE", "proposed")
    nvim.keys("ggOmine<Esc>")
    nvim.wait_until(lambda: made.hunks("notes.txt")[0]["newRange"] == [3, 4], "the change moved")

    nvim.keys("4G:AgentLs keep<CR>")
    kept = ["mine", *LINES[:2], "THREE", *LINES[3:]]
    nvim.wait_lines(kept)
    nvim.wait_until(lambda: [h["newLines"] for h in made.hunks("notes.txt")] == [["EIGHT\n"]], "the next one")
    nvim.wait_until(lambda: made.marks() == 1, "its mark")
    nvim.keys("9G:AgentLs undo<CR>")
    made.wait_done("All done.")

    assert nvim.lines() == kept and made.marks() == 0
    said = "\n".join(wire.results(made.model.requests[-1].body))
    assert "refused" in said
