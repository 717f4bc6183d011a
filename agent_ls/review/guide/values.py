"""The values of a guided review: a hunk, what is known of its file, its marks, and a row of the list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Lines: TypeAlias = tuple[str, ...]
LookState: TypeAlias = Literal["notLooked", "looked", "kept", "undone"]
MarkKind: TypeAlias = Literal["untested", "newProblem", "sensitive", "signature", "yourText"]
RowKind: TypeAlias = Literal["change", "renames", "whiteSpace", "generated"]


@dataclass(frozen=True, slots=True)
class GuidedHunk:
    """A hunk with what its order and marks depend on. `number` counts the hunks in the order of writing.

    `problems` are the problems that the editor found new after the call and that are not fixed; None if the
    editor did not check. `is_typed_in`: the user changed the agent's lines.
    """

    id: str
    path: str
    old: Lines
    new: Lines
    start: int
    number: int
    state: LookState = "notLooked"
    problems: int | None = None
    is_typed_in: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.new)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The known facts about a file. None means not known.

    `lines` is its current text. `typed` are the lines [start, end) that the user wrote since the agent's first
    write.
    """

    lines: Sequence[str] | None = None
    is_sensitive: bool | None = None
    typed: Sequence[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The known facts about the project. `test_words` are all names in its tests, None if they were not read."""

    files: Mapping[str, FileFacts] = field(default_factory=dict)
    test_words: Collection[str] | None = None

    def of(self, path: str) -> FileFacts:
        return self.files.get(path, FileFacts())


@dataclass(frozen=True, slots=True)
class Mark:
    """A fact that makes a hunk deserve a second look. `text` has at most a few words."""

    kind: MarkKind
    text: str


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a hunk, and the kinds that could not be decided."""

    found: tuple[Mark, ...] = ()
    unknown: tuple[MarkKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row of the review: one hunk, or several mechanical changes under one title."""

    kind: RowKind
    title: str
    hunk_ids: tuple[str, ...]
    state: LookState
    marks: Marks = Marks()


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in code. `signature` is its head without white space."""

    name: str
    signature: str
    is_public: bool
    first: int
    indent: int
