"""Missing files are looked for again only if the folder that lacked them has changed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agent_ls.services.changes import absent_files
from agent_ls.services.changes.absent_files import AbsentFiles
from agent_ls.services.changes.stamps import stamps
from tests.support.processes import eventually

pytestmark = pytest.mark.req("L5")

STEP_NS = 50_000_000
NAMES = ("AGENTS.md", "here.md", ".github/a.md", ".github/deep/b.md", "there/c.md", *map(str, range(20)))


@contextmanager
def looks() -> Iterator[list[int]]:
    """Yield a list with the number of `stat` calls in the block."""
    count = [0]

    def called(frame: FrameType, event: str, argument: Any) -> None:
        count[0] += event == "c_call" and argument.__name__ == "stat"

    sys.setprofile(called)
    try:
        yield count
    finally:
        sys.setprofile(None)


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nothing has changed for a while. It has the file here.md and the empty folder `there`."""
    monkeypatch.setattr(absent_files, "STEP_NS", STEP_NS)
    monkeypatch.setattr(os, "major", lambda device: 8)
    made = tmp_path / "folder"
    (made / "there").mkdir(parents=True)
    (made / "here.md").touch()
    newest_ns = max(path.stat().st_ctime_ns for path in (made, made / "there"))
    await eventually(lambda: time.time_ns() > newest_ns + 2 * STEP_NS)
    return made


def _paths(folder: Path) -> list[str]:
    return [os.path.join(folder, *name.split("/")) for name in NAMES]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, own disks are not known")
async def test_an_unchanged_folder_takes_few_looks(folder: Path) -> None:
    absent, paths = AbsentFiles(), _paths(folder)
    assert absent.stamps(paths, {}) == stamps(paths, {})
    for _ in range(2):
        with looks() as count:
            found = absent.stamps(paths, {})
        assert (
            count[0] <= 4
        )  # the file, and two folders, one of them also in the look for where names are missing
        assert found == stamps(paths, {})


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "AGENTS.md").touch(),
        lambda folder: (folder / "7").symlink_to("here.md"),
        lambda folder: (folder / ".github" / "deep").mkdir(parents=True),
        lambda folder: shutil.copytree(folder / "there", folder / ".github"),
        lambda folder: (folder / "there" / "c.md").touch(),
        lambda folder: (folder / "there").rmdir(),
        lambda folder: (folder / "here.md").rename(folder / "AGENTS.md"),
        lambda folder: shutil.rmtree(folder),
    ],
)
async def test_each_change_of_a_folder_is_found(change: Callable[[Path], object], folder: Path) -> None:
    absent, paths = AbsentFiles(), _paths(folder)
    for _ in range(2):
        absent.stamps(paths, {})
    change(folder)
    (folder / ".github" / "a.md").touch() if (folder / ".github").is_dir() else None
    for _ in range(2):
        assert absent.stamps(paths, {}) == stamps(paths, {})


async def test_a_missing_file_that_an_editor_shows_has_its_version(folder: Path) -> None:
    absent, paths = AbsentFiles(), _paths(folder)
    absent.stamps(paths, {})
    for version in (1, 2):
        assert absent.stamps(paths, {paths[0]: version})[paths[0]] == (None, version)


async def test_nothing_is_remembered_of_a_network_disk_or_a_folder_that_has_just_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = _paths(folder)
    for major, step_ns in ((0, 0), (8, 10**18)):
        monkeypatch.setattr(os, "major", lambda device, major=major: major)
        monkeypatch.setattr(absent_files, "STEP_NS", step_ns)
        absent = AbsentFiles()
        absent.stamps(paths, {})
        with looks() as count:
            absent.stamps(paths, {})
        assert count[0] >= len(paths)
