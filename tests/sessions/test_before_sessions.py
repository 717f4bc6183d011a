"""Review before a change, with real sessions: proposals, pending decisions, and the results that the model gets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.loop.events.types import (
    ApprovalRequested,
    FileChange,
    Hunk,
    HunkStateChanged,
    ProcessingEnd,
    ToolCallEnd,
)
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.settings.model import Settings
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, allow, deny, running

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]

LINES = "one\nkeep\nlast\n"


def call(name: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id=f"c-{name}")


def edit(old: str = "one", new: str = "ONE", path: str = "a.txt") -> CallTool:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


READ = call("read_file", file_path="a.txt")
WHOLE = call("write_file", file_path="a.txt", content="ONE\nkeep\nLAST\n")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("one\n")
    (folder / "a.txt").write_text(LINES)
    return folder


async def proposed(rig: SessionRig, talk: Talk) -> list[Hunk]:
    """Wait until the session has proposed hunks; return them."""
    await talk.until("hunk_state")
    return [hunk for hunks in rig.manager.review.open_hunks().values() for hunk in hunks]


async def decide(rig: SessionRig, decision: Any, comment: str = "", **select: Any) -> list[str]:
    changed, refused = await rig.manager.review.review(decision, Selection(**select), comment=comment)
    assert not refused
    return [hunk.state for hunk in changed]


@pytest.mark.req("H6", "X8")
async def test_with_review_before_edits_are_proposed_as_hunks_without_approval_requests(work: Path) -> None:
    async with running(work.parent, [[READ], [WHOLE], [edit("keep", "KEEP")], text("done")]) as rig:
        talk = await rig.talk("ask", deny, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            first, last = await proposed(rig, talk)
            assert (work / "a.txt").read_text() == LINES
            assert await decide(rig, "keep", hunk_ids=[first.id]) == ["kept"]
            assert await decide(rig, "undo", hunk_ids=[last.id], comment="leave it") == ["undone"]
            await talk.until("hunk_state", 4)
            assert await decide(rig, "undo", session_id=talk.session_id) == ["undone"]
        assert (work / "a.txt").read_text() == "ONE\nkeep\nlast\n"
        assert talk.of(ApprovalRequested) == []
        _, partly, refused = rig.results()
        assert "leave it" in partly.content
        assert not partly.is_error and "+ONE" in partly.content
        assert refused.is_error and "change of a.txt" in refused.content
        assert talk.of(ToolCallEnd)[-1].error_kind == "permission_denied"
        assert talk.of(ProcessingEnd)[-1].reason == "completed"


@pytest.mark.req("H6")
async def test_an_edit_whose_hunks_are_all_kept_has_the_same_tool_result_as_without_review(
    work: Path,
) -> None:
    async with running(work.parent, [[READ], [edit()], [edit("ONE", "one")], text("done")]) as rig:
        talk = await rig.talk("edits", deny, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(rig, talk)
            await decide(rig, "keep", session_id=talk.session_id)
            await talk.until("hunk_state", 3)
            await decide(rig, "keep", session_id=talk.session_id)
        _, first, second = rig.results()
        assert "1 replacement" in first.content and "1 replacement" in second.content
        assert [change.hunks for change in talk.of(FileChange)] == [(), ()]


@pytest.mark.req("X8", "X6")
@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "../outside.txt", ".vscode/settings.json", "AGENTS.md", ".bashrc"]
)
async def test_edits_that_always_need_approval_are_not_proposed_if_the_approval_is_denied(
    work: Path, path: str
) -> None:
    (work.parent / "outside.txt").write_text("one\n")
    script: Script = [[call("write_file", file_path=path, content="ONE\n")], text("done")]
    async with running(work.parent, script) as rig:
        talk = await rig.talk("full", deny, review="before", say="go")
        assert talk.of(ApprovalRequested)
        assert talk.of(HunkStateChanged) == []
        assert not (work / path).exists() or (work / path).read_text() == "one\n"


@pytest.mark.req("X8")
async def test_an_edit_that_always_needs_approval_is_proposed_after_it_is_allowed(work: Path) -> None:
    script: Script = [[call("write_file", file_path="AGENTS.md", content="ONE\n")], text("done")]
    async with running(work.parent, script) as rig:
        talk = await rig.talk("ask", allow, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            (hunk,) = await proposed(rig, talk)
            assert len(talk.of(ApprovalRequested)) == 1 and not (work / "AGENTS.md").exists()
            await decide(rig, "keep", hunk_ids=[hunk.id])
        assert (work / "AGENTS.md").read_text() == "ONE\n"


@pytest.mark.req("X8")
async def test_plan_mode_proposes_nothing(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], text("done")]) as rig:
        talk = await rig.talk("plan", deny, review="before", say="go")
        assert talk.of(HunkStateChanged) == [] and (work / "a.txt").read_text() == LINES


@pytest.mark.req("X8")
async def test_a_review_setting_change_does_not_apply_to_an_already_proposed_edit(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], [edit("keep", "KEEP")], text("done")]) as rig:
        talk = await rig.talk("ask", allow, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(rig, talk)
            await talk.live.configure(review="after")
            assert (work / "a.txt").read_text() == LINES
            await decide(rig, "keep", session_id=talk.session_id)
        assert len(talk.of(ApprovalRequested)) == 1  # the new setting applies to the second edit
        assert (work / "a.txt").read_text() == "ONE\nKEEP\nlast\n"


@pytest.mark.req("H6")
async def test_the_review_before_setting_proposes_hunks_in_an_open_document(work: Path) -> None:
    path = str(work / "a.txt")
    host = FakeEditorHost({path: LINES})
    settings = Settings(walkthrough_pause_ms=0, review="before")
    async with running(work.parent, [[READ], [edit()], text("done")], settings=settings, host=host) as rig:
        talk = await rig.talk("ask", deny)
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(rig, talk)
            assert host.text(path) == LINES
            with anyio.fail_after(DEADLINE_S):
                await decide(rig, "keep", session_id=talk.session_id)
        assert host.text(path) == LINES.replace("one", "ONE")
