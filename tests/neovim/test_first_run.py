"""First messages in a real Neovim that cannot begin, and how the same session goes on once the cause is mended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.neovim.conftest import StartReal
from tests.support.first_runs import LAST, MADE, STATES, blocked
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H10", "H16", "U8")

COMMANDS = {"agent-ls keys set": ":agentls key", "trust add": "trust"}
"""The commands of the plugin that it names in place of those of a terminal."""
TRANSCRIPT = "table.concat(vim.api.nvim_buf_get_lines(require('agent_ls.chat.transcript').buffer(), 0, -1, false), ' ')"
SNAPSHOT = "require('agent_ls.session').snapshot()"
SESSION = "require('agent_ls.session').current_id()"


@pytest.mark.parametrize("name", STATES)
def test_neovim_says_what_blocks_the_first_message_and_goes_on_when_it_is_mended(
    name: str, project: Path, start_real: StartReal
) -> None:
    with blocked(name, project) as state:
        home = {
            "HOME": str(project.parent / "home"),
            "AGENT_LS_STATE_DIR": str(project.parent / "home" / "state"),
        }
        nvim = start_real({**home, **state.variables}, mode="edits", **state.choice)
        nvim.cmd("AgentLs send make it")
        if name == "untrusted folder":
            nvim.wait_for(f"require('agent_ls.snapshot').pending_approvals({SNAPSHOT})[1]")
            nvim.cmd("AgentLs deny")
        step = COMMANDS.get(state.step, state.step)
        # A retry has the reason too; the step follows when the turn ends.
        wait_for_words(
            nvim, lambda text: step in after(after(text, "❯ make it"), state.reason) and has_ended(nvim)
        )
        assert (project / MADE).exists() == state.goes_on
        session = nvim.lua(f"return {SESSION}")
        if not state.goes_on:
            state.mend()
            nvim.cmd("AgentLs send and now?")
        wait_for_words(nvim, lambda text: LAST.lower() in text)
        assert (project / MADE).exists() and nvim.lua(f"return {SESSION}") == session


def after(text: str, words: str) -> str:
    return text.partition(words)[2]


def has_ended(nvim: Nvim) -> bool:
    screen = nvim.screen()
    return any(mark in screen for mark in ("○ idle", "✗ failed", "to review"))


def wait_for_words(nvim: Nvim, condition: Callable[[str], bool]) -> str:
    """Return the text of the transcript on one line, in lower case, once it meets the condition."""
    found: list[str] = []

    def is_met() -> bool:
        found[:] = [" ".join(str(nvim.lua(f"return {TRANSCRIPT}")).replace("┃", " ").lower().split())]
        return condition(found[0])

    nvim.wait_until(is_met, "words in the transcript")
    return found[0]
