"""Events are instances of exported, frozen classes that know their session, agent, turn, number and time."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, reasoning, text

pytestmark = pytest.mark.req("H13", "E2", "E7")


async def test_each_event_says_which_session_agent_and_turn_it_is_of(tmp_path: Path) -> None:
    model: Any = Cast([spawn("count"), wait_for("agent_1"), text("All.")], {"count": [text("One", " two.")]})
    async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
        events = [event async for event in session.run("go")]
        assert {event.session_id for event in events} == {session.id}
    said = [(it.agent_id, it.text) for it in events if isinstance(it, agent_ls.AssistantTextEnd)]
    assert said == [("agent_1", "One two."), ("", "All.")]
    spoken = [(it.agent_id, it.text) for it in events if isinstance(it, agent_ls.Delta)]
    assert ("agent_1", "One") in spoken and ("", "All.") in spoken
    assert [it.agent_id for it in events if isinstance(it, agent_ls.SubagentChanged)] == ["agent_1"] * 2
    recorded = [it.seq for it in events if not isinstance(it, agent_ls.Delta)]
    assert recorded == list(range(recorded[0] or 0, (recorded[0] or 0) + len(recorded)))
    assert {it.turn_id for it in events[1:]} == {events[-1].turn_id} != {""}
    assert all(it.timestamp.endswith("Z") for it in events)


async def test_ask_returns_the_last_text_of_the_main_agent(tmp_path: Path) -> None:
    main: Any = [[text("THE ANSWER"), spawn("count")], wait_for("agent_1"), reasoning("Nothing to add.")]
    model: Any = Cast(main, {"count": [text("LATE")]})
    async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
        assert await session.ask("go") == "THE ANSWER"


def test_each_event_class_is_exported_frozen_and_has_a_literal_kind() -> None:
    for event in get_args(agent_ls.Event):
        assert getattr(agent_ls, event.__name__) is event
        assert event.__dataclass_params__.frozen
        names = {field.name for field in dataclasses.fields(event)}
        assert not names & {"session_id", "turn_id", "seq", "timestamp"}, event
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent_ls.Title("a").title = "b"  # type: ignore[misc]  # what is tested


async def test_the_text_and_the_json_of_an_event_say_which_session_and_agent_it_is_of(tmp_path: Path) -> None:
    model: Any = Cast([spawn("count"), wait_for("agent_1"), text("All.")], {"count": [text("One.")]})
    async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
        events = [event async for event in session.run("go")]
    for event in events:
        raw, origin = event.as_json(), {"session_id": session.id, "turn_id": event.turn_id}
        assert (raw["sessionId"], raw["kind"], raw["timestamp"]) == (session.id, event.kind, event.timestamp)
        assert raw.get("turnId", "") == event.turn_id and raw.get("seq") == event.seq
        assert json.loads(json.dumps(raw)) == raw
        for name, value in origin.items():
            assert not value or f"{name}={value!r}" in repr(event)
    spoken = [it for it in events if isinstance(it, agent_ls.AssistantTextEnd) and it.agent_id]
    assert [it.as_json()["agentId"] for it in spoken] == ["agent_1"] and "agent_id='agent_1'" in repr(
        spoken[0]
    )
    delta = next(it for it in events if isinstance(it, agent_ls.Delta))
    assert delta.as_json()["after"] == delta.after > 0


def test_an_event_of_no_session_has_empty_attributes_and_no_others() -> None:
    event: Any = agent_ls.Title("a")
    assert (event.session_id, event.agent_id, event.seq) == ("", "", None)
    assert event == agent_ls.Title("a") and repr(event) == "Title(title='a')"
    with pytest.raises(AttributeError, match="titel"):
        _ = event.titel


async def test_iterators_that_are_read_twice_say_what_to_do(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        events = session.run("go")
        first = [event async for event in events]
        assert isinstance(first[-1], agent_ls.ProcessingEnd)
        with pytest.raises(RuntimeError, match=r"session\.events"):
            [event async for event in events]
        shared = session.events()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anext, shared)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RuntimeError, match=r"session\.events"):
                await anext(shared)
            tasks.cancel_scope.cancel()


async def test_two_readers_get_the_same_events(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        mine, theirs = session.events(), session.events()
        told = [event async for event in session.run("go")]
    seen = [event async for event in mine]
    assert isinstance(seen[0], agent_ls.SessionStart) and seen[1 : len(told) + 1] == told
    assert [event async for event in theirs] == seen[1:]


async def test_the_cost_of_a_session_is_a_value(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        assert session.cost_usd == 0
        (report,) = [it async for it in session.run("go") if isinstance(it, agent_ls.UsageReport)]
    assert session.cost_usd == report.total_cost_usd
    assert session.cost_usd and session.usage == report.total


@pytest.mark.req("H6")
@pytest.mark.parametrize("memory", [False, True], ids=["disk", "memory"])
async def test_the_patch_of_a_session_or_a_turn_is_the_net_change_of_several_edits(
    tmp_path: Path, memory: bool
) -> None:
    def edit(old: str, new: str) -> Any:
        return call("edit_file", file_path="a.txt", old_string=old, new_string=new)

    read = call("read_file", file_path="a.txt")
    turns: list[Any] = [[read], [edit("one", "two")], [edit("two", "three")], text("Done.")]
    model = FakeProvider([*turns, [edit("three", "four")], text("Done."), text("Nothing to do.")])
    more: dict[str, Any] = {"environment": agent_ls.MemoryEnvironment({"a.txt": "one\n"})} if memory else {}
    given = options(tmp_path, model, mode="full", trusted=True, stored=memory, **more)
    (tmp_path / "project" / "a.txt").write_text("one\n")

    async with agent_ls.open_session(**given) as session:
        patches = []
        for _ in range(3):
            (begun,) = [it async for it in session.run("go") if isinstance(it, agent_ls.UserInput)]
            patches.append(await session.patch(begun.turn_id))
        whole = await session.patch()
    head = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n"
    assert patches == [f"{head}-one\n+three\n", f"{head}-three\n+four\n", ""]
    assert whole == f"{head}-one\n+four\n"
