"""The events of a session as lines of a chat document."""

from __future__ import annotations

import pytest

from agent_ls.loop.events.types import Envelope, Error
from agent_ls.server.chat.transcript import ChatTranscript

pytestmark = pytest.mark.req("H8")


@pytest.mark.parametrize("message", ["no key is set", "no key is set."])
def test_error_message_and_hint_are_separated_by_one_full_stop(message: str) -> None:
    error = Error(message, "auth", "Set one.")
    text = ChatTranscript().feed(Envelope("s-1", 1, "2026-01-01T00:00:00.000Z", error, turn_id="t-1"))
    assert text == "> **Error.** No key is set.\n> Set one.\n"
