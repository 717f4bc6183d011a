"""What a background process changes is filed at each safe boundary and at its end, and never what others did."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.loop.events import FileChange, TerminalExit, ToolCallStart, Warning
from agent_ls.notebook.align import ShownCell
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.workbench import DEADLINE_S, Bench, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
WAIT = "cat ../go > /dev/null"
"""Until the test writes into the pipe `go`, which lies beside the project: no look of the turn that starts the process
is to find the file that sed makes for a moment."""
TELL = "echo > ../told"
"""Goes on when the test reads the pipe `told`."""


def background(command: str) -> Piece:
    return tool_call("shell", json.dumps({"command": command, "background": True}))


def foreground(command: str) -> Piece:
    return tool_call("shell", json.dumps({"command": command}))


async def started(bench: Bench) -> Talk:
    """A session whose model has started its process, and whose turn is over."""
    for name in ("go", "told"):
        os.mkfifo(bench.folder.parent / name)
    (bench.folder / "a.txt").write_text(OLD)
    talk = await bench.talk(mode="full")
    await talk.say("Start it.")
    return talk


async def go(bench: Bench) -> None:
    with anyio.fail_after(DEADLINE_S):
        await anyio.Path(bench.folder.parent / "go").write_text("")


async def told(bench: Bench) -> None:
    with anyio.fail_after(DEADLINE_S):
        await anyio.Path(bench.folder.parent / "told").read_text()


def script(command: str, *later: Piece | Sequence[Piece]) -> list[Piece | Sequence[Piece]]:
    return [background(command), text("Started."), *later, *[text("Done.")] * 3]


def changed(talk: Talk) -> list[tuple[str, str, int]]:
    return [(Path(it.path).name, it.action, len(it.hunks)) for it in talk.of(FileChange)]


def call_of(talk: Talk, number: int = 0) -> str:
    return talk.of(ToolCallStart)[number].call_id


@pytest.mark.req("H6", "T5")
async def test_what_a_process_changed_when_it_ends_between_turns_is_its_call_s_and_undone_like_any(
    tmp_path: Path,
) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; echo new > b.txt"
    async with running(tmp_path, script(command)) as bench:
        talk = await started(bench)
        assert changed(talk) == []
        await go(bench)
        await talk.until(TerminalExit.kind)
        assert changed(talk) == [("a.txt", "modify", 1), ("b.txt", "create", 1)]
        hunks = [hunk for it in talk.of(FileChange) for hunk in it.hunks]
        assert {hunk.call_id for hunk in hunks} == {call_of(talk)} and all(hunk.turn_id for hunk in hunks)
        await talk.say("And?")
        words = "Changed while the background process p1 ran, for the user to review: a.txt, b.txt (new)."
        assert [words in it for it in bench.told()].count(True) == 1
        _, refused = await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert not refused
        assert (bench.folder / "a.txt").read_text() == OLD and not (bench.folder / "b.txt").exists()


@pytest.mark.req("H6", "T5")
async def test_what_a_process_changed_while_it_runs_is_told_at_the_next_safe_boundary_each_time(
    tmp_path: Path,
) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}; sed -i s/six/SIX/ a.txt; {TELL}; {WAIT}"
    async with running(tmp_path, script(command)) as bench:
        talk = await started(bench)
        await go(bench)
        await told(bench)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)]
        assert "for the user to review: a.txt" in str(bench.told())
        await go(bench)
        await told(bench)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)] * 2
        assert not talk.of(TerminalExit)
        ids = [hunk.id for it in talk.of(FileChange) for hunk in it.hunks]
        assert len(set(ids)) == 2
        _, refused = await bench.workbench.review.review(verdict="undo", hunk_ids=ids)
        assert not refused and (bench.folder / "a.txt").read_text() == OLD
        await talk.say("Go on.")
        assert len(changed(talk)) == 2, "the undo was taken for a change of the process's"


@pytest.mark.req("H6", "H4")
async def test_what_others_do_while_a_process_runs_is_not_filed_as_its_change(tmp_path: Path) -> None:
    edit = tool_call("write_file", json.dumps({"file_path": "mine.txt", "content": "mine\n"}))
    command = f"echo x > b.txt; {TELL}; {WAIT}"
    later = (foreground("sed -i s/six/SIX/ a.txt"), edit)
    async with running(tmp_path, script(command, *later)) as bench:
        talk = await started(bench)
        await told(bench)
        saved = bench.folder / "saved.txt"
        saved.write_text("what the user saved\n")
        bench.workbench.review.document_saved(str(saved), "what the user saved\n")
        await talk.say("Work on.")
        by_call = {it.path.rpartition("/")[2]: it.call_id for it in talk.of(FileChange)}
        ids = [it.call_id for it in talk.of(ToolCallStart)]
        assert by_call == {"b.txt": ids[0], "a.txt": ids[1], "mine.txt": ids[2]}
        await go(bench)
        await talk.until(TerminalExit.kind)
        assert len(talk.of(FileChange)) == 3


@pytest.mark.req("H6", "H4")
async def test_of_a_file_that_the_user_saved_meanwhile_only_the_rest_is_filed(tmp_path: Path) -> None:
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt")) as bench:
        talk = await started(bench)
        saved = OLD.replace("six", "SIX, by the user")
        (bench.folder / "a.txt").write_text(saved)
        bench.workbench.review.document_saved(str(bench.folder / "a.txt"), saved)
        await go(bench)
        await talk.until(TerminalExit.kind)

        (hunk,) = [hunk for it in talk.of(FileChange) for hunk in it.hunks]
        assert (hunk.call_id, hunk.base_lines) == (call_of(talk), ("two\n",))
        _, refused = await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert not refused and (bench.folder / "a.txt").read_text() == saved


@pytest.mark.req("H6", "H4")
async def test_a_save_before_the_last_look_does_not_hide_what_the_process_does(tmp_path: Path) -> None:
    command = f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}; sed -i s/TWO/two/ a.txt; {TELL}; {WAIT}"
    async with running(tmp_path, script(command)) as bench:
        (bench.folder / "a.txt").write_text(OLD)
        bench.workbench.review.document_saved(str(bench.folder / "a.txt"), OLD)
        talk = await started(bench)
        await go(bench)
        await told(bench)
        await talk.say("Go on.")
        assert changed(talk) == [("a.txt", "modify", 1)]
        await go(bench)
        await told(bench)
        await talk.say("Go on.")
        assert [it.call_id for it in talk.of(FileChange)] == [call_of(talk)] * 2


@pytest.mark.req("H15", "H4")
async def test_a_notebook_that_the_user_saved_is_his_however_it_is_laid_out(tmp_path: Path) -> None:
    async with running(tmp_path, script(WAIT)) as bench:
        notebook = bench.folder / "n.ipynb"
        cells = [{"cell_type": "raw", "id": "a", "metadata": {}, "source": ["one"]}]
        told = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        notebook.write_text(json.dumps(told))
        talk = await started(bench)
        cells[0]["source"] = ["two"]
        notebook.write_text(json.dumps(told, indent=2))
        bench.workbench.review.notebook_saved(str(notebook), [ShownCell("raw", "two", "a")])
        await go(bench)
        await talk.until(TerminalExit.kind)
        assert changed(talk) == []


@pytest.mark.req("H4", "H6")
async def test_a_document_with_unsaved_typing_gets_the_process_s_change_and_the_user_is_told(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("seven", "SEVEN, typed and not saved")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt"), host=host) as bench:
        talk = await started(bench)
        await go(bench)
        await talk.until(TerminalExit.kind)
        assert host.text(path) == typed.replace("two", "TWO")
        assert changed(talk) == [("a.txt", "modify", 1)]
        (warning,) = talk.of(Warning)
        assert warning.code == "merged_change" and "a.txt was changed on disk" in warning.message
        assert path in host.told_changed


@pytest.mark.req("H6", "R4")
async def test_what_a_process_changed_when_the_session_ends_is_in_its_log(tmp_path: Path) -> None:
    async with running(tmp_path, script(f"{WAIT}; sed -i s/two/TWO/ a.txt; {TELL}; {WAIT}")) as bench:
        talk = await started(bench)
        await go(bench)
        await told(bench)
        talk.live.session.abort()
        with anyio.fail_after(DEADLINE_S):
            await talk.live.ended.wait()
        assert changed(talk) == [("a.txt", "modify", 1)]
        again = await bench.reopen(talk.session_id)
        (hunk,) = bench.workbench.review.open_hunks(session_id=again.session_id)[str(bench.folder / "a.txt")]
        assert hunk.state == "pending"
