"""Pending hunks in the buffer: displayed at the server's positions, decided by id, and removed after the decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

BEFORE = ["one", "two", "three", "four", "five"]
AFTER = ["one", "TWO", "2b", "three", "five"]


def hunk(project: Path, name: str, state: str = "pending", **more: Any) -> dict[str, Any]:
    """Return a hunk from `BEFORE` to `AFTER`: line two was replaced by two lines, line four was removed."""
    ranges = {
        "h1": {
            "baseStart": 1,
            "baseEnd": 2,
            "start": 1,
            "end": 3,
            "baseLines": ["two\n"],
            "lines": ["TWO\n", "2b\n"],
        },
        "h2": {"baseStart": 3, "baseEnd": 4, "start": 4, "end": 4, "baseLines": ["four\n"], "lines": []},
    }
    path = project / "one.txt"
    common = {
        "id": name,
        "sessionId": "s1",
        "turnId": "t1",
        "callId": "c1",
        "path": str(path),
        "uri": path.as_uri(),
    }
    return common | {"what": "content", "state": state} | ranges[name] | more


@pytest.fixture
def reviewed(panel: Panel, server: StandIn, nvim: Nvim, project: Path) -> Nvim:
    """A Neovim with two pending hunks in one.txt, where the cursor is."""
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    uri = (project / "one.txt").as_uri()
    server.wait_open(uri)
    start, end = {"line": 1, "character": 0}, {"line": 4, "character": 0}
    server.apply_edit(uri, [{"range": {"start": start, "end": end}, "newText": "TWO\n2b\nthree\n"}])
    change(server, project)
    nvim.wait_screen("agent 1 of 2", "agent 2 of 2")
    return nvim


def change(server: StandIn, project: Path) -> None:
    path = project / "one.txt"
    data = {
        "callId": "c1",
        "path": str(path),
        "uri": path.as_uri(),
        "action": "modify",
        "added": 2,
        "removed": 2,
    }
    diff = "@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n+2b\n three\n-four\n five\n"
    server.emit("file_change", data | {"diff": diff, "hunks": [hunk(project, "h1"), hunk(project, "h2")]})


def state(server: StandIn, project: Path, *hunks: dict[str, Any], by: str = "user") -> None:
    path = project / "one.txt"
    server.emit(
        "hunk_state", {"path": str(path), "uri": path.as_uri(), "hunks": list(hunks), "by": by, "comment": ""}
    )


def rows(nvim: Nvim) -> list[str]:
    """Return the lines of the file's window, without signs and hints."""
    shown = [row.split("│")[0][2:] for row in nvim.screen().split("\n")[:9]]
    return [row.split("  agent")[0].rstrip() for row in shown]


@pytest.mark.req("H6", "H10")
def test_hunks_are_displayed_with_the_lines_they_removed(reviewed: Nvim) -> None:
    assert rows(reviewed)[:7] == ["one", "two", "TWO", "2b", "three", "four", "five"]
    added, removed = reviewed.highlight_at("TWO"), reviewed.highlight_at("four")
    assert added["background"] == reviewed.lua("return vim.api.nvim_get_hl(0, {name = 'DiffAdd'}).bg")
    assert removed != added
    reviewed.wait_screen("␣ak keep · ␣au undo", "2 to review", "model-x · ask · 2 to review")


@pytest.mark.req("H6", "H10")
@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("2G<Space>ak", {"hunkIds": ["h1"], "verdict": "keep"}),
        ("3G<Space>au", {"hunkIds": ["h1"], "verdict": "undo"}),
        ("G<Space>au", {"hunkIds": ["h2"], "verdict": "undo"}),
        ("<Space>aK", {"hunkIds": ["h1", "h2"], "verdict": "keep"}),
        ("<Space>aU", {"hunkIds": ["h1", "h2"], "verdict": "undo"}),
        ("2G:AgentLs keep<CR>", {"hunkIds": ["h1"], "verdict": "keep"}),
        (":AgentLs undo_all<CR>", {"hunkIds": ["h1", "h2"], "verdict": "undo"}),
    ],
)
def test_keys_and_commands_decide_hunks_by_id(
    reviewed: Nvim, server: StandIn, keys: str, wanted: dict[str, object]
) -> None:
    reviewed.keys(keys)

    sent = server.expect("agent/review")

    assert len(sent.pop("clientKey")) == 36
    assert sent == wanted


@pytest.mark.req("H6")
def test_a_review_key_outside_a_hunk_sends_no_decision(reviewed: Nvim, server: StandIn) -> None:
    reviewed.keys("gg<Space>au")

    reviewed.wait_screen("There is no change made by the agent at the cursor.")
    assert "agent/review" not in server.seen()


@pytest.mark.req("H6", "H10", "R4")
@pytest.mark.parametrize("keys", ["2G<Space>ak", "<Space>aU", ":AgentLs keep_file<CR>"])
def test_a_key_on_hunks_of_another_editors_session_sends_nothing_and_shows_a_message(
    reviewed: Nvim, server: StandIn, keys: str
) -> None:
    server.tell({"sessionId": "s1", "kind": "access", "data": {"access": "readOnly"}})
    reviewed.wait_screen("Read-only: owned by another editor.")
    reviewed.keys(keys)

    reviewed.wait_screen("Not decided: another editor has this session.")
    assert "agent/review" not in server.seen()


