"""Commits on a real disk: modes and links are kept, and a failed commit leaves everything as it was."""

from __future__ import annotations

import os
import resource
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import (
    AccessDeniedError,
    CommitError,
    EnvError,
    NotAFileError,
    NotAFolderError,
    StaleFileError,
)
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.commit import DeletedModes, commit

pytestmark = pytest.mark.req("X2", "T4")


def commit_in(folder: Path, *writes: FileWrite) -> list[FileState]:
    return commit(writes, lambda path: os.path.normpath(folder / path), DeletedModes())


def put(path: Path, content: bytes, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


# --- what is kept ---------------------------------------------------------------------------------------------


@pytest.mark.report("zai-org/feedback#87", "anthropics/claude-code#20356")
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o4750])
def test_a_changed_file_keeps_its_mode(folder: Path, mode: int) -> None:
    file = put(folder / "run.sh", b"old", mode)
    commit_in(folder, FileWrite("run.sh", b"new", b"old"))
    assert (file.read_bytes(), mode_of(file)) == (b"new", mode)
    assert os.listdir(folder) == ["run.sh"]


def test_a_new_file_gets_the_mode_that_the_umask_gives(folder: Path) -> None:
    previous = os.umask(0o027)
    try:
        commit_in(folder, FileWrite("sub/new", b"", None))
    finally:
        os.umask(previous)
    assert mode_of(folder / "sub/new") == 0o640
    assert mode_of(folder / "sub") == 0o750


@pytest.mark.parametrize("target", [None, b"there"], ids=["new", "over another file"])
def test_a_moved_file_keeps_its_mode(folder: Path, target: bytes | None) -> None:
    put(folder / "old.sh", b"text", 0o750)
    if target is not None:
        put(folder / "bin/new.sh", target, 0o644)
    commit_in(folder, FileWrite("bin/new.sh", b"text!", target, "old.sh"), FileWrite("old.sh", None, b"text"))
    assert ((folder / "bin/new.sh").read_bytes(), mode_of(folder / "bin/new.sh")) == (b"text!", 0o750)
    assert not (folder / "old.sh").exists()


def test_a_write_through_a_symbolic_link_changes_the_target_and_keeps_the_link(folder: Path) -> None:
    real = put(folder / "real/file", b"old", 0o640)
    (folder / "link").symlink_to("real/file")
    (state,) = commit_in(folder, FileWrite("link", b"new", b"old"))
    assert state.path == str(folder / "link")
    assert os.readlink(folder / "link") == "real/file"
    assert (real.read_bytes(), mode_of(real)) == (b"new", 0o640)
    assert os.listdir(folder / "real") == ["file"]


def test_a_write_through_a_dangling_symbolic_link_creates_the_target(folder: Path) -> None:
    (folder / "link").symlink_to("later/file")
    commit_in(folder, FileWrite("link", b"new", None))
    assert (folder / "later/file").read_bytes() == b"new"
    assert (folder / "link").is_symlink()


def test_deleting_a_symbolic_link_keeps_its_target(folder: Path) -> None:
    put(folder / "real", b"content")
    (folder / "link").symlink_to("real")
    commit_in(folder, FileWrite("link", None, b"content"))
    assert os.listdir(folder) == ["real"]


def test_a_write_to_a_hard_linked_file_keeps_the_hard_link(folder: Path) -> None:
    one = put(folder / "one", b"old and longer")
    os.link(one, folder / "two")
    commit_in(folder, FileWrite("one", b"new", b"old and longer"))
    assert (folder / "two").read_bytes() == b"new"
    assert one.stat().st_nlink == 2


def test_extended_attributes_are_kept(folder: Path) -> None:
    file = put(folder / "file", b"old")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    commit_in(folder, FileWrite("file", b"new", b"old"))
    assert os.getxattr(file, "user.note") == b"kept"


def test_a_write_that_changes_nothing_does_not_touch_the_file(folder: Path) -> None:
    before = put(folder / "file", b"same", 0o444).stat()
    assert commit_in(folder, FileWrite("file", b"same", b"same")) == [
        FileState(str(folder / "file"), b"same", b"same")
    ]
    assert (folder / "file").stat() == before


def test_a_write_to_a_stale_file_fails_and_leaves_the_folder_unchanged(folder: Path) -> None:
    put(folder / "file", b"changed by another program")
    with pytest.raises(StaleFileError):
        commit_in(folder, FileWrite("file", b"new", b"old"))
    assert [(it.name, it.read_bytes()) for it in folder.iterdir()] == [
        ("file", b"changed by another program")
    ]


# --- what is refused ------------------------------------------------------------------------------------------


def test_a_read_only_file_is_not_overwritten(folder: Path) -> None:
    file = put(folder / "file", b"old", 0o444)
    with pytest.raises(AccessDeniedError, match="read-only"):
        commit_in(folder, FileWrite("file", b"new", b"old"))
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["folder", "pipe"])
def test_a_folder_or_device_is_not_written(folder: Path, name: str) -> None:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(NotAFileError):
        commit_in(folder, FileWrite(name, b"new", None))


@pytest.mark.parametrize(
    "write",
    [FileWrite("x" * 300, b"", None), FileWrite("nul\0", b"", None), FileWrite("new", b"", None, "gone")],
)
def test_a_write_that_the_system_refuses_is_a_commit_error(folder: Path, write: FileWrite) -> None:
    with pytest.raises(CommitError, match="Nothing was changed"):
        commit_in(folder, write)
    assert os.listdir(folder) == []


