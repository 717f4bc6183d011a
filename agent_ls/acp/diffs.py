"""Convert changes of files to ACP's diffs: old text and new text, from the unified diff in events. Pure.

An event has only the diff. The missing text is computed from the diff and the file's text before or after the
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_ls.patterns import regex
from agent_ls.text import split_lines

WHOLE_TEXT_CHARS = 256 * 1024
"""A diff of texts longer than this contains only the changed hunks, not the whole texts."""

PART = {"agent-ls": {"part": True}}
"""`_meta` of a diff whose texts are not those of the whole file."""

_HUNK = regex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline"


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """A hunk of a diff. `old_start` and `new_start` count from 0; lines include their line endings."""

    old_start: int
    new_start: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def first_changed(self) -> int:
        """The first line of the new text that differs, from 0."""
        same = 0
        for before, after in zip(self.old, self.new, strict=False):
            if before != after:
                break
            same += 1
        return self.new_start + same


def hunks_of(diff: str) -> tuple[DiffHunk, ...]:
    """Return the hunks of one file's unified diff; none for a binary file, or for a file that only moved."""
    found: list[DiffHunk] = []
    starts: tuple[int, int] | None = None
    old: list[str] = []
    new: list[str] = []
    last: tuple[list[str], ...] = ()

    def close() -> None:
        if starts is not None:
            found.append(DiffHunk(*starts, tuple(old), tuple(new)))

    for line in split_lines(diff):
        if match := _HUNK.match(line):
            close()
            starts, old, new, last = (_start(match[1], match[2]), _start(match[3], match[4])), [], [], ()
        elif starts is None:
            continue
        elif line.startswith(_NO_NEWLINE):
            for side in last:
                side[-1] = side[-1].removesuffix("\n").removesuffix("\r")
        else:
            last = {"-": (old,), "+": (new,), " ": (old, new)}.get(line[:1], ())
            for side in last:
                side.append(line[1:])
    close()
    return tuple(found)


def _start(number: str, count: str | None) -> int:
    """Convert the line number and line count in a hunk header to the number of the first line, from 0.

    For an empty range, the header contains the number of the line before the range.
    """
    return int(number) if count == "0" else max(int(number) - 1, 0)


def other_side(hunks: Sequence[DiffHunk], text: str, *, is_new: bool) -> str | None:
    """Return the new text of a file from the diff and the old text, or with `is_new` the old text from the new text.

    `text` is the old text, or with `is_new` the new one. Returns None if the diff does not apply to `text`.
    """
    lines = split_lines(text)
    made: list[str] = []
    at = 0
    for hunk in hunks:
        here, there = (hunk.new, hunk.old) if is_new else (hunk.old, hunk.new)
        start = hunk.new_start if is_new else hunk.old_start
        if start < at or tuple(lines[start : start + len(here)]) != here:
            return None
        made += [*lines[at:start], *there]
        at = start + len(here)
    return "".join((*made, *lines[at:]))


def diff_content(
    path: str, diff: str, action: str, text: str | None, *, is_new: bool
) -> list[dict[str, Any]]:
    """Return the `content` entries for one changed file; none for a binary file. `text` is the file's text
    before the change, or with `is_new` after it; None if it is not known.
    """
    hunks = hunks_of(diff)
    if action == "create":
        new = "".join("".join(hunk.new) for hunk in hunks)
        return [_entry(path, None, new)] if hunks or not diff.startswith("Binary") else []
    if action == "delete":
        old = "".join("".join(hunk.old) for hunk in hunks)
        return [_entry(path, old, "")] if hunks else []
    if text is not None and len(text) <= WHOLE_TEXT_CHARS and hunks:
        other = other_side(hunks, text, is_new=is_new)
        if other is not None and len(other) <= WHOLE_TEXT_CHARS:
            return [_entry(path, *((other, text) if is_new else (text, other)))]
    return [{**_entry(path, "".join(hunk.old), "".join(hunk.new)), "_meta": PART} for hunk in hunks]


def _entry(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def first_line(diff: str) -> int | None:
    """Return the first changed line, from 1, as ACP counts; None if there is none."""
    hunks = hunks_of(diff)
    return hunks[0].first_changed + 1 if hunks else None
