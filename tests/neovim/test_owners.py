"""Two real Neovims with the real server: one owns a session, the other follows it and takes it over (H10)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import start_on_sample, start_served
from tests.support.loopback import AnthropicServer, Gate, Text
from tests.support.nvim_driver import Nvim


@pytest.fixture
def first(shop: Path, tmp_path: Path) -> Iterator[Nvim]:
    """A Neovim whose agent waits for the approval of its first change."""
    with start_on_sample(shop, tmp_path) as nvim:
        nvim.lua("require('agent_ls.demo').start()")
        nvim.wait_screen("walkthrough (no model)", "The tests fail.")
        nvim.keys("<C-s>")
        nvim.wait_screen("Make this change?", "<M-a>")
        yield nvim


@pytest.fixture
def second(first: Nvim, shop: Path, tmp_path: Path) -> Iterator[Nvim]:
    with start_on_sample(shop, tmp_path) as nvim:
        server = [sys.executable, "-m", "agent_ls", "serve", "--stdio"]
        nvim.lua("require('agent_ls').setup({ cmd = ..., provider = 'walkthrough' })", server)
        nvim.cmd("AgentLs resume")
        nvim.wait_screen("Make this change?", "read only")
        yield nvim


@pytest.mark.req("H10", "R4")
def test_a_session_of_another_neovim_is_displayed_read_only_and_taken_over(first: Nvim, second: Nvim) -> None:
    second.wait_screen("The editor that owns this session decides.", ":AgentLs takeover")
    second.cmd("AgentLs approve")
    second.wait_screen("Not answered: another editor has this session.")
    second.cmd("AgentLs send and this")
    second.wait_screen("Not sent: another editor has this session.")
    first.wait_screen("Make this change?", "<M-a>")

    second.cmd("AgentLs takeover")
    second.wait_gone("The editor that owns this session decides.")
    first.wait_screen("Neovim (process ", "The editor that owns this session decides.")
    second.cmd("AgentLs approve")
    second.wait_screen("Run this command?")
    second.wait_gone("read only")
    first.wait_screen("Run this command?", "read only")
    first.cmd("AgentLs approve")
    first.wait_screen("Not answered: another editor has this session.")


@pytest.mark.req("H10", "R4")
def test_a_take_over_in_the_middle_of_an_answer_is_shown_in_both_editors_and_the_new_owner_goes_on(
    shop: Path, tmp_path: Path
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("The first half. ", gate, "Too late.")], "The rest."]) as provider:
        options = "provider = 'anthropic'"
        with (
            start_served(shop, tmp_path, options, provider) as first,
            start_served(shop, tmp_path, options, provider) as second,
        ):
            first.cmd("AgentLs send hello")
            first.wait_screen("The first half.")
            second.cmd("AgentLs resume")
            second.wait_screen("hello", "read only")

            second.cmd("AgentLs takeover")

            second.wait_gone("read only")
            first.wait_screen("Read-only: owned by another editor.", "Neovim (process ", ":AgentLs takeover")
            gate.open()
            second.cmd("AgentLs send go on")
            second.wait_screen("The first half.", "The rest.", "○ idle")
            assert "Too late." not in first.wait_screen("The rest.")
