"""The tool report_finding: findings are listed, and invalid ones are refused with a next step."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.services.review.findings import MAX_FINDINGS, ReviewFindings
from agent_ls.tools.report_finding import report_finding_tool
from tests.support.tool_calls import ToolCalls

TEXT = "one\ntwo\nthree\n"
PATH = "/project/a.py"


def call(**more: Any) -> dict[str, Any]:
    return {
        "file_path": "a.py",
        "start_line": 2,
        "end_line": 2,
        "severity": "error",
        "message": "Wrong.",
        **more,
    }


async def test_a_finding_is_listed_once_with_its_lines() -> None:
    found = ReviewFindings()
    changed: list[str] = []
    found.watch(changed.append)
    calls = ToolCalls(MemoryEnvironment({"a.py": TEXT}))
    tool = report_finding_tool(found)

    assert "a.py:2" in (await calls.call(tool, **call(suggested_fix="Use three."))).text
    assert "already" in (await calls.call(tool, **call())).text

    (finding,) = found.of_file(PATH)
    assert (finding.start, finding.end, finding.severity) == (1, 2, "error")
    assert (finding.message, finding.fix) == ("Wrong.", "Use three.")
    assert changed == [PATH]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (call(end_line=4), "validation"),
        (call(file_path="a.bin"), "binary_file"),
    ],
)
async def test_a_finding_past_the_end_of_a_file_or_in_a_binary_file_is_refused(
    arguments: dict[str, Any], kind: str
) -> None:
    found = ReviewFindings()
    calls = ToolCalls(MemoryEnvironment({"a.py": TEXT, "a.bin": b"\0\1"}))

    assert (await calls.fails(report_finding_tool(found), **arguments)).kind == kind
    assert not found.of_file(PATH)


@pytest.mark.parametrize(
    "wrong",
    [
        {"start_line": 3, "end_line": 2},
        {"start_line": 0},
        {"severity": "fatal"},
        {"message": ""},
        {"more": 1},
    ],
)
async def test_invalid_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await ToolCalls().prepare(report_finding_tool(ReviewFindings()), **call(**wrong))


async def test_the_effect_names_the_file_so_that_path_rules_apply() -> None:
    prepared = await ToolCalls().prepare(report_finding_tool(ReviewFindings()), **call(file_path="x/../a.py"))

    assert prepared.effect == ReadEffect((PATH,))


async def test_findings_move_with_edits_and_are_removed_when_their_lines_change() -> None:
    found = ReviewFindings()
    calls = ToolCalls(MemoryEnvironment({"a.py": TEXT}))
    tool = report_finding_tool(found)
    await calls.call(tool, **call())
    await calls.call(tool, **call(start_line=3, end_line=3, message="Worse."))

    found.text_is(PATH, f"zero\n{TEXT}".replace("\n", "\r\n"))
    assert [(it.message, it.start) for it in found.of_file(PATH)] == [("Wrong.", 2), ("Worse.", 3)]
    found.text_is(PATH, "zero\none\nTWO\nthree")
    assert [(it.message, it.start) for it in found.of_file(PATH)] == [("Worse.", 3)]
    found.text_is(PATH, None)
    assert not found.of_file(PATH)


async def test_the_number_of_findings_in_a_session_is_limited() -> None:
    found = ReviewFindings()
    calls = ToolCalls(MemoryEnvironment({"a.py": TEXT}))
    tool = report_finding_tool(found)
    for number in range(MAX_FINDINGS):
        await calls.call(tool, **call(message=f"Wrong {number}."))

    assert (await calls.fails(tool, **call(message="One more."))).kind == "limit"
