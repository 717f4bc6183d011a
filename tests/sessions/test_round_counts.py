"""The file reads and thread calls of a round, counted instead of timed."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.services.changes.stamps import STEP_NS
from tests.services.counting import CountingProvider
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.processes import eventually
from tests.support.session_rig import running

ROUNDS = 5

LOOKS = {
    ("services/permissions/paths.py", "read_effect_facts"): "",
    ("environments/local/files.py", "read_file"): "",
    ("anyio/to_thread.py", "run_sync"): "",
    ("loop/calls/arguments.py", "parse_arguments"): "",
    ("tools/registry.py", "_definition"): "",
}


def _read(number: int) -> Piece:
    arguments = {"file_path": "a.txt", "offset": 1 + number}
    return tool_call("read_file", json.dumps(arguments), f"c{number}")


def _thread_calls(rounds: Sequence[Counter[str]]) -> int:
    """Return the thread calls of a round. Calls of the session's background work may be counted in any round."""
    return round(statistics.mean(counted["run_sync"] for counted in rounds))


@pytest.fixture(params=[8, 0], ids=["a disk", "a network"])
def looks_at_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the thread calls that look for changed files in a round, or judge a call: none if the files are on a
    disk.
    """
    monkeypatch.setattr(os, "major", lambda device: request.param)
    return 0 if request.param and sys.platform == "linux" else 1


@pytest.mark.req("L5")
async def test_a_read_only_tool_call_is_parsed_and_checked_once_in_one_worker_thread_call(
    tmp_path: Path, looks_at_files: int
) -> None:
    """The thread call checks and reads the file. On a network, two others judge the call and look for changed files."""
    model = CountingProvider([*map(_read, range(ROUNDS)), text("Done.")], LOOKS)
    with model.counting():
        async with running(tmp_path, model=model) as rig:
            (rig.folder / "a.txt").write_text("line\n" * ROUNDS * 2)
            await rig.talk("full", say="go")
    assert not any(part.is_error for part in rig.results())
    _, first, *later = model.rounds
    assert first["read_effect_facts"] == 1
    assert [(counted["read_effect_facts"], counted["read_file"]) for counted in later] == [(1, 1)] * (
        ROUNDS - 1
    )
    assert [(counted["parse_arguments"], counted["_definition"]) for counted in later] == [(1, 0)] * (
        ROUNDS - 1
    )
    assert _thread_calls(later) == 1 + 2 * looks_at_files


@pytest.mark.req("L5", "H4")
async def test_a_file_that_the_model_reads_for_the_first_time_is_read_once(
    tmp_path: Path, looks_at_files: int
) -> None:
    reads = [tool_call("read_file", json.dumps({"file_path": f"{n}.txt"}), f"c{n}") for n in range(ROUNDS)]
    model = CountingProvider([*reads, text("Done.")], LOOKS)
    with model.counting():
        async with running(tmp_path, model=model) as rig:
            files = [rig.folder / f"{number}.txt" for number in range(ROUNDS)]
            for file in files:
                file.write_text(f"{file.name}\n")
            changed_ns = files[-1].stat().st_ctime_ns
            await eventually(lambda: time.time_ns() > changed_ns + STEP_NS)
            await rig.talk("full", say="go")
    assert not any(part.is_error for part in rig.results())
    _, _, *later = model.rounds
    assert [counted["read_file"] for counted in later] == [1] * (ROUNDS - 1)
    assert _thread_calls(later) == 1 + 2 * looks_at_files


@pytest.mark.req("L5")
async def test_an_edit_file_tool_call_makes_four_worker_thread_calls(
    tmp_path: Path, looks_at_files: int
) -> None:
    """The thread calls read the file, record the write in the log, check the path and write, and read
    the written file.
    """
    changes = [
        {"file_path": "a.txt", "old_string": f"line {n}\n", "new_string": f"new {n}\n"} for n in range(ROUNDS)
    ]
    edits = [tool_call("edit_file", json.dumps(change), f"c{n}") for n, change in enumerate(changes)]
    model = CountingProvider([_read(0), *edits, text("Done.")], LOOKS)
    with model.counting():
        async with running(tmp_path, model=model) as rig:
            (rig.folder / "a.txt").write_text("".join(f"line {n}\n" for n in range(ROUNDS)))
            await rig.talk("full", say="go")
    assert not any(part.is_error for part in rig.results())
    _, _, *later = model.rounds
    assert _thread_calls(later) == 4 + 2 * looks_at_files
    assert [counted["parse_arguments"] for counted in later] == [1] * ROUNDS
