"""Review beyond keep and undo: selected lines, comments, replacement texts, whole turns, and side-by-side
comparison.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_plugin_review import change, hunk, reviewed, state
from tests.support.nvim_driver import Nvim

__all__ = ["reviewed"]


@pytest.fixture
def proposed(reviewed: Nvim, server: StandIn, project: Path) -> Nvim:
    """A Neovim with one proposed hunk in line five of one.txt, where the cursor is, and no other pending hunk."""
    put = {
        "start": 4,
        "end": 5,
        "baseStart": 4,
        "baseEnd": 5,
        "baseLines": ["five\n"],
        "lines": ["5\n", "6\n"],
    }
    state(server, project, hunk(project, "h1", "kept"), hunk(project, "h2", "proposed") | put)
    reviewed.wait_screen("agent 1 of 1 proposed")
    return reviewed


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("3GV<Space>ak", {"hunkIds": ["h1"], "lines": [1, 2], "verdict": "keep"}),
        ("1GVj<Space>au", {"hunkIds": ["h1"], "lines": [0, 1], "verdict": "undo"}),
        ("2GVj<Space>au", {"hunkIds": ["h1"], "verdict": "undo"}),
        ("ggVG<Space>ak", {"hunkIds": ["h1", "h2"], "verdict": "keep"}),
        (":3AgentLs undo<CR>", {"hunkIds": ["h1"], "lines": [1, 2], "verdict": "undo"}),
    ],
)
def test_only_the_selected_lines_are_decided(
    reviewed: Nvim, server: StandIn, keys: str, wanted: dict[str, object]
) -> None:
    reviewed.keys(keys)

    sent = server.expect("agent/review")

    assert {name: sent[name] for name in wanted} == wanted
    assert ("lines" in sent) == ("lines" in wanted)
    reviewed.wait_for("vim.fn.mode() == 'n'")


@pytest.mark.req("H6")
def test_a_key_on_lines_without_a_change_decides_nothing(reviewed: Nvim, server: StandIn) -> None:
    reviewed.keys("1GV<Space>ak")

    reviewed.wait_screen("These lines contain no change made by the agent.")
    assert "agent/review" not in server.seen()


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("choice", "verdict"), [("1", "keep"), ("2", "undo")], ids=["keep and tell", "undo and tell"]
)
def test_a_comment_of_several_lines_is_sent_with_the_decision(
    reviewed: Nvim, server: StandIn, choice: str, verdict: str
) -> None:
    reviewed.keys("2G<Space>ac")
    reviewed.wait_screen("comment on this change")
    reviewed.keys("Shorter,<CR>please.<C-s>")
    reviewed.wait_screen("1: Keep, and send the comment", "3: Ask for another version")
    reviewed.keys(f"{choice}<CR>")

    sent = server.expect("agent/review")

    assert (sent["hunkIds"], sent["verdict"], sent["comment"]) == (["h1"], verdict, "Shorter,\nplease.")


@pytest.mark.req("H6")
def test_a_request_for_another_version_of_a_change_is_sent_with_its_lines(
    reviewed: Nvim, server: StandIn
) -> None:
    reviewed.keys(":2<CR>:AgentLs comment Use words.<CR>")
    reviewed.wait_screen("3: Ask for another version")
    reviewed.keys("3<CR>")

    selection, text = server.expect("agent/submit")["input"]

    assert (selection["startLine"], selection["endLine"], selection["text"]) == (1, 3, "TWO\n2b\n")
    assert text["text"] == "Use words."
    assert "agent/review" not in server.seen()


@pytest.mark.req("H6")
def test_leaving_the_comment_window_sends_nothing(reviewed: Nvim, server: StandIn) -> None:
    reviewed.keys("2G<Space>ac")
    reviewed.wait_screen("comment on this change")
    reviewed.keys("never mind<Esc>q")

    reviewed.wait_gone("comment on this change")
    assert not {"agent/review", "agent/submit"} & set(server.seen())


@pytest.mark.req("H6")
def test_a_proposal_is_accepted_with_a_replacement_text(proposed: Nvim, server: StandIn) -> None:
    proposed.keys("5G<Space>ae")
    proposed.wait_screen("accept with this text")
    proposed.keys("Gcc7<Esc>:w<CR>")

    sent = server.expect("agent/review")

    assert (sent["hunkIds"], sent["verdict"], sent["replacement"]) == (["h2"], "keep", "5\n7\n")
    proposed.wait_gone("accept with this text")


@pytest.mark.req("H6")
def test_the_edit_key_on_an_applied_hunk_displays_a_hint_to_edit_the_file(
    reviewed: Nvim, server: StandIn
) -> None:
    reviewed.keys("2G<Space>ae")

    reviewed.wait_screen("This change is already in the file")


def other_turn(server: StandIn, project: Path) -> None:
    path = project / "other.py"
    of_other = {"id": "h9", "turnId": "t2", "path": str(path), "uri": path.as_uri(), "start": 1, "end": 2}
    data = {"callId": "c2", "path": str(path), "uri": path.as_uri(), "action": "modify", "added": 1}
    its = {"removed": 0, "diff": "", "hunks": [hunk(project, "h1") | of_other]}
    server.emit("file_change", data | its, turn_id="t2")


@pytest.mark.req("H6")
def test_the_turn_summary_lists_changed_files_and_keeps_or_undoes_all_hunks_of_the_turn(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    other_turn(server, project)
    server.emit("processing_end", {"reason": "completed"})
    reviewed.wait_screen("1 file changed +2 −2", "± one.txt +2 −2")
    reviewed.wait_screen("gK keep", "gU undo")
    assert reviewed.screen().count("± one.txt") == 1, "the total does not repeat its only file"

    reviewed.cmd("wincmd l | wincmd k")
    reviewed.keys("GgU")

    sent = server.expect("agent/review")
    assert (sorted(sent["hunkIds"]), sent["verdict"]) == (["h1", "h2"], "undo")

    state(server, project, hunk(project, "h1", "kept"), hunk(project, "h2", "undone"))
    reviewed.wait_screen("1 kept · 1 undone")
    reviewed.wait_gone("gK keep")
    reviewed.keys("Ggf")
    reviewed.wait_for("vim.fn.expand('%:t') == 'one.txt'")


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("command", "wanted"),
    [("keep_turn", ["h1", "h2"]), ("undo_session", ["h1", "h2", "h9"]), ("keep_all", ["h1", "h2", "h9"])],
)
def test_a_command_decides_all_changes_of_a_turn_or_session(
    reviewed: Nvim, server: StandIn, project: Path, command: str, wanted: list[str]
) -> None:
    other_turn(server, project)
    reviewed.wait_screen("3 to review")

    reviewed.keys(f"2G:AgentLs {command}<CR>")

    sent = server.expect("agent/review")
    assert (sorted(sent["hunkIds"]), sent["verdict"]) == (wanted, command.split("_")[0])


WINDOWS = "return vim.tbl_map(function(w) return vim.wo[w].diff end, vim.api.nvim_tabpage_list_wins(0))"


@pytest.mark.req("H6")
def test_a_changed_file_is_compared_with_its_accepted_text(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    server.replies["workspace/textDocumentContent"] = {"text": "one\ntwo\nthree\nfour\nfive\n"}
    reviewed.keys("3G<Space>ad")
    reviewed.wait_screen("as you accepted it", "with the changes", "four")

    asked = server.expect("workspace/textDocumentContent")["uri"]
    assert asked.startswith("agent-ls:/base/") and asked.endswith("one.txt")
    assert "?file%3a%2f%2f%2f" in asked.lower()
    assert reviewed.lua(WINDOWS) == [True, True]
    shown = reviewed.screen().split("\n")
    for removed in ("two", "four"):
        assert sum(removed in row for row in shown) == 1, "what was removed stands in its own window only"

    reviewed.keys("<Space>au")
    assert server.expect("agent/review")["hunkIds"] == ["h1"]
    reviewed.keys("]h<Space>ak")
    assert server.expect("agent/review")["hunkIds"] == ["h2"]

    state(server, project, hunk(project, "h1", "undone"), hunk(project, "h2", "kept"))
    reviewed.wait_for("#vim.api.nvim_list_tabpages() == 1")


@pytest.mark.req("H6")
def test_a_proposal_is_compared_side_by_side_and_decided_by_lines(proposed: Nvim, server: StandIn) -> None:
    server.replies["workspace/textDocumentContent"] = {"text": "one\nTWO\n2b\nthree\n5\n6\n"}
    proposed.keys("5G<Space>ad")
    proposed.wait_screen("as it is", "as proposed")
    assert "/proposed/" in server.expect("workspace/textDocumentContent")["uri"]
    proposed.wait_for("vim.fn.line('.') == 5 and vim.fn.getline('.') == '5'")

    proposed.keys("jV<Space>ak")
    sent = server.expect("agent/review")
    assert (sent["hunkIds"], sent["lines"], sent["verdict"]) == (["h2"], [1, 2], "keep")
    proposed.keys("<Space>au")
    sent = server.expect("agent/review")
    assert (sent["hunkIds"], sent["verdict"]) == (["h2"], "undo") and "lines" not in sent

    proposed.keys("q")
    proposed.wait_for("#vim.api.nvim_list_tabpages() == 1")
    proposed.wait_screen("agent 1 of 1 proposed")


@pytest.mark.req("H6")
def test_a_comparison_is_opened_from_the_panel_and_left_by_closing_a_window(
    panel: Panel, server: StandIn, nvim: Nvim, project: Path
) -> None:
    server.replies["workspace/textDocumentContent"] = {"text": "one\n"}
    change(server, project)
    nvim.wait_screen("± one.txt")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")

    nvim.keys("Ggd")
    nvim.wait_screen("as you accepted it")
    nvim.cmd("wincmd h | close")
    nvim.wait_for("#vim.api.nvim_list_tabpages() == 1")
    nvim.wait_screen("agent 1 of 2")


@pytest.mark.req("H6", "H10", "H17")
def test_a_pending_proposal_is_displayed_as_waiting_for_the_user(proposed: Nvim, server: StandIn) -> None:
    server.emit("state", {"state": "PROCESSING"})

    proposed.wait_screen("waiting for you", "Accept or reject the proposed changes first.")


@pytest.mark.req("H6", "H10")
def test_undo_of_one_file_of_a_call_suggests_to_undo_the_other_files(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    other = project / "other.py"
    elsewhere = hunk(project, "h2") | {"id": "h9", "path": str(other), "uri": other.as_uri()}
    data = {"callId": "c1", "path": str(other), "uri": other.as_uri(), "action": "modify"}
    diff = "@@ -1,2 +1,2 @@\n-def f():\n+def g():\n     return 1\n"
    server.emit("file_change", data | {"added": 1, "removed": 1, "diff": diff, "hunks": [elsewhere]})
    reviewed.wait_screen("3 to review")

    state(server, project, hunk(project, "h1", "gone"), by="editor")
    reviewed.wait_screen("Undone in one.txt only")
    reviewed.cmd("AgentLs undo_step")

    sent = server.expect("agent/review")
    assert (sorted(sent["hunkIds"]), sent["verdict"]) == (["h2", "h9"], "undo")
