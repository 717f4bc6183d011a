"""Mode full: a command that reads the targets of links in a folder is asked about if a link leads outside."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.policy.fuzz import SECRET, Scratch
from tests.policy.test_moved_folders import is_silent_in

pytestmark = pytest.mark.req("X7", "T10")

LINES = (
    "rg -L .", "rg --follow secret", "rg -iL secret src", "grep -R secret .", "grep -inR secret src",
    "grep --dereference-recursive secret src", "find -L . -name secret.txt", "find . -follow -name secret.txt",
    "fd -L secret", "du -aL .", "tree -l",
    "ls -LR", "cp -rL src copy", "cp -r --dereference src copy", "cp -Hr out copy",
    "tar -chf a.tar src", "tar chf a.tar src", "tar --dereference -cf a.tar src", "zip -r a.zip src",
    "ag -f secret", "7z a a.7z src",
    "tar xf t.tar", "tar -xzf t.tgz", "tar -x -f t.tar", "tar --extract -f t.tar", "unzip -o x.zip", "unzip x.zip -d .",
    "python3 -m zipfile -e x.zip .", "python3 -m tarfile -e t.tar", "7z x a.7z", "jar xf a.jar",
    "cd src && grep -R secret", "cd src && rg -L secret ..",
)  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    (scratch.work / ".env").unlink()
    return scratch


@pytest.mark.parametrize("line", LINES)
def test_a_command_that_follows_links_to_places_outside_is_asked_about(line: str, scratch: Scratch) -> None:
    assert not is_silent_in(scratch, line)


@pytest.mark.parametrize(
    "line", ["grep -R x src", "cp -rL src copy", "tar xf archive.tar", "find -L . -name x.py"]
)
def test_a_command_that_follows_links_within_the_workspace_needs_no_approval(
    line: str, scratch: Scratch
) -> None:
    for path in scratch.work.rglob("*"):
        if path.is_symlink():
            path.unlink()
    (scratch.work / "src/again").symlink_to("..")
    assert is_silent_in(scratch, line)


def test_an_archive_is_unpacked_through_a_link_to_a_folder_outside(scratch: Scratch) -> None:
    made = scratch.folder / "made"
    (made / "out").mkdir(parents=True)
    (made / "out/new").write_text("x")
    subprocess.run(["tar", "cf", str(scratch.work / "t.tar"), "out/new"], cwd=made, check=True)
    scratch.run("tar xf t.tar")
    assert (scratch.folder / "outside/new").exists()


def test_a_link_to_a_file_outside_is_replaced_by_a_file_of_the_archive(scratch: Scratch) -> None:
    for name in ("out", "a:"):
        (scratch.work / name).unlink()
    assert is_silent_in(scratch, "tar xf t.tar")


def test_the_links_of_the_scratch_folder_are_read(scratch: Scratch) -> None:
    assert SECRET.encode() in scratch.run("grep -R secret src")
    if shutil.which("rg"):
        assert SECRET.encode() in scratch.run("rg -L secret src")
