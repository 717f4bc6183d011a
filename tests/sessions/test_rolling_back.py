from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.messages import Role
from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.events.types import FileChange, PlanChanged, Reverted, ToolCallStart
from agent_ls.loop.session import WhenBusy
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.rollback import RollbackRequest, RollbackResult
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Gate, Piece, text, tool_call
from tests.support.session_rig import SessionRig, Talk, running

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


async def three_turns(rig: SessionRig) -> tuple[Talk, list[str]]:
    """Run three turns that change a.txt and create made.txt; return the session and their ids."""
    file = rig.folder / "a.txt"
    file.write_text(OLD)
    talk = await rig.talk(mode="full")
    for words in ("first", "second", "third"):
        await talk.say(words)
    assert file.read_text() == "one\nTWO!\nthree\nFOUR\n"
    return talk, [it.turn_id for it in talk.envelopes if it.kind == "user_input"]


async def back(rig: SessionRig, talk: Talk, at_turn: str, **options: Any) -> RollbackResult:
    wanted = RollbackRequest(
        at_turn, options.pop("conversation", True), options.pop("files", "restore"), **options
    )
    _, done = await rig.manager.revert(talk.session_id, wanted)
    return done


def asked(rig: SessionRig) -> list[str]:
    """Return the user's messages in the last request."""
    return [it.text for it in rig.model.requests[-1].messages if it.role is Role.USER]


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


