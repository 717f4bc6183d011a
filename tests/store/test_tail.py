"""Follow the log of another process, at a cost that does not grow with the log (R7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.store.log import detach
from agent_ls.store.tail import LogTail

pytestmark = pytest.mark.req("H3", "R7")


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_complete_log_lines_are_read_once_and_a_partial_line_only_after_its_end_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\ntwo\nthr")
    tail = LogTail(path)

    assert tail.read() == [b"one", b"two"]
    assert tail.read() == ()
    append(path, b"ee")
    assert not tail.read()
    append(path, b"\nfour\n")
    assert tail.read() == [b"three", b"four"]


def test_a_partial_line_removed_by_the_next_owner_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\ntorn")
    tail = LogTail(path)
    assert tail.read() == [b"one"]

    with path.open("r+b") as file:
        file.truncate(4)
    append(path, b"next\n")
    assert tail.read() == [b"next"]


def test_a_repeated_read_of_a_log_reads_only_the_appended_bytes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x" * 99 + b"\n" + b"line\n" * 500_000)
    tail = LogTail(path)
    tail.read()
    before = tail.bytes_read

    append(path, b"new\n")
    assert tail.read() == [b"new"]
    assert tail.bytes_read - before == len(b"new\n")


def test_reading_continues_at_the_same_position_after_a_log_is_replaced_by_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\n")
    tail = LogTail(path)
    tail.read()
    former = path.open("ab")

    detach(path)
    with former:
        former.write(b"of the former owner\n")
    append(path, b"two\n")
    assert tail.read() == [b"two"]
    assert path.stat().st_mode & 0o777 == 0o600
