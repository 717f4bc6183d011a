"""Errors for a refused patch or edit, with messages that explain to a model what to send instead.

A PatchError contains every problem found, not only the first, and says that nothing was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

ENCODING_ADVICE = "Use only characters of that encoding, or convert the file to UTF-8 with a command first."
MESSAGE_MAX_LINES = 200  # a longer message would fill the model's context
PROBLEM_MAX_LINES = 60  # leaves room for the second and third problem of a patch

Code: TypeAlias = Literal[
    "PARSE",
    "TRUNCATED",
    "NO_CHANGES",
    "FILE_MISSING",
    "FILE_EXISTS",
    "IS_DIRECTORY",
    "NOT_TEXT",
    "ENCODING",
    "PATH_OUTSIDE",
    "ANCHOR_NOT_FOUND",
    "CONTEXT_NOT_FOUND",
    "AMBIGUOUS",
    "OVERLAP",
    "STALE",
    "NOT_READ",
    "NO_CHANGE",
    "OMISSION",
    "IO",
]


@dataclass(frozen=True, slots=True)
class PatchProblem:
    """One reason why a patch or an edit was refused. `section`, `chunk` and `line` are positions in the patch.

    They count from 1; 0 means unknown. If the reference program `apply_patch` has this error, `message` uses the
    program's wording, because models know that wording. `detail` helps to correct the patch: the closest lines, the
    kind of difference, or the text to send instead.
    """

    code: Code
    message: str
    path: str = ""
    section: int = 0
    chunk: int = 0
    line: int = 0
    detail: str = ""

    def text(self) -> str:
        where = [
            f"{word} {number}"
            for word, number in (("section", self.section), ("chunk", self.chunk), ("patch line", self.line))
            if number
        ]
        place = f"At {', '.join(where)} of {self.path or 'the patch'}." if where else ""
        return "\n".join(part for part in (self.message, place, self.detail) if part)


class PatchError(Exception):
    """A patch or an edit was refused as a whole. The properties return the values of the first problem."""

    def __init__(self, problems: Sequence[PatchProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(_message(self.problems))

    @classmethod
    def of(cls, code: Code, message: str, *, path: str = "", line: int = 0, detail: str = "") -> PatchError:
        """Return an error with one problem."""
        return cls([PatchProblem(code, message, path, line=line, detail=detail)])

    @property
    def code(self) -> Code:
        return self.problems[0].code

    @property
    def message(self) -> str:
        return self.problems[0].message

    @property
    def path(self) -> str:
        return self.problems[0].path

    @property
    def section(self) -> int:
        return self.problems[0].section

    @property
    def chunk(self) -> int:
        return self.problems[0].chunk

    @property
    def line(self) -> int:
        return self.problems[0].line


def _message(problems: tuple[PatchProblem, ...]) -> str:
    count = f" ({len(problems)} problems)" if len(problems) > 1 else ""
    last = f"Nothing was written{count}."
    lines: list[str] = []
    for at, problem in enumerate(problems):
        shown = _truncate(problem.text().split("\n"), PROBLEM_MAX_LINES)
        if len(lines) + len(shown) > MESSAGE_MAX_LINES - 3:
            lines.append(f"… and {len(problems) - at} more problems")
            break
        lines += shown
    return "\n".join([*lines, last])


def _truncate(lines: list[str], most: int) -> list[str]:
    """Keep at most `most` lines: the head (the message) and the tail (the advice)."""
    if len(lines) <= most:
        return lines
    tail = most // 2
    head = most - tail - 1
    return [*lines[:head], f"… {len(lines) - head - tail} lines …", *lines[-tail:]]
