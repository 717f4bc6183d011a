"""A session that another editor owns, in the plugin with a scripted server: refused actions and take-over."""

from __future__ import annotations

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H10", "R4")


def lose(server: StandIn, **data: object) -> None:
    fields = {"access": "readOnly", "owner": {"pid": 4711, "host": "ada", "program": "Emacs"}, **data}
    server.tell({"sessionId": "s1", "kind": "access", "data": fields})


def test_a_message_to_a_session_that_another_editor_took_over_is_not_sent_and_stays_in_the_prompt(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    lose(server)
    nvim.wait_screen("Emacs (process 4711 on ada)", "Read-only: owned by another editor.")
    nvim.cmd("AgentLs send is it mine")
    nvim.wait_screen("Not sent: another editor has this session.", "is it mine")
    assert "agent/submit" not in server.seen()


def test_answers_and_stops_for_a_session_that_another_editor_took_over_are_refused_with_a_message(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    lose(server)
    nvim.wait_screen("Emacs (process 4711 on ada)", "Read-only: owned by another editor.")
    nvim.cmd("AgentLs approve")
    nvim.wait_screen("Not answered: another editor has this")
    nvim.cmd("AgentLs stop")
    nvim.wait_screen("Not done: another editor has this")
    nvim.cmd("AgentLs fork")
    server.expect("agent/fork")
    assert not {"agent/approve", "agent/interrupt"} & set(server.seen())


def test_a_session_of_an_unresponsive_editor_is_taken_over_only_after_confirmation(
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
    nvim.wait_screen("2: Take the session over by force")
    assert "force" not in server.expect("agent/takeOver")
    server.refusals.clear()
    server.replies["agent/takeOver"] = {"session": {"id": "s1"}}
    nvim.keys("2<CR>")
    assert server.expect("agent/takeOver")["force"] is True
    assert server.expect("agent/subscribe")["sessionId"] == "s1"
    nvim.wait_gone("Read-only: owned by another editor.")