def test_a_commit_that_writes_one_file_under_two_names_is_refused(folder: Path) -> None:
    put(folder / "real", b"old")
    (folder / "link").symlink_to("real")
    with pytest.raises(CommitError, match="twice"):
        commit_in(folder, FileWrite("link", b"a", b"old"), FileWrite("real", b"b", b"old"))


async def test_one_of_two_simultaneous_commits_of_a_file_is_stale(folder: Path) -> None:
    env = LocalEnvironment(str(folder))
    put(folder / "file", b"old")
    outcomes: list[str] = []

    async def change(to: bytes) -> None:
        try:
            await env.commit([FileWrite("file", to, b"old")], Attribution())
            outcomes.append("done")
        except StaleFileError:
            outcomes.append("stale")

    async with anyio.create_task_group() as group:
        for to in (b"one", b"two", b"three"):
            group.start_soon(change, to)
    assert sorted(outcomes) == ["done", "stale", "stale"]


async def test_a_commit_cancelled_before_it_begins_writes_nothing(folder: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await LocalEnvironment(str(folder)).commit([FileWrite("file", b"new", None)], Attribution())
    assert scope.cancelled_caught
    assert os.listdir(folder) == []


# --- all or nothing -------------------------------------------------------------------------------------------

FILE_LIMIT_BYTES = 100_000
TOO_LARGE = b"x" * (FILE_LIMIT_BYTES + 1)

# The last write of a commit, at which it fails: at the check, the preparation, the replacement or the deletion.
FAILURES: dict[str, tuple[list[FileWrite], type[EnvError]]] = {
    "stale": ([FileWrite("fixed/file", b"new", b"not this")], StaleFileError),
    "a file as folder": ([FileWrite("fixed/file/below", b"new", None)], NotAFolderError),
    "disk full": ([FileWrite("fixed/new/file", TOO_LARGE, None)], CommitError),
    "disk full in place": ([FileWrite("fixed/twin", TOO_LARGE, b"twin")], CommitError),
    "changed meanwhile": (
        [FileWrite("fixed/twin", b"other", b"twin"), FileWrite("fixed/brother", None, b"twin")],
        StaleFileError,
    ),
}


@contextmanager
def small_files_only() -> Iterator[None]:
    """Simulate a full disk: no file may become larger than FILE_LIMIT_BYTES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return the metadata and contents below `folder`, without modification times of folders.

    Any temporary file changes those times.
    """
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        shared = (facts.st_mode, facts.st_uid, facts.st_gid)
        if path.is_symlink():
            found[str(path)] = (*shared, os.readlink(path))
        elif path.is_dir():
            found[str(path)] = shared
        else:
            found[str(path)] = (*shared, facts.st_nlink, facts.st_mtime_ns, path.read_bytes())
    return found


CONTENT = st.binary(max_size=30)
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o660])
KINDS = st.sampled_from(["file", "link", "twin"])
ACTIONS = st.sampled_from(["change", "delete", "create", "keep", "move"])
FILES = st.lists(st.tuples(KINDS, CONTENT, MODES, ACTIONS, CONTENT), max_size=6)


def build(folder: Path, files: list[tuple[str, bytes, int, str, bytes]]) -> list[FileWrite]:
    """Create the files, and return the writes for the commit."""
    put(folder / "fixed/file", b"fixed")
    os.link(put(folder / "fixed/twin", b"twin"), folder / "fixed/brother")
    writes: list[FileWrite] = []
    for number, (kind, old, mode, action, new) in enumerate(files):
        name = f"d{number % 2}/f{number}"
        if action == "create":
            writes.append(FileWrite(f"made{number % 2}/deep/f{number}", new, None))
            continue
        file = put(folder / f"{name}.real" if kind == "link" else folder / name, old, mode)
        if kind == "link":
            (folder / name).symlink_to(f"f{number}.real")
        elif kind == "twin":
            os.link(file, folder / f"{name}.twin")
        if action == "change":
            writes.append(FileWrite(name, new, old))
        if action == "move":
            writes.append(FileWrite(f"made/f{number}", new, None, name))
        if action in ("delete", "move"):
            writes.append(FileWrite(name, None, old))
    return writes


@pytest.mark.parametrize("failure", FAILURES)
@given(files=FILES)
def test_a_commit_that_fails_leaves_the_tree_as_it_was(
    failure: str, files: list[tuple[str, bytes, int, str, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writes = build(folder, files)
        last, error = FAILURES[failure]
        before = snapshot(folder)
        with small_files_only(), pytest.raises(error):
            commit_in(folder, *writes, *last)
        assert snapshot(folder) == before


@given(files=FILES)
def test_a_successful_commit_makes_all_writes_and_leaves_no_temporary_files(
    files: list[tuple[str, bytes, int, str, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writes = build(folder, files)
        states = commit_in(folder, *writes)
        for write, state in zip(writes, states, strict=True):
            path = Path(state.path)
            assert (path.read_bytes() if path.exists() else None) == write.content == state.after
        assert not list(folder.rglob("*.tmp"))


@pytest.mark.req("H6", "X10")
async def test_a_deleted_file_restored_with_equal_content_gets_its_permissions_back(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_bytes(b"#!/bin/sh\n")
    script.chmod(0o750)
    env = LocalEnvironment(str(tmp_path))
    await env.commit([FileWrite("run.sh", None, b"#!/bin/sh\n")], Attribution())
    await env.commit([FileWrite("run.sh", b"#!/bin/sh\n", None)], Attribution())
    assert mode_of(script) == 0o750
    await env.commit([FileWrite("run.sh", None, b"#!/bin/sh\n")], Attribution())
    await env.commit([FileWrite("run.sh", b"another file\n", None)], Attribution())
    assert mode_of(script) != 0o750
