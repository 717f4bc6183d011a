"""Count the work on a large file for an edit of one line, instead of measuring time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.services.counting import CountingProvider
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import running

LINES, EDITS = 20_000, 4

WHOLE = {
    ("environments/base.py", "_hash"): "data",
    ("text.py", "_decode"): "data",
    ("text.py", "split_lines"): "text",
    ("environments/local/files.py", "read_file"): "",
    ("patch/splice.py", "text_splice"): "old",
}


def _edit(number: int) -> Piece:
    line = number * 4_000 + 1_000
    change = {"old_string": f"line {line}: words", "new_string": f"line {line}: other words"}
    return tool_call("edit_file", json.dumps({"file_path": "a.txt", **change}), f"c{number}")


@pytest.mark.req("L5", "X9")
async def test_a_large_file_is_hashed_once_and_not_split_for_an_edit_of_one_line(tmp_path: Path) -> None:
    reading = tool_call("read_file", json.dumps({"file_path": "a.txt", "limit": 5}), "read")
    model = CountingProvider([reading, *map(_edit, range(EDITS)), text("Done.")], WHOLE)
    content = "".join(f"line {number}: words of an ordinary length\n" for number in range(LINES))
    with model.counting():
        async with running(tmp_path, model=model) as rig:
            (rig.folder / "a.txt").write_text(content, newline="")
            await rig.talk("full", say="go")
    assert (rig.folder / "a.txt").read_text().count("other words") == EDITS
    _, read, first, *later = model.rounds
    assert read["read_file"] >= 1, "nothing was counted"
    assert first["split_lines"] <= 1, "the ledger has the lines of the file, made once"
    for counted in later:
        assert counted["_hash"] == 1, "the digest of the new content; that of the old one is known"
        assert counted["_decode"] == 1
        assert counted["split_lines"] == 0
        assert counted["text_splice"] == 1, "for what is shown, for what is told and for the ledger"
        assert counted["read_file"] == 3, "to prepare it, to be sure of the base, and once after it"
