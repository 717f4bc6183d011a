"""Sessions as things that are kept, from the editor: renamed, forked, exported (H10)."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim


@pytest.mark.req("H10")
def test_rename_sends_the_title_that_is_given(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs rename Fix the totals")

    sent = server.expect("agent/rename")
    assert (sent["sessionId"], sent["title"]) == ("s1", "Fix the totals")


@pytest.mark.req("H10")
def test_fork_goes_on_in_the_new_session(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs fork")

    assert server.expect("agent/fork")["sessionId"] == "s1"
    assert server.expect("agent/subscribe")["sessionId"] == "s2"


@pytest.mark.req("H10")
def test_export_shows_the_transcript_in_a_window_of_its_own(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.cmd("AgentLs export")

    nvim.wait_screen("# Totals")
    assert server.expect("agent/export")["format"] == "markdown"
