"""The evidence of a turn: which checks ran since the last change, from the events alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.loop.events.editor import DiagnosedFile, EditDiagnosed
from agent_ls.loop.events.evidence import CheckRun, TurnFacts
from agent_ls.loop.events.types import (
    FileChange,
    ProcessingEnd,
    RecordedEvent,
    TerminalExit,
    TerminalOpen,
    ToolCallEnd,
)
from agent_ls.loop.turn_facts import Judgement, TurnEvidence, facts_line
from tests.support.reports import reported


def judge(command: str) -> Judgement:
    if command.startswith("ls"):
        return ""
    return "unclear" if "|" in command else "followed" if "&&" in command else "decisive"


def change(path: str = "/a.py", call: str = "e1") -> FileChange:
    return FileChange(call, path, "modify", 1, 1, "")


def ran(call: str, command: str, code: int | None = 0, *, ms: int = 3_100) -> Sequence[RecordedEvent]:
    end = ToolCallEnd(call, "bash", "", "", False, "", ms, 0, exit_code=code)
    return TerminalOpen(call, call, command), TerminalExit(call, code), end


def diagnosed(introduced: Sequence[str] = (), fixed: Sequence[str] = ()) -> EditDiagnosed:
    return EditDiagnosed("e1", (DiagnosedFile("/a.py", 0, True, tuple(introduced), tuple(fixed)),))


END = ProcessingEnd("completed")


def facts_of(*events: RecordedEvent) -> TurnFacts | None:
    evidence = TurnEvidence(judge)
    for event in events:
        evidence.follow(event)
    return evidence.facts()


def checked(*events: RecordedEvent) -> list[tuple[str, str]]:
    facts = facts_of(*events)
    return [(check.command, check.result) for check in facts.checks] if facts else []


def test_a_turn_without_changes_has_no_facts() -> None:
    assert facts_of(*ran("c1", "pytest")) is None
    assert facts_of(change(), END) is None


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([change(), *ran("c1", "pytest")], [("pytest", "passed")]),
        ([change(), *ran("c1", "pytest", 1)], [("pytest", "failed")]),
        ([change(), *ran("c1", "pytest", None)], [("pytest", "stopped")]),
        ([change(), *ran("c1", "pytest | tail")], [("pytest | tail", "unclear")]),
        ([change(), *ran("c1", "pytest | tail", 1)], [("pytest | tail", "unclear")]),
        ([change(), TerminalOpen("c1", "c1", "pytest", background=True)], [("pytest", "running")]),
        ([change(), *ran("c1", "ls")], []),
        ([*ran("c1", "pytest"), change()], []),
        ([change(), *ran("c1", "pytest"), change("/b.py", "e2")], []),
        ([change(), *ran("c1", "mypy"), *ran("c2", "pytest", 1)], [("mypy", "passed"), ("pytest", "failed")]),
        # a change by what runs behind the check in its line is one after the check
        ([change(), *ran("c1", "pytest && sed -i s/a/b/ a.py"), change(call="c1")], []),
        ([change(), *ran("c1", "pytest && ls"), change("/b.py", "c2")], []),
        ([change(), *ran("c1", "pytest && ls")], [("pytest && ls", "passed")]),
        ([change(), *ran("c1", "black ."), change(call="c1")], [("black .", "passed")]),
        # the same check once more: its newest run counts
        reported(
            "amd/gaia#3989", [change(), *ran("c1", "pytest", 1), *ran("c2", "pytest")], [("pytest", "passed")]
        ),
        ([change(), *ran("c1", "pytest"), *ran("c2", "pytest  ", 1)], [("pytest  ", "failed")]),
        ([change(), *ran("c1", "pytest", None), *ran("c2", "pytest")], [("pytest", "passed")]),
        (
            [change(), *ran("c1", "pytest", 1), *ran("c2", "pytest tests/a.py")],
            [("pytest", "failed"), ("pytest tests/a.py", "passed")],
        ),
        (
            [change(), TerminalOpen("c1", "c1", "pytest", background=True), *ran("c2", "pytest")],
            [("pytest", "running"), ("pytest", "passed")],
        ),
        reported("DevMortimer/pi-warden#1", [change(), *ran("c1", "pytest"), change()], []),
        # a later turn checks what this turn changed
        ([change(), END, *ran("c1", "pytest")], [("pytest", "passed")]),
        (
            [change(), *ran("c1", "mypy"), END, *ran("c2", "pytest")],
            [("mypy", "passed"), ("pytest", "passed")],
        ),
    ],
)
def test_checks_count_from_the_last_change_on(
    events: Sequence[RecordedEvent], expected: Sequence[tuple[str, str]]
) -> None:
    assert checked(*events) == expected


def test_a_check_that_changes_files_itself_still_counts() -> None:
    opened, exited, end = ran("c1", "ruff check --fix .")
    facts = facts_of(change(), opened, change("/a.py", "c1"), exited, end)
    assert facts is not None
    assert facts.checks == (CheckRun("c1", "ruff check --fix .", "passed", 0, 3_100, changed_files=1),)


@pytest.mark.parametrize(
    ("reports", "new", "fixed"),
    [
        ([diagnosed()], 0, 0),
        ([diagnosed(["p", "q"])], 2, 0),
        ([diagnosed(["p", "p"]), diagnosed(fixed=["p"])], 1, 0),
        ([diagnosed(["p"]), diagnosed(fixed=["old"])], 1, 1),
        ([diagnosed(fixed=["old", "old"])], 0, 2),
    ],
)
def test_problems_that_the_turn_caused_and_fixed_are_told_apart_from_older_ones(
    reports: Sequence[EditDiagnosed], new: int, fixed: int
) -> None:
    facts = facts_of(change(), *reports)
    assert facts and (facts.new_problems, facts.fixed_problems) == (new, fixed)


@pytest.mark.parametrize(
    ("results", "is_checked"),
    [
        ([], False),
        (["passed"], True),
        (["unclear"], False),
        (["passed", "unclear"], True),
        (["passed", "failed"], False),
        (["passed", "stopped"], False),
        (["passed", "running"], False),
    ],
)
def test_a_turn_is_checked_if_a_check_passed_and_none_failed(
    results: Sequence[str], is_checked: bool
) -> None:
    checks = tuple(CheckRun("c", "pytest", result) for result in results)  # type: ignore[arg-type]  # a table
    assert TurnFacts("", 1, checks).is_checked == is_checked


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (TurnFacts("", 1), "Since the last change nothing was run."),
        (
            TurnFacts("", 1, other_commands=2, new_problems=0, fixed_problems=1),
            "Since the last change no check was run (2 other commands) · problems in the editor: 0 new, 1 fixed.",
        ),
        (
            TurnFacts("", 1, (CheckRun("c", "pytest  -q", "passed", 0, 3_100),)),
            "Since the last change: `pytest -q` passed (exit 0, 3.1 s).",
        ),
        (
            TurnFacts("", 1, tuple(CheckRun("c", f"make {n}", "failed", 2) for n in "abcde")),
            (
                "Since the last change: 2 more checks · `make c` failed (exit 2) · `make d` failed (exit 2) · "
                "`make e` failed (exit 2)."
            ),
        ),
    ],
)
def test_the_line(facts: TurnFacts, line: str) -> None:
    assert facts_line(facts) == line
