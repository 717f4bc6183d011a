"""Hooks of other agents as users have them in a project: which calls they see, and what the model reads of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.hooks.confirmed import ConfirmedHooks
from agent_ls.loop.events.types import Compaction, ToolCallEnd, Warning
from agent_ls.services.settings.model import HookSettings
from tests.features.hooks.test_session import shell
from tests.library.sessions import call, personal_options
from tests.sessions.test_compaction import SUMMARY, chat, compacted
from tests.support.fake_provider import FakeProvider, Piece, text
from tests.support.processes import eventually
from tests.support.reports import reported
from tests.support.session_rig import running

pytestmark = [
    pytest.mark.req("T15"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]

PATCH = "*** Begin Patch\n*** Add File: a.ts\n+x\n*** Add File: b.ts\n+y\n*** End Patch"
CLAUDE, CODEX = ".claude/settings.json", ".codex/hooks.json"
KEEP = "python3 -c 'import json, sys; d = json.load(sys.stdin); print(json.dumps(%s))' >> ../log"


def entry(command: str, matcher: str = "") -> list[Any]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]


async def play(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    events: dict[str, Any],
    *calls: Any,
    **more: Any,
) -> tuple[FakeProvider, list[ToolCallEnd], list[str], str]:
    """Run two messages with the confirmed hooks of a file; return the model, the results, the warnings and the log."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project, state = tmp_path / "project", tmp_path / "state"
    (project / file).parent.mkdir(parents=True)
    (project / file).write_text(json.dumps({"hooks": events}))
    state.mkdir()
    settings = HookSettings(foreign=True)
    found = load_hooks(settings, str(state), str(project))
    ConfirmedHooks(state).confirm(found.hooks, str(project), "2026-01-01T00:00:00Z")
    model = FakeProvider(
        [*calls, [text("One.")], [text("Two.")], [text("Three.")], [text("Four.")], [text("Five.")]]
    )
    provider = "openai" if file == CODEX else "anthropic"
    chosen = {"mode": "full", "approve": lambda request: False, "trusted": True, "provider": provider, **more}
    options = personal_options(tmp_path, model, settings={"hooks": {"foreign": True}}, **chosen)
    async with agent_ls.open_session(**{**options, "adapters": {provider: model}}) as session:
        seen = [event for words in ("first", "second") async for event in session.run(words)]
    log = tmp_path / "log"
    ends = [it for it in seen if isinstance(it, ToolCallEnd)]
    warnings = [it.message for it in seen if isinstance(it, Warning)]
    return model, ends, warnings, log.read_text() if log.exists() else ""


NAMES: list[Any] = [
    reported("openai/codex#16732", CODEX, "PreToolUse", '["apply_patch", "Bash"]'),
    reported("openai/codex#26729", CODEX, "PostToolUse", '["apply_patch", "Bash"]'),
    (".gemini/settings.json", "BeforeTool", '["write_file", "run_shell_command"]'),
    (".cursor/hooks.json", "preToolUse", '["Write", "Shell"]'),
    (CLAUDE, "PreToolUse", '["Write", "Bash"]'),
]  # fmt: skip


@pytest.mark.parametrize(("file", "event", "names"), NAMES)
async def test_a_hook_gets_the_name_of_the_tool_that_its_agent_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, event: str, names: str
) -> None:
    write = (
        call("apply_patch", patch=PATCH) if file == CODEX else call("write_file", file_path="a", content="x")
    )
    keep = {event: entry(KEEP % 'd["tool_name"]')}
    *_, log = await play(tmp_path, monkeypatch, file, keep, write, shell("true"))
    assert [json.loads(line) for line in log.splitlines()] == json.loads(names)


@pytest.mark.report("pbakaus/impeccable#170")
async def test_a_hook_of_codex_reads_the_whole_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = {"PreToolUse": entry(KEEP % 'd["tool_input"]["command"]', "apply_patch")}
    *_, log = await play(tmp_path, monkeypatch, CODEX, keep, call("apply_patch", patch=PATCH))
    assert json.loads(log) == PATCH


@pytest.mark.report("anthropics/claude-code#44601")
async def test_a_hook_gets_all_output_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = {"PostToolUse": entry(KEEP % 'd["tool_response"]["output"]')}
    *_, log = await play(tmp_path, monkeypatch, CLAUDE, keep, shell("echo out; echo oops >&2"))
    assert json.loads(log).startswith("out\noops\n")


BLOCKED: list[Any] = [
    reported("anthropics/claude-code#80039", CLAUDE, "PreToolUse", "Edit|Write", "echo CANARY >&2; exit 2", False),
    reported("openai/codex#46455", CODEX, "PostToolUse", "apply_patch", "echo CANARY >&2; exit 2", True),
    reported("vybestack/llxprt-code#2975", ".gemini/settings.json", "BeforeTool", "write_file", "exit 2", False),
    reported("anthropics/claude-code#92675", CLAUDE, "PreToolUse", "Write",
        """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "CANARY"}}'""", False),
    reported("anthropics/claude-code#16152", CLAUDE, "PreToolUse", "", "sh ${CLAUDE_PROJECT_DIR}/none.sh; exit 2",
        False),
]  # fmt: skip


