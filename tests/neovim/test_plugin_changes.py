"""The buffer that lists all pending changes of all files, where they are decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_plugin_review import hunk, reviewed, state
from tests.support.nvim_driver import Nvim

__all__ = ["reviewed"]


def other_hunk(project: Path) -> dict[str, object]:
    path = project / "other.py"
    lines = {"baseLines": ["    return 1\n"], "lines": ["    return 2\n"]}
    place = {"baseStart": 1, "baseEnd": 2, "start": 1, "end": 2}
    where = {"id": "h9", "path": str(path), "uri": path.as_uri()}
    return hunk(project, "h1") | where | lines | place


@pytest.fixture
def shown(reviewed: Nvim, server: StandIn, project: Path) -> Nvim:
    """The buffer of all changes: two in one.txt, and one in other.py, which is not loaded in a buffer."""
    (project / "other.py").write_text("def f():\n    return 2\n")
    found = other_hunk(project)
    change = {"callId": "c2", "path": found["path"], "uri": found["uri"], "action": "modify"}
    server.emit("file_change", change | {"added": 1, "removed": 1, "diff": "", "hunks": [found]})
    reviewed.wait_screen("agent 1 of 3")
    reviewed.cmd("AgentLs changes")
    return reviewed


@pytest.mark.req("H6", "H10")
def test_all_changes_of_all_files_are_in_one_buffer(shown: Nvim) -> None:
    shown.wait_screen("1 of 3", "one.txt  2 changes", "other.py  1 change", "return 2")

    assert shown.lines() == [
        "one.txt  2 changes",
        *["one", "two", "TWO", "2b", "three"],
        "⋯",
        *["four", "five"],
        "",
        "other.py  1 change",
        *["def f():", "    return 1", "    return 2"],
    ]


@pytest.mark.req("H6", "H10")
@pytest.mark.parametrize(
    ("keys", "ids", "verdict"),
    [
        (" ak", ["h1"], "keep"),
        ("]h au", ["h2"], "undo"),
        ("G ak", ["h9"], "keep"),
        (" aK", ["h1", "h2"], "keep"),
    ],
)
def test_a_key_decides_the_change_under_the_cursor(
    shown: Nvim, server: StandIn, keys: str, ids: list[str], verdict: str
) -> None:
    shown.wait_screen("1 of 3")

    shown.keys(keys)

    review = server.expect("agent/review")
    assert (review["hunkIds"], review["verdict"]) == (ids, verdict)


@pytest.mark.req("H6", "H10")
def test_a_decided_change_is_removed_and_the_cursor_moves_to_the_next_one(
    shown: Nvim, server: StandIn, project: Path
) -> None:
    shown.wait_screen("1 of 3")
    state(server, project, hunk(project, "h1", "kept"))

    shown.wait_screen("1 of 2", "one.txt  1 change")

    shown.keys(" ak")
    assert server.expect("agent/review")["hunkIds"] == ["h2"]


@pytest.mark.req("H6", "H10")
def test_enter_opens_the_file_of_a_hunk_and_q_closes_the_changes_buffer(shown: Nvim, project: Path) -> None:
    shown.wait_screen("1 of 3")
    shown.keys("G<CR>")
    shown.wait_for("vim.fn.expand('%:t') == 'other.py'")
    assert shown.lua("return vim.fn.line('.')") == 2

    shown.cmd("AgentLs changes")
    shown.wait_for("vim.bo.filetype == 'agent_ls_changes'")
    shown.keys("q")
    shown.wait_for("vim.fn.expand('%:t') == 'other.py'")


def test_the_end_of_a_turn_says_what_was_checked(panel: Panel, shown: Nvim, server: StandIn) -> None:
    check = {"callId": "c9", "command": "pytest -q", "result": "failed", "exitCode": 1, "changedFiles": 0}
    facts = {"text": "Since the last change: `pytest -q` failed (exit 1).", "files": 2, "checks": [check]}
    server.emit("turn_facts", facts)
    server.emit("processing_end", {"reason": "completed"})
    shown.wait_screen("2 files changed", "✗ Since the last change")

    shown.cmd("AgentLs check_again")
    (part,) = server.expect("agent/submit")["input"]
    assert part["text"] == "Run `pytest -q` again."


@pytest.mark.req("H6", "H10")
def test_a_key_on_the_turn_summary_opens_the_changes_buffer(
    panel: Panel, shown: Nvim, server: StandIn
) -> None:
    server.emit("processing_end", {"reason": "completed"})
    shown.wait_screen("2 files changed", "gr review")
    shown.keys("q")
    shown.lua("vim.api.nvim_set_current_win(require('agent_ls.chat.view').window())")
    shown.keys("Ggr")

    shown.wait_for("vim.bo.filetype == 'agent_ls_changes'")
    shown.keys("q")
    shown.lua("vim.api.nvim_set_current_win(require('agent_ls.chat.view').window())")
    shown.keys("GgO")
    shown.wait_for("vim.bo.filetype == 'agent_ls_guide'")
    assert server.expect("agent/hunks")["turnId"]
