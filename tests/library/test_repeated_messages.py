"""A message that a program sends again with the same `client_key` is not sent to the model again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13")


def said(events: list[agent_ls.Event]) -> list[str]:
    return [it.text for it in events if isinstance(it, agent_ls.UserInput | agent_ls.AssistantTextEnd)]


async def test_a_repeated_message_gives_the_turn_of_the_first_one_also_after_a_resume(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two."), text("Three.")])
    given = options(tmp_path, model)
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("first", client_key="a") == "One."
        assert await session.ask("second") == "Two."
        assert await session.ask("first", client_key="a") == "One."
    async with agent_ls.open_session(**given, resume=session.id) as session:
        session.send("first", client_key="a")
        assert not session.is_busy
        events = [event async for event in session.run("first", client_key="a")]
        assert said(events) == ["first", "One."]
        assert {event.turn_id for event in events} == {events[0].turn_id}
        assert isinstance(events[-1], agent_ls.ProcessingEnd)
        assert await session.ask("third", client_key="b") == "Three."
    assert len(model.requests) == 3


async def test_a_message_repeated_during_its_turn_gives_all_events_of_the_turn(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([[text("One."), gate]])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        session.send("first", client_key="a")
        await gate.reached.wait()
        events = session.run("first", client_key="a")
        with pytest.raises(agent_ls.SessionBusyError):
            session.run("second", client_key="b")
        gate.open()
        assert said([event async for event in events]) == ["first", "One."]
    assert len(model.requests) == 1


async def test_a_key_of_a_queued_message_has_no_turn_to_return(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([[text("One."), gate], [text("Two.")]])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        session.send("first")
        await gate.reached.wait()
        for _ in range(2):
            session.send("second", when_busy="queue", client_key="b")
        assert [item.text for item in session.queue] == ["second"]
        with pytest.raises(agent_ls.BadChoiceError):
            session.run("second", client_key="b")
        gate.open()
        with anyio.fail_after(120):
            async for event in session.events(since=0):
                if isinstance(event, agent_ls.ProcessingEnd):
                    break
    assert len(model.requests) == 2


@pytest.mark.parametrize("waits", [True, False])
async def test_a_message_repeated_by_a_restarted_program_gives_the_turn_that_goes_on_or_was_cut(
    tmp_path: Path, waits: bool
) -> None:
    gate = Gate()
    first: list[Any] = [call("shell", command="touch made")] if waits else [[text("Half"), gate]]
    given = options(tmp_path, FakeProvider([*first, text("Done.")]), trusted=True)
    session = await agent_ls.open_session(**given, answers_later=True)
    session.send("go", client_key="a")
    if waits:
        async for event in session.events():
            if isinstance(event, agent_ls.ApprovalRequested):
                break
    else:
        await gate.reached.wait()
    await session.close()
    async with agent_ls.open_session(**given, approve=lambda _: True, resume=session.id) as session:
        assert await session.ask("go", client_key="a") == ("Done." if waits else "Half")
        events = [event async for event in session.run("go", client_key="a")]
    assert isinstance(events[-1], agent_ls.ProcessingEnd)
    assert events[-1].reason == ("completed" if waits else "aborted")


def test_a_blocking_session_takes_the_key_too(tmp_path: Path) -> None:
    with agent_ls.open_session_sync(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        first = list(session.run("first", client_key="a"))
        assert said(list(session.run("first", client_key="a"))) == said(first) == ["first", "One."]
        assert session.ask("first", client_key="a") == "One."
