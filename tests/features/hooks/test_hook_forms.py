"""Files of hooks as users of many agents write them, in the forms that public reports show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.hooks.answers import combine_decisions, parse_answer
from agent_ls.features.hooks.config import FoundHooks, load_hooks
from agent_ls.services.settings.model import HookSettings
from tests.support.reports import reported

pytestmark = pytest.mark.req("T15")

HOOK = {"type": "command", "command": "true"}


def hooks_in(state: Path, value: object) -> FoundHooks:
    state.mkdir(parents=True, exist_ok=True)
    (state / "hooks.json").write_text(json.dumps(value))
    return load_hooks(HookSettings(), str(state), None)


MATCHERS: list[Any] = [
    reported(
        "anthropics/claude-code#72646",
        "mcp__python-repl__*",
        "mcp__python-repl__run",
        "mcp__python-replx__run",
    ),
    reported(
        "anthropics/claude-code#44446",
        "mcp__Claude_in_Chrome",
        "mcp__Claude_in_Chrome__navigate",
        "mcp__Claude__navigate",
    ),
    ("mcp__*", "mcp__repl__run", "Bash"),
    reported(
        "symposium-dev/symposium#188",
        "mcp__.*",
        "mcp__repl__run",
        "Bash",
    ),
    ("Bash(git *)", "Bash", "Read"),
    ("^Bash$", "Bash", "BashOutput"),
    ("bash", "Bash", "Read"),
    ("Edit, Write", "Write", "Read"),
    ("Edit | Write", "Write", "Read"),
    ("(Edit|Write)", "Write", "Read"),
    ("*Edit", "MultiEdit", "Write"),
    ("(?i)edit|write", "Write", "Read"),
    ("Notebook.*|Edit", "NotebookEdit", "Read"),
    (["Edit", "Write"], "Write", "Read"),
    ({"tool_name": "Write"}, "Write", "Read"),
]


@pytest.mark.parametrize(("matcher", "inside", "outside"), MATCHERS)
def test_a_matcher_means_the_tools_that_its_author_names(
    tmp_path: Path, matcher: object, inside: str, outside: str
) -> None:
    (hook,) = hooks_in(tmp_path, {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [HOOK]}]}}).hooks
    assert (hook.matches([inside]), hook.matches([outside])) == (True, False)


FORMS: list[Any] = [
    reported("anthropics/claude-code#52876", {"hooks": {"UserPromptSubmit": {"hooks": [HOOK]}}},
        ["UserPromptSubmit"]),
    reported(
        "anthropics/claude-code#5648",
        {
            "hooks": [
                {"event": "SessionStart", "matcher": {"all": True}, "command": "true", "timeoutMs": 5000}
            ]
        },
        ["SessionStart"],
    ),
    reported("anthropics/claude-code#3983", {"hooks": {"postToolUse": {"Bash": "python3 x.py"}}}, ["PostToolUse"]),
    reported("anthropics/claude-code#3672", {"hooks": {"preToolUse": [{"matcher": {}, "hooks": [HOOK]}]}},
        ["PreToolUse"]),
    reported("entireio/external-agents#28",
        {"hooks": {"pre_user_prompt": [HOOK], "post_write_code": [HOOK], "post_cascade_response": [HOOK]}},
        ["UserPromptSubmit", "PostToolUse", "Stop"]),
    reported("kharmanskyi/open-steps#33", {"hooks": {"AfterAgent": [{"hooks": [HOOK]}]}}, ["Stop"]),
    reported("OthmanAdi/planning-with-files#262",
        {"hooks": {"beforeSubmitPrompt": [HOOK], "userPromptSubmit": [HOOK], "afterFileEdit": [HOOK]}},
        ["UserPromptSubmit", "PostToolUse"]),
    reported("SonarSource/sonarqube-cli#450", {"hooks": {"beforeReadFile": [{"matcher": "Read|TabRead", **HOOK}]}},
        ["PreToolUse"]),
    ({"hooks": {"SessionStart": HOOK}}, ["SessionStart"]),
    ({"hooks": {"SessionStart": "echo hi"}}, ["SessionStart"]),
    ({"hooks": {"SessionStart": ["echo hi", {"hooks": ["echo ho"]}]}}, ["SessionStart", "SessionStart"]),
    ({"hooks": {"sessionStart": [{"type": "command", "bash": "echo", "timeoutSec": 10}]}}, ["SessionStart"]),
    (
        {"hooks": {"beforeShellExecution": [{"command": "x"}], "stop": [{"command": "y"}]}},
        ["PreToolUse", "Stop"],
    ),
    (
        {"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [{**HOOK, "timeout": 60000}]}]}},
        ["PreToolUse"],
    ),
    ({"hooks": {"pre_run_command": [{"command": "x"}]}}, ["PreToolUse"]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "events"), FORMS)
def test_a_file_in_the_form_of_any_agent_is_read(tmp_path: Path, value: object, events: list[str]) -> None:
    found = hooks_in(tmp_path, value)
    assert ([it.event for it in found.hooks], [*found.problems]) == (events, [])
    assert all(1 <= hook.timeout_s <= 60 for hook in found.hooks)


@pytest.mark.report("google-gemini/gemini-cli#15063")
@pytest.mark.report("shunkakinoki/dotfiles#2810")
def test_hooks_that_are_switched_off_do_not_run(tmp_path: Path) -> None:
    group = {"matcher": "*", "hooks": [{"name": "all", **HOOK}, {"name": "lint", **HOOK, "command": "lint"}]}
    events = {"disabled": ["all"], "enabled": True, "AfterTool": [group]}
    found = hooks_in(tmp_path, {"hooks": events})
    assert ([it.command for it in found.hooks], [*found.problems]) == (["lint"], [])
    assert hooks_in(tmp_path, {"disableAllHooks": True, "hooks": events}) == FoundHooks([], [])
    assert len(hooks_in(tmp_path, {"disableAllHooks": False, "hooks": events}).hooks) == 1


@pytest.mark.report("anthropics/claude-code#76297")
def test_a_hook_in_several_files_runs_once(tmp_path: Path) -> None:
    value = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [HOOK, HOOK]}], "Stop": [HOOK]}}
    path = tmp_path / "p/.claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(value))
    hooks_in(tmp_path / "state", value)
    found = load_hooks(HookSettings(foreign=True), str(tmp_path / "state"), str(tmp_path / "p"))
    assert [(it.event, it.origin) for it in found.hooks] == [("PreToolUse", "user"), ("Stop", "user")]


def test_a_guard_of_commands_in_the_form_of_cursor_sees_commands_only(tmp_path: Path) -> None:
    (hook,) = hooks_in(tmp_path, {"hooks": {"beforeShellExecution": [{"command": "x"}]}}).hooks
    assert (hook.matches(["Bash"]), hook.matches(["Read"])) == (True, False)


def test_arguments_of_a_command_are_part_of_it(tmp_path: Path) -> None:
    raw = {"type": "command", "command": "node", "args": ["x.js", "a b"]}
    (hook,) = hooks_in(tmp_path, {"hooks": {"Stop": [{"hooks": [raw]}]}}).hooks
    assert hook.command == "node x.js 'a b'"


@pytest.mark.report("ruvnet/agentic-flow#184")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("node ${CLAUDE_PROJECT_DIR:-.}/a.cjs pre", 'node "${CLAUDE_PROJECT_DIR:-.}"/a.cjs pre'),
        ("$CLAUDE_PROJECT_DIR/a.sh", '"$CLAUDE_PROJECT_DIR"/a.sh'),
        ('"$CLAUDE_PROJECT_DIR/a.sh"', '"$CLAUDE_PROJECT_DIR/a.sh"'),
        ("echo '$CLAUDE_PROJECT_DIR'", "echo '$CLAUDE_PROJECT_DIR'"),
    ],
)
def test_the_variable_of_the_project_is_one_word(tmp_path: Path, written: str, read: str) -> None:
    for folder, command in (("My Projects", read), ("projects", written)):
        raw = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": written}]}]}}
        hooks_in(tmp_path / "state", raw)
        (hook,) = load_hooks(HookSettings(), str(tmp_path / "state"), str(tmp_path / folder)).hooks
        assert hook.command == command


@pytest.mark.report("TserenTserenov/FMT-exocortex-template#787")
def test_context_at_the_top_of_the_object_counts() -> None:
    assert parse_answer(0, '{"additionalContext": "x"}', "", "UserPromptSubmit").context == "x"


CHANGES = [
    reported("MoonshotAI/kimi-cli#1963", '{"updatedInput": {"command": "x"}}'),
    reported(
        "anthropics/claude-code#79321",
        '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "x"}}}',
    ),
    '{"permission": "allow", "updated_input": {"command": "x"}}',
]


@pytest.mark.report("anthropics/claude-code#15897")
@pytest.mark.parametrize("stdout", CHANGES)
def test_new_arguments_count_also_beside_other_hooks(stdout: str) -> None:
    answers = [parse_answer(0, text, "", "PreToolUse") for text in (stdout, "{}", "")]
    assert combine_decisions(answers).arguments == {"command": "x"}


@pytest.mark.report("github/copilot-cli#2013")
def test_a_hook_runs_in_the_folder_that_it_names(tmp_path: Path) -> None:
    raw = {"type": "command", "bash": "./probe.sh", "cwd": ".github/my hooks", "timeoutSec": 10}
    (hook,) = hooks_in(tmp_path, {"version": 1, "hooks": {"preToolUse": [raw]}}).hooks
    assert (hook.command, hook.timeout_s) == ("cd '.github/my hooks' && ./probe.sh", 10)


FOREIGN: list[Any] = [
    reported("RealZST/HarnessKit#25", ".windsurf/hooks.json"),
    reported("dyoshikawa/rulesync#3046", ".continue/settings.json"),
    reported("jayminwest/overstory#74", ".github/hooks/team/a.json"),
    ".qwen/settings.json",
    ".claude/settings.json",
    ".cursor/hooks.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".github/hooks/a.json",
]


@pytest.mark.report("fencesandbox/fence#163")
def test_hooks_of_windsurf_in_the_home_folder_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".codeium/windsurf/hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": {"pre_run_command": [{"command": "true"}]}}))
    (hook,) = load_hooks(HookSettings(foreign=True), str(tmp_path / "state"), None).hooks
    assert (hook.event, hook.origin) == ("PreToolUse", "user")


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_agents_are_read_if_the_user_wants_that(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p" / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 1, "hooks": {"sessionStart": [{"command": "true"}]}}))
    for foreign in (True, False):
        settings = HookSettings.model_validate({"foreign": foreign})
        found = load_hooks(settings, str(tmp_path / "state"), str(tmp_path / "p"))
        assert len(found.hooks) == int(foreign) and not found.problems
