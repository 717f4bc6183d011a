"""Commits of one who loses the right to write, and stands still at the worst moment: nothing of them comes later."""

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
"""Each write is staged and put, each deletion set aside, looked at, and removed."""


class LostError(Exception):
    pass


class Right:
    """It is lost as the `at`-th question is asked; `is_late`: the answer was on its way, and is yes all the same."""

    def __init__(self, folder: Path, at: int, *, is_late: bool) -> None:
        self.folder, self.at, self.is_late = folder, at, is_late
        self.asked = 0
        self.found: dict[str, bytes] | None = None

    def demand(self) -> None:
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
    commit(WRITES, lambda path: os.path.normpath(folder / path), DeletedModes(), right.demand)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_the_files_stay_as_who_took_the_right_away_found_them(tmp_path: Path, at: int, is_late: bool) -> None:
    right = Right(tmp_path, at, is_late=is_late)

    with pytest.raises(LostError):
        committed(tmp_path, right)

    assert files(tmp_path) == right.found


def test_who_keeps_the_right_is_asked_before_each_step(tmp_path: Path) -> None:
    right = Right(tmp_path, 0, is_late=False)

    committed(tmp_path, right)

    assert right.asked == STEPS
    assert files(tmp_path) == {"a.txt": b"new a", "made/b.txt": b"new b", "c.txt": b"new c"}


def test_what_another_has_staged_is_not_swept_while_it_has_its_right(tmp_path: Path) -> None:
    staged = tmp_path / f".agent-ls-{os.getpid()}-x.tmp"
    staged.write_bytes(b"")
    sweep([str(tmp_path)], os.getpid())
    assert staged.exists()
    sweep([str(tmp_path)], os.getpid(), is_put_out=True)
    assert not staged.exists()