@pytest.mark.parametrize(("file", "event", "matcher", "command", "is_made"), BLOCKED)
async def test_exit_code_two_stops_a_call_or_tells_the_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    event: str,
    matcher: str,
    command: str,
    is_made: bool,
) -> None:
    write = (
        call("apply_patch", patch=PATCH)
        if file == CODEX
        else call("write_file", file_path="a.ts", content="x")
    )
    _, ends, _, _ = await play(tmp_path, monkeypatch, file, {event: entry(command, matcher)}, write)
    assert (tmp_path / "project/a.ts").exists() == is_made and ends[0].is_error != is_made
    assert ("CANARY" in ends[0].output) == ("CANARY" in command)


RUNS: list[Any] = [
    reported("anthropics/claude-code#20334", {"PostToolUse": entry("echo ran >> ../log", "Bash")}, "ran\n"),
    reported("openai/codex#15269",
        {"SessionStart": entry("echo start >> ../log"), "UserPromptSubmit": entry("echo prompt >> ../log")},
        "start\nprompt\nprompt\n"),
    reported("openai/codex#15266",
        {"UserPromptSubmit": entry("echo prompt >> ../log"), "SessionStart": entry("echo start >> ../log")},
        "start\nprompt\nprompt\n"),
    reported("openai/codex#13014", {"SessionStart": entry("echo start >> ../log", "startup|resume")}, "start\n"),
    reported("anthropics/claude-code#17277",
        {"UserPromptSubmit": [{"type": "command", "command": "echo prompt >> ../log"}]}, "prompt\nprompt\n"),
    reported("QwenLM/qwen-code#11613",
        {"Stop": entry("grep -q '\"stop_hook_active\": true' && echo again >> ../log || exit 2")}, "again\nagain\n"),
    reported("openai/codex-plugin-cc#414", {"Stop": entry("echo x >> ../log; exit 2")}, "x\n" * 4),
    reported("susomejias/rembric#343",
        {"Stop": entry("grep -q '\"stop_hook_active\": false' && echo x >> ../log && exit 2; exit 0")}, "x\nx\n"),
    reported("AgriciDaniel/claude-obsidian#97",
        {"SessionStart": [{"hooks": [{"type": "command", "command": "echo x >> ../log"}, {"type": "prompt"}]}]},
        "x\n"),
    reported("anthropics/claude-plugins-official#380",
        {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo x >> ../log", "timeout": 10}]}]}, "x\nx\n"),
    reported("evoila/meho#3142",
        {"Stop": entry("echo x >> ../log; echo '{\"hookSpecificOutput\": {\"additionalContext\": \"Report it.\"}}'")},
        "x\n" * 4),
    reported("anthropics/claude-code#34573",
        {"PreToolUse": [{"matcher": "Glob|Bash", "hooks": [{"type": "prompt", "prompt": "Is it safe?"},
            {"type": "command", "command": "echo x >> ../log", "timeout": 30, "async": False}]}]}, "x\nx\n"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "log"), RUNS)
async def test_a_hook_runs_as_often_as_its_author_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: dict[str, Any], log: str
) -> None:
    script = (call("glob", pattern="*"), shell("true"))
    *_, written = await play(tmp_path, monkeypatch, CLAUDE, events, *script)
    assert written == log


ALLOWING = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"%s}}'
CHANGED = ', "updatedInput": {"command": "touch clean"}'
APPROVALS: list[Any] = [
    reported("anthropics/claude-code#32060", "PreToolUse",
        '{"hookSpecificOutput": {"updatedInput": {"command": "touch clean"}}}', "touch clean"),
    reported("anthropics/claude-code#26506", "PreToolUse", ALLOWING % CHANGED, "touch clean"),
    reported("agentforce314/clawcodex#655", "PermissionRequest", ALLOWING % "", "touch dirty"),
    reported("openai/codex#21433", "PermissionRequest",
        '{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"command": "touch x"}}}}',
        "touch dirty"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "answer", "command"), APPROVALS)
async def test_no_answer_of_a_hook_replaces_an_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str, answer: str, command: str
) -> None:
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(str(request.effect["command"]))
        return False

    hooks = {event: entry(f"echo '{answer}'", "Bash")}
    more = {"mode": "ask", "approve": approve}
    _, ends, _, _ = await play(tmp_path, monkeypatch, CLAUDE, hooks, shell("touch dirty"), **more)
    assert asked == [command] and ends[0].is_error


