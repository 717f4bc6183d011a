"""The patch of a session leaves out what the user undid after its last write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from agent_ls.loop.events.codec import camel_json, encode
from agent_ls.loop.events.types import Envelope, FileChange, Hunk, HunkState, HunkStateChanged
from agent_ls.sessions.export.patch import session_patch
from agent_ls.store.blobs import write_blob
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.layout import blobs_path, log_path
from agent_ls.store.log import json_line

PATH = "/w/a.py"
What = Literal["content", "create", "delete"]
Record = RecordedWrite | Hunk


def hunk(old: str, new: str, at: int, state: HunkState = "undone", what: What = "content") -> Hunk:
    lines = tuple(new.splitlines(keepends=True))
    base = tuple(old.splitlines(keepends=True))
    return Hunk(
        f"h{at}", "s", "t", "c", PATH, what, state, at, at + len(base), at, at + len(lines), base, lines
    )


class Log:
    """A session's log, written by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def write(self, before: str | None, after: str | None) -> Log:
        old, new = (
            "" if text is None else write_blob(blobs_path(self.folder), text.encode())
            for text in (before, after)
        )
        return self.add({"change": camel_json(RecordedWrite(PATH, "c", "t", old, new))})

    def change(self, *hunks: Hunk) -> Log:
        return self.event(FileChange("c", PATH, "modify", 1, 1, "", hunks))

    def decide(self, *hunks: Hunk) -> Log:
        return self.event(HunkStateChanged(PATH, hunks, "user"))

    def event(self, event: FileChange | HunkStateChanged) -> Log:
        self.count += 1
        with log_path(self.folder).open("ab") as file:
            file.write(b'{"event":%b}\n' % encode(Envelope("s", self.count, "", event, "t")))
        return self

    def add(self, record: dict[str, object]) -> Log:
        with log_path(self.folder).open("ab") as file:
            file.write(json_line(record))
        return self


def body(log: Log) -> Sequence[str]:
    lines = session_patch(log.folder, [("/w", "")]).splitlines()
    return [
        line
        for line in lines
        if (line[:1] in ("+", "-") and line[:4] not in ("--- ", "+++ ", "---")) or line.startswith("Note")
    ]


def test_an_undone_change_is_not_in_the_patch(tmp_path: Path) -> None:
    log = Log(tmp_path).write("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n")
    log.change(hunk("a\n", "A\n", 0, "pending"), hunk("e\n", "E\n", 4, "pending"))
    log.decide(hunk("a\n", "A\n", 0))
    assert body(log) == ["-e", "+E"]

    log.decide(hunk("a\n", "A\n", 0, "pending"))
    assert body(log) == ["-a", "+A", "-e", "+E"], "the user took the undo back"


def test_a_removal_that_was_undone_is_put_back_at_its_place(tmp_path: Path) -> None:
    log = Log(tmp_path).write("a\nx\nb\nx\nc\n", "a\nb\nC\n")
    log.decide(hunk("x\n", "", 7))  # the user had typed lines above it
    assert body(log)[0].startswith("Note: a.py"), "which of the two it was is not known"

    other = Log(tmp_path / "other")
    other.folder.mkdir()
    other.write("a\nx\nb\nc\n", "a\nb\nC\n").decide(hunk("x\n", "", 7))
    assert body(other) == ["-c", "+C"]


def test_a_later_write_has_the_undone_change_no_more(tmp_path: Path) -> None:
    log = Log(tmp_path).write("a\nb\n", "A\nb\n").decide(hunk("a\n", "A\n", 0)).write("a\nb\n", "a\nB\n")
    assert body(log) == ["-b", "+B"]


@pytest.mark.parametrize(("before", "after", "what"), [(None, "a\n", "create"), ("a\n", None, "delete")])
def test_a_file_whose_creation_or_deletion_was_undone_is_not_in_the_patch(
    tmp_path: Path, before: str | None, after: str | None, what: What
) -> None:
    log = Log(tmp_path).write(before, after).decide(hunk(before or "", after or "", 0, "undone", what))
    assert session_patch(log.folder, [("/w", "")]) == ""


def test_an_undone_change_beside_another_one_is_found_by_its_text(tmp_path: Path) -> None:
    log = Log(tmp_path).write("a\nb\n", "A\nB\n").decide(hunk("a\n", "A\n", 0))
    assert body(log) == ["-b", "+B"]


def test_a_content_that_was_not_stored_is_named(tmp_path: Path) -> None:
    log = Log(tmp_path).add({"change": camel_json(RecordedWrite(PATH, "c", "t", "", "0" * 64))})
    assert body(log) == ["Note: a.py: its content was not stored"]
