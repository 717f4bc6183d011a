"""The list of running sessions includes those of all processes, with their state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fake_provider import Gate, text, tool_call
from tests.support.session_rig import running, wait

pytestmark = pytest.mark.req("H23")


async def test_sessions_of_other_servers_are_listed_with_their_activity(tmp_path: Path) -> None:
    asks = tool_call("shell", '{"command": "rm -rf x"}')
    async with running(tmp_path, [asks, text("Done.")]) as one, running(tmp_path, [text("Hi.")]) as other:
        asking = await one.talk("ask", answers=wait)
        asking.live.session.submit("clean up")
        await asking.until("approval_requested")
        idle = await other.talk("ask")
        closed = await other.talk("ask")
        await other.manager.close_session(closed.session_id)
        listed, _ = await one.manager.list_sessions(None, None, 9, running=True)
        seen = {it.id: it.activity for it in listed}
        assert seen == {asking.session_id: "waiting", idle.session_id: "idle"}
        everything, _ = await one.manager.list_sessions(None, None, 9)
        assert {it.id: it.activity for it in everything}[closed.session_id] == "closed"
        asking.live.session.interrupt()


async def test_a_session_during_a_model_call_is_listed_as_working(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [text("Hello", gate, "there.")]) as rig:
        talk = await rig.talk("ask")
        talk.live.session.submit("hello")
        await gate.reached.wait()
        listed, _ = await rig.manager.list_sessions(None, None, 9, running=True)
        assert [it.activity for it in listed] == ["working"]
        gate.open()
