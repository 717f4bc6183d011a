"""Scenario of two clients of one process: which messages of a session each of them gets, over any transport."""

from __future__ import annotations

import anyio
import pytest

from tests.support.editor import Editor
from tests.support.framed_client import DEADLINE_S, ResponseError


async def one_has_a_session_until_it_leaves(first: Editor, second: Editor, text: str) -> None:
    """Play the scenario: the second client gets no events before it subscribes, follows the session, and can use it
    after the first client has left.
    """
    session_id = await first.new_session()
    await first.submit(session_id, text)
    await first.client.event("processing_end")
    assert not second.client.events
    listed = (await second.client.request("agent/sessions"))["sessions"]
    assert [session["id"] for session in listed] == [session_id]
    assert (await second.subscribe(session_id))["session"]["access"] == "readOnly"
    with pytest.raises(ResponseError) as busy:
        await second.submit(session_id, "And here?")
    assert busy.value.data["kind"] == "session_busy"
    await first.client.shut_down()
    with anyio.fail_after(DEADLINE_S):
        await first.client.ended.wait()
    assert (await second.subscribe(session_id))["session"]["id"] == session_id
