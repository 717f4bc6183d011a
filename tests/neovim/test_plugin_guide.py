"""The list of changes in reading order: rows, keys, and what counts as looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_plugin_review import hunk, reviewed, state
from tests.support.nvim_driver import Nvim

__all__ = ["reviewed"]


def info(project: Path, name: str, state_: str = "pending") -> dict[str, Any]:
    """Return a hunk as results of requests have it."""
    raw = hunk(project, name, state_)
    ranges = {"oldRange": [raw["baseStart"], raw["baseEnd"]], "newRange": [raw["start"], raw["end"]]}
    lines = {"oldLines": raw["baseLines"], "newLines": raw["lines"]}
    same = {key: raw[key] for key in ("id", "sessionId", "turnId", "callId", "what", "state")}
    return same | ranges | lines


def row(
    ids: list[str], title: str, state_: str = "notLooked", *marks: str, kind: str = "change"
) -> dict[str, Any]:
    found = [{"kind": "untested", "text": text} for text in marks]
    return {"kind": kind, "title": title, "hunkIds": ids, "state": state_, "marks": found, "unknown": []}


def reply(server: StandIn, project: Path, *rows: dict[str, Any]) -> None:
    file = {
        "uri": (project / "one.txt").as_uri(),
        "baseHash": "b",
        "hunks": [info(project, "h1"), info(project, "h2")],
    }
    server.replies["agent/hunks"] = {"files": [file], "guide": list(rows)}


@pytest.fixture
def guided(reviewed: Nvim, server: StandIn, project: Path) -> Nvim:
    second = row(["h2"], "Remove the fourth line", "looked")
    reply(server, project, row(["h1"], "Write two in capitals", "notLooked", "no test names `two`"), second)
    reviewed.cmd("AgentLs guide")
    reviewed.wait_screen("1 of 2 to look at", "● Write two in capitals", "○ Remove the fourth line")
    return reviewed


@pytest.mark.req("H6", "H10")
def test_rows_have_state_reason_place_and_marks(guided: Nvim, server: StandIn) -> None:
    first, second = guided.lines()

    assert first.split() == ["●", "Write", "two", "in", "capitals", "one.txt:2"]
    assert second.split() == ["○", "Remove", "the", "fourth", "line", "one.txt:5"]
    guided.wait_screen("no test names `two`")
    assert server.expect("agent/hunks") == {"sessionId": "s1", "guide": True}


@pytest.mark.parametrize(
    ("keys", "ids", "verdict"),
    [
        (" ak", ["h1"], "keep"),
        ("]h au", ["h2"], "undo"),
        ("Vj ak", ["h1", "h2"], "keep"),
        (" aK", ["h1", "h2"], "keep"),
    ],
)
def test_the_review_keys_work_on_rows(
    guided: Nvim, server: StandIn, keys: str, ids: list[str], verdict: str
) -> None:
    guided.keys(keys)

    review = server.expect("agent/review")
    assert (review["hunkIds"], review["verdict"]) == (ids, verdict)


def test_a_row_with_several_places_is_decided_as_one(guided: Nvim, server: StandIn, project: Path) -> None:
    reply(server, project, row(["h1", "h2"], "2 renames of `a` to `b`", kind="renames"))
    state(server, project, hunk(project, "h1", "edited"), by="editor")
    guided.wait_screen("● 2 renames of `a` to `b`", "2 places")

    guided.keys(" ak")

    assert server.expect("agent/review")["hunkIds"] == ["h1", "h2"]


def test_the_cursor_follows_its_row_to_another_place(guided: Nvim, server: StandIn, project: Path) -> None:
    reply(
        server,
        project,
        row(["h2"], "Remove the fourth line", "looked"),
        row(["h1"], "Write two in capitals", "looked"),
    )
    state(server, project, hunk(project, "h1", looked=True), by="look")
    guided.wait_screen("0 of 2 to look at")

    guided.keys(" ak")

    assert server.expect("agent/review")["hunkIds"] == ["h1"]


def test_a_decided_change_stays_in_the_list(guided: Nvim, server: StandIn, project: Path) -> None:
    reply(
        server,
        project,
        row(["h1"], "Write two in capitals", "kept"),
        row(["h2"], "Remove the fourth line", "undone"),
    )
    state(server, project, hunk(project, "h1", "kept"), hunk(project, "h2", "undone"))

    guided.wait_screen("0 of 2 to look at", "✓ Write two in capitals", "↶ Remove the fourth line")


def test_opening_a_row_counts_as_looking_at_it(guided: Nvim, server: StandIn) -> None:
    guided.keys("<CR>")

    assert server.expect("agent/looked")["hunkIds"] == ["h1"]
    guided.wait_for("vim.fn.expand('%:t') == 'one.txt' and vim.fn.line('.') == 2")


def test_moving_to_a_change_in_the_file_counts_as_looking_at_it_once(
    reviewed: Nvim, server: StandIn, project: Path
) -> None:
    reviewed.keys("gg]h")
    assert server.expect("agent/looked")["hunkIds"] == ["h1"]
    state(server, project, hunk(project, "h1", looked=True), by="look")
    reviewed.keys("gg]h]h")
    assert server.expect("agent/looked")["hunkIds"] == ["h2"]


def test_the_guide_of_one_turn_asks_for_this_turn(reviewed: Nvim, server: StandIn, project: Path) -> None:
    reply(server, project, row(["h1"], "Write two in capitals"))
    turn = hunk(project, "h1")["turnId"]
    reviewed.keys("2G")
    reviewed.cmd("AgentLs guide_turn")

    reviewed.wait_screen("1 of 1 to look at in this turn", "● Write two in capitals")
    assert server.expect("agent/hunks") == {"sessionId": "s1", "turnId": turn, "guide": True}


def test_details_show_the_whole_row(guided: Nvim) -> None:
    guided.keys("K")

    guided.wait_screen("not looked at", "/one.txt:2")
