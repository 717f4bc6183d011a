"""Pure: follow the events of a turn, and say at its end which checks ran since its last change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from agent_ls.loop.events.editor import EditDiagnosed
from agent_ls.loop.events.evidence import CheckRun, TurnFacts
from agent_ls.loop.events.types import (
    FileChange,
    ProcessingEnd,
    SessionEvent,
    TerminalExit,
    TerminalOpen,
    ToolCallEnd,
)

Judgement: TypeAlias = Literal["", "unclear", "decisive", "followed"]
"""What a command line is as a check: none, one whose exit code may be another command's, or one that decides. After
the checks of a `followed` line other commands run: what it changes, it may change after them.
"""

JudgeCheck: TypeAlias = Callable[[str], Judgement]
MAX_CHECKS = 20
MAX_SHOWN = 3
MAX_COMMAND_CHARS = 80


def no_checks(command: str) -> Judgement:
    return ""


@dataclass(slots=True)
class TurnEvidence:
    """Follows the changes and commands of a session, and gives the facts of each turn. `judge` is asked once for
    each command after a change.
    """

    judge: JudgeCheck = no_checks
    _files: set[str] = field(default_factory=set)
    _has_changed: bool = False
    _was_checked: bool = False
    _checks: dict[str, CheckRun] = field(default_factory=dict)
    _decisive: set[str] = field(default_factory=set)
    _followed: set[str] = field(default_factory=set)
    _others: int = 0
    _is_diagnosed: bool = False
    _new: Counter[tuple[str, str]] = field(default_factory=Counter)
    _fixed: int = 0

    def follow(self, event: SessionEvent) -> None:
        match event:
            case FileChange(path=path, copy_of=own) if own:
                # What was checked in the worktree is applied: no change after the checks.
                self._files = self._files - {own} | {path}
            case FileChange(path=path, call_id=call_id):
                self._change(path, call_id)
            case TerminalOpen(call_id=call_id, title=command) if self._has_changed:
                self._begin(call_id, command)
            case TerminalExit(terminal_id=call_id, exit_code=code) if call_id in self._checks:
                self._end(call_id, code)
            case ToolCallEnd(call_id=call_id, duration_ms=ms) if call_id in self._checks:
                check = self._checks[call_id]
                if check.result != "running":
                    self._checks[call_id] = replace(check, duration_ms=ms)
            case EditDiagnosed(files=files):
                for file in files:
                    self._diagnose(file.path, file.introduced, file.fixed)
            case ProcessingEnd():
                self._files, self._was_checked = set(), False
                self._is_diagnosed, self._new, self._fixed = False, Counter(), 0
            case _:
                pass

    def facts(self) -> TurnFacts | None:
        """Return the facts of the turn, None if it neither changed files nor checked what an earlier turn changed."""
        if not (self._files or self._was_checked):
            return None
        facts = TurnFacts(
            text="",
            files=len(self._files),
            checks=tuple(self._checks.values())[-MAX_CHECKS:],
            other_commands=self._others,
            new_problems=self._new.total() if self._is_diagnosed else None,
            fixed_problems=self._fixed if self._is_diagnosed else None,
        )
        return replace(facts, text=facts_line(facts))

    def _change(self, path: str, call_id: str) -> None:
        self._files.add(path)
        self._has_changed = True
        check = self._checks.get(call_id)
        if check and call_id not in self._followed:  # a formatter, or a test that writes a file
            self._checks[call_id] = replace(check, changed_files=check.changed_files + 1)
        else:
            self._checks, self._others = {}, 0
            self._decisive, self._followed = set(), set()

    def _begin(self, call_id: str, command: str) -> None:
        judgement = self.judge(command)
        if not judgement:
            self._others += 1
            return
        self._was_checked = True
        self._forget_earlier(command)
        self._checks[call_id] = CheckRun(call_id, command, "running")
        if judgement != "unclear":
            self._decisive.add(call_id)
        if judgement == "followed":
            self._followed.add(call_id)

    def _forget_earlier(self, command: str) -> None:
        """Forget the ended runs of the same command: nothing changed since, so its newest run says more."""
        words = command.split()
        for each in list(self._checks.values()):
            if each.result != "running" and each.command.split() == words:
                del self._checks[each.call_id]
                self._decisive.discard(each.call_id)
                self._followed.discard(each.call_id)

    def _end(self, call_id: str, code: int | None) -> None:
        known = self._checks[call_id]
        if code is None:
            result = replace(known, result="stopped")
        elif call_id not in self._decisive:
            result = replace(known, result="unclear", exit_code=code)
        else:
            result = replace(known, result="failed" if code else "passed", exit_code=code)
        self._checks[call_id] = result

    def _diagnose(self, path: str, introduced: tuple[str, ...], fixed: tuple[str, ...]) -> None:
        self._is_diagnosed = True
        for problem in fixed:
            if self._new[path, problem] > 0:
                self._new[path, problem] -= 1
            else:
                self._fixed += 1
        self._new.update((path, problem) for problem in introduced)


def in_ticks(command: str) -> str:
    return f"`{command}`"


def facts_line(facts: TurnFacts, quote: Callable[[str], str] = in_ticks) -> str:
    """Return the facts as one line, for example "Since the last change: `pytest -q` passed (exit 0, 3.1 s).".

    `quote` writes a command, which is the model's text.
    """
    problems = _problems(facts)
    if facts.checks:
        shown = [_check(check, quote) for check in facts.checks[-MAX_SHOWN:]]
        if more := len(facts.checks) - len(shown):
            shown.insert(0, f"{more} more check{'s' * (more > 1)}")
        return f"Since the last change: {' · '.join([*shown, *problems])}."
    if facts.other_commands:
        said = f"no check was run ({facts.other_commands} other command{'s' * (facts.other_commands > 1)})"
    else:
        said = "nothing was run"
    return f"Since the last change {' · '.join([said, *problems])}."


def _problems(facts: TurnFacts) -> list[str]:
    if facts.new_problems is None:
        return []
    return [f"problems in the editor: {facts.new_problems} new, {facts.fixed_problems or 0} fixed"]


def _check(check: CheckRun, quote: Callable[[str], str]) -> str:
    words = " ".join(check.command.split())
    name = quote(words if len(words) <= MAX_COMMAND_CHARS else f"{words[: MAX_COMMAND_CHARS - 1]}…")
    changed = f", changed {check.changed_files} file{'s' * (check.changed_files > 1)}" * bool(
        check.changed_files
    )
    took = f", {check.duration_ms / 1000:.1f} s" if check.duration_ms is not None else ""
    match check.result:
        case "passed" | "failed":
            return f"{name} {check.result} (exit {check.exit_code}{took}{changed})"
        case "unclear":
            return f"{name} ran, but its exit code {check.exit_code} may be another command's{took}{changed}"
        case "running":
            return f"{name} is still running"
        case "stopped":
            return f"{name} did not end by itself{took}"
