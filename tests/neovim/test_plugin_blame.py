"""Authors of lines: the float and the bars in the sign column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

ORIGIN = {
    "sessionId": "s1",
    "turnId": "t1",
    "callId": "c1",
    "message": "round the sum",
    "model": "anthropic/x",
    "time": "2026-01-02T03:04:05.678Z",
    "decision": "kept",
}

ROWS = """local ns = vim.api.nvim_get_namespaces().agent_ls_blame
return vim.tbl_map(function(mark) return mark[2] end, vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}))"""


@pytest.fixture
def blamed(panel: Panel, server: StandIn, nvim: Nvim) -> Nvim:
    ranges = [{"range": [0, 1], "author": "user"}, {"range": [1, 3], "author": "agent", "origin": 0}]
    server.replies["agent/blame"] = {
        "ranges": [*ranges, {"range": [3, 5], "author": "unknown"}],
        "origins": [ORIGIN],
    }
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    return nvim


@pytest.mark.parametrize(
    ("line", "words"), [(1, "by you"), (2, "for: round the sum"), (3, "· kept"), (4, "not known")]
)
def test_a_float_says_who_wrote_a_line(blamed: Nvim, line: int, words: str) -> None:
    blamed.cmd(f"{line}")
    blamed.cmd("AgentLs blame")

    blamed.wait_screen(f"line {line}", words)


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-01-02T23:04:05.678Z", "2026-01-03 00:04"),
        ("2026-07-02T03:04:05.678Z", "2026-07-02 05:04"),
        ("2026-03-29T00:30:00.000Z", "2026-03-29 01:30"),
        ("2026-03-29T01:30:00.000Z", "2026-03-29 03:30"),
    ],
)
def test_times_are_in_the_zone_of_the_machine(blamed: Nvim, server: StandIn, time: str, shown: str) -> None:
    blamed.lua("vim.env.TZ = 'CET-1CEST,M3.5.0,M10.5.0/3'")
    server.replies["agent/blame"]["origins"] = [{**ORIGIN, "time": time}]
    blamed.cmd("2")
    blamed.cmd("AgentLs blame")

    blamed.wait_screen(shown)


def test_bars_mark_the_lines_of_the_agent_and_are_read_again_after_a_save(
    blamed: Nvim, server: StandIn, project: Path
) -> None:
    blamed.cmd("AgentLs blame_lines")
    blamed.wait_until(lambda: blamed.lua(ROWS) == [1, 2], "bars at two lines")
    assert server.expect("agent/blame") == {"uri": (project / "one.txt").as_uri()}

    server.replies["agent/blame"] = {"ranges": [{"range": [0, 5], "author": "user"}], "origins": []}
    blamed.cmd("silent write!")
    blamed.wait_until(lambda: blamed.lua(ROWS) == [], "no bars after the save")


def test_bars_can_be_switched_off(blamed: Nvim) -> None:
    blamed.cmd("AgentLs blame_lines")
    blamed.wait_until(lambda: blamed.lua(ROWS) == [1, 2], "bars at two lines")
    blamed.cmd("AgentLs blame_lines")

    assert blamed.lua(ROWS) == []
