"""Changes by a background process are recorded at each safe boundary and at its end; changes by others are not."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.loop.events.types import FileChange, TerminalExit, ToolCallStart, Warning
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.services.review.decision_request import Selection
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
WAIT = "cat ../go > /dev/null"
"""Wait until the test writes into the pipe `go` next to the project. The checks of the turn that starts the
process must not find the temporary file of sed.
"""
TELL = "echo > ../done"
"""Continue when the test reads the pipe `done`."""


def background(command: str) -> Piece:
    return tool_call("shell", json.dumps({"command": command, "background": True}))


def foreground(command: str) -> Piece:
    return tool_call("shell", json.dumps({"command": command}))


async def started(rig: SessionRig) -> Talk:
    """Return a session whose model has started its process and whose turn has ended."""
    for name in ("go", "done"):
        os.mkfifo(rig.folder.parent / name)
    (rig.folder / "a.txt").write_text(OLD)
    talk = await rig.talk(mode="full", say="Start it.")
    return talk


async def go(rig: SessionRig) -> None:
    with anyio.fail_after(DEADLINE_S):
        await anyio.Path(rig.folder.parent / "go").write_text("")


async def process_continues(rig: SessionRig) -> None:
    with anyio.fail_after(DEADLINE_S):
        await anyio.Path(rig.folder.parent / "done").read_text()


def script(command: str, *later: Piece | Sequence[Piece]) -> list[Piece | Sequence[Piece]]:
    return [background(command), text("Started."), *later, *[text("Done.")] * 3]


def changed(talk: Talk) -> list[tuple[str, str, int]]:
    return [(Path(it.path).name, it.action, len(it.hunks)) for it in talk.of(FileChange)]


def call_of(talk: Talk, number: int = 0) -> str:
    return talk.of(ToolCallStart)[number].call_id


@pytest.mark.req("H6", "T5")
async def test_changes_of_a_process_that_ends_between_turns_are_hunks_of_its_tool_call_and_can_be_undone(
    tmp_path: Path,
) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; echo new > b.txt"
    async with running(tmp_path, script(command)) as rig:
        talk = await started(rig)
        assert changed(talk) == []
        await go(rig)
        await talk.until(TerminalExit.kind)
        assert changed(talk) == [("a.txt", "modify", 1), ("b.txt", "create", 1)]
        hunks = [hunk for it in talk.of(FileChange) for hunk in it.hunks]
        assert {hunk.call_id for hunk in hunks} == {call_of(talk)} and all(hunk.turn_id for hunk in hunks)
        await talk.say("And?")
        words = "Changed while the background process p1 ran, for the user to review: a.txt, b.txt (new)."
        assert [words in it for it in rig.user_texts()].count(True) == 1
        _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert not refused
        assert (rig.folder / "a.txt").read_text() == OLD and not (rig.folder / "b.txt").exists()


@pytest.mark.req("H6", "T5")
async def test_file_changes_of_a_running_background_process_are_reported_in_the_next_turn(
    tmp_path: Path,
) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}; sed -i s/six/SIX/ a.txt; {TELL}; {WAIT}"
    async with running(tmp_path, script(command)) as rig:
        talk = await started(rig)
        await go(rig)
        await process_continues(rig)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)]
        assert "review: a.txt" in str(rig.user_texts())
        await go(rig)
        await process_continues(rig)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)] * 2
        assert not talk.of(TerminalExit)
        ids = [hunk.id for it in talk.of(FileChange) for hunk in it.hunks]
        assert len(set(ids)) == 2
        _, refused = await rig.manager.review.review("undo", Selection(hunk_ids=ids))
        assert not refused and (rig.folder / "a.txt").read_text() == OLD
        await talk.say("Go on.")
        assert len(changed(talk)) == 2, "the undo was taken for a change of the process's"


@pytest.mark.req("H6", "H4")
async def test_user_and_tool_changes_during_a_background_process_are_not_attributed_to_the_process(
    tmp_path: Path,
) -> None:
    edit = tool_call("write_file", json.dumps({"file_path": "mine.txt", "content": "mine\n"}))
    command = f"echo x > b.txt; {TELL}; {WAIT}"
    later = (foreground("sed -i s/six/SIX/ a.txt"), edit)
    async with running(tmp_path, script(command, *later)) as rig:
        talk = await started(rig)
        await process_continues(rig)
        saved = rig.folder / "saved.txt"
        saved.write_text("what the user saved\n")
        rig.manager.review.document_saved(str(saved), "what the user saved\n")
        await talk.say("Work on.")
        by_call = {it.path.rpartition("/")[2]: it.call_id for it in talk.of(FileChange)}
        ids = [it.call_id for it in talk.of(ToolCallStart)]
        assert by_call == {"b.txt": ids[0], "a.txt": ids[1], "mine.txt": ids[2]}
        await go(rig)
        await talk.until(TerminalExit.kind)
        assert len(talk.of(FileChange)) == 3


@pytest.mark.req("H6", "H4")
async def test_changes_that_the_user_saves_during_a_background_process_are_not_attributed_to_the_process(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt")) as rig:
        talk = await started(rig)
        saved = OLD.replace("six", "SIX, by the user")
        (rig.folder / "a.txt").write_text(saved)
        rig.manager.review.document_saved(str(rig.folder / "a.txt"), saved)
        await go(rig)
        await talk.until(TerminalExit.kind)

        (hunk,) = [hunk for it in talk.of(FileChange) for hunk in it.hunks]
        assert (hunk.call_id, hunk.base_lines) == (call_of(talk), ("two\n",))
        _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert not refused and (rig.folder / "a.txt").read_text() == saved


@pytest.mark.req("H6", "H4")
async def test_an_earlier_user_save_of_the_same_text_does_not_hide_a_change_of_a_background_process(
    tmp_path: Path,
) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}; sed -i s/TWO/two/ a.txt; {TELL}; {WAIT}"
    async with running(tmp_path, script(command)) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        rig.manager.review.document_saved(str(rig.folder / "a.txt"), OLD)
        talk = await started(rig)
        await go(rig)
        await process_continues(rig)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)]
        await go(rig)
        await process_continues(rig)
        await talk.say("Go on.")
        assert [it.call_id for it in talk.of(FileChange)] == [call_of(talk)] * 2


@pytest.mark.req("H15", "H4")
async def test_a_notebook_save_during_a_process_is_a_user_change_even_if_the_json_layout_differs(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(WAIT)) as rig:
        notebook = rig.folder / "n.ipynb"
        cells = [{"cell_type": "raw", "id": "a", "metadata": {}, "source": ["one"]}]
        saved = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        notebook.write_text(json.dumps(saved))
        talk = await started(rig)
        cells[0]["source"] = ["two"]
        notebook.write_text(json.dumps(saved, indent=2))
        rig.manager.review.notebook_saved(str(notebook), [EditorCell("raw", "two", "a")])
        await go(rig)
        await talk.until(TerminalExit.kind)
        assert changed(talk) == []


@pytest.mark.req("H4", "H6")
async def test_a_background_process_change_is_merged_into_an_unsaved_document_with_a_warning(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("seven", "SEVEN, typed and not saved")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt"), host=host) as rig:
        talk = await started(rig)
        await go(rig)
        await talk.until(TerminalExit.kind)
        assert host.text(path) == typed.replace("two", "TWO")
        assert changed(talk) == [("a.txt", "modify", 1)]
        (warning,) = talk.of(Warning)
        assert warning.code == "merged_change" and "a.txt was changed" in warning.message
        assert path in host.reported_changes


@pytest.mark.req("H6", "R4")
async def test_process_changes_made_up_to_the_session_end_are_pending_after_reopening(tmp_path: Path) -> None:
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}")) as rig:
        talk = await started(rig)
        await go(rig)
        await process_continues(rig)
        talk.live.session.abort()
        with anyio.fail_after(DEADLINE_S):
            await talk.live.ended.wait()
        assert changed(talk) == [("a.txt", "modify", 1)]
        again = await rig.reopen(talk.session_id)
        (hunk,) = rig.manager.review.open_hunks(session_id=again.session_id)[str(rig.folder / "a.txt")]
        assert hunk.state == "pending"
