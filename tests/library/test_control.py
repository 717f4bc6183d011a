"""A program controls a running session: steering, queued messages, changed options, abort."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.library.review_reasons import NOT_LISTED
from agent_ls.loop.errors import NothingToCompactError
from agent_ls.loop.events.types import ProcessingEnd, ToolCallEnd
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.review.decisions import TYPED_INSIDE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13")

DEADLINE_S = 240


@pytest.mark.req("T12")
async def test_a_program_expands_slash_commands_of_the_project(tmp_path: Path) -> None:
    command = tmp_path / "project" / ".agents" / "commands" / "greet.md"
    command.parent.mkdir(parents=True)
    command.write_text("Greet $ARGUMENTS politely.")
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([]), trusted=True)) as session:
        assert "Greet Ada politely." in await session.expand("/greet Ada")
        assert await session.expand("/usr/bin/x fails") == "/usr/bin/x fails"


@pytest.mark.req("L6")
async def test_steers_and_queued_messages_are_listed_changed_and_removed(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("Wait", gate), text("Two."), text("Three.")])
    with anyio.fail_after(DEADLINE_S):
        async with (
            agent_ls.open_session(**options(tmp_path, model)) as session,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(session.ask, "one")
            await gate.reached.wait()
            steer = session.steer("no, this")
            assert session.unsteer(steer) and not session.unsteer(steer)
            first, second, third = (session.follow_up(words) for words in ("b", "c", "d"))
            assert session.edit_queued(first, "three") and session.edit_queued(second, "two")
            assert session.move_queued(first) and session.remove_queued(third)
            assert not session.remove_queued(third)
            assert [item.text for item in session.queue] == ["two", "three"]
            gate.open()
            async for event in session.events():
                if event.kind == "processing_end" and len(model.requests) == 3:
                    break
        said = [message.text for message in model.requests[-1].messages]
    assert "no, this" not in said and said.index("two") < said.index("three") and "d" not in said


@pytest.mark.req("L6", "E2")
async def test_a_thousand_queued_messages_are_a_short_log_and_there_after_a_resume(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("Wait", gate)])
    texts = [f"message {number}" for number in range(1000)]
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            session.send("one")
            await gate.reached.wait()
            ids = [session.follow_up(words) for words in texts]
            assert session.move_queued(ids[500], ids[2]) and session.remove_queued(ids[0])
            assert session.edit_queued(ids[999], "last")
        wanted = ["message 1", "message 500", *texts[2:500], *texts[501:999], "last"]
        (log,) = (tmp_path / "state").rglob("log.jsonl")
        assert log.stat().st_size < 1_000_000
        for _ in range(2):  # the log of a resumed session too
            given = options(tmp_path, FakeProvider([]), resume=session.id)
            async with agent_ls.open_session(**given) as resumed:
                assert [item.text for item in resumed.queue] == wanted
                assert resumed.remove_queued(resumed.queue[10].queued_id)
                assert resumed.remove_queued(resumed.queue[20].queued_id)
                del wanted[10], wanted[20]
                events = resumed.events(since=0)
                resumed.abort()
                assert await queue_of(events) == wanted


async def queue_of(events: AsyncIterator[agent_ls.Event]) -> list[str]:
    """Return the queue that the events of a session make."""
    queue: list[agent_ls.QueueItem] = []
    async for event in events:
        match event:
            case agent_ls.QueueChanged(items=items):
                queue = [*items]
            case agent_ls.QueueSpliced(at=at, removed=removed, items=items):
                queue[at : at + removed] = items
            case _:
                pass
    return [item.text for item in queue]


@pytest.mark.req("O1", "L2")
async def test_output_limit_of_an_unknown_tool_is_refused_with_the_names_of_tools(tmp_path: Path) -> None:
    @agent_ls.tool
    async def deploy() -> str:
        """Deploy."""
        return "done"

    known = {"toolOutputLimits": {"deploy": 5, "grep": 5, "tracker__find": 5}}
    with anyio.fail_after(DEADLINE_S):
        with pytest.raises(BadChoiceError, match=r"deploi \(did you mean deploy\?\): unknown tool"):
            wrong = options(
                tmp_path, FakeProvider([]), settings={"toolLineLimits": {"deploi": 1}}, tools=[deploy]
            )
            async with agent_ls.open_session(**wrong):
                pass
        good = options(tmp_path, FakeProvider([]), settings=known, tools=[deploy])
        async with agent_ls.open_session(**good) as session:
            with pytest.raises(BadChoiceError, match=r"Tools: .*, shell, .*SERVER__TOOL"):
                await session.configure(settings={"toolOutputLimits": {"Bash": 1}}, effort="low")
            assert not session.is_busy


async def test_starting_a_queued_message_ends_the_running_turn(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("Wait", gate), text("Now this.")])
    with anyio.fail_after(DEADLINE_S):
        async with (
            agent_ls.open_session(**options(tmp_path, model)) as session,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(session.ask, "one")
            await gate.reached.wait()
            assert session.start_queued(session.follow_up("at once"))
            ends: list[str] = []
            async for event in session.events():
                if isinstance(event, ProcessingEnd):
                    ends.append(event.reason)
                    if len(ends) == 2:
                        break
    assert ends == ["interrupted", "completed"]


@pytest.mark.req("L13")
async def test_a_program_can_compact_the_conversation(tmp_path: Path) -> None:
    model = FakeProvider([text(f"Answer {n}.") for n in range(12)])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        with pytest.raises(NothingToCompactError):
            await session.compact()
        for n in range(8):
            await session.ask(f"Question {n}?")
        done = await session.compact("dwell on the first")
        assert (done.status, done.trigger) == ("done", "request") and done.removed > 0
        assert "on the first" in str(model.requests[-1])
        await session.ask("What was it about?")
    assert "Question 0?" in str(model.requests[0]) and len(model.requests[-1].messages) < 20


async def test_an_aborted_session_is_closed_and_can_be_resumed(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("Wait", gate)])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        ends: list[Any] = []

        async def work() -> None:
            ends.extend([event async for event in session.run("one")])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await gate.reached.wait()
            session.abort()
        assert session.state == "CLOSED"
        kept = session.id
    assert [end.reason for end in ends if isinstance(end, ProcessingEnd)] == ["aborted"]
    again = FakeProvider([text("Here.")])
    async with agent_ls.open_session(**options(tmp_path, again), resume=kept) as session:
        assert await session.ask("two") == "Here."


@pytest.mark.req("L2")
async def test_configure_changes_limits_and_timeouts_between_turns_and_keeps_other_settings(
    tmp_path: Path,
) -> None:
    slow = call("shell", command="sleep 60")
    model = FakeProvider([slow, text("One."), text("Two."), text("Three.")])
    given = options(tmp_path, model, mode="full", settings={"userInstructions": "Be brief."})
    async with agent_ls.open_session(**given) as session:
        await session.configure(settings={"max_command_timeout_ms": 50, "providers": {"openai": {}}})
        ends = [event async for event in session.run("go") if isinstance(event, ToolCallEnd)]
        assert [end.error_kind for end in ends] == ["shell_timeout"]
        assert "Be brief." in model.requests[-1].messages[0].text
        await session.configure(limits={"tokensPerInput": 1}, mode="plan")
        with anyio.fail_after(DEADLINE_S):
            reasons = [
                event.reason async for event in session.run("more") if isinstance(event, ProcessingEnd)
            ]
        assert reasons == ["completed"]  # the first call reaches the limit
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"settings": {"maxTurn": 1}}, "did you mean maxTurns"),
            ({"limits": {"tokens": 1}}, "limits.tokens: there is no such setting"),
            ({"settings": {"maxTurns": "x"}, "model": "other"}, "maxTurns"),
            ({"provider": "oracle"}, "oracle"),
        ]
        for changes, words in wrong:
            with pytest.raises(BadChoiceError, match=words):
                await session.configure(**changes)
        await session.ask("and?")
    assert model.requests[-1].model != "other"


@pytest.mark.req("L2", "O1", "L9")
async def test_settings_change_truncation_and_loop_detection(tmp_path: Path) -> None:
    same = call("shell", command="seq 1 9")
    model = FakeProvider([same, same, same, same, text("Done.")])
    settings = {"toolLineLimits": {"shell": 4}, "loopDetection": {"window": 2}}
    async with agent_ls.open_session(**options(tmp_path, model, mode="full", settings=settings)) as session:
        kinds = [event.kind async for event in session.run("go")]
    assert "lines omitted" in json.dumps(str(model.requests[-1].messages))
    assert kinds.count("loop_detection") == 2


@pytest.mark.req("L3")
async def test_an_interrupt_ends_the_wait_for_an_answer_to_the_last_sentence(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel("Shall I go on?", "Going on.")
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        events = session.events()
        await session.ask("go")
        session.interrupt()
        session.interrupt()
        assert await session.ask("and now?") == "Going on."
    states = [event.state async for event in events if isinstance(event, agent_ls.StateChanged)]
    assert states == ["PROCESSING", "AWAITING_INPUT", "IDLE", "PROCESSING", "IDLE", "CLOSED"]


@pytest.mark.req("H6")
@pytest.mark.parametrize("hunk_ids", ["all", "named"])
async def test_review_undoes_a_change_that_others_edited_only_if_confirmed(
    hunk_ids: str, tmp_path: Path
) -> None:
    model = FakeProvider([call("write_file", file_path="new.txt", content="a\nb\nc\n"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, mode="edits")) as session:
        await session.ask("go")
        file = tmp_path / "project" / "new.txt"
        file.write_text("a\nB\nc\n")
        ids = [it.id for hunks in session.hunks().values() for it in hunks] if hunk_ids == "named" else None
        (hunk_id,) = (it.id for hunks in session.hunks().values() for it in hunks)
        reasons = [f"new.txt:1 ({hunk_id}): {TYPED_INSIDE}"]
        assert await session.review("undo", ids) == reasons and file.exists()
        assert await session.review("undo", ids, confirm=True) == [] and not file.exists()


@pytest.mark.req("H6")
async def test_each_reason_of_a_review_names_the_file_the_line_and_the_change(tmp_path: Path) -> None:
    names = ("a.txt", "b.txt")
    writes = [call("write_file", file_path=name, content="a\nb\n") for name in names]
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([writes[0], writes[1], text("Done.")]), mode="edits")
    ) as session:
        await session.ask("go")
        for name in names:
            (tmp_path / "project" / name).write_text("a\nB\n")
        ids = {Path(path).name: hunks[0].id for path, hunks in session.hunks().items()}
        reasons = await session.review("undo")
        assert sorted(reasons) == [f"{name}:1 ({ids[name]}): {TYPED_INSIDE}" for name in names]
        await session.review("keep", [ids["a.txt"]])
        (kept, unknown) = sorted(await session.review("undo", [ids["a.txt"], "h-0"]))
        assert kept.startswith(f"a.txt ({ids['a.txt']}): ") and unknown == f"h-0: {NOT_LISTED}"


@pytest.mark.req("L7")
@pytest.mark.parametrize("blank", [" ", "\t\n"])
async def test_a_blank_effort_is_refused_before_a_provider_could_refuse_it(
    tmp_path: Path, blank: str
) -> None:
    with pytest.raises(agent_ls.AppError):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), effort=blank))
    async with agent_ls.open_session(**options(tmp_path, FakeProvider())) as session:
        with pytest.raises(agent_ls.AppError):
            await session.configure(effort=blank)


async def test_settings_choose_mode_review_effort_and_model_as_the_arguments_do(tmp_path: Path) -> None:
    made = tmp_path / "project" / "made"
    touch = call("shell", command="touch made")
    chosen = {"mode": "full", "model": "own-model", "effort": "high"}
    model = FakeProvider([touch, text("One."), touch, text("Two."), touch, text("Three.")])
    given = options(tmp_path, model, settings=chosen, trusted=True)
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        assert made.exists() and (model.requests[0].model, model.requests[0].reasoning_effort) == (
            "own-model",
            "high",
        )
        made.unlink()
        await session.configure(settings={"mode": "ask", "model": "next-model"})
        await session.ask("again")
        assert not made.exists() and model.requests[-1].model == "next-model"
        await session.configure(settings={"mode": "full"}, mode="plan")
        await session.ask("again")
        assert not made.exists()


@pytest.mark.parametrize("argument", [{}, {"review": "after"}], ids=["setting", "argument"])
async def test_an_argument_has_priority_over_the_setting_of_its_name(
    argument: dict[str, Any], tmp_path: Path
) -> None:
    write = call("write_file", file_path="made", content="x\n")
    given = options(
        tmp_path,
        FakeProvider([write, text("Done.")]),
        settings={"mode": "edits", "review": "before", "provider": "none", "model": "other"},
        **argument,
    )
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    assert (tmp_path / "project" / "made").exists() == bool(argument)
