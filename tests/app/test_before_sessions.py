"""Review before a change is made, with real sessions: what is asked, what waits, what the model is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.app.settings import Settings
from agent_ls.loop.events import (
    ApprovalRequested,
    FileChange,
    Hunk,
    HunkStateChanged,
    ProcessingEnd,
    ToolCallEnd,
)
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.workbench import DEADLINE_S, Bench, Talk, allow, deny, running

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


async def proposed(bench: Bench, talk: Talk) -> list[Hunk]:
    """Waits until the session has proposed something."""
    await talk.until("hunk_state")
    return [hunk for hunks in bench.workbench.review.open_hunks().values() for hunk in hunks]


async def decide(bench: Bench, verdict: Any, **how: Any) -> list[str]:
    changed, refused = await bench.workbench.review.review(verdict=verdict, **how)
    assert not refused
    return [hunk.state for hunk in changed]


@pytest.mark.req("H6", "X8")
async def test_edits_are_asked_about_as_hunks_and_not_as_approvals(work: Path) -> None:
    async with running(work.parent, [[READ], [WHOLE], [edit("keep", "KEEP")], text("done")]) as bench:
        talk = await bench.talk("ask", deny, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            first, last = await proposed(bench, talk)
            assert (work / "a.txt").read_text() == LINES
            assert await decide(bench, "keep", hunk_ids=[first.id]) == ["kept"]
            assert await decide(bench, "undo", hunk_ids=[last.id], comment="leave it") == ["undone"]
            await talk.until("hunk_state", 4)
            assert await decide(bench, "undo", session_id=talk.session_id) == ["undone"]
        assert (work / "a.txt").read_text() == "ONE\nkeep\nlast\n"
        assert talk.of(ApprovalRequested) == []
        _, partly, refused = bench.results()
        assert "kept 1 of its 2 parts" in partly.content and "leave it" in partly.content
        assert not partly.is_error and "+ONE" in partly.content
        assert refused.is_error and "refused your change of a.txt" in refused.content
        assert talk.of(ToolCallEnd)[-1].error_kind == "permission_denied"
        assert talk.of(ProcessingEnd)[-1].reason == "completed"


@pytest.mark.req("H6")
async def test_a_call_that_was_kept_whole_is_told_like_any_other(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], [edit("ONE", "one")], text("done")]) as bench:
        talk = await bench.talk("edits", deny, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(bench, talk)
            await decide(bench, "keep", session_id=talk.session_id)
            await talk.until("hunk_state", 3)
            await decide(bench, "keep", session_id=talk.session_id)
        _, first, second = bench.results()
        assert "1 replacement" in first.content and "1 replacement" in second.content
        assert [change.hunks for change in talk.of(FileChange)] == [(), ()]


@pytest.mark.req("X8", "X6")
@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "../outside.txt", ".vscode/settings.json", "AGENTS.md", ".bashrc"]
)
async def test_what_is_always_asked_is_asked_before_it_is_proposed(work: Path, path: str) -> None:
    (work.parent / "outside.txt").write_text("one\n")
    script: Script = [[call("write_file", file_path=path, content="ONE\n")], text("done")]
    async with running(work.parent, script) as bench:
        talk = await bench.talk("full", deny, review="before")
        await talk.say("go")
        assert talk.of(ApprovalRequested)
        assert talk.of(HunkStateChanged) == []
        assert not (work / path).exists() or (work / path).read_text() == "one\n"


@pytest.mark.req("X8")
async def test_what_was_asked_and_allowed_is_still_proposed(work: Path) -> None:
    script: Script = [[call("write_file", file_path="AGENTS.md", content="ONE\n")], text("done")]
    async with running(work.parent, script) as bench:
        talk = await bench.talk("ask", allow, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            (hunk,) = await proposed(bench, talk)
            assert len(talk.of(ApprovalRequested)) == 1 and not (work / "AGENTS.md").exists()
            await decide(bench, "keep", hunk_ids=[hunk.id])
        assert (work / "AGENTS.md").read_text() == "ONE\n"


@pytest.mark.req("X8")
async def test_in_plan_mode_nothing_is_proposed(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], text("done")]) as bench:
        talk = await bench.talk("plan", deny, review="before")
        await talk.say("go")
        assert talk.of(HunkStateChanged) == [] and (work / "a.txt").read_text() == LINES


@pytest.mark.req("X8")
async def test_a_call_keeps_the_setting_that_it_was_judged_by(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], [edit("keep", "KEEP")], text("done")]) as bench:
        talk = await bench.talk("ask", allow, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(bench, talk)
            await talk.live.configure(review="after")
            assert (work / "a.txt").read_text() == LINES
            await decide(bench, "keep", session_id=talk.session_id)
        assert len(talk.of(ApprovalRequested)) == 1  # the second edit is judged by the new setting
        assert (work / "a.txt").read_text() == "ONE\nKEEP\nlast\n"


@pytest.mark.req("H6", "L7")
async def test_an_interrupt_drops_what_is_proposed(work: Path) -> None:
    async with running(work.parent, [[READ], [edit()], text("done")]) as bench:
        talk = await bench.talk("ask", deny, review="before")
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(bench, talk)
            talk.live.session.interrupt()
        assert talk.of(HunkStateChanged)[-1].hunks[0].state == "gone"
        assert bench.workbench.review.open_hunks() == {}
        assert (work / "a.txt").read_text() == LINES


@pytest.mark.req("H6")
async def test_before_is_a_setting_and_holds_in_an_open_document(work: Path) -> None:
    path = str(work / "a.txt")
    host = FakeEditorHost({path: LINES})
    settings = Settings(walkthrough_pause_ms=0, review="before")
    async with running(work.parent, [[READ], [edit()], text("done")], settings=settings, host=host) as bench:
        talk = await bench.talk("ask", deny)
        async with anyio.create_task_group() as group:
            group.start_soon(talk.say, "go")
            await proposed(bench, talk)
            assert host.text(path) == LINES
            with anyio.fail_after(DEADLINE_S):
                await decide(bench, "keep", session_id=talk.session_id)
        assert host.text(path) == LINES.replace("one", "ONE")
