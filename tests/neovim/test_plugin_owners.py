"""A session of another editor in the plugin, with a scripted server: what is off, what is said, and what is asked."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H10", "R4")


def lose(server: StandIn, **data: object) -> None:
    told = {"access": "readOnly", "owner": {"pid": 4711, "host": "ada", "program": "Emacs"}, **data}
    server.tell({"sessionId": "s1", "kind": "access", "data": told})


def test_nothing_is_sent_to_a_session_that_was_taken_away_and_what_was_written_stays(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    lose(server)
    nvim.wait_screen("Emacs (process 4711 on ada)", "Read only: owned by another editor.")
    nvim.cmd("AgentLs send is it mine")
    nvim.wait_screen("Not sent: another editor has this session.", "is it mine")
    assert "agent/submit" not in server.seen()


def test_an_answer_and_a_stop_are_not_sent_to_a_session_that_was_taken_away_and_that_is_said(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    lose(server)
    nvim.wait_screen("Emacs (process 4711 on ada)", "Read only: owned by another editor.")
    nvim.cmd("AgentLs approve")
    nvim.wait_screen("Not answered: another editor has this")
    nvim.cmd("AgentLs stop")
    nvim.wait_screen("Not done: another editor has this")
    nvim.cmd("AgentLs fork")
    server.expect("agent/fork")
    assert not {"agent/approve", "agent/interrupt"} & set(server.seen())


def test_an_editor_that_does_not_answer_keeps_its_session_unless_the_user_says_otherwise(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    lose(server)
    nvim.wait_screen("Emacs (process 4711 on ada)")
    server.refuse("agent/takeOver", "it does not answer", kind="owner_silent")
    nvim.keys("<Esc>:AgentLs takeover<CR>")
    nvim.wait_screen("it does not answer", "1: Leave it there")
    assert "force" not in server.expect("agent/takeOver")
    nvim.keys("1<CR>")
    nvim.wait_gone("1: Leave it there")

    nvim.keys(":AgentLs takeover<CR>")
    nvim.wait_screen("2: Take it by force")
    assert "force" not in server.expect("agent/takeOver")
    server.refusals.clear()
    server.replies["agent/takeOver"] = {"session": {"id": "s1"}}
    nvim.keys("2<CR>")
    assert server.expect("agent/takeOver")["force"] is True
    assert server.expect("agent/subscribe")["sessionId"] == "s1"
    nvim.wait_gone("Read only: owned by another editor.")
