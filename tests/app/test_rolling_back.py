from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.app.errors import BadChoiceError
from agent_ls.app.rolling_back import RolledBack, Wanted
from agent_ls.llm.messages import Role
from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.events import FileChange, PlanChanged, Reverted, ToolCallStart
from agent_ls.loop.session import WhenBusy
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Gate, Piece, text, tool_call
from tests.support.workbench import Bench, Talk, running

pytestmark = pytest.mark.req("X10", "H2")

OLD = "one\ntwo\nthree\nfour\n"


def call(name: str, id_: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id_)


def edit(id_: str, old: str, new: str, name: str = "a.txt") -> CallTool:
    return call("edit_file", id_, file_path=name, old_string=old, new_string=new)


def read(id_: str, name: str = "a.txt") -> CallTool:
    return call("read_file", id_, file_path=name)


def write(id_: str, name: str, content: str) -> CallTool:
    return call("write_file", id_, file_path=name, content=content)


THREE_TURNS: Sequence[Piece | Sequence[Piece]] = [
    read("c1"),
    edit("c2", "two", "TWO"),
    text("First."),
    [edit("c3", "four", "FOUR"), write("c4", "made.txt", "made\n")],
    text("Second."),
    edit("c5", "TWO", "TWO!"),
    text("Third."),
]


async def three_turns(bench: Bench) -> tuple[Talk, list[str]]:
    """Turns that change a.txt and make made.txt, and their ids."""
    file = bench.folder / "a.txt"
    file.write_text(OLD)
    talk = await bench.talk(mode="full")
    for words in ("first", "second", "third"):
        await talk.say(words)
    assert file.read_text() == "one\nTWO!\nthree\nFOUR\n"
    return talk, [it.turn_id for it in talk.envelopes if it.kind == "user_input"]


async def back(bench: Bench, talk: Talk, at_turn: str, **options: Any) -> RolledBack:
    wanted = Wanted(at_turn, options.pop("conversation", True), options.pop("files", "restore"), **options)
    _, done = await bench.workbench.revert(talk.session_id, wanted)
    return done


def asked(bench: Bench) -> list[str]:
    """What the user had said, by the last request."""
    return [it.text for it in bench.model.requests[-1].messages if it.role is Role.USER]


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


