"""Why a patch or an edit was refused, in words that a model can act on (SEMANTICS 14). Knows no file.

PatchError
    carries every Problem found, not only the first, and says that nothing was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

MESSAGE_MAX_LINES = 200  # SEMANTICS 14.4
PROBLEM_MAX_LINES = 60  # so that the second and third problem of a patch are still seen

Code: TypeAlias = Literal[
    "PARSE",
    "TRUNCATED",
    "NO_CHANGES",
    "FILE_MISSING",
    "FILE_EXISTS",
    "IS_DIRECTORY",
    "NOT_TEXT",
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
class Problem:
    """One reason. `section`, `chunk` and `line` (of the patch text) count from 1; 0 is "not known".

    `message` is the sentence that models know from the reference program where there is one; `detail` teaches:
    the closest place, the kind of difference, what to send instead.
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
    """A patch or an edit that was refused whole. The fields are those of the first problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(_message(self.problems))

    @classmethod
    def of(cls, code: Code, message: str, *, path: str = "", line: int = 0, detail: str = "") -> PatchError:
        """An error with one problem."""
        return cls([Problem(code, message, path, line=line, detail=detail)])

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


def _message(problems: tuple[Problem, ...]) -> str:
    count = f" ({len(problems)} problems)" if len(problems) > 1 else ""
    last = f"Nothing was written{count}."
    lines: list[str] = []
    for at, problem in enumerate(problems):
        told = _shortened(problem.text().split("\n"), PROBLEM_MAX_LINES)
        if len(lines) + len(told) > MESSAGE_MAX_LINES - 3:
            lines.append(f"… and {len(problems) - at} more problems")
            break
        lines += told
    return "\n".join([*lines, last])


def _shortened(lines: list[str], most: int) -> list[str]:
    """Head and tail kept: the message begins it, the advice ends it."""
    if len(lines) <= most:
        return lines
    tail = most // 2
    head = most - tail - 1
    return [*lines[:head], f"… {len(lines) - head - tail} lines …", *lines[-tail:]]
