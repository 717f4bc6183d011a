"""The facts of a turn that changed files: which checks ran after the last change. Part of the union SessionEvent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from agent_ls.loop.events.origin import Emitted

CheckResult: TypeAlias = Literal["passed", "failed", "unclear", "running", "stopped"]
"""`unclear`: the exit code may be that of another command of the line, as in `pytest | tail`.

`stopped`: the command ended without an exit code, for example at its time limit.
"""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A command that checks the project. `duration_ms` is None for a command in the background.

    `changed_files` counts the files that the command itself changed.
    """

    call_id: str
    command: str
    result: CheckResult
    exit_code: int | None = None
    duration_ms: int | None = None
    changed_files: int = 0


@dataclass(frozen=True, slots=True)
class TurnFacts(Emitted):
    """The session's commands since it last changed a file. Emitted before processing_end if the turn changed files,
    or checked the changes of an earlier turn.

    `text` is one line for the user. `files` counts the files that the turn changed, `other_commands` the commands
    that are no checks. `new_problems` counts the errors and warnings in the editor that the turn's edits caused,
    `fixed_problems` those that they removed; None without an editor that reports them.
    """

    kind: ClassVar[Literal["turn_facts"]] = "turn_facts"
    text: str
    files: int
    checks: tuple[CheckRun, ...] = ()
    other_commands: int = 0
    new_problems: int | None = None
    fixed_problems: int | None = None

    @property
    def is_checked(self) -> bool:
        """Whether a check passed since the last change, and none failed."""
        results = {check.result for check in self.checks}
        return "passed" in results and results <= {"passed", "unclear"}
