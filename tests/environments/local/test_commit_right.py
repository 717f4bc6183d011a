"""Commits of a process that loses the ownership of the session and is stopped at the worst moment write nothing
later.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.environments.base import FileWrite
from agent_ls.environments.local.commit import DeletedModes, commit, sweep

pytestmark = pytest.mark.req("R7", "X2")

WRITES = (
    FileWrite("a.txt", b"new a", b"old a"),
    FileWrite("made/b.txt", b"new b", None),
    FileWrite("c.txt", b"new c", b"old c"),
    FileWrite("d.txt", None, b"old d"),
    FileWrite("e.txt", None, b"old e"),
)
STEPS = 12
"""The ownership checks: each write is staged and renamed; each deletion is set aside, checked and removed."""


class LostError(Exception):
    pass


class Right:
    """An ownership check that fails from call number `at` on. With `is_late`, that call still succeeds."""

    def __init__(self, folder: Path, at: int, *, is_late: bool) -> None:
        self.folder, self.at, self.is_late = folder, at, is_late
        self.asked = 0
        self.found: dict[str, bytes] | None = None

    def check_ownership(self) -> None:
        self.asked += 1
        if self.asked == self.at:
            sweep([str(self.folder), str(self.folder / "made")], os.getpid(), is_put_out=True)
            self.found = files(self.folder)
            if self.is_late:
                return
        if self.found is not None:
            raise LostError


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def committed(folder: Path, right: Right) -> None:
    for name in "acde":
        (folder / f"{name}.txt").write_bytes(f"old {name}".encode())
    commit(WRITES, lambda path: os.path.normpath(folder / path), DeletedModes(), right.check_ownership)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_a_commit_that_loses_ownership_midway_leaves_the_files_as_the_new_owner_found_them(
    tmp_path: Path, at: int, is_late: bool
) -> None:
    right = Right(tmp_path, at, is_late=is_late)

    with pytest.raises(LostError):
        committed(tmp_path, right)

    assert files(tmp_path) == right.found


def test_a_commit_checks_session_ownership_before_each_step(tmp_path: Path) -> None:
    right = Right(tmp_path, 0, is_late=False)

    committed(tmp_path, right)

    assert right.asked == STEPS
    assert files(tmp_path) == {"a.txt": b"new a", "made/b.txt": b"new b", "c.txt": b"new c"}


def test_staged_files_of_a_live_owner_are_not_removed(tmp_path: Path) -> None:
    staged = tmp_path / f".agent-ls-{os.getpid()}-x.tmp"
    staged.write_bytes(b"")
    sweep([str(tmp_path)], os.getpid())
    assert staged.exists()
    sweep([str(tmp_path)], os.getpid(), is_put_out=True)
    assert not staged.exists()
