"""Random typing around the agent's changes in a real Neovim with the real server: marks follow the server's ledger."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.neovim.conftest import StartReal
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H6", "H10")

NAMES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
)
PARTS = "".join(f"{name}\n" for name in NAMES)
CHANGES = [
    ("four\n", "four\nfour b\n"),
    ("six\nseven\n", "6\n7\n7b\n"),
    ("nine\nten\n", ""),
    ("twelve\n", "12\n"),
    ("fifteen\n", "fifteen a\nfifteen b\nfifteen c\n"),
]
EDITS = 30
KEYS = (
    "ix<Esc>",
    "a<CR><Esc>",
    "i<BS><Esc>",
    "otwo<CR>lines<Esc>",
    "Omine<Esc>",
    "cctwo<CR>lines<Esc>",
    "dd",
    "2dd",
    "J",
    "x",
    "yyp",
    "yyP",
    "ddp",
    "vjd",
    "u",
    "<C-r>",
    "<C-v>jIx<Esc>",
)

STATE = """
local buffer = vim.fn.bufnr('parts.txt')
local client = vim.lsp.get_clients({ name = 'agent-ls' })[1]
local answer = client:request_sync('agent/hunks', { uri = vim.uri_from_bufnr(buffer) }, 10000, buffer)
local file = answer.result.files[1]
local places, signs = {}, {}
for _, place in ipairs(require('agent_ls.review.signs').list_positions(buffer)) do
  places[#places + 1] = { place.hunk.id, place.first, place.last, place.hunk.state }
end
local ns = vim.api.nvim_get_namespaces().agent_ls_review
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, ns, 0, -1, { details = true })) do
  local sign = mark[4].sign_text
  if sign then signs[#signs + 1] = { mark[2], vim.trim(sign) } end
end
return {
  known = file and file.version,
  version = vim.lsp.util.buf_versions[buffer],
  count = vim.api.nvim_buf_line_count(buffer),
  hunks = file and file.hunks or {},
  places = places,
  signs = signs,
}
"""


def compare_marks(nvim: Nvim) -> str:
    """Return how the marks differ from the server's ledger; "" if they do not.

    The ledger has no changes whose lines are no longer known, so marks of such changes are permitted.
    """
    state: dict[str, Any] = nvim.lua(STATE)
    ledger = {hunk["id"]: tuple(hunk["newRange"]) for hunk in state["hunks"]}
    if not ledger:
        return ""
    if state["known"] != state["version"]:
        return f"the server has version {state['known']}, not {state['version']}"
    places = {id_: (first, last) for id_, first, last, what in state["places"] if what != "stale"}
    last_line = state["count"] - 1
    # Lines that were removed at the end of the text are marked at its last line.
    marked = {id_: (min(first, last_line), last) for id_, (first, last) in ledger.items()}
    lines = {(line, "▎") for first, last in ledger.values() for line in range(first, last)}
    removals = {(min(first, last_line), "▁") for first, last in ledger.values() if first == last}
    stale = [(first, last) for _, first, last, what in state["places"] if what == "stale"]
    unexpected = {(line, "▎") for first, last in stale for line in range(first, last)}
    unexpected |= {(min(first, last_line), "▁") for first, last in stale if first == last}
    signs = {(line, sign) for line, sign in state["signs"]}
    expected = lines | removals
    if places == marked and expected <= signs <= expected | unexpected:
        return ""
    return f"ledger {ledger}, marks {places}, signs {sorted(signs)}, stale {stale}"


@pytest.mark.parametrize("seed", range(2))
def test_hunk_marks_match_the_servers_hunk_positions_after_random_typing(
    start_real: StartReal, project: Path, seed: int
) -> None:
    (project / "parts.txt").write_text(PARTS)
    edits = [
        ToolCall("edit_file", {"file_path": "parts.txt", "old_string": old, "new_string": new})
        for old, new in CHANGES
    ]
    script: list[Any] = [[ToolCall("read_file", {"file_path": "parts.txt"})], edits, "Five changes."]
    with AnthropicServer(script) as server:
        variables = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": server.base_url}
        nvim = start_real(variables, provider="anthropic", mode="edits")
        nvim.cmd("edit parts.txt")
        nvim.cmd("AgentLs send Change them.")
        nvim.wait_screen("Five changes.", "○ idle")
        nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('parts.txt'))[1])")
        nvim.keys("<Esc>")
        nvim.wait_mode("n")
        type_around(nvim, Random(seed))


def type_around(nvim: Nvim, dice: Random) -> None:
    """Edit at random lines, of which two of three are next to a change, and compare the marks after each edit."""
    done: list[str] = []
    compared = 0
    for _ in range(EDITS):
        hunks = nvim.lua(STATE)["hunks"]
        lines = nvim.lines()
        if hunks and dice.random() < 0.67:
            first, last = dice.choice(hunks)["newRange"]
            line = min(max(dice.randrange(first - 1, last + 1), 0), len(lines) - 1)
        else:
            line = dice.randrange(len(lines))
        column = dice.choice([0, max(len(lines[line]) - 1, 0), dice.randrange(len(lines[line]) + 1)])
        keys = dice.choice(KEYS)
        done.append(f"{line}:{column} {keys}")
        nvim.lua("vim.api.nvim_win_set_cursor(0, { ... })", line + 1, column)
        nvim.keys(keys)
        nvim.wait_mode("n")
        wait_for_marks(nvim, done)
        compared += 1 if nvim.lua(STATE)["hunks"] else 0
    assert compared > EDITS / 2, "most edits had a change to compare"


def wait_for_marks(nvim: Nvim, done: list[str]) -> None:
    found = [""]

    def is_equal() -> bool:
        found[0] = compare_marks(nvim)
        return not found[0]

    try:
        nvim.wait_until(is_equal, "the marks at the lines of the ledger")
    except AssertionError as error:
        raise AssertionError(f"after {done}: {found[0]}\n{nvim.screen()}") from error
