"""The plan in a real Neovim with the real server: edited and accepted by keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import start_served
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H2", "H22")

WRITE = [ToolCall("write_file", {"file_path": "made.txt", "content": "made\n"})]


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    with AnthropicServer(["1. Read.\n2. Write.", WRITE, "Done."]) as server:
        yield server


@pytest.fixture
def nvim(project: Path, tmp_path: Path, provider: AnthropicServer) -> Iterator[Nvim]:
    options = "provider = 'anthropic', mode = 'plan'"
    with start_served(project, tmp_path, options, provider) as nvim:
        yield nvim


def test_the_user_edits_a_plan_and_accepts_it_with_a_chosen_mode(
    nvim: Nvim, project: Path, provider: AnthropicServer
) -> None:
    nvim.cmd("AgentLs plan")
    nvim.wait_screen("There is no plan to accept")
    nvim.cmd("AgentLs send What would you do?")
    nvim.wait_screen("2. Write.", "○ idle", ":AgentLs plan edit and accept")
    nvim.cmd("AgentLs plan")
    nvim.wait_screen("w accepts")
    nvim.keys("ggA And carefully.<Esc>:w<CR>")
    nvim.wait_screen("Accept the plan: ask before commands only", "Edit it again")
    nvim.keys("3<CR>")
    nvim.wait_screen("w accepts", "And carefully.")
    nvim.keys("<C-s>")
    nvim.wait_screen("Accept the plan: ask before commands only")
    nvim.keys("2<CR>")
    nvim.wait_screen("Done.", "○ idle", "edits")
    assert (project / "made.txt").read_text() == "made\n"
    accepted = str(provider.requests[1].body["messages"][-1])
    assert "1. Read. And carefully." in accepted and "accept this plan" in accepted