@pytest.mark.report("anthropics/claude-code#60490")
async def test_words_of_a_missing_file_stop_the_end_as_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "No such file or directory: x"
    hook = f"grep -q '\"stop_hook_active\": true' || {{ echo '{words}' >&2; exit 2; }}"
    model, _, warnings, _ = await play(tmp_path, monkeypatch, CLAUDE, {"Stop": entry(hook)})
    said = [str(request.messages[-1]) for request in model.requests]
    assert [words in it for it in said] == [False, True] * 2 and warnings == []


@pytest.mark.report("anthropics/claude-code#39478")
async def test_a_hook_that_is_not_found_below_a_path_with_a_blank_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {"PreToolUse": entry("$CLAUDE_PROJECT_DIR/h.sh", "Write")}
    write = call("write_file", file_path="a.ts", content="x")
    *_, warnings, _ = await play(tmp_path / "Courses Platform", monkeypatch, CLAUDE, hooks, write)
    assert len(warnings) == 1 and "127" in warnings[0] and "Courses Platform/project/h.sh" in warnings[0]


@pytest.mark.report("confluentinc/vscode#3256")
@pytest.mark.report("levnikolaevich/claude-code-skills#4")
async def test_a_program_that_is_missing_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {"PostToolUse": entry("no-jq -r .x | xargs gofmt -w", "Write|Edit")}
    write = [call("write_file", file_path=name, content="x") for name in ("a", "b")]
    _, ends, warnings, _ = await play(tmp_path, monkeypatch, CLAUDE, hooks, *write)
    assert [end.is_error for end in ends] == [False, False] and len(warnings) == 1
    found = await play(
        tmp_path / "other", monkeypatch, CLAUDE, {"UserPromptSubmit": entry("python3 P/none.py")}
    )
    assert len(found[0].requests) == 0


@pytest.mark.report("vieko/bonfire#14")
async def test_a_hook_of_the_user_may_begin_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home/.claude/hooks/format.sh"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\necho ran >> ../log\n")
    path.chmod(0o755)
    hooks = {"PostToolUse": entry("~/.claude/hooks/format.sh", "Write|Edit")}
    (tmp_path / "home/.claude/settings.json").write_text(json.dumps({"hooks": hooks}))
    write = call("write_file", file_path="a", content="x")
    *_, warnings, log = await play(
        tmp_path, monkeypatch, ".claude/settings.local.json", {}, write, shell("true")
    )
    assert (log, warnings) == ("ran\n", [])


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("path", "log"), [("a.ts", "ran\n"), ("a --plugin ./b.mjs", ""), ("it's.ts", ""), ("b\n-p", "")]
)
async def test_a_path_that_a_formatter_may_read_as_options_does_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, log: str
) -> None:
    command = "jq -r .tool_input.file_path | xargs prettier --write; echo ran >> ../log"
    hooks = {"PostToolUse": entry(command, "Write")}
    write = call("write_file", file_path=path, content="x")
    *_, warnings, found = await play(tmp_path, monkeypatch, CLAUDE, hooks, write)
    assert found == log and bool(warnings) == (not log)


WIKI = (
    '{"continue": true, "hookSpecificOutput": {"hookEventName": "PreCompact", "additionalContext": "WIKI"}}'
)
COMPACTING: list[Any] = [
    reported("Yeachan-Heo/oh-my-claudecode#2923", {"PreCompact": entry(f"echo '{WIKI}'")}, "WIKI", ""),
    reported("claudioemmanuel/squeez#225", {"PostCompact": entry(f"echo '{WIKI}'")}, "WIKI", ""),
    reported("swt-labs/vibe-better-with-claude-code-vbw#23",
        {"SessionStart": entry("echo '{\"hookSpecificOutput\": {\"additionalContext\": \"WIKI\"}}'", "compact")},
        "WIKI", ""),
    reported("anthropics/claude-code#13572", {"PreCompact": entry("echo ran >> ../log", "*")}, "", "ran\n"),
    reported("anthropics/claude-code#43450", {"PreCompact": entry("echo ran >> ../log; exit 2")}, "", "ran\n"),
]  # fmt: skip


@pytest.mark.parametrize(("hooks", "context", "log"), COMPACTING)
async def test_hooks_run_at_a_compaction(
    tmp_path: Path, hooks: dict[str, Any], context: str, log: str
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    script: list[Piece] = [*(text(f"answer {n}") for n in range(6)), SUMMARY]
    async with running(tmp_path, script, state=state) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        await compacted(rig, talk)
        if "exit 2" in str(hooks):
            await talk.until("warning")
        for _ in range(20):  # the hooks run beside the session
            await talk.say("go on")
            if context in str(rig.model.requests[-1].messages):
                break
        assert [it.status for it in talk.of(Compaction)] == ["started", "done"]
        assert context in str(rig.model.requests[-1].messages)
        assert len(talk.of(Warning)) == ("exit 2" in str(hooks))
        await eventually(lambda: not log or (tmp_path / "log").exists())
    assert not log or (tmp_path / "log").read_text() == log
