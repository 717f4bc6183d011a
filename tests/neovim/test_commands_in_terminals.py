"""Programs that are hard to run, in the terminals of a real Neovim with the real server: displayed, typed into,
ended (H5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import start_served
from tests.support.awkward import (
    CALLS,
    END_OF_INPUT,
    ENTER,
    INTERRUPT,
    PROGRAMS,
    Program,
    is_reported,
    result_text,
)
from tests.support.loopback import AnthropicServer
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H5", "H10", "T5")

COLUMNS = 120
KEY = {"ADA_API_KEY": "of-the-editor"}


KEYS = {ENTER: "<CR>", END_OF_INPUT: "<C-d>", INTERRUPT: "<C-c>"}


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    with AnthropicServer(CALLS) as server:
        yield server


@pytest.fixture
def nvim(project: Path, tmp_path: Path, provider: AnthropicServer) -> Iterator[Nvim]:
    options = "provider = 'anthropic', mode = 'full', settings = { review = 'after' }"
    with start_served(project, tmp_path, options, provider, columns=COLUMNS, variables=KEY) as nvim:
        yield nvim


# Records what may end before it is polled: pending approvals, and each change of the waiting-for-input state.
HEARD = """
heard = { asked = {}, waiting = {} }
require("agent_ls.session").listen(function(change)
  local event = change.event
  if event and event.kind == "approval_requested" then
    table.insert(heard.asked, event.data.requestId)
  elseif event and event.kind == "terminal_waiting" then
    table.insert(heard.waiting, event.data.waiting)
  end
end)
"""
ALLOW = """
local asked = heard.asked
heard.asked = {}
for _, id in ipairs(asked) do
  require("agent_ls.session").approve({ id = id }, { decision = "allow" })
end
"""


def wait(nvim: Nvim, condition: Callable[[], bool], waited_for: str) -> None:
    """Wait for a condition, and allow pending requests.

    A program that cannot be inspected needs approval in every mode.
    """

    def looked() -> bool:
        nvim.lua(ALLOW)
        return condition()

    nvim.wait_until(looked, waited_for)


def input_waits(nvim: Nvim) -> list[bool]:
    return list(nvim.lua("return heard.waiting"))


def answers(nvim: Nvim, provider: AnthropicServer, at: int, program: Program) -> None:
    for keys in program.keys:
        wait(nvim, lambda: input_waits(nvim)[-1:] == [True], f"{program.name} to wait")
        nvim.wait_screen("waits for your input")
        before = len(input_waits(nvim))
        nvim.cmd("AgentLs terminal")
        nvim.wait_mode("t")
        nvim.keys("".join(KEYS.get(key, key) for key in keys))
        wait(
            nvim,
            lambda before=before: is_reported(provider, at) or False in input_waits(nvim)[before:],  # type: ignore[misc]
            f"{program.name} to take {keys}",
        )
        nvim.keys("<C-\\><C-n>q")
        nvim.wait_mode("n")  # otherwise these keys may go to the next terminal


def test_interactive_and_misbehaving_programs_run_in_one_neovim_terminal(
    nvim: Nvim, provider: AnthropicServer
) -> None:
    nvim.lua(HEARD)
    nvim.cmd("AgentLs")
    nvim.keys("go<C-s>")
    for at, program in enumerate(PROGRAMS):
        answers(nvim, provider, at, program)
        wait(nvim, lambda at=at: is_reported(provider, at), f"the end of {program.name}")  # type: ignore[misc]
        said = result_text(provider, at)
        assert program.says(said), (program.name, said[-600:])
    nvim.wait_screen("All done.")

    nvim.cmd("AgentLs terminal")
    nvim.wait_screen("[exit 3")
    terminals = nvim.lua(
        "return vim.tbl_filter(function(b) return vim.bo[b].buftype == 'terminal' end, vim.api.nvim_list_bufs())"
    )
    assert len(terminals) == 1, "one terminal for all that runs one after the other"

    nvim.keys("q")
    nvim.quit()  # Neovim would refuse while a job runs in a terminal
