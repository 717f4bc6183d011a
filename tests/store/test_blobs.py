"""Blobs next to a log: stored completely or not at all, and checked when they are read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent_ls.store import blobs

pytestmark = pytest.mark.req("R3", "R7")


def test_a_stored_blob_is_read_by_its_name_and_private_to_the_user(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "blobs"
    names = [blobs.write_blob(folder, data) for data in (b"", b"one\r\n\0", b"one\r\n\0")]
    assert [blobs.read_blob(folder, name) for name in names] == [b"", b"one\r\n\0", b"one\r\n\0"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(set(names))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["", "0" * 64, "../log.jsonl", "lock"])
def test_reading_an_unknown_or_invalid_blob_name_returns_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"x")
    assert blobs.read_blob(tmp_path, name) is None


def test_a_damaged_blob_is_not_returned(tmp_path: Path) -> None:
    name = blobs.write_blob(tmp_path, b"whole")
    (tmp_path / name).write_bytes(b"who")
    assert blobs.read_blob(tmp_path, name) is None
