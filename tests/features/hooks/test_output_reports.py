"""Output and places of hooks in public reports, each in its smallest form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.features.hooks.test_hook_forms import HOOK, hooks_in
from tests.features.hooks.test_seen_calls_reports import CLAUDE, entry, play
from tests.features.hooks.test_session import shell
from tests.library.sessions import call
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
    reported("anthropics/claude-code#41868", "PreToolUse",
        "echo '{\"hookSpecificOutput\": {\"additionalContext\": \"CANARY\"}}'"),
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


@pytest.mark.parametrize("code", [0, 2])
@pytest.mark.report("indigoai-us/hq-core#286")
async def test_a_hook_decides_without_reading_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    written = call("write_file", file_path="big.txt", content="x" * 200_000)
    await play(tmp_path, monkeypatch, CLAUDE, {"PreToolUse": entry(f"exit {code}")}, written)
    assert (tmp_path / "project/big.txt").exists() == (code == 0)


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


@pytest.mark.report("code-yeongyu/oh-my-openagent#1546")  # fmt: skip
def test_a_matcher_that_is_no_expression_is_named_and_the_others_work(tmp_path: Path) -> None:
    wrong, right = (
        ("Bash(", "(?<x", "Bash)", "Edit|Bash(git *", "Write, mcp__a(*"),
        ("Edit", "Bash(git *)", "mcp__a"),
    )
    groups = [{"matcher": name, "hooks": [{"type": "command", "command": "x"}]} for name in (*wrong, *right)]
    found = hooks_in(tmp_path / "state", {"hooks": {"PreToolUse": groups}})
    assert [it.matcher.pattern for it in found.hooks if it.matcher] == [*right]
    assert [name for name, said in zip(wrong, found.problems, strict=True) if name not in said] == []


AGENTS: list[Any] = [
    reported("letta-ai/letta-code#3236", "Agent", "Look.", "x\n"),
    ("Task", "Look.", "x\n"),
    ("Agent|Task", "Look.", "x\n"),
    ("Bash", "Look.", ""),
]  # fmt: skip


@pytest.mark.parametrize(("matcher", "task", "log"), AGENTS)
async def test_a_hook_for_subagents_runs_when_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matcher: str, task: str, log: str
) -> None:
    hooks = {"PreToolUse": entry("echo x >> ../log", matcher)}
    begin = call("spawn_agent", task=task)
    *_, written = await play(tmp_path, monkeypatch, CLAUDE, hooks, begin)
    assert written == log


@pytest.mark.report("terrylica/cc-skills#109")
@pytest.mark.parametrize(("written", "seconds"), [(65, 65), (65_000, 65), (600_000, 600), (0, 30), ("x", 30)])
def test_a_limit_in_milliseconds_is_read_as_one(tmp_path: Path, written: Any, seconds: int) -> None:
    (hook,) = hooks_in(tmp_path, {"hooks": {"Stop": [{"hooks": [{**HOOK, "timeout": written}]}]}}).hooks
    assert hook.timeout_s == seconds
