"""Changes by others to files that a session has read or changed: the model gets one notice, and hunks move along."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.wrappers.bounded import DiskRead
from agent_ls.services.changes.stamps import STEP_NS, Stamp, stamps
from agent_ls.services.changes.watched_files import (
    MAX_FILES,
    OTHER_FILES,
    RECENT_FILES,
    FileSource,
    NoWatch,
    TouchedFiles,
)
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.service import ReviewService
from tests.support.fake_clock import FakeClock
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import SessionRig, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
STALE = "Changed since you last read them"


def read(name: str) -> Piece:
    return tool_call("read_file", json.dumps({"file_path": name}))


def edit(name: str, old: str, new: str) -> Piece:
    return tool_call("edit_file", json.dumps({"file_path": name, "old_string": old, "new_string": new}))


async def talking(rig: SessionRig) -> Talk:
    for name in ("a.txt", "b.txt"):
        (rig.folder / name).write_text(OLD)
    talk = await rig.talk(mode="full", say="Begin.")
    return talk


def stale(rig: SessionRig) -> list[str]:
    """Return the notices that the model has received, each cut off after the file names."""
    return [it.partition(". Read")[0] for it in rig.user_texts() if it.startswith(STALE)]


def notice(names: str) -> str:
    return f"{STALE}, by the user or another program: {names}"


def script(*first: Piece) -> Sequence[Piece]:
    return [*first, *[text("Done.")] * 5]


@pytest.mark.req("H4", "X9")
async def test_an_external_change_of_a_file_that_the_model_read_is_reported_once(tmp_path: Path) -> None:
    async with running(tmp_path, script(read("a.txt"), read("b.txt"))) as rig:
        talk = await talking(rig)
        assert stale(rig) == []
        (rig.folder / "a.txt").write_text("another\n")
        await talk.say("Go on.")
        assert stale(rig) == [notice("a.txt")]
        (rig.folder / "a.txt").write_text("and another\n")
        (rig.folder / "b.txt").unlink()
        await talk.say("Go on.")
        assert stale(rig) == [notice("a.txt"), notice("b.txt (deleted)")]


@pytest.mark.req("H4", "X9")
async def test_a_file_read_again_is_reported_again_when_it_changes_again(tmp_path: Path) -> None:
    model = script(read("a.txt"), text("Done."), text("Hm."), read("a.txt"))
    async with running(tmp_path, model) as rig:
        talk = await talking(rig)
        for number in range(3):
            (rig.folder / "a.txt").write_text(f"{number}\n")
            await talk.say("Go on.")
        assert stale(rig) == [notice("a.txt")] * 2


@pytest.mark.req("H4", "X9")
async def test_typing_in_an_open_document_that_was_read_is_reported_too(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD})
    async with running(tmp_path, script(read("a.txt")), host=host) as rig:
        talk = await talking(rig)
        host.type(path, OLD.replace("six", "six, typed"))
        await talk.say("Go on.")
        assert stale(rig) == [notice("a.txt")]


@pytest.mark.req("H4", "H6")
async def test_the_models_own_changes_and_undone_hunks_cause_no_changed_file_notice(tmp_path: Path) -> None:
    shell = tool_call("shell", json.dumps({"command": "sed -i s/six/SIX/ b.txt"}))
    model = script(read("a.txt"), read("b.txt"), edit("a.txt", "two", "TWO"), shell)
    async with running(tmp_path, model) as rig:
        talk = await talking(rig)
        await talk.say("Go on.")
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert (rig.folder / "a.txt").read_text() == (rig.folder / "b.txt").read_text() == OLD
        await talk.say("Go on.")
        assert stale(rig) == []


@pytest.mark.req("H4", "R3")
async def test_file_changes_during_a_restart_are_reported_once_after_the_resume(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(read("a.txt"), read("b.txt"))) as rig:
        talk = await talking(rig)
        (rig.folder / "a.txt").write_text("told\n")
        await talk.say("Go on.")
        session_id = talk.session_id
    (tmp_path / "project" / "b.txt").write_text("changed meanwhile\n")
    async with running(tmp_path, script()) as rig:
        talk = await rig.reopen(session_id)
        await talk.say("Go on.")
        assert stale(rig) == [notice("a.txt"), notice("b.txt")]


@pytest.mark.req("H6", "H4")
async def test_hunks_move_with_external_changes_at_the_next_model_call_or_change_notification(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, script(read("a.txt"), edit("a.txt", "five", "FIVE"))) as rig:
        talk = await talking(rig)
        file = rig.folder / "a.txt"
        path = str(file)

        def start() -> int:
            (hunk,) = rig.manager.review.open_hunks(session_id=talk.session_id)[path]
            return hunk.start

        assert start() == 4
        now = file.read_text()
        file.write_text(f"zero\n{now}")
        await talk.say("Go on.")
        assert start() == 5
        file.write_text(f"minus one\nzero\n{now}")
        rig.manager.files_changed([path, str(rig.folder / "b.txt")])
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(240):
            while start() != 6:
                await anyio.lowlevel.checkpoint()


@pytest.mark.req("H6")
async def test_hunks_reverted_by_an_external_change_are_gone_and_reported_once(tmp_path: Path) -> None:
    async with running(tmp_path, script(read("a.txt"), edit("a.txt", "five", "FIVE"))) as rig:
        talk = await talking(rig)
        (rig.folder / "a.txt").write_text(OLD)
        await talk.say("Go on.")
        await talk.say("Go on.")
        assert rig.manager.review.open_hunks(session_id=talk.session_id) == {}
        assert [it.startswith("Review: 1 of your changes") for it in rig.user_texts()].count(True) == 1
        assert stale(rig) == []


class CountedReads(LocalEnvironment):
    reads = 0

    async def read_bytes(self, path: str, max_bytes: int = 0) -> bytes:
        self.reads += 1
        return await super().read_bytes(path, max_bytes)


def watching(files: LocalEnvironment, notices: list[str], **options: Any) -> TouchedFiles:
    return TouchedFiles(
        FileSource(files, dict, **options),
        ReviewService(lambda session_id: None, clock=FakeClock(), start=lambda work: None),
        tell=notices.append,
        watch=NoWatch(),
        known={},
        record=lambda path, digest: None,
    )


def a_read(path: Path, facts: os.stat_result, *, age_ns: int) -> DiskRead:
    """Return the record of a read that found the text OLD, `age_ns` after the last change of the file."""
    return DiskRead(str(path), OLD.encode(), facts, max(facts.st_mtime_ns, facts.st_ctime_ns) + age_ns)


@pytest.mark.req("H4", "L5")
async def test_a_file_that_the_model_just_read_is_not_read_again_to_check_it(tmp_path: Path) -> None:
    files, notices = CountedReads(str(tmp_path)), list[str]()
    touched = watching(files, notices)
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    touched.was_read(a_read(path, path.stat(), age_ns=STEP_NS + 1))
    touched.record_read(str(path), sha256(OLD.encode()))
    await touched.check_files()
    assert (files.reads, notices) == (0, [])
    path.write_text("another\n")
    await touched.check_files()
    assert (files.reads, notices) == (
        1,
        [f"{notice('a.txt')}. Read these files again before you rely on their text."],
    )


@pytest.mark.req("H4", "X9")
@pytest.mark.parametrize("is_during_read", [True, False])
async def test_a_change_during_a_read_or_without_a_new_time_stamp_is_reported(
    tmp_path: Path, is_during_read: bool
) -> None:
    """A file system with coarse times gives two changes within one step the same times."""
    notices: list[str] = []
    touched = watching(LocalEnvironment(str(tmp_path)), notices)
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    opened = path.stat()
    path.write_text(OLD.replace("two", "2wo!" if is_during_read else "2wo"))
    touched.was_read(a_read(path, opened if is_during_read else path.stat(), age_ns=STEP_NS + is_during_read))
    touched.record_read(str(path), sha256(OLD.encode()))

    await touched.check_files()

    assert len(notices) == 1


async def test_the_check_for_changed_files_is_limited_to_the_most_recently_read_files(tmp_path: Path) -> None:
    files = CountedReads(str(tmp_path))
    notices: list[str] = []
    touched = watching(files, notices)
    for number in range(MAX_FILES + 200):
        path = tmp_path / f"{number:04}"
        path.write_text("x")
        touched.record_read(str(path), sha256(b"x"))
    await touched.check_files()
    assert files.reads == MAX_FILES
    (tmp_path / "0000").write_text("one of long ago")
    (tmp_path / "0699").write_text("one of late")
    await touched.check_files()
    assert files.reads == MAX_FILES + 1
    assert ["0699" in it and "0000" not in it for it in notices] == [True]


class CountedLooks:
    """Looks at files and counts. `paths` are those of the last look."""

    def __init__(self, near: bool) -> None:
        self.turn_id = "t1"
        self.options = {"stamps_of": self, "is_near": lambda path: near, "turn_id": lambda: self.turn_id}
        self.paths: Sequence[str] = ()
        self.in_threads: list[bool] = []

    def __call__(self, paths: Sequence[str], documents: Mapping[str, int]) -> Mapping[str, Stamp]:
        self.paths = paths
        self.in_threads.append(threading.current_thread() is not threading.main_thread())
        return stamps(paths, documents)


@pytest.mark.req("H4", "L5")
async def test_later_looks_of_a_turn_take_the_files_used_last_and_the_others_in_turn(tmp_path: Path) -> None:
    notices: list[str] = []
    looks = CountedLooks(near=True)
    touched = watching(CountedReads(str(tmp_path)), notices, **looks.options)
    files = [tmp_path / f"{number:04}" for number in range(150)]
    for path in files:
        path.write_text("x")
        touched.record_read(str(path), sha256(b"x"))
    await touched.check_files()
    assert len(looks.paths) == len(files)
    (tmp_path / "0149").write_text("used last")
    await touched.check_files()
    assert len(notices) == 1 and "0149" in notices[0]
    (tmp_path / "0100").write_text("used before")
    rounds = -(-(len(files) - RECENT_FILES) // OTHER_FILES)
    seen: set[str] = set()
    for _ in range(rounds):
        await touched.check_files()
        assert len(looks.paths) <= RECENT_FILES + OTHER_FILES
        seen.update(looks.paths)
    assert seen == set(map(str, files))
    assert len(notices) == 2 and "0100" in notices[1]
    (tmp_path / "0001").write_text("used long before")
    looks.turn_id = "t2"
    await touched.check_files()
    assert len(looks.paths) == len(files) and len(notices) == 3 and "0001" in notices[2]


@pytest.mark.req("L5")
@pytest.mark.parametrize(
    ("near", "count", "is_thread"), [(True, 10, False), (False, 10, True), (True, 40, True)]
)
async def test_a_few_files_on_a_disk_are_looked_at_without_a_thread(
    tmp_path: Path, near: bool, count: int, is_thread: bool
) -> None:
    looks = CountedLooks(near)
    touched = watching(CountedReads(str(tmp_path)), [], **looks.options)
    for number in range(count):
        touched.record_read(str(tmp_path / f"{number}"), "")
    await touched.check_files()
    assert looks.in_threads == [is_thread]
