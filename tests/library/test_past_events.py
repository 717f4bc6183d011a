"""`events(since=…)` yields stored events before the new ones, for a page or a program that begins again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H3", "H13", "E2")


async def make_stored(tmp_path: Path) -> str:
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([text("One."), text("Two.")]))
    ) as first:
        await first.ask("first")
        await first.ask("second")
        return first.id


async def test_a_resumed_session_yields_its_earlier_turns_and_then_new_ones(tmp_path: Path) -> None:
    stored = await make_stored(tmp_path)
    given = options(tmp_path, FakeProvider([text("Three.")]), resume=stored, provider="")
    async with agent_ls.open_session(**given) as session:
        events = session.events(since=0)
        await session.ask("third")
    read = [event async for event in events if not isinstance(event, agent_ls.Delta)]
    numbers = [event.seq or 0 for event in read]
    assert numbers[0] == 1 and all(after == before + 1 for before, after in pairwise(numbers))
    assert [it.text for it in read if isinstance(it, agent_ls.UserInput)] == ["first", "second", "third"]
    assert [it.text for it in read if isinstance(it, agent_ls.AssistantTextEnd)] == ["One.", "Two.", "Three."]
    assert all(it.turn_id for it in read if isinstance(it, agent_ls.ProcessingEnd))
    assert isinstance(read[-1], agent_ls.SessionEnd)


async def test_a_turn_of_a_stored_session_is_copied_by_the_id_of_its_event(tmp_path: Path) -> None:
    stored = await make_stored(tmp_path)
    model = FakeProvider([text("Again.")])
    given = options(tmp_path, model, provider="", resume=stored)
    async with agent_ls.open_session(**given) as session:
        past = session.events(since=0)
        while not isinstance(event := await anext(past), agent_ls.UserInput):
            pass
        copy = await session.fork(event.turn_id)
    async with agent_ls.open_session(**given | {"resume": copy}) as session:
        await session.ask("another way")
    assert "second" not in [message.text for message in model.requests[0].messages]


async def test_a_reader_goes_on_after_the_event_it_read_last(tmp_path: Path) -> None:
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([text("One."), text("Two.")]))
    ) as session:
        last = [event async for event in session.run("go")][-1]
        await session.ask("more")
        rest = session.events(since=last.seq)
        assert (await anext(rest)).seq == (last.seq or 0) + 1
        numbers: list[int | None] = [(await anext(rest)).seq for _ in range(3)]
    assert None not in numbers


async def test_a_text_that_streams_is_there_from_its_beginning(tmp_path: Path) -> None:
    held = Gate()
    model: Any = FakeProvider([text("One ", "two ", held, "three.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        turn = session.run("go")
        async for event in turn:
            if isinstance(event, agent_ls.Delta) and event.offset:
                break
        late = session.events(since=0)
        held.open()
        parts: dict[str, str] = {}
        turn_id = ""
        async for event in late:
            if isinstance(event, agent_ls.Delta):
                assert len(parts.get(event.part_id, "")) == event.offset
                assert (event.turn_id, event.agent_id, event.session_id) == (turn_id, "", session.id)
                parts[event.part_id] = parts.get(event.part_id, "") + event.text
            elif isinstance(event, agent_ls.UserInput):
                turn_id = event.turn_id
            elif isinstance(event, agent_ls.AssistantTextEnd):
                assert parts[event.part_id] == event.text
            elif isinstance(event, agent_ls.ProcessingEnd):
                break


async def test_two_tasks_still_cannot_read_one_iterator(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider())) as session:
        events = session.events(since=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_all, events)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RuntimeError, match=r"session\.events"):
                await anext(events)
            tasks.cancel_scope.cancel()


async def _read_all(events: agent_ls.EventStream) -> None:
    async for _ in events:
        pass


async def test_a_cancelled_reader_loses_no_stored_event(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        events = session.events(since=0)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(events)
        assert (await anext(events)).seq == 1


def test_a_blocking_session_yields_its_past(tmp_path: Path) -> None:
    with agent_ls.open_session_sync(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        session.ask("go")
        events = session.events(since=0)
    assert [it.text for it in events if isinstance(it, agent_ls.AssistantTextEnd)] == ["One."]


@pytest.mark.parametrize("since", [-1, "1", 1.5, True])
async def test_a_number_that_is_none_is_refused(tmp_path: Path, since: Any) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider())) as session:
        with pytest.raises(agent_ls.AppError, match="since"):
            session.events(since=since)


async def test_a_log_that_was_deleted_is_one_error_with_the_next_step(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        await session.ask("go")
        for log in (tmp_path / "state").rglob("log.jsonl"):
            log.unlink()
        for read in (session.calls, lambda: anext(session.events(since=0))):
            with pytest.raises(agent_ls.AppError) as caught:
                await read()
            assert "state_dir" in caught.value.hint
