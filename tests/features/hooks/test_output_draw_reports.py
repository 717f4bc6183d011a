"""Output and places of hooks in public reports, each in its smallest form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.features.hooks.test_draw_reports import CLAUDE, entry, play
from tests.features.hooks.test_hook_forms import HOOK, hooks_in
from tests.features.hooks.test_session import shell
from tests.support.reports import reported

pytestmark = [
    pytest.mark.req("T15"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]

CONTEXT = """echo '{"hookSpecificOutput": {"hookEventName": "%s", "additionalContext": "CANARY"}}'"""
CONTEXTS: list[Any] = [
    reported("QwenLM/qwen-code#2815", "PostToolUse", CONTEXT % "PostToolUse" + "; echo no >&2; exit 2"),
    reported("QwenLM/qwen-code#11612", "SessionStart", "echo CANARY"),
    reported("Digital-Process-Tools/claude-remember#451", "UserPromptSubmit", "echo '[10:54 CEST -- CANARY]'"),
    ("PostToolUse", "echo '{\"additionalContext\": \"CANARY\"}'; exit 2"),
    ("PreToolUse", CONTEXT % "PreToolUse" + "; echo no >&2; exit 2"),
    ("UserPromptSubmit", "printf '\\xef\\xbb\\xbfCANARY\\r\\n'"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "command"), CONTEXTS)
async def test_what_a_hook_prints_reaches_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str, command: str
) -> None:
    model, _, warnings, _ = await play(tmp_path, monkeypatch, CLAUDE, {event: entry(command)}, shell("true"))
    assert "CANARY" in str(model.requests[-1].messages) and not [it for it in warnings if "failed" in it]


@pytest.mark.report("anthropics/claude-code#10964")  # fmt: skip
async def test_a_hook_that_fails_shows_why_and_the_message_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {"UserPromptSubmit": entry("echo 'low on disk' >&2; exit 1")}
    model, _, warnings, _ = await play(tmp_path, monkeypatch, CLAUDE, hooks)
    assert len(model.requests) == 2 and any("low on disk" in it for it in warnings)


PLACES: list[Any] = [
    reported("SethGammon/Citadel#10", 'sh $CLAUDE_PROJECT_DIR/tools/x.sh', "project"),
    reported("open-gsd/gsd-core#1746", 'sh "$CLAUDE_PROJECT_DIR"/tools/x.sh', "project"),
    ('sh "${CLAUDE_PROJECT_DIR:-.}/tools/x.sh"', "project"),
    ("sh tools/x.sh", "project"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name"), PLACES)
async def test_a_script_of_the_project_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    script = tmp_path / name / "tools/x.sh"
    script.parent.mkdir(parents=True)
    script.write_text("echo ran >> ../log\n")
    *_, warnings, log = await play(
        tmp_path, monkeypatch, CLAUDE, {"PreToolUse": entry(command)}, shell("true")
    )
    assert (log, warnings) == ("ran\n", [])


MATCHERS: list[Any] = [
    reported("anthropics/claude-code#73586", "mcp__local__ping", "mcp__local__ping", "mcp__local__pong"),
    reported("openai/codex#18385", "^mcp__rmcp__echo$", "mcp__rmcp__echo", "mcp__rmcp__echo-tool"),
    ("^mcp__rmcp__.*", "mcp__rmcp__echo-tool", "mcp__other__echo"),
    ("mcp__.*__write.*", "mcp__db__write_row", "mcp__db__read"),
]  # fmt: skip


@pytest.mark.parametrize(("matcher", "inside", "outside"), MATCHERS)
def test_a_matcher_for_tools_of_servers(tmp_path: Path, matcher: str, inside: str, outside: str) -> None:
    (hook,) = hooks_in(tmp_path, {"hooks": {"PostToolUse": [{"matcher": matcher, "hooks": [HOOK]}]}}).hooks
    assert (hook.matches([inside]), hook.matches([outside])) == (True, False)
