"""Values that describe a change: line hunks, file changes, change sets and hunk ids.

Lines are those of `agent_ls.text.split_lines`: with their line endings, counted from 0.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NewType, TypeAlias

from agent_ls.text import strip_ending

HunkId = NewType("HunkId", str)
Action: TypeAlias = Literal["create", "modify", "delete", "move"]


@dataclass(frozen=True, slots=True)
class LineHunk:
    """A change that replaces base lines [base_start, base_end) by `added`. `removed` is the text of these lines.

    If `base_start == base_end`, `added` is inserted before line `base_start`. A last line without a line
    ending, in the base or in `added`, gets a line ending as soon as other lines follow.
    """

    base_start: int
    base_end: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """The change that a patch makes to one file, with all sections of the patch combined.

    `before` is the content at `path` (for a move: at `moved_from`), `after` the new content at `path`; None
    means no file. `hunks` convert the lines of `before` into the lines of `after`; they are () if one of the two is
    not text. `overwritten` is the content that a move replaces at its destination. `replaces_whole` is set if an Add
    File section replaces an existing file.
    """

    path: str
    action: Action
    before: bytes | None
    after: bytes | None
    hunks: tuple[LineHunk, ...] = ()
    moved_from: str = ""
    overwritten: bytes | None = None
    replaces_whole: bool = False


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file to write (`after`) or delete (`after` is None), and its expected current content (`before`).

    `mode_from` is the path whose permission bits a moved file keeps, "" if the file was not moved.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode_from: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """The use of a recovery rule (R1 to R14, see v4a_apply), with its position in the patch.

    `section`, `chunk` and `line` count from 1; 0 means that the rule does not concern a single one.
    """

    rule: str
    note: str
    section: int = 0
    chunk: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """The position at which a chunk was found. `line` counts from 1 in the file as it was before the chunk's
    section.

    `level` is 1 to 4 for the strict match levels, 5 and 6 for the recovery levels (typography.COMPARED_AS),
    and 0 if no line had to match (a pure insertion). `candidates` counts the positions that match at this
    level, up to 1000. If several positions match, `lines` are the line numbers of the first ones.
    """

    path: str
    section: int
    chunk: int
    line: int
    level: int
    candidates: int
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One line of the success text: a section of the patch with its path as the patch spells it.

    `mark` is A for an added file, M for a changed or moved file, D for a deleted file.
    """

    mark: Literal["A", "M", "D"]
    path: str


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The result of planning a patch; nothing has been written yet. Files whose content stays the same are
    left out of `changes`.
    """

    changes: tuple[PlannedChange, ...]
    writes: tuple[PlannedFile, ...]
    reported: tuple[ReportLine, ...] = ()
    placements: tuple[Placement, ...] = ()
    repairs: tuple[Repair, ...] = ()

    def summary(self) -> str:
        """Return the success text for the model, in the format of the reference program, ending with a newline."""
        lines = [f"{r.mark} {r.path}\n" for mark in "AMD" for r in self.reported if r.mark == mark]
        return "".join(["Success. Updated the following files:\n", *lines])

    def notes(self) -> tuple[str, ...]:
        """Return one sentence for each recovery rule that was used, for the review and for the model."""
        return tuple(f"{r.rule}{f' (patch line {r.line})' if r.line else ''}: {r.note}" for r in self.repairs)


def hunk_ids(call_id: str, path: str, hunks: Sequence[LineHunk]) -> tuple[HunkId, ...]:
    """Return the ids of `hunks`: all hunks that one call makes in one file. Equal hunks get different ids."""
    seen: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    ids = []
    for hunk in hunks:
        removed = tuple(strip_ending(line) for line in hunk.removed)
        added = tuple(strip_ending(line) for line in hunk.added)
        ids.append(_id(["v1", call_id, path, removed, added, seen[removed, added]]))
        seen[removed, added] += 1
    return tuple(ids)


def _id(parts: Sequence[object]) -> HunkId:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return HunkId("h" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])
