"""The review service with real sessions: which notices the model gets, when, and how often."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.llm.requests import Request
from agent_ls.loop.events.types import FileChange, HunkStateChanged, SessionEnd
from agent_ls.loop.turns import SteeringTurn
from agent_ls.services.review.decision_request import Selection
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Gate, Piece, problem_of, text, tool_call
from tests.support.session_rig import SessionRig, Talk, running

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]


def read(path: str = "a.txt") -> CallTool:
    return tool_call("read_file", json.dumps({"file_path": path}), id="c-read")


def edit(old: str, new: str, path: str = "a.txt", call_id: str = "c-edit") -> CallTool:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return tool_call("edit_file", json.dumps(arguments), id=call_id)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\nkeep\nlast\n")
    return folder


def hunk_ids(talk: Talk) -> list[str]:
    return [hunk.id for change in talk.of(FileChange) for hunk in change.hunks]


def reviews(request: Request) -> list[str]:
    """Return the notices about the review in a request."""
    return [m.text for m in request.messages if "Review:" in m.text]


async def decide(rig: SessionRig, talk: Talk, decision: Any, ids: Sequence[str], **how: Any) -> list[str]:
    changed, refused = await rig.manager.review.review(decision, Selection(hunk_ids=ids), **how)
    assert not refused
    return [hunk.state for hunk in changed]


@pytest.mark.req("H6", "L6")
@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_a_review_decision_during_a_model_call_is_sent_once_with_the_next_model_call(
    work: Path, decision: str
) -> None:
    gate = Gate()
    script: Script = [
        [read()],
        [edit("one", "ONE")],
        [text("thinking", gate), read()],
        [read()],
        [text("done")],
    ]
    async with running(work.parent, script) as rig, anyio.create_task_group() as group:
        talk = await rig.talk("edits")
        group.start_soon(talk.say, "go")
        await gate.reached.wait()
        assert await decide(rig, talk, decision, hunk_ids(talk), comment="because") == [
            {"keep": "kept", "undo": "undone"}[decision]
        ]
        gate.open()
        await talk.until("processing_end")
        counts = [len(reviews(request)) for request in rig.model.requests]
        assert counts == [0, 0, 0, 1, 1], "in the history once, from the next call on"
        assert "because" in reviews(rig.model.requests[-1])[0]
        assert all(problem_of(request.messages) == "" for request in rig.model.requests)
        turns = [turn for turn in talk.live.session.history.turns if isinstance(turn, SteeringTurn)]
        assert [turn.source for turn in turns] == ["review"]


@pytest.mark.req("H6", "L6")
async def test_a_review_decision_between_turns_is_sent_once_with_the_next_user_input(work: Path) -> None:
    async with running(work.parent, [[read()], [edit("one", "ONE")], text("done")]) as rig:
        talk = await rig.talk("edits", say="go")
        await decide(rig, talk, "undo", hunk_ids(talk))
        assert (work / "a.txt").read_text() == "one\nkeep\nlast\n"
        await talk.say("and now?")
        await talk.say("and now?")
        assert [len(reviews(request)) for request in rig.model.requests] == [0, 0, 0, 1, 1]
        assert problem_of(rig.model.requests[-1].messages) == ""


@pytest.mark.req("H6", "R3")
async def test_a_review_decision_before_a_restart_is_sent_once_after_the_resume(work: Path) -> None:
    async with running(work.parent, [[read()], [edit("one", "ONE")], text("done")]) as rig:
        talk = await rig.talk("edits", say="go")
        await decide(rig, talk, "undo", hunk_ids(talk))
    async with running(work.parent) as rig:
        again = await rig.reopen(talk.session_id)
        await again.say("and now?")
        await again.say("and now?")
        assert [len(reviews(request)) for request in rig.model.requests] == [1, 1]


async def test_what_the_user_has_looked_at_is_known_after_a_restart(work: Path) -> None:
    async with running(work.parent, [[read()], [edit("one", "ONE")], text("done")]) as rig:
        talk = await rig.talk("edits", say="go")
        rig.manager.review.look(hunk_ids(talk))
        rig.manager.review.look(hunk_ids(talk))
        assert [event.by for event in talk.of(HunkStateChanged)] == ["look"]
    async with running(work.parent) as rig:
        await rig.reopen(talk.session_id)
        ((hunk,),) = rig.manager.review.open_hunks().values()
        assert hunk.looked
        (work / "a.txt").write_text("ONE more\nkeep\nlast\n")
        await rig.manager.review.look_at_disk(str(work / "a.txt"))
        ((hunk,),) = rig.manager.review.open_hunks().values()
        assert not hunk.looked


@pytest.mark.req("H6", "X9")
async def test_an_edit_after_an_undo_requires_reading_the_file_again(work: Path) -> None:
    gate = Gate()
    script: Script = [
        [read()],
        [edit("one", "ONE")],
        [text("now", gate), edit("ONE", "1", call_id="c-2")],
        [read()],
        [edit("one", "uno", call_id="c-3")],
    ]
    async with running(work.parent, script) as rig, anyio.create_task_group() as group:
        talk = await rig.talk("edits")
        group.start_soon(talk.say, "go")
        await gate.reached.wait()
        await decide(rig, talk, "undo", hunk_ids(talk))
        gate.open()
        await talk.until("processing_end")
        errors = [result.is_error for result in rig.results()]
    assert errors == [False, False, True, False, False]
    assert (work / "a.txt").read_text() == "uno\nkeep\nlast\n"


@pytest.mark.req("H6")
async def test_closing_a_document_with_unsaved_agent_edits_is_reported_to_the_model_once(work: Path) -> None:
    path = str(work / "a.txt")
    host = FakeEditorHost()
    script: Script = [[read()], [edit("one", "ONE")], text("done")]
    async with running(work.parent, script, host=host) as rig:
        review = rig.manager.review
        host.open(path, "one\nkeep\nlast\n")
        review.document_opened(path, "one\nkeep\nlast\n")
        talk = await rig.talk("edits", say="go")
        assert host.text(path) == "ONE\nkeep\nlast\n" and (work / "a.txt").read_text() == "one\nkeep\nlast\n"
        host.close(path)
        review.document_closed(path)
        await talk.until("hunk_state")
        (event,) = talk.of(HunkStateChanged)
        assert [hunk.state for hunk in event.hunks] == ["gone"] and event.by == "editor"
        await talk.say("and now?")
        await talk.say("and now?")
        assert [len(reviews(request)) for request in rig.model.requests[-2:]] == [1, 1]
        assert "closed without saving" in reviews(rig.model.requests[-1])[0]


@pytest.mark.req("H6", "E8")
async def test_no_notices_of_hunks_are_sent_after_the_session_has_ended(work: Path) -> None:
    async with running(work.parent, [[read()], [edit("one", "ONE")]]) as rig:
        talk = await rig.talk("edits", say="go")
        talk.live.session.abort()
        await talk.live.ended.wait()
        (work / "a.txt").write_text("one\nkeep\nlast\n")
        rig.manager.review.user_edit(str(work / "a.txt"), "one\nkeep\nlast\n")
        assert isinstance(talk.envelopes[-1].event, SessionEnd)
        again = await rig.reopen(talk.session_id)
        assert [hunk.state for event in again.of(HunkStateChanged) for hunk in event.hunks] == ["gone"]
        assert rig.manager.review.open_hunks() == {}
