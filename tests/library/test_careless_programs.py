"""Programs that answer late, wrongly or never: the session continues, and ends when the program closes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.loop.events.types import AssistantTextEnd, ProcessingEnd, ToolCallEnd, Warning
from agent_ls.services.errors import BadChoiceError
from tests.library.sessions import call, options
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13", "R5")

DEADLINE_S = 240
ASK = call("ask_user", question="Which?", options=["a", "b"])
TOUCH = call("shell", command="touch made")


async def events_of(session: agent_ls.AgentSession) -> list[Any]:
    return [event async for event in session.run("go")]


def ends(events: list[Any]) -> list[ToolCallEnd]:
    return [event for event in events if isinstance(event, ToolCallEnd)]


def reasons(events: list[Any]) -> list[str]:
    return [event.reason for event in events if isinstance(event, ProcessingEnd)]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize(
    "value", [None, 7, "yes", {"a": 1}, ["a"], [7], object()], ids=lambda v: type(v).__name__
)
async def test_a_callback_with_an_invalid_result_declines_and_the_session_continues(
    tmp_path: Path, value: Any, is_async: bool
) -> None:
    async def answered(subject: object) -> Any:
        return value

    callback: Any = answered if is_async else lambda subject: value
    model = FakeProvider([ASK, TOUCH, text("Done."), text("Again.")])
    names = ("approve", "answer", "extend_limit", "review_changes")
    given = options(tmp_path, model, **dict.fromkeys(names, callback))
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            events = await events_of(session)
            _, touch = ends(events)
            assert touch.is_error and "`approve` callback" in touch.output
            is_answer = value is None or isinstance(value, str) or value == ["a"]
            assert is_answer or any(
                "`answer` callback" in it.message for it in events if isinstance(it, Warning)
            )
            assert await session.ask("again") == "Again."
    assert not (tmp_path / "project" / "made").exists()


async def test_interrupt_ends_the_turn_while_a_callback_never_answers(tmp_path: Path) -> None:
    asked = anyio.Event()

    async def never(subject: object) -> Any:
        asked.set()
        await anyio.sleep_forever()

    model = FakeProvider([ASK, text("unused")])
    seen: list[Any] = []

    async def run(session: agent_ls.AgentSession) -> None:
        seen.extend(await events_of(session))

    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, answer=never)) as session:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, session)
                await asked.wait()
                session.interrupt()
            assert reasons(seen) == ["interrupted"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"mode": "yolo"}, "plan, ask, edits, full"),
    ({"review": "never"}, "after, before"),
    ({"tools": [7]}, "@agent_ls.tool"),
    ({"tools": [events_of]}, "@agent_ls.tool"),
    ({"adapters": {"anthropic": 7}}, "agent_ls.ProviderAdapter"),
]


@pytest.mark.parametrize(("given", "hint"), WRONG, ids=[next(iter(it)) for it, _ in WRONG])
async def test_an_invalid_open_session_argument_is_refused_before_the_state_folder_is_created(
    tmp_path: Path, given: dict[str, Any], hint: str
) -> None:
    with pytest.raises(BadChoiceError) as caught:
        async with agent_ls.open_session(**options(tmp_path, FakeProvider()) | given):
            pass
    assert hint in caught.value.hint
    assert not (tmp_path / "state").exists()


async def test_an_unknown_mode_is_refused_between_turns(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider())) as session:
        mode: Any = "yolo"
        with pytest.raises(BadChoiceError, match="yolo"):
            await session.configure(mode=mode)


LIMITED = {"limits": {"secondsPerInput": 0.5}}


@pytest.mark.req("H18", "L2")
async def test_a_tool_that_never_returns_ends_at_the_time_limit(tmp_path: Path) -> None:
    @agent_ls.tool
    async def hang(what: str) -> str:
        """Never returns."""
        await anyio.sleep_forever()
        return what

    model = FakeProvider([call("hang", what="x"), text("unused")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(
            **options(tmp_path, model, tools=[hang], mode="full", settings=LIMITED)
        ) as session:
            events = await events_of(session)
    assert reasons(events) == ["limit"]
    assert [(end.is_error, end.error_kind) for end in ends(events)] == [(True, "time_limit")]


@pytest.mark.req("H18", "A1")
@pytest.mark.parametrize(
    "then", [wait_for("agent_1"), text("I wait.")], ids=["a call waits", "no call waits"]
)
async def test_a_turn_with_a_running_subagent_ends_at_the_time_limit(tmp_path: Path, then: Any) -> None:
    model: Any = Cast([spawn("count"), then, text("unused")], {"count": [text("One", Gate())]})
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(
            **options(tmp_path, model, mode="full", settings=LIMITED)
        ) as session:
            events = await events_of(session)
    assert reasons(events) == ["limit"]
    # On a busy machine the time may be over before the wait begins.
    assert all(end.error_kind == "time_limit" for end in ends(events)[1:])


@pytest.mark.req("H18")
@pytest.mark.parametrize("goes_on", [True, False])
async def test_extend_limit_callback_is_called_at_the_time_limit_while_the_answer_streams(
    tmp_path: Path, goes_on: bool
) -> None:
    gate = Gate()

    def extend(question: agent_ls.QuestionAsked) -> bool:
        return goes_on

    async def open_when_answered(session: agent_ls.AgentSession) -> None:
        async for event in session.events():
            if event.kind == "question_answered" and goes_on:
                return gate.open()

    model = FakeProvider([text("Half ", gate, "and whole."), text("Next.")])
    given = options(tmp_path, model, mode="full", settings=LIMITED, extend_limit=extend)
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(open_when_answered, session)
            events = await events_of(session)
            said = [event.text for event in events if isinstance(event, AssistantTextEnd)]
            if goes_on:
                assert (reasons(events), said) == (["completed"], ["Half and whole."])
            else:
                assert (reasons(events), said) == (["limit"], ["Half "])
            tasks.cancel_scope.cancel()
    assert len(model.requests) == 1 and model.open_streams == 0
