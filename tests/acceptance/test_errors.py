"""Failures of a provider: one clear message in the panel, and the session can continue."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import pytest

from tests.acceptance.conftest import OpenRig
from tests.acceptance.rig import NvimRig, Wire
from tests.support.loopback import Answer, CutStream, DropConnection, ErrorReply, Gate, Text


@dataclass(frozen=True)
class Trouble:
    """A failure of a provider. `script` has the provider's answers until it works again.

    The panel's error message contains `said`, and the line below it `hint`; `before` has the lines above it.
    `closes`: the session is closed until the user sends another message.
    """

    script: tuple[Answer, ...]
    said: str
    hint: str
    closes: bool = False
    before: tuple[str, ...] = ()


TROUBLES = {
    "wrong key": Trouble(
        (ErrorReply(401),),
        "{provider} refused the key (HTTP 401)",
        ":AgentLs key",
        closes=True,
    ),
    "unknown model": Trouble(
        (ErrorReply(404),),
        "{provider} does not know the model {model} (HTTP 404)",
        "Choose another model, or check its spelling",
        closes=True,
    ),
    "used-up credit": Trouble(
        (ErrorReply(400, message="Your credit balance is too low to access the API."),),
        "the credit at {provider} is used up",
        "Check the plan, billing and spending limits of your account at the provider.",
        closes=True,
    ),
    "overloaded": Trouble(
        (ErrorReply(529),) * 3,
        "{provider} is overloaded (HTTP 529)",
        "Try again in a few minutes",
        before=("↻ Tried 3 times.",),
    ),
    "stream that is cut": Trouble(
        ([Text("Half"), CutStream()],),
        "the connection to {provider} ended in the middle of the answer",
        "The received part of the answer is kept",
        before=("Half",),
    ),
    "connection that is dropped": Trouble(
        ([Text("Half"), DropConnection()],),
        "ended its answer too early",
        "The received part of the answer is kept",
        before=("Half",),
    ),
}


def words_of(rig: NvimRig) -> list[str]:
    """Return the non-empty lines of the panel, without the lines that list the keys of an error."""
    return [line for line in rig.transcript() if line and not line.startswith("┃ <CR>")]


@pytest.mark.req("R1", "H10", "U8")
@pytest.mark.parametrize("name", TROUBLES)
def test_each_provider_failure_displays_one_message_with_a_hint_and_the_session_continues(
    open_rig: OpenRig, wire: Wire, name: str
) -> None:
    trouble = TROUBLES[name]
    made = open_rig([*trouble.script, "All is well."])
    nvim = made.open("notes.txt")
    made.submit("Say something.")
    made.wait_transcript("✗ ")
    made.wait_state("CLOSED" if trouble.closes else "IDLE")
    nvim.wait_screen("✗ failed" if trouble.closes else "○ idle")

    model = nvim.lua("return require('agent_ls.session').snapshot().session.model")
    facts = {"provider": wire.provider, "model": model, "variable": f"{wire.provider.upper()}_API_KEY"}
    assert len(made.model.requests) == len(trouble.script)
    asked, *before, message, hint = words_of(made)
    assert asked == "❯ Say something."
    assert tuple(before) == trouble.before
    assert message.startswith("✗ ")
    assert trouble.said.format(**facts) in message
    assert hint.startswith("┃ ")
    assert trouble.hint.format(**facts) in hint
    assert "Traceback" not in message + hint + nvim.lsp_log()

    made.submit("Once more.")
    made.wait_done("All is well.")
    said = [text for who, text in wire.said(made.model.requests[-1].body) if who == "user"]
    assert said[-2:] == ["Say something.", "Once more."]
    resumed = ["· Session resumed."] if trouble.closes else []
    assert words_of(made)[len(before) + 3 :] == [*resumed, "❯ Once more.", "All is well."]


# These texts are displayed only briefly and may be gone before they are read.
KEEP_WHAT_IS_DRAWN = """
drawn = {}
vim.api.nvim_buf_attach(require("agent_ls.chat.transcript").buffer(), false, {
  on_lines = function(_, buffer, _, first, _, last)
    vim.list_extend(drawn, vim.api.nvim_buf_get_lines(buffer, first, last, false))
  end,
})
"""


@pytest.mark.req("R1", "H10", "U8")
def test_without_a_network_the_model_call_is_retried_and_fails_with_a_connection_error(
    open_rig: OpenRig, wire: Wire
) -> None:
    made = open_rig([])
    with socket.socket() as taken:
        # bound but not listening: connections fail, and no other program can take the port
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        address = f"http://127.0.0.1:{port}{'/v1' if wire.provider == 'openai' else ''}"
        made.variables = {
            name: address if name.endswith("_URL") else value for name, value in made.variables.items()
        }
        nvim = made.open("notes.txt")
        nvim.lua(KEEP_WHAT_IS_DRAWN)
        made.submit("Say something.")
        nvim.wait_for("table.concat(drawn, '\\n'):find('↻ Trying again in', 1, true)")
        made.wait_transcript("✗ ")
        made.wait_state("IDLE")

    _, tried, message, hint = words_of(made)
    assert tried == "↻ Tried 3 times."
    assert message.startswith(f"✗ no connection to 127.0.0.1:{port}")
    assert hint.startswith("┃ Start the server, or correct the base URL.")


@pytest.mark.req("U8", "H10")
def test_a_short_retry_after_header_delays_the_retry_and_the_delay_is_displayed(open_rig: OpenRig) -> None:
    gate = Gate()
    made = open_rig([ErrorReply(429, headers={"retry-after": "1"}), [gate, Text("All is well.")]])
    nvim = made.open("notes.txt")
    made.submit("Say something.")
    nvim.wait_screen("↻ Trying again in 1 s")
    gate.open()
    made.wait_done("All is well.")

    _, tried, answer = words_of(made)
    assert tried.startswith("↻ Tried again: ")
    assert "HTTP 429" in tried
    assert answer == "All is well."
