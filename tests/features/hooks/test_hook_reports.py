"""Hooks as users of other agents write them, each as the smallest file or output of a public report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.features.hooks.answers import HookAnswer, parse_answer
from agent_ls.features.hooks.config import load_hooks
from agent_ls.services.settings.model import HookSettings

pytestmark = pytest.mark.req("T15")


CONTEXT = json.dumps({"hookSpecificOutput": {"additionalContext": "known"}})
ANSWERS = [
    pytest.param(
        ("Stop", 0, "✅ Shell ready on arm64\n{}\n", ""),
        HookAnswer(),
        marks=pytest.mark.report("anthropics/claude-code#21992"),
    ),
    pytest.param(
        ("PreToolUse", 0, f"loading...\n{CONTEXT}\n\n", ""),
        HookAnswer(context="known"),
        marks=pytest.mark.report("cline/cline#7314"),
    ),
    pytest.param(
        ("SessionStart", 0, "<session-context>\nBe brief.\n", ""),
        HookAnswer(context="<session-context>\nBe brief."),
        marks=pytest.mark.report("mindfold-ai/Trellis#18"),
    ),
    pytest.param(
        ("SessionEnd", 0, "=== Session summary ===\n", ""),
        HookAnswer(),
        marks=pytest.mark.report("arpitnath/claude-capsule-kit#27"),
    ),
    pytest.param(
        ("PostToolUse", 0, "", ""), HookAnswer(), marks=pytest.mark.report("mksglu/context-mode#235")
    ),
    pytest.param(
        ("PreToolUse", 2, "", ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
        marks=pytest.mark.report("vybestack/llxprt-code#2942"),
    ),
    pytest.param(
        ("PreToolUse", 2, '{"hookSpecificOutput": {"additionalContext": "x"}}', "no issues here"),
        HookAnswer("deny", blocks=True, reason="no issues here"),
        marks=pytest.mark.report("anthropics/claude-code#26923"),
    ),
    pytest.param(
        ("PreToolUse", 2, 'lint 1\n{"decision": "deny", "reason": "no lint"}\n', ""),
        HookAnswer("deny", blocks=True, reason="no lint"),
        marks=pytest.mark.report("mmnto-ai/totem#2615"),
    ),
    pytest.param(
        (
            "PreToolUse",
            2,
            '{"permissionDecision": "deny", "permissionDecisionReason": "Blocked by policy"}',
            "",
        ),
        HookAnswer("deny", blocks=True, reason="Blocked by policy"),
        marks=pytest.mark.report("anthropics/claude-code#37210"),
    ),
    pytest.param(
        ("PreToolUse", 2, "not an object", ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
        marks=pytest.mark.report("openai/codex#27833"),
    ),
    pytest.param(
        ("Stop", 0, '{"followup_message": "go on"}', ""),
        HookAnswer("deny", blocks=True, reason="go on"),
        marks=pytest.mark.report("OthmanAdi/planning-with-files#262"),
    ),
    pytest.param(
        (
            "PreToolUse",
            0,
            '{"hookSpecificOutput": {"permissionDecision": "deny"}, "systemMessage": "use x"}',
            "",
        ),
        HookAnswer("deny", reason="use x", message="use x"),
        marks=pytest.mark.report("anthropics/claude-plugins-official#1865"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"cancel": true, "errorMessage": "no js"}', ""),
        HookAnswer("deny", blocks=True, reason="no js"),
        marks=pytest.mark.report("open-gsd/gsd-core#787"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"cancel": false, "contextModification": "", "errorMessage": ""}', ""),
        HookAnswer(),
        marks=pytest.mark.report("git-ai-project/git-ai#654"),
    ),
    (
        ("PreToolUse", 0, '{"shouldContinue": false}', ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"modifiedArgs": {"command": "x"}}', ""),
        HookAnswer(arguments={"command": "x"}),
        marks=pytest.mark.report("Hypabolic/Hypa#51"),
    ),
    pytest.param(
        ("UserPromptSubmit", 0, "test output", ""),
        HookAnswer(context="test output"),
        marks=pytest.mark.report("anthropics/claude-code#13912"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"hookSpecificOutput": {"updatedInput": {"command": "x"}}}', ""),
        HookAnswer(arguments={"command": "x"}),
        marks=pytest.mark.report("awslabs/aidlc-workflows#1024"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"permissionDecision": "allow"}', ""),
        HookAnswer("allow"),
        marks=pytest.mark.report("nikhilsitaram/claude-caliper#96"),
    ),
    pytest.param(
        ("PreToolUse", 0, '{"permission": "ask", "updatedInput": {"command": "x"}, "reason": "own"}', ""),
        HookAnswer("ask", reason="own", arguments={"command": "x"}),
        marks=pytest.mark.report("anthropics/claude-code#15773"),
    ),
    pytest.param(
        ("Stop", 0, "", ""),
        HookAnswer(),
        marks=pytest.mark.report("anthropics/claude-code#10463"),
    ),
    pytest.param(
        ("PreToolUse", 0, json.dumps(json.loads(CONTEXT), indent=2), ""),
        HookAnswer(context="known"),
        marks=pytest.mark.report("anthropics/claude-code#24794"),
    ),
]


@pytest.mark.parametrize(("run", "answer"), ANSWERS)
def test_the_answer_of_a_hook_is_what_its_author_meant(
    run: tuple[str, int, str, str], answer: HookAnswer
) -> None:
    event, code, stdout, stderr = run
    assert parse_answer(code, stdout, stderr, event) == answer


UNREADABLE = [
    pytest.param(
        '{"continue":true,"status":"ready"}\n{"continue":true}\n',
        marks=pytest.mark.report("thedotmack/claude-mem#3910"),
    ),
    pytest.param(
        '{"decision": "block", "reason": "cut', marks=pytest.mark.report("baekenough/oh-my-customcode#1632")
    ),
]


@pytest.mark.parametrize("stdout", UNREADABLE)
def test_an_object_that_cannot_be_read_is_a_problem_and_never_silence(stdout: str) -> None:
    assert parse_answer(0, stdout, "", "PreToolUse").problem


@pytest.mark.report("anthropics/claude-code#44707")
def test_another_exit_code_is_a_problem() -> None:
    assert "no rules" in parse_answer(1, "", "no rules", "PreToolUse").problem


DECISIONS = [
    pytest.param(
        '{"decision": "ask", "message": "uses sudo"}',
        ("ask", "uses sudo"),
        marks=pytest.mark.report("aws/amazon-q-developer-cli#3596"),
    ),
    pytest.param(
        '{"permissionDecision": "deny", "permissionDecisionReason": "no"}',
        ("deny", "no"),
        marks=pytest.mark.report("anthropics/claude-code#4669"),
    ),
    pytest.param(
        '{"permissionDecision": "ask", "message": "careful"}',
        ("ask", "careful"),
        marks=pytest.mark.report("garrytan/gstack#2331"),
    ),
    pytest.param(
        '{"permission": "deny", "user_message": "no", "agent_message": "use rg"}',
        ("deny", "use rg"),
        marks=pytest.mark.report("aovestdipaperino/tokensave#187"),
    ),
    pytest.param('{"decision": "allow"}', ("allow", ""), marks=pytest.mark.report("pcvelz/superpowers#9")),
    ('{"hookSpecificOutput": {"permissionDecision": "block"}}', ("deny", "no reason was given")),
    ('{"decision": "Deny", "reason": "x"}', ("deny", "x")),
    ('{"continue": "false", "stopReason": "x"}', ("deny", "x")),
    (
        '{"permissionDecision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}',
        ("deny", "no reason was given"),
    ),
    ('{"hookSpecificOutput": null, "decision": null, "permission": {}}', ("", "")),
]


@pytest.mark.parametrize(("stdout", "answer"), DECISIONS)
def test_a_decision_counts_in_the_form_of_any_agent(stdout: str, answer: tuple[str, str]) -> None:
    found = parse_answer(0, stdout, "", "PreToolUse")
    assert (found.decision, found.reason, found.problem) == (*answer, "")


@pytest.mark.report("github/copilot-cli#2585")
def test_context_counts_beside_a_refusal() -> None:
    said = '{"permissionDecision": "deny", "permissionDecisionReason": "no", "additionalContext": "why"}'
    assert parse_answer(0, said, "", "PreToolUse") == HookAnswer("deny", reason="no", context="why")


@pytest.mark.report("QwenLM/qwen-code#8752")
@pytest.mark.report("mcs-cli/mcs#227")
@pytest.mark.parametrize(
    "hook", [{"type": "prompt", "prompt": "Review $ARGUMENTS"}, {"type": "http", "url": "http://localhost:1"}]
)
def test_a_hook_of_a_type_that_does_not_run_is_reported(tmp_path: Path, hook: dict[str, str]) -> None:
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    found = load_hooks(HookSettings(), str(tmp_path), None)
    assert not found.hooks and len(found.problems) == 1


def test_an_unknown_decision_asks_the_user() -> None:
    assert parse_answer(0, '{"permission": "maybe"}', "", "PreToolUse").problem


HOOK = {"type": "command", "command": "true"}
FILES = [
    pytest.param(
        '{"hooks": {"PreToolUse": [{"hooks": [' + json.dumps(HOOK) + "]}, // ours\n],}}",
        marks=pytest.mark.report("raymondchins/agentmap#19"),
    ),
    pytest.param(
        "\ufeff" + json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [HOOK]}]}}),
        marks=pytest.mark.report("vshulcz/deja-vu#3230"),
    ),
]


FILES += [
    pytest.param(
        '{"hooks": {"preToolUse": [{"matcher": "execute_bash", "command": "cat"}]}}',
        marks=pytest.mark.report("aws/amazon-q-developer-cli#2875"),
    ),
    pytest.param('{"PreToolUse": [{"matcher": ["Bash", "Edit"], "hooks": [{"command": ["x", "a b"]}]}]}'),
    pytest.param('{"hooks": {"PreToolUse": [{"hooks": [{"command": "x", "timeout": "30"}]}], "Stop": null}}'),
]


@pytest.mark.parametrize("text", FILES)
def test_a_file_as_editors_write_it_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "hooks.json").write_text(text, "utf-8")
    found = load_hooks(HookSettings(), str(tmp_path), None)
    assert not found.problems and [it.event for it in found.hooks] == ["PreToolUse"]


@pytest.mark.parametrize("matcher", [None, "", "*", ".*", "Bash", "Edit|Bash"])
def test_a_matcher_that_covers_a_tool_matches_it(tmp_path: Path, matcher: str | None) -> None:
    group = {"matcher": matcher, "hooks": [HOOK]}
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    (found,) = load_hooks(HookSettings(), str(tmp_path), None).hooks
    assert found.matches(["Bash"])