async def test_roll_back_without_later_changes_restores_files_and_conversation(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, third) = await three_turns(rig)
        done = await back(rig, talk, second)
        assert (done.input_text, done.turns, done.restored_turns) == ("second", (second, third), ())
        assert {Path(it.path).name: (it.action, it.state) for it in done.files} == {
            "a.txt": ("modify", "restored"),
            "made.txt": ("delete", "restored"),
        }
        assert texts(rig.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        await talk.say("other")
        assert asked(rig) == ["first", "other"]
        (event,) = talk.of(Reverted)
        assert (event.revert_id, event.turns) == (done.revert_id, (second, third))


async def test_a_roll_back_can_be_reverted(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (first, second, third) = await three_turns(rig)
        before = texts(rig.folder)
        done = await back(rig, talk, first)
        assert texts(rig.folder) == {"a.txt": OLD}
        again = await back(rig, talk, done.revert_id)
        assert (again.turns, again.restored_turns) == ((), (first, second, third))
        assert texts(rig.folder) == before
        once_more = await back(rig, talk, second)
        assert texts(rig.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        await back(rig, talk, once_more.revert_id)
        assert texts(rig.folder) == before
        await talk.say("last")
        assert asked(rig) == ["first", "second", "third", "last"]


async def test_a_roll_back_persists_and_can_be_reverted_after_reopening_the_session(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, third) = await three_turns(rig)
        session_id = talk.session_id
        done = await back(rig, talk, second)
    async with running(tmp_path, [text("Yes.")]) as rig:
        talk = await rig.reopen(session_id)
        await talk.say("on")
        assert asked(rig) == ["first", "on"]
        again = await back(rig, talk, done.revert_id)
        assert again.restored_turns == (second, third)
        assert texts(rig.folder)["a.txt"] == "one\nTWO!\nthree\nFOUR\n"
    async with running(tmp_path, [text("Yes.")]) as rig:
        # the same for a session that is stored but not open
        wanted = RollbackRequest(second, conversation=True, files="restore")
        live, _ = await rig.manager.revert(session_id, wanted)
        assert texts(rig.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
        assert live.session.state == "IDLE"


async def test_roll_back_keeps_changes_of_the_user_in_other_lines(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, _) = await three_turns(rig)
        file = rig.folder / "a.txt"
        file.write_text("mine\n" + file.read_text())
        await back(rig, talk, second)
        assert file.read_text() == "mine\none\nTWO\nthree\nfour\n"


async def test_roll_back_reports_conflicting_files_and_force_restores_them(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, _) = await three_turns(rig)
        file = rig.folder / "a.txt"
        file.write_text("one\nTWO!\nthree\nmy four\n")
        done = await back(rig, talk, second)
        (conflict,) = [it for it in done.files if it.state == "conflict"]
        assert (conflict.path, [(at.start, at.end) for at in conflict.at]) == (str(file), [(3, 4)])
        assert texts(rig.folder) == {"a.txt": "one\nTWO!\nthree\nmy four\n"}
        forced = await back(rig, talk, second, force=True, conversation=False)
        assert file.read_text() == "one\nTWO\nthree\nfour\n"
        await back(rig, talk, forced.revert_id, conversation=False)
        assert file.read_text() == "one\nTWO!\nthree\nmy four\n"


async def test_a_roll_back_preview_lists_the_changes_without_applying_them(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (first, _, _) = await three_turns(rig)
        before, events = texts(rig.folder), len(talk.envelopes)
        done = await back(rig, talk, first, files="preview")
        assert (done.revert_id, done.input_text) == ("", "first")
        by_name = {Path(it.path).name: it for it in done.files}
        assert by_name["a.txt"].state == by_name["made.txt"].state == "planned"
        assert "-TWO!\n+two\n" in by_name["a.txt"].diff
        assert (texts(rig.folder), len(talk.envelopes)) == (before, events)


async def test_roll_back_of_one_file_keeps_other_files_and_the_conversation_and_informs_the_model(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (first, _, _) = await three_turns(rig)
        path = str(rig.folder / "a.txt")
        await back(rig, talk, first, conversation=False, paths=frozenset((path,)))
        assert texts(rig.folder) == {"a.txt": OLD, "made.txt": "made\n"}
        await talk.say("and?")
        *_, notice, said = asked(rig)
        assert "a.txt" in notice and "made.txt" not in notice
        assert said == "and?"


async def test_roll_back_of_the_conversation_keeps_files_and_informs_the_model(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (first, _, _) = await three_turns(rig)
        before = texts(rig.folder)
        done = await back(rig, talk, first, files="keep")
        assert (texts(rig.folder), done.files) == (before, ())
        await talk.say("anew")
        notice, said = asked(rig)
        assert "keep their changes" in notice
        assert said == "anew"


async def test_roll_back_is_refused_during_a_turn_or_for_an_unknown_turn(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [text("One."), text("Two", gate)]) as rig:
        talk = await rig.talk(mode="full", say="first")
        (first,) = [it.turn_id for it in talk.envelopes if it.kind == "user_input"]
        with pytest.raises(BadChoiceError, match="no-such-turn"):
            await back(rig, talk, "no-such-turn")
        talk.live.session.submit("second")
        await gate.reached.wait()
        with pytest.raises(SessionBusyError):
            await back(rig, talk, first)
        gate.open()
        await talk.until("processing_end", 2)


@pytest.mark.req("H4")
async def test_roll_back_of_an_open_document_is_one_edit_and_keeps_typing(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD})
    async with running(tmp_path, THREE_TURNS, host=host) as rig:
        (rig.folder / "a.txt").write_text("on disk\n")
        talk = await rig.talk(mode="full")
        for words in ("first", "second", "third"):
            await talk.say(words)
        ids = [it.turn_id for it in talk.envelopes if it.kind == "user_input"]
        host.typing[path] = [lambda shown: "typed\n" + shown]  # while the roll back is applied
        await back(rig, talk, ids[0])
        assert host.text(path) == "typed\n" + OLD
        assert host.applied[-1].attribution.label == "roll back"
        assert texts(rig.folder) == {"a.txt": "on disk\n"}


@pytest.mark.req("H6")
async def test_roll_back_closes_hunks_of_rolled_back_turns_and_restores_hunks_of_earlier_turns(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, _) = await three_turns(rig)
        await back(rig, talk, second)
        found = rig.manager.review.open_hunks(session_id=talk.session_id)
        assert [(Path(path).name, [hunk.lines for hunk in hunks]) for path, hunks in found.items()] == [
            ("a.txt", [("TWO\n",)])
        ]
        # `confirm`, because the later turn's change had been merged into the same hunk
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id), confirm=True)
        assert texts(rig.folder) == {"a.txt": OLD}


async def test_roll_back_restores_the_plan(tmp_path: Path) -> None:
    def plan(id_: str, *steps: str) -> CallTool:
        items = [{"step": step, "status": "pending"} for step in steps]
        return call(
            "plan", id_, explanation="", items=[{"text": it["step"], "status": it["status"]} for it in items]
        )

    script: list[Piece] = [plan("p1", "a"), text("One."), plan("p2", "a", "b"), text("Two.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(mode="full", say="first")
        await talk.say("second")
        second = [it.turn_id for it in talk.envelopes if it.kind == "user_input"][1]
        await back(rig, talk, second)
        assert [len(it.items) for it in talk.of(PlanChanged)] == [1, 2, 1]


@pytest.mark.parametrize("when_busy", ["queue", "steer"])
async def test_input_sent_during_a_roll_back_is_queued_and_starts_afterwards(
    tmp_path: Path, when_busy: WhenBusy
) -> None:
    async with running(tmp_path, [text("One."), text("Two.")]) as rig:
        talk = await rig.talk(mode="full", say="first")
        with talk.live.session.at_rest():
            answer = talk.live.session.submit("second", when_busy=when_busy)
            assert answer.queued_id
            with pytest.raises(SessionBusyError), talk.live.session.at_rest():
                pass
        await talk.until("processing_end", 2)
        assert asked(rig) == ["first", "second"]


async def test_fork_after_a_roll_back_has_the_current_conversation(tmp_path: Path) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, (_, second, third) = await three_turns(rig)
        await back(rig, talk, second)
        fork = Talk(await rig.manager.fork(talk.session_id), talk.answers)
        await fork.say("forked")
        assert asked(rig) == ["first", "forked"]
        of_third = Talk(await rig.manager.fork(talk.session_id, third), talk.answers)
        await of_third.say("forked")
        assert asked(rig) == ["first", "second", "third", "forked"]


async def test_roll_back_reports_and_does_not_revert_changes_without_recorded_contents(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, THREE_TURNS) as rig:
        talk, _ = await three_turns(rig)
        fork = Talk(await rig.manager.fork(talk.session_id), talk.answers)
        ids = [it.turn_id for it in fork.envelopes if it.kind == "user_input"]
        done = await back(rig, fork, ids[1])
        assert {Path(it.path).name: it.state for it in done.files} == {
            "a.txt": "unknown",
            "made.txt": "unknown",
        }
        assert texts(rig.folder)["made.txt"] == "made\n"


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
async def test_shell_command_changes_to_files_named_in_the_command_are_recorded_and_rolled_back(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, COMMANDS) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        (rig.folder / "gone.txt").write_text("gone\n")
        (rig.folder / "other.txt").write_text("other\n")
        talk = await rig.talk(mode="full", say="first")
        before = texts(rig.folder)
        await talk.say("second")
        after = texts(rig.folder)
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
        done = await back(rig, talk, second)
        assert texts(rig.folder) == before
        await back(rig, talk, done.revert_id)
        assert texts(rig.folder) == after
        await back(rig, talk, first)
        assert texts(rig.folder) == {"a.txt": OLD, "gone.txt": "gone\n", "other.txt": "other\n"}


async def test_shell_command_changes_to_files_edited_earlier_in_the_session_are_rolled_back(
    tmp_path: Path,
) -> None:
    script: list[Piece] = [
        read("c1"),
        edit("c2", "two", "TWO"),
        text("First."),
        shell("c3", "sed -i s/one/ONE/ *.txt"),
        text("2."),
    ]
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk = await rig.talk(mode="full", say="first")
        session_id = talk.session_id
    async with running(tmp_path, script[3:]) as rig:
        talk = await rig.reopen(session_id)
        await talk.say("second")
        assert texts(rig.folder) == {"a.txt": "ONE\nTWO\nthree\nfour\n"}
        second = [it.turn_id for it in talk.envelopes if it.kind == "user_input"][1]
        await back(rig, talk, second)
        assert texts(rig.folder) == {"a.txt": "one\nTWO\nthree\nfour\n"}
