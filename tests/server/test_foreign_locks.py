"""Lock and swap files of other editors: unsaved changes of a running editor lock the file, left-over files do not."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import pytest

from agent_ls.server.editor.foreign_locks import find_other_editor

DEAD_PID = 2**22 + 1  # above the highest process id of Linux


def vim_swap(pid: int, *, modified: bool, host: str = "") -> bytes:
    head = b"b0" + b"VIM 9.0\0\0\0" + struct.pack("<IIII", 4096, 0, 0, pid)
    head += b"me".ljust(40, b"\0") + (host or socket.gethostname()).encode().ljust(40, b"\0")
    return (head + b"~/a.txt".ljust(899, b"\0") + (b"U" if modified else b"\0")).ljust(4096, b"\0")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (vim_swap(os.getpid(), modified=True), "another Vim"),
        (vim_swap(os.getpid(), modified=False), ""),
        (vim_swap(DEAD_PID, modified=True), ""),
        (vim_swap(DEAD_PID, modified=True, host="elsewhere"), "another Vim"),
        (b"b0", ""),
        (b"something else" * 500, ""),
    ],
    ids=["modified", "unmodified", "editor died", "other host", "torn", "no swap file"],
)
def test_a_vim_swap_file_locks_the_file_if_its_editor_has_unsaved_changes(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    (tmp_path / ".a.txt.swp").write_bytes(content)
    assert find_other_editor(str(tmp_path / "a.txt")).startswith(expected)
    assert bool(find_other_editor(str(tmp_path / "a.txt"))) == bool(expected)


@pytest.mark.parametrize(
    ("owner", "held"),
    [
        (f"me@{socket.gethostname()}.{os.getpid()}:1700000000", True),
        (f"me@{socket.gethostname()}.{DEAD_PID}", False),
        ("me@elsewhere.example.4", True),
        ("whatever", False),
    ],
    ids=["alive", "dead", "another machine", "no lock"],
)
def test_an_emacs_lock_locks_the_file_while_its_editor_may_run(
    tmp_path: Path, owner: str, held: bool
) -> None:
    (tmp_path / ".#a.txt").symlink_to(owner)
    assert bool(find_other_editor(str(tmp_path / "a.txt"))) == held


def test_a_file_without_a_regular_lock_or_swap_file_is_not_locked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".a.txt.swp")
    assert find_other_editor(str(tmp_path / "a.txt")) == ""
    assert find_other_editor(str(tmp_path / "missing" / "a.txt")) == ""
