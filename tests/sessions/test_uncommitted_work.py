"""Uncommitted work that a command destroys comes back, whatever the size of the project."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio
import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.services.changes.kept_files import UNUSED_BYTES, KeptFiles
from agent_ls.services.changes.snapshot import KEPT_BYTES, ChangeFinder, FoundChanges
from agent_ls.services.changes.stamps import stamp_of_file
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.rollback import RollbackRequest
from tests.services.test_command_changes import shell
from tests.support.git import git
from tests.support.session_rig import allow, running

pytestmark = pytest.mark.req("H6", "H4")

BINARY = b"\0\1\2\xff" * 50
LARGE = "a line of a large text\n" * 100_000


def commit(folder: Path, *options: str) -> None:
    git(folder, "init", "-q", *options)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    made_earlier(folder)


def made_earlier(folder: Path) -> None:
    """Date the files back and update the index, as if the commit was made long before a command."""
    for path in folder.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            os.utime(path, (1_700_000_000, 1_700_000_000))
    git(folder, "update-index", "--refresh", "-q")


def finder(folder: Path) -> ChangeFinder:
    return ChangeFinder(str(folder), LocalEnvironment(str(folder)).list_files)


async def changed(folder: Path, act: Callable[[], object]) -> tuple[FoundChanges, int]:
    """Return the changes by `act`, and how many bytes were copied before."""
    changes = finder(folder)
    before = await changes.take_snapshot()
    size = changes.kept_bytes
    act()
    return await changes.changes(before), size


def list_made(folder: Path) -> list[Path]:
    """Return the files that a program of an attacker has made."""
    return [*folder.rglob("made")]


def came_back(found: FoundChanges, folder: Path) -> dict[str, bytes | None]:
    return {os.path.relpath(it.path, folder): it.before for it in (*found.states, *found.whole)}


async def test_only_uncommitted_work_is_copied_and_all_of_it_comes_back(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n" * 20)
    (tmp_path / "zz.txt").write_text("committed\n")
    commit(tmp_path)
    work = {"zz.txt": LARGE.encode(), "0.txt": b"mine\n", "new/n.txt": b"new\n", "picture.bin": BINARY}
    (tmp_path / "new").mkdir()
    for name, data in work.items():
        (tmp_path / name).write_bytes(data)

    def destroy() -> None:
        git(tmp_path, "checkout", "-q", "--", ".")
        git(tmp_path, "clean", "-fdq")

    found, size = await changed(tmp_path, destroy)
    assert size == sum(map(len, work.values()))
    assert came_back(found, tmp_path) == work
    assert not found.unknown and not found.note


async def test_work_in_a_folder_without_git_comes_back_smallest_files_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "huge.bin").write_bytes(b"\0")
    os.truncate(tmp_path / "huge.bin", KEPT_BYTES)
    changes = finder(tmp_path)
    before = await changes.take_snapshot()
    assert (before.unkept.paths, before.unkept.size) == ((str(tmp_path / "huge.bin"),), KEPT_BYTES)
    (tmp_path / "a.txt").unlink()
    (tmp_path / "huge.bin").unlink()
    found = await changes.changes(before)
    assert came_back(found, tmp_path) == {"a.txt": b"a\n"}
    assert found.unknown == (str(tmp_path / "huge.bin"),)


async def test_destroyed_ignored_files_with_secrets_and_small_ones_come_back_whole(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".env\n*.sqlite\n*.o\nbuild/\n")
    (tmp_path / "pkg" / "deep").mkdir(parents=True)
    (tmp_path / "pkg" / "deep" / "a.py").write_text("a = 1\n")
    commit(tmp_path)
    (tmp_path / "build" / "keys").mkdir(parents=True)
    secrets = {".env": b"A=1\n", "pkg/.env": b"B=2\n", "build/keys/x.pem": b"key\n", "local.sqlite": BINARY}
    for name, data in {**secrets, "a.o": BINARY, "build/out.js": b"x\n"}.items():
        (tmp_path / name).write_bytes(data)

    def destroy() -> None:
        git(tmp_path, "clean", "-fdxq")
        (tmp_path / "a.o").write_bytes(BINARY * 2)  # a build writes it again: no work is lost

    found, _ = await changed(tmp_path, destroy)
    assert came_back(found, tmp_path) == secrets
    assert not found.states, "ignored files are never shown as text"


async def test_a_changed_secret_and_a_tracked_file_that_is_ignored_are_found(tmp_path: Path) -> None:
    (tmp_path / "kept.log").write_text("one\n")
    commit(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n.env\n")
    (tmp_path / ".env").write_text("A=1\n")

    def change() -> None:
        (tmp_path / "kept.log").write_text("two!\n")
        (tmp_path / ".env").write_text("A=none\n")

    found, _ = await changed(tmp_path, change)
    assert [(Path(it.path).name, it.before) for it in found.states] == [("kept.log", b"one\n")]
    assert [(Path(it.path).name, it.before) for it in found.whole] == [(".env", b"A=1\n")]


async def test_staged_work_comes_back_after_a_hard_reset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    commit(tmp_path)
    (tmp_path / "a.txt").write_text("staged\n")
    (tmp_path / "b.txt").write_text("new and staged\n")
    git(tmp_path, "add", ".")
    made_earlier(tmp_path)
    found, size = await changed(tmp_path, lambda: git(tmp_path, "reset", "-q", "--hard"))
    assert came_back(found, tmp_path) == {"a.txt": b"staged\n", "b.txt": b"new and staged\n"}
    assert not size, "git holds both"


def _worktree(folder: Path) -> Path:
    commit(folder)
    git(folder, "worktree", "add", "-q", str(folder.parent / "beside"))
    made_earlier(folder.parent / "beside")
    return folder.parent / "beside"


def _nested(folder: Path) -> Path:
    commit(folder)
    outer = folder.parent / "outer"
    outer.mkdir()
    (outer / "b.txt").write_text("outer\n")
    commit(outer)
    shutil.move(folder, outer / "inner")
    made_earlier(outer / "inner")
    return outer


def _crlf(folder: Path) -> Path:
    commit(folder)
    git(folder, "config", "core.autocrlf", "true")
    (folder / "a.txt").unlink()
    git(folder, "checkout", "-q", "--", "a.txt")
    assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    made_earlier(folder)
    return folder


def _made(*options: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        commit(folder, *options)
        return folder

    return make


def _index(*words: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        commit(folder)
        git(folder, *words)
        return folder

    return make


def _attacked(folder: Path) -> Path:
    """Settings that would run a program if git read an object with them."""
    commit(folder)
    for name in ("core.alternateRefsCommand", "core.fsmonitor", "core.sshCommand", "filter.x.smudge"):
        git(folder, "config", name, "touch made")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.url", "ext::touch made")
    (folder / ".git" / "info" / "attributes").write_text("* filter=x\n")
    return folder


@pytest.mark.parametrize(
    "make",
    [
        _made(),
        _made("--object-format=sha256"),
        _worktree,
        _nested,
        _crlf,
        _index("update-index", "--index-version", "4"),
        _index("update-index", "--split-index"),
        _index("gc", "-q"),
        _attacked,
    ],
    ids=["plain", "sha256", "worktree", "nested", "crlf", "version 4", "split index", "packed", "attacked"],
)
async def test_a_changed_committed_file_is_read_from_the_objects_of_git(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    folder = make(folder)
    file = next(folder.rglob("a.txt"))
    old = file.read_bytes()
    found, size = await changed(folder, lambda: file.write_text("changed\n"))
    assert [it.before for it in found.states] == [old]
    assert not size
    assert not list_made(tmp_path)


async def test_a_file_that_a_filter_changed_is_unknown_instead_of_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / ".gitattributes").write_text("*.txt ident\n")
    (tmp_path / "a.txt").write_text("$Id$\n")
    commit(tmp_path)
    (tmp_path / "a.txt").unlink()
    git(tmp_path, "checkout", "-q", "--", "a.txt")
    made_earlier(tmp_path)
    found, _ = await changed(tmp_path, (tmp_path / "a.txt").unlink)
    assert found.unknown == (str(tmp_path / "a.txt"),)


async def test_without_git_on_the_path_small_committed_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    commit(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\ntouch made\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:bin")  # a program of the workspace is not git
    found, _ = await changed(tmp_path, (tmp_path / "a.txt").unlink)
    assert came_back(found, tmp_path)["a.txt"] == b"one\n"
    assert not list_made(tmp_path)


@pytest.mark.parametrize(
    "name", [b"\xff\xfe.txt", b"new\nline.txt", b"-f", b'"quoted\\".txt', "ä.txt".encode()]
)
async def test_work_in_files_with_unusual_names_comes_back(tmp_path: Path, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    await anyio.Path(os.fsdecode(path)).write_text("one\n")
    commit(tmp_path)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    git(tmp_path, "update-index", "--refresh", "-q")
    found, _ = await changed(tmp_path, lambda: os.unlink(path))
    assert [it.before for it in found.states] == [b"one\n"]


@contextmanager
def counting_calls() -> Iterator[Counter[str]]:
    """Count the calls of functions in threads that start in this block."""
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, called: object) -> None:
        if event == "call":
            counted[frame.f_code.co_name] += 1
        elif event == "c_call":
            counted[getattr(called, "__name__", "")] += 1

    threading.setprofile(count)
    try:
        yield counted
    finally:
        threading.setprofile(None)


def test_a_command_in_a_large_clean_project_costs_few_calls_for_each_file(tmp_path: Path) -> None:
    count, folders = 900, 30
    for number in range(count):
        (tmp_path / f"d{number % folders}").mkdir(exist_ok=True)
        (tmp_path / f"d{number % folders}" / f"{number}.txt").write_text(str(number))
    commit(tmp_path)
    for folder in (
        tmp_path,
        *tmp_path.glob("d*"),
    ):  # which is not read again if it has not changed for a while
        os.utime(folder, (1_700_000_000, 1_700_000_000))

    async def run_commands() -> None:
        changes = finder(tmp_path)
        for _ in range(2):
            assert not (await changes.changes(await changes.take_snapshot())).states
        counted.clear()
        assert not (await changes.changes(await changes.take_snapshot())).states

    with counting_calls() as counted:
        anyio.run(run_commands)
    assert 2 * count <= counted["lstat"] < 2.2 * count, "before and after the command"
    assert counted.total() < 10 * (count + folders), counted.most_common(10)
    assert counted["scandir"] < 30 and counted["find_object"] == 0


def test_copies_are_kept_by_stamp_and_their_space_is_used_again(tmp_path: Path) -> None:
    kept, file, other = KeptFiles(str(tmp_path)), tmp_path / "a", tmp_path / "b"
    other.write_bytes(b"other")
    stamp = kept.keep(str(other))
    for number in range(4):
        file.write_bytes(bytes([number]) * (UNUSED_BYTES // 2 + number))
        kept.keep(str(file))
    kept.retain({str(other)})
    assert stamp and kept.content(str(other), stamp) == b"other" and kept.size == 5
    assert not kept.has(str(file), stamp) and kept.keep(str(tmp_path)) is None
    assert kept.keep(str(tmp_path / "missing")) is None
    file.write_bytes(b"new")
    assert (now := kept.keep(str(file))) == stamp_of_file(str(file))
    assert now and kept.content(str(file), now) == b"new"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


async def test_everything_that_a_command_destroyed_is_undone_by_the_user(tmp_path: Path) -> None:
    command = "git checkout -q -- . && git clean -fdxq"
    async with running(tmp_path, shell(command)) as rig:
        (rig.folder / "a.txt").write_text("one\n")
        (rig.folder / ".gitignore").write_text(".env\n")
        commit(rig.folder)
        work = {
            "a.txt": b"mine\n",
            "new.txt": b"new\n",
            ".env": b"A=1\n",
            "p.bin": BINARY,
            "l.txt": LARGE.encode(),
        }
        for name, data in work.items():
            (rig.folder / name).write_bytes(data)
        talk = await rig.talk(mode="full", say="Do it.")
        assert (rig.folder / "a.txt").read_text() == "one\n" and not (rig.folder / ".env").exists()
        notice = talk.of(ToolCallEnd)[0].output
        assert all(name in notice for name in work)
        _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert not refused
        turn_id = next(it.turn_id for it in talk.envelopes if it.turn_id)
        wanted = RollbackRequest(turn_id, conversation=False, files="restore")
        await rig.manager.revert(talk.session_id, wanted)
        assert {name: (rig.folder / name).read_bytes() for name in work} == work


async def test_the_user_reads_what_cannot_be_kept_before_a_command_is_allowed(tmp_path: Path) -> None:
    asked: list[ApprovalRequested] = []

    def note(request: ApprovalRequested) -> ApprovalAnswer:
        asked.append(request)
        return allow(request)

    async with running(tmp_path, [*shell("git clean -fdxq"), *shell("git clean -fdxq")]) as rig:
        (rig.folder / "a.txt").write_text("one\n")
        commit(rig.folder)
        talk = await rig.talk("full", note, say="Do it.")
        (rig.folder / "data.bin").write_bytes(b"\0")
        os.truncate(rig.folder / "data.bin", KEPT_BYTES + 1)
        await talk.say("Again.")
    assert ["data.bin" in it.reason for it in asked] == [False, True]
