"""What others change in files that a session has read or changed: the model is told once, the hunks move along."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.touched_files import MAX_FILES, NoWatch, TouchedFiles
from agent_ls.environments.base import sha256
from agent_ls.environments.local import LocalEnvironment
from tests.support.fake_clock import FakeClock
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.workbench import Bench, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
STALE = "Changed since you last read them"


def read(name: str) -> Piece:
    return tool_call("read_file", json.dumps({"file_path": name}))


def edit(name: str, old: str, new: str) -> Piece:
    return tool_call("edit_file", json.dumps({"file_path": name, "old_string": old, "new_string": new}))


async def talking(bench: Bench) -> Talk:
    for name in ("a.txt", "b.txt"):
        (bench.folder / name).write_text(OLD)
    talk = await bench.talk(mode="full")
    await talk.say("Begin.")
    return talk


def stale(bench: Bench) -> list[str]:
    """The notices that the model has had, without what follows the names."""
    return [it.partition(". Read")[0] for it in bench.told() if it.startswith(STALE)]


def notice(names: str) -> str:
    return f"{STALE}, by the user or another program: {names}"


def script(*first: Piece) -> Sequence[Piece]:
    return [*first, *[text("Done.")] * 5]


@pytest.mark.req("H4", "X9")
async def test_a_file_that_was_read_and_changed_by_others_is_told_once(tmp_path: Path) -> None:
    async with running(tmp_path, script(read("a.txt"), read("b.txt"))) as bench:
        talk = await talking(bench)
        assert stale(bench) == []
        (bench.folder / "a.txt").write_text("another\n")
        await talk.say("Go on.")
        assert stale(bench) == [notice("a.txt")]
        (bench.folder / "a.txt").write_text("and another\n")
        (bench.folder / "b.txt").unlink()
        await talk.say("Go on.")
        assert stale(bench) == [notice("a.txt"), notice("b.txt (not there any more)")]


@pytest.mark.req("H4", "X9")
async def test_a_file_that_was_read_again_is_told_again_when_it_changes_again(tmp_path: Path) -> None:
    model = script(read("a.txt"), text("Done."), text("Hm."), read("a.txt"))
    async with running(tmp_path, model) as bench:
        talk = await talking(bench)
        for number in range(3):
            (bench.folder / "a.txt").write_text(f"{number}\n")
            await talk.say("Go on.")
        assert stale(bench) == [notice("a.txt")] * 2


@pytest.mark.req("H4", "X9")
async def test_typing_in_an_open_document_that_was_read_is_told_as_well(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD})
    async with running(tmp_path, script(read("a.txt")), host=host) as bench:
        talk = await talking(bench)
        host.type(path, OLD.replace("six", "six, typed"))
        await talk.say("Go on.")
        assert stale(bench) == [notice("a.txt")]


@pytest.mark.req("H4", "H6")
async def test_what_the_model_did_itself_or_was_told_otherwise_is_no_news(tmp_path: Path) -> None:
    shell = tool_call("shell", json.dumps({"command": "sed -i s/six/SIX/ b.txt"}))
    model = script(read("a.txt"), read("b.txt"), edit("a.txt", "two", "TWO"), shell)
    async with running(tmp_path, model) as bench:
        talk = await talking(bench)
        await talk.say("Go on.")
        await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert (bench.folder / "a.txt").read_text() == (bench.folder / "b.txt").read_text() == OLD
        await talk.say("Go on.")
        assert stale(bench) == []


@pytest.mark.req("H4", "R3")
async def test_what_changed_while_no_process_ran_is_told_by_the_next_and_what_was_told_is_not(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(read("a.txt"), read("b.txt"))) as bench:
        talk = await talking(bench)
        (bench.folder / "a.txt").write_text("told\n")
        await talk.say("Go on.")
        session_id = talk.session_id
    (tmp_path / "project" / "b.txt").write_text("changed meanwhile\n")
    async with running(tmp_path, script()) as bench:
        talk = await bench.reopen(session_id)
        await talk.say("Go on.")
        assert stale(bench) == [notice("a.txt"), notice("b.txt")]


@pytest.mark.req("H6", "H4")
async def test_hunks_move_with_what_others_write_before_the_next_call_and_at_once_when_it_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(read("a.txt"), edit("a.txt", "five", "FIVE"))) as bench:
        talk = await talking(bench)
        file = bench.folder / "a.txt"
        path = str(file)

        def start() -> int:
            (hunk,) = bench.workbench.review.open_hunks(session_id=talk.session_id)[path]
            return hunk.start

        assert start() == 4
        now = file.read_text()
        file.write_text(f"zero\n{now}")
        await talk.say("Go on.")
        assert start() == 5
        file.write_text(f"minus one\nzero\n{now}")
        bench.workbench.files_changed([path, str(bench.folder / "b.txt")])
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(30):
            while start() != 6:
                await anyio.lowlevel.checkpoint()


@pytest.mark.req("H6")
async def test_hunks_that_others_took_away_are_gone_and_told_once(tmp_path: Path) -> None:
    async with running(tmp_path, script(read("a.txt"), edit("a.txt", "five", "FIVE"))) as bench:
        talk = await talking(bench)
        (bench.folder / "a.txt").write_text(OLD)
        await talk.say("Go on.")
        await talk.say("Go on.")
        assert bench.workbench.review.open_hunks(session_id=talk.session_id) == {}
        assert [it.startswith("Review: 1 of your changes") for it in bench.told()].count(True) == 1
        assert stale(bench) == []


async def test_the_cost_of_a_look_does_not_grow_with_the_session(tmp_path: Path) -> None:
    class Counting(LocalEnvironment):
        reads = 0

        async def read_bytes(self, path: str, max_bytes: int = 0) -> bytes:
            self.reads += 1
            return await super().read_bytes(path, max_bytes)

    files = Counting(str(tmp_path))
    told: list[str] = []
    desk = ReviewDesk(lambda session_id: None, clock=FakeClock(), start=lambda work: None)
    touched = TouchedFiles(
        files,
        desk,
        documents=dict,
        tell=told.append,
        watch=NoWatch(),
        known={},
        record=lambda path, digest: None,
    )
    for number in range(MAX_FILES + 200):
        path = tmp_path / f"{number:04}"
        path.write_text("x")
        touched.shown(str(path), sha256(b"x"))
    await touched.look()
    assert files.reads == MAX_FILES
    (tmp_path / "0000").write_text("one of long ago")
    (tmp_path / "0699").write_text("one of late")
    await touched.look()
    assert files.reads == MAX_FILES + 1
    assert ["0699" in it and "0000" not in it for it in told] == [True]
