"""Temporary folders of killed processes are removed, those of others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from agent_ls.temporary_folders import (
    MIN_AGE_S,
    UNLOCKED,
    make_temporary_folder,
    remove_left_folders,
    remove_temporary_folder,
)

pytestmark = [
    pytest.mark.req("X4"),
    pytest.mark.skipif(os.name == "nt", reason="on Windows nothing is locked, so nothing is removed"),
]
PREFIX = "agent-ls-tmp-"


def make_folder() -> Path:
    """Create a temporary folder, and wait for the thread that removes old ones: it locks those it looks at."""
    folder = Path(make_temporary_folder(PREFIX))
    for thread in threading.enumerate():
        if thread.name == f"remove {PREFIX}*":
            thread.join()
    return folder


def make_old(path: Path) -> Path:
    before = path.stat().st_mtime - 2 * MIN_AGE_S
    os.utime(path, (before, before))
    return path


def test_only_old_folders_without_a_process_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = make_old(make_folder())
    left, young, other = (tmp_path / name for name in (f"{PREFIX}left", f"{PREFIX}young", "other"))
    for folder in (left, young, other):
        (folder / "deep").mkdir(parents=True)
    (left / "deep" / "out").symlink_to(other)
    make_old(left)
    make_old(other)
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    make_old(Path(tempfile.mkstemp(prefix=PREFIX)[1]))

    remove_left_folders(PREFIX)

    assert not left.exists()
    assert mine.exists() and young.exists() and (other / "deep").exists()
    assert len([it for it in tmp_path.iterdir() if it.name.startswith(PREFIX)]) == 4


def test_young_folders_are_removed_too_if_no_age_is_wanted_but_never_one_that_is_being_made(
    tmp_path: Path,
) -> None:
    mine = Path(make_temporary_folder(PREFIX, place=str(tmp_path)))
    young, unlocked = tmp_path / f"{PREFIX}young", tmp_path / f"{UNLOCKED}{PREFIX}unlocked"
    young.mkdir()
    unlocked.mkdir()
    make_old(unlocked)

    remove_left_folders(PREFIX, str(tmp_path), 0)

    assert sorted(tmp_path.iterdir()) == sorted([mine, unlocked])


def test_an_own_folder_is_removed_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = make_folder()
    (folder / "a").write_text("a")

    remove_temporary_folder(str(folder))

    assert not folder.exists()


@pytest.mark.group("signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_demo_leaves_no_folder(number: signal.Signals, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name) for name in ("TMPDIR", "HOME")}
    for place in places.values():
        Path(place).mkdir()
    temporary = Path(places["TMPDIR"])
    command = [sys.executable, "-m", "agent_ls", "demo", "--headless"]
    with subprocess.Popen(
        command, env={**os.environ, **places}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as demo:
        assert demo.stdout
        demo.stdout.readline()  # the first words are printed when both folders are there
        assert {it.name.split("-")[2] for it in temporary.glob("agent-ls-demo-*")} >= {"demo"}
        demo.send_signal(number)
        demo.stdout.read()

    assert [it.name for it in temporary.glob("agent-ls-demo-*")] == []