@pytest.mark.req("H6", "H10")
def test_next_and_previous_hunk_keys_move_through_the_file_and_to_the_next_files(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    other = project / "other.py"
    moved = {"path": str(other), "uri": other.as_uri(), "id": "h9", "start": 1, "end": 2}
    data = {
        "callId": "c2",
        "path": str(other),
        "uri": other.as_uri(),
        "action": "modify",
        "added": 1,
        "removed": 0,
    }
    reviewed.keys("G]h")
    reviewed.wait_for("vim.fn.line('.') == 2")  # wraps around, because there is only one file
    server.emit("file_change", data | {"diff": "", "hunks": [hunk(project, "h1") | moved]})
    reviewed.wait_screen("3 to review")
    reviewed.keys("gg]h")
    reviewed.wait_for("vim.fn.line('.') == 2")
    reviewed.keys("]h")
    reviewed.wait_for("vim.fn.line('.') == 5")

    reviewed.keys("]h")
    reviewed.wait_for("vim.fn.expand('%:t') == 'other.py' and vim.fn.line('.') == 2")
    reviewed.wait_screen("agent 3 of 3")
    reviewed.keys("[h")
    reviewed.wait_for("vim.fn.expand('%:t') == 'one.txt' and vim.fn.line('.') == 5")


@pytest.mark.req("H6", "H10")
@pytest.mark.parametrize("decided", ["kept", "undone", "gone"])
def test_deciding_a_hunk_removes_its_highlights_and_deciding_the_last_hunk_removes_the_key_mappings(
    reviewed: Nvim, server: StandIn, project: Path, decided: str
) -> None:
    has_key = "return vim.fn.maparg(' ak', 'n', false, true).buffer"

    state(server, project, hunk(project, "h2", decided))
    reviewed.wait_gone("2 of 2")
    reviewed.wait_screen("agent 1 of 1", f"1 to review · 1 {decided}")
    assert reviewed.lua(has_key) == 1

    state(server, project, hunk(project, "h1", decided))
    reviewed.wait_gone("1 of 1")
    assert rows(reviewed)[:5] == [line[2:] for line in AFTER]
    assert reviewed.lua(has_key) is None


@pytest.mark.req("H6")
def test_marks_move_with_typing(reviewed: Nvim, server: StandIn, project: Path) -> None:
    reviewed.keys("ggOmine<Esc>")
    assert rows(reviewed)[:8] == ["mine", "one", "two", "TWO", "2b", "three", "four", "five"]

    # A report about another hunk must not move a removal back, which has no lines to be found by.
    state(server, project, hunk(project, "h1", "edited", start=2, end=4), by="editor")
    reviewed.wait_screen("with your edits")
    assert rows(reviewed)[:8] == ["mine", "one", "two", "TWO", "2b", "three", "four", "five"]

    # A late report of positions in the text before the typing must not move them back.
    state(server, project, hunk(project, "h1"), by="editor")
    state(
        server, project, hunk(project, "h1", start=2, end=4), hunk(project, "h2", start=5, end=5), by="editor"
    )
    reviewed.keys("3G<Space>ak")

    assert server.expect("agent/review")["hunkIds"] == ["h1"]
    assert rows(reviewed)[:8] == ["mine", "one", "two", "TWO", "2b", "three", "four", "five"]


@pytest.mark.req("H6")
def test_undoing_a_hunk_with_user_text_needs_confirmation_with_a_preview_of_the_result(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    state(server, project, hunk(project, "h1", "edited", lines=["TWO\n", "2b mine\n"]), by="editor")
    reviewed.wait_screen("with your edits")

    reviewed.keys("2G<Space>au")
    reviewed.wait_screen("Now, with your own text:", "2b mine", "After undoing:")
    reviewed.keys("n<Space>au")
    reviewed.wait_screen("After undoing:")
    reviewed.keys("y")

    sent = server.expect("agent/review")
    assert (sent["hunkIds"], sent["verdict"], sent["confirm"]) == (["h1"], "undo", True)
    assert "agent/review" not in server.seen()


@pytest.mark.req("H6")
def test_keeping_a_hunk_with_user_text_needs_no_confirmation(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    state(server, project, hunk(project, "h1", "edited"), by="editor")
    reviewed.wait_screen("with your edits")

    reviewed.keys("2G<Space>ak")

    assert "confirm" not in server.expect("agent/review")


@pytest.mark.req("H6")
def test_the_reason_of_a_refused_review_decision_is_displayed(reviewed: Nvim, server: StandIn) -> None:
    server.replies["agent/review"] = {
        "changed": [],
        "refused": [{"id": "h1", "reason": "It is stale; look again."}],
    }

    reviewed.keys("2G<Space>au")

    reviewed.wait_screen("! It is stale; look again.")


@pytest.mark.req("H6", "H10")
def test_hunks_of_a_closed_file_are_displayed_when_the_file_is_opened(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    project = Path(nvim.lua("return vim.fn.getcwd()"))
    other = project / "other.py"
    moved = {"path": str(other), "uri": other.as_uri(), "lines": ["    return 1\n"], "start": 1, "end": 2}
    data = {
        "callId": "c2",
        "path": str(other),
        "uri": other.as_uri(),
        "action": "modify",
        "added": 1,
        "removed": 0,
    }
    server.emit("file_change", data | {"diff": "", "hunks": [hunk(project, "h1") | moved]})
    nvim.wait_screen("± other.py")

    nvim.keys("<Esc>")
    nvim.cmd("wincmd k")
    nvim.keys("Ggf")

    nvim.wait_for("vim.fn.expand('%:t') == 'other.py' and vim.fn.line('.') == 2")
    nvim.wait_screen("agent 1 of 1")
