"""Adding an entry to a stored list (rules, trust) that cannot be read never overwrites the list."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from agent_ls.store.json_list import STEP_NS, JsonList

pytestmark = pytest.mark.req("H7", "R5")


@pytest.mark.parametrize(
    "stored",
    ["", "{", '{"version": 2, "things": ["of a later version"]}', '{"version": 1, "things": 7}', "[" * 9999],
)
def test_a_damaged_list_file_is_kept_under_another_name_when_an_entry_is_added(
    tmp_path: Path, stored: str
) -> None:
    path = tmp_path / "things.json"
    path.write_text(stored)
    things = JsonList(tmp_path, "things")
    assert list(things.read()) == []
    things.change(lambda entries: [*entries, "new"])
    assert list(things.read()) == ["new"]
    assert (tmp_path / "things.damaged.json").read_text() == stored


def test_a_list_that_cannot_be_read_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "things.json"
    path.mkdir()  # a read fails for the superuser too
    things = JsonList(tmp_path, "things")
    assert list(things.read()) == []
    with pytest.raises(OSError):
        things.change(lambda entries: [*entries, "new"])
    assert path.is_dir() and not (tmp_path / "things.damaged.json").exists()


def test_a_missing_list_is_created(tmp_path: Path) -> None:
    JsonList(tmp_path / "deeper", "things").change(lambda entries: [*entries, "new"])
    assert json.loads((tmp_path / "deeper/things.json").read_text()) == {"version": 1, "things": ["new"]}


@pytest.mark.parametrize("age_ns", [0, 2 * STEP_NS], ids=["just written", "written before"])
def test_a_list_that_another_process_replaced_is_read_again(tmp_path: Path, age_ns: int) -> None:
    path, other = tmp_path / "things.json", tmp_path / "other"
    things = JsonList(tmp_path, "things")
    path.write_text('{"version": 1, "things": [1]}')
    time_ns = time.time_ns() - age_ns
    os.utime(path, ns=(time_ns, time_ns))
    assert list(things.read()) == list(things.read()) == [1]
    other.write_text('{"version": 1, "things": [2]}')
    os.utime(other, ns=(time_ns, time_ns))
    other.replace(path)
    assert list(things.read()) == [2]
    path.unlink()
    assert list(things.read()) == []


def test_a_list_that_has_not_changed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    things = JsonList(tmp_path, "things")
    things.change(lambda entries: [*entries, "new"])
    later_ns = time.time_ns() + 2 * STEP_NS
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)
    assert list(things.read()) == ["new"]
    monkeypatch.setattr(json, "loads", None)
    assert list(things.read()) == ["new"]
