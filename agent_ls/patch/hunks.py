"""The values that a change is told in: line hunks, file changes, change sets, ids. Knows no matching and no format.

Lines are those of `agent_ls.text.split_lines`: with their endings, counted from 0. Rules: SEMANTICS section 10.
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
ItemKind: TypeAlias = Literal["create", "delete", "rename", "overwrite", "binary"]


@dataclass(frozen=True, slots=True)
class LineHunk:
    """Base lines [base_start, base_end), which are `removed`, give way to `added`.

    `base_start == base_end` inserts before that line. An added last line without ending gets one when lines
    follow it (SEMANTICS 1.5), and so does a base line that is no longer the last.
    """

    base_start: int
    base_end: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a plan does to one file, all steps together.

    `before` is what stood at `path` (for a move: at `moved_from`), `after` what will stand at `path`; None is "no
    file". `hunks` lead from the lines of `before` to those of `after`; () when a side is not text. `overwritten`
    is what a move replaces at its destination. `replaces_whole` marks an Add over an existing file.
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
    """One file to write (`after`) or delete (None), and what must stand there until then (`before`).

    `mode_from` names the file whose permission bits a moved file takes (deviation D6), "" for none.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode_from: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """A recovery rule that was used (R1 to R14), and where: `section`, `chunk` and patch `line` count from 1."""

    rule: str
    note: str
    section: int = 0
    chunk: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a chunk was found: `line` counts from 1 in the file as the chunk's section saw it.

    `level` is 1 to 4 for the strict levels of SEMANTICS 3.1, 5 and 6 for those of R14, 0 when nothing was matched
    (pure insertion). `candidates` counts the places that fit at that level (counting stops at 1000). Where there are
    several, `lines` are the first of them.
    """

    path: str
    section: int
    chunk: int
    line: int
    level: int
    candidates: int
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reported:
    """One line of the success text: a section of the patch, its path as spelled there."""

    mark: Literal["A", "M", "D"]
    path: str


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The outcome of a plan: nothing has been written. Files that end as they began are not in `changes`."""

    changes: tuple[FileChange, ...]
    writes: tuple[PlannedFile, ...]
    reported: tuple[Reported, ...] = ()
    placements: tuple[Placement, ...] = ()
    repairs: tuple[Repair, ...] = ()

    def summary(self) -> str:
        """The success text of SEMANTICS 4.7, ending with a newline."""
        lines = [f"{r.mark} {r.path}\n" for mark in "AMD" for r in self.reported if r.mark == mark]
        return "".join(["Success. Updated the following files:\n", *lines])

    def notes(self) -> tuple[str, ...]:
        """One sentence for each repair, for the review and for the model."""
        return tuple(f"{r.rule}{f' (patch line {r.line})' if r.line else ''}: {r.note}" for r in self.repairs)


def hunk_ids(call_id: str, path: str, hunks: Sequence[LineHunk]) -> tuple[HunkId, ...]:
    """Ids in the order of `hunks` (all hunks of one file in one call; SEMANTICS 10.5)."""
    seen: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    ids = []
    for hunk in hunks:
        removed = tuple(strip_ending(line) for line in hunk.removed)
        added = tuple(strip_ending(line) for line in hunk.added)
        ids.append(_id(["v1", call_id, path, removed, added, seen[removed, added]]))
        seen[removed, added] += 1
    return tuple(ids)


def item_id(kind: ItemKind, path: str, destination: str | None = None) -> HunkId:
    """The id of a change to a whole file: create, delete, rename, binary."""
    return _id(["v1", kind, path, destination])


def _id(parts: Sequence[object]) -> HunkId:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return HunkId("h" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])
