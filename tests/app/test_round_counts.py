"""Accesses to the disk of a round that changes nothing: counted, not timed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.counting import CountingProvider
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import running

ROUNDS = 5

LOOKS = {
    ("app/permissions/paths.py", "look"): "",
    ("environments/local/files.py", "read_file"): "",
}


def _read(number: int) -> Piece:
    arguments = {"file_path": "a.txt", "offset": 1 + number}
    return tool_call("read_file", json.dumps(arguments), f"c{number}")


@pytest.mark.req("L5")
async def test_a_read_only_call_is_judged_once_and_the_file_read_once(
    tmp_path: Path,
) -> None:
    model = CountingProvider([*map(_read, range(ROUNDS)), text("Done.")], LOOKS)
    with model.counting():
        async with running(tmp_path, model=model) as rig:
            (rig.folder / "a.txt").write_text("line\n" * ROUNDS * 2)
            talk = await rig.talk("full")
            await talk.say("go")
    assert not any(part.is_error for part in rig.results())
    _, first, *later = model.rounds
    assert first["look"] == 1
    assert [dict(counted) for counted in later] == [{"look": 1, "read_file": 1}] * (ROUNDS - 1)
