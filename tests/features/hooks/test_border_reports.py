"""A draw of reports on what hooks print, with which exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.hooks.answers import parse_answer
from tests.features.hooks.test_hook_forms import HOOK, hooks_in
from tests.features.hooks.test_seen_calls_reports import CLAUDE, entry, play
from tests.features.hooks.test_session import shell
from tests.support.reports import reported

pytestmark = pytest.mark.req("T15")

DENY = (
    '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", '
    '"permissionDecisionReason": "CANARY"}}'
)
ANSWERS: list[Any] = [
    reported("modu-ai/moai-adk#1498", 2, DENY, "", "deny", "CANARY"),
    reported("peg/rampart#50", 0, "{}", "", "", ""),
    reported("technicalpickles/pickled-claude-plugins#26", 0, DENY, "Resolved 12 packages", "deny", "CANARY"),
    reported("anthropics/claude-code#48760", 0,
        '{"permissionDecision": "allow", "permissionDecisionReason": "fine"}', "",
        "allow", "fine"),
    reported("aovestdipaperino/tokensave#21", 0, '{"decision": "block", "reason": "CANARY"}', "", "deny", "CANARY"),
    reported("anthropics/claude-code#25098", 0, '{"hookSpecificOutput": null, "decision": null}', "", "", ""),
    (0, '{"decision": "allow"}', "", "allow", ""),
    reported("eqtylab/cupcake#117", 1, DENY, "panic", "deny", "CANARY"),
    (1, f"loading\n{DENY}\n", "", "deny", "CANARY"),
    reported("zhijiewong/openharness#27", 0, '{"decision": "deny", "reason": "CANARY", "hookSpecificOutput": {}}', "",
        "deny", "CANARY"),
    reported("azalio/map-framework#34", 0, '{"decision": "block", "reason": "a\nCANARY"}', "", "deny", "CANARY"),
    reported("Soul-Brews-Studio/arra-oracle-skills-cli#231", 0,
        '{"decision": "block", "reason": "CANARY \u2014 no"}', "",
        "deny", "CANARY"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "printed", "noted", "decision", "reason"), ANSWERS)
def test_a_hook_decides(code: int, printed: str, noted: str, decision: str, reason: str) -> None:
    answer = parse_answer(code, printed, noted, "PreToolUse")
    assert (answer.decision, reason in answer.reason) == (decision, True), answer


@pytest.mark.skipif(os.name == "nt", reason="the hook is a POSIX command")
async def test_a_call_that_a_failing_hook_denies_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {"PreToolUse": entry(f"echo '{DENY}'; exit 1")}
    _, ends, _, log = await play(tmp_path, monkeypatch, CLAUDE, hooks, shell("echo made >> ../log"))
    assert log == "" and ends[0].is_error


@pytest.mark.report("affaan-m/ECC#182")  # fmt: skip
def test_a_matcher_that_is_an_expression_is_named(tmp_path: Path) -> None:
    written = 'tool == "Write" && tool_input.file_path matches "\\\\.md$"'
    found = hooks_in(tmp_path, {"hooks": {"PreToolUse": [{"matcher": written, "hooks": [HOOK]}]}})
    assert any("tool ==" in problem for problem in found.problems), found