async def test_roll_back_when_nobody_came_after_the_agent_then_files_and_conversation_are_as_before_the_input(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, third) = await three_turns(bench)
        done = await back(bench, talk, second)
        assert (done.input_text, done.turns, done.restored_turns) == ("second", (second, third), ())
        assert {Path(it.path).name: (it.action, it.state) for it in done.files} == {
            "a.txt": ("modify", "restored"),
            "made.txt": ("delete", "restored"),
        }
        assert texts(bench.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        await talk.say("other")
        assert asked(bench) == ["first", "other"]
        (event,) = talk.of(Reverted)
        assert (event.revert_id, event.turns) == (done.revert_id, (second, third))


async def test_roll_back_when_it_is_itself_rolled_back_then_all_is_there_again(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (first, second, third) = await three_turns(bench)
        before = texts(bench.folder)
        done = await back(bench, talk, first)
        assert texts(bench.folder) == {"a.txt": OLD}
        again = await back(bench, talk, done.revert_id)
        assert (again.turns, again.restored_turns) == ((), (first, second, third))
        assert texts(bench.folder) == before
        once_more = await back(bench, talk, second)
        assert texts(bench.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        await back(bench, talk, once_more.revert_id)
        assert texts(bench.folder) == before
        await talk.say("last")
        assert asked(bench) == ["first", "second", "third", "last"]


async def test_roll_back_when_the_session_is_opened_again_then_the_next_process_knows_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, third) = await three_turns(bench)
        session_id = talk.session_id
        done = await back(bench, talk, second)
    async with running(tmp_path, [text("Yes.")]) as bench:
        talk = await bench.reopen(session_id)
        await talk.say("on")
        assert asked(bench) == ["first", "on"]
        again = await back(bench, talk, done.revert_id)
        assert again.restored_turns == (second, third)
        assert texts(bench.folder)["a.txt"] == "one\nTWO!\nthree\nFOUR\n"
    async with running(tmp_path, [text("Yes.")]) as bench:
        # Also of a session that is only stored.
        wanted = Wanted(second, conversation=True, files="restore")
        live, _ = await bench.workbench.revert(session_id, wanted)
        assert texts(bench.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        assert live.session.state == "IDLE"


async def test_roll_back_when_the_user_changed_other_lines_then_they_stay(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, _) = await three_turns(bench)
        file = bench.folder / "a.txt"
        file.write_text("mine\n" + file.read_text())
        await back(bench, talk, second)
        assert file.read_text() == "mine\none\nTWO\nthree\nfour\n"


async def test_roll_back_when_the_user_changed_the_same_lines_then_the_file_is_left_and_told_and_force_restores(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, _) = await three_turns(bench)
        file = bench.folder / "a.txt"
        file.write_text("one\nTWO!\nthree\nmy four\n")
        done = await back(bench, talk, second)
        (told,) = [it for it in done.files if it.state == "conflict"]
        assert (told.path, [(at.start, at.end) for at in told.at]) == (str(file), [(3, 4)])
        assert texts(bench.folder) == {"a.txt": "one\nTWO!\nthree\nmy four\n"}
        forced = await back(bench, talk, second, force=True, conversation=False)
        assert file.read_text() == "one\nTWO\nthree\nfour\n"
        await back(bench, talk, forced.revert_id, conversation=False)
        assert file.read_text() == "one\nTWO!\nthree\nmy four\n"


async def test_preview_then_says_what_would_be_done_and_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (first, _, _) = await three_turns(bench)
        before, events = texts(bench.folder), len(talk.envelopes)
        done = await back(bench, talk, first, files="preview")
        assert (done.revert_id, done.input_text) == ("", "first")
        by_name = {Path(it.path).name: it for it in done.files}
        assert by_name["a.txt"].state == by_name["made.txt"].state == "planned"
        assert "-TWO!\n+two\n" in by_name["a.txt"].diff
        assert (texts(bench.folder), len(talk.envelopes)) == (before, events)


async def test_roll_back_of_one_file_then_the_others_and_the_conversation_stay_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (first, _, _) = await three_turns(bench)
        path = str(bench.folder / "a.txt")
        await back(bench, talk, first, conversation=False, paths=frozenset((path,)))
        assert texts(bench.folder) == {"a.txt": OLD, "made.txt": "made\n"}
        await talk.say("and?")
        *_, notice, said = asked(bench)
        assert "a.txt" in notice and "made.txt" not in notice
        assert said == "and?"


async def test_roll_back_of_the_conversation_alone_then_files_stay_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (first, _, _) = await three_turns(bench)
        before = texts(bench.folder)
        done = await back(bench, talk, first, files="keep")
        assert (texts(bench.folder), done.files) == (before, ())
        await talk.say("anew")
        notice, said = asked(bench)
        assert "left as they are" in notice
        assert said == "anew"


async def test_roll_back_when_a_turn_runs_or_does_not_exist_then_it_is_refused(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [text("One."), text("Two", gate)]) as bench:
        talk = await bench.talk(mode="full")
        await talk.say("first")
        (first,) = [it.turn_id for it in talk.envelopes if it.kind == "user_input"]
        with pytest.raises(BadChoiceError, match="no-such-turn"):
            await back(bench, talk, "no-such-turn")
        talk.live.session.submit("second")
        await gate.reached.wait()
        with pytest.raises(SessionBusyError):
            await back(bench, talk, first)
        gate.open()
        await talk.until("processing_end", 2)


@pytest.mark.req("H4")
async def test_roll_back_of_an_open_document_then_it_is_one_edit_and_typing_stays(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD})
    async with running(tmp_path, THREE_TURNS, host=host) as bench:
        (bench.folder / "a.txt").write_text("on disk\n")
        talk = await bench.talk(mode="full")
        for words in ("first", "second", "third"):
            await talk.say(words)
        ids = [it.turn_id for it in talk.envelopes if it.kind == "user_input"]
        host.typing[path] = [lambda shown: "typed\n" + shown]  # while the roll back is applied
        await back(bench, talk, ids[0])
        assert host.text(path) == "typed\n" + OLD
        assert host.applied[-1].attribution.label == "roll back"
        assert texts(bench.folder) == {"a.txt": "on disk\n"}


@pytest.mark.req("H6")
async def test_roll_back_then_hunks_of_the_turns_wait_no_longer_and_those_before_do(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, _) = await three_turns(bench)
        await back(bench, talk, second)
        found = bench.workbench.review.open_hunks(session_id=talk.session_id)
        assert [(Path(path).name, [hunk.lines for hunk in hunks]) for path, hunks in found.items()] == [
            ("a.txt", [("TWO\n",)])
        ]
        # The later turn had made one hunk of its change and of this one: what stands there now is not its own words.
        await bench.workbench.review.review(verdict="undo", session_id=talk.session_id, confirm=True)
        assert texts(bench.folder) == {"a.txt": OLD}


async def test_roll_back_when_the_plan_was_another_then_it_is_that_one_again(tmp_path: Path) -> None:
    def plan(id_: str, *steps: str) -> CallTool:
        items = [{"step": step, "status": "pending"} for step in steps]
        return call(
            "plan", id_, explanation="", items=[{"text": it["step"], "status": it["status"]} for it in items]
        )

    script: list[Piece] = [plan("p1", "a"), text("One."), plan("p2", "a", "b"), text("Two.")]
    async with running(tmp_path, script) as bench:
        talk = await bench.talk(mode="full")
        await talk.say("first")
        await talk.say("second")
        second = [it.turn_id for it in talk.envelopes if it.kind == "user_input"][1]
        await back(bench, talk, second)
        assert [len(it.items) for it in talk.of(PlanChanged)] == [1, 2, 1]


@pytest.mark.parametrize("when_busy", ["queue", "steer"])
async def test_input_sent_while_a_session_is_rolled_back_is_queued_and_begins_afterwards(
    tmp_path: Path, when_busy: WhenBusy
) -> None:
    async with running(tmp_path, [text("One."), text("Two.")]) as bench:
        talk = await bench.talk(mode="full")
        await talk.say("first")
        with talk.live.session.at_rest():
            answer = talk.live.session.submit("second", when_busy=when_busy)
            assert answer.queued_id
            with pytest.raises(SessionBusyError), talk.live.session.at_rest():
                pass
        await talk.until("processing_end", 2)
        assert asked(bench) == ["first", "second"]


async def test_fork_after_a_roll_back_has_the_conversation_as_it_is_now(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, (_, second, third) = await three_turns(bench)
        await back(bench, talk, second)
        fork = Talk(await bench.workbench.fork(talk.session_id), talk.answers)
        await fork.say("forked")
        assert asked(bench) == ["first", "forked"]
        of_third = Talk(await bench.workbench.fork(talk.session_id, third), talk.answers)
        await of_third.say("forked")
        assert asked(bench) == ["first", "second", "third", "forked"]


async def test_change_whose_contents_no_record_names_is_told_and_left_alone(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as bench:
        talk, _ = await three_turns(bench)
        fork = Talk(await bench.workbench.fork(talk.session_id), talk.answers)
        ids = [it.turn_id for it in fork.envelopes if it.kind == "user_input"]
        done = await back(bench, fork, ids[1])
        assert {Path(it.path).name: it.state for it in done.files} == {
            "a.txt": "unknown",
            "made.txt": "unknown",
        }
        assert texts(bench.folder)["made.txt"] == "made\n"


def shell(id_: str, command: str) -> CallTool:
    return call("shell", id_, command=command)


COMMANDS: Sequence[Piece | Sequence[Piece]] = [
    read("c1"),
    edit("c2", "two", "TWO"),
    text("First."),
    shell(
        "c3", "sed -i s/one/ONE/ a.txt && rm gone.txt && printf new > 'made here.txt' && cp a.txt copy.txt"
    ),
    text("Second."),
]


@pytest.mark.req("X10", "H6")
async def test_what_a_command_changed_of_files_that_it_names_is_filed_and_rolled_back(tmp_path: Path) -> None:
    async with running(tmp_path, COMMANDS) as bench:
        (bench.folder / "a.txt").write_text(OLD)
        (bench.folder / "gone.txt").write_text("gone\n")
        (bench.folder / "other.txt").write_text("other\n")
        talk = await bench.talk(mode="full")
        await talk.say("first")
        before = texts(bench.folder)
        await talk.say("second")
        after = texts(bench.folder)
        changes = [
            event for event in talk.of(FileChange) if event.call_id == talk.of(ToolCallStart)[-1].call_id
        ]
        assert {(Path(it.path).name, it.action) for it in changes} == {
            ("a.txt", "modify"),
            ("gone.txt", "delete"),
            ("made here.txt", "create"),
            ("copy.txt", "create"),
        }
        first, second = (it.turn_id for it in talk.envelopes if it.kind == "user_input")
        done = await back(bench, talk, second)
        assert texts(bench.folder) == before
        await back(bench, talk, done.revert_id)
        assert texts(bench.folder) == after
        await back(bench, talk, first)
        assert texts(bench.folder) == {"a.txt": OLD, "gone.txt": "gone\n", "other.txt": "other\n"}


async def test_a_command_that_changes_what_the_session_wrote_before_is_rolled_back_though_it_names_no_file(
    tmp_path: Path,
) -> None:
    script: list[Piece] = [
        read("c1"),
        edit("c2", "two", "TWO"),
        text("First."),
        shell("c3", "sed -i s/one/ONE/ *.txt"),
        text("2."),
    ]
    async with running(tmp_path, script) as bench:
        (bench.folder / "a.txt").write_text(OLD)
        talk = await bench.talk(mode="full")
        await talk.say("first")
        session_id = talk.session_id
    async with running(tmp_path, script[3:]) as bench:
        talk = await bench.reopen(session_id)
        await talk.say("second")
        assert texts(bench.folder) == {"a.txt": "ONE\nTWO\nthree\nfour\n"}
        second = [it.turn_id for it in talk.envelopes if it.kind == "user_input"][1]
        await back(bench, talk, second)
        assert texts(bench.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
