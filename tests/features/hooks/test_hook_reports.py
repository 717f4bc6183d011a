"""Hooks as users of other agents write them, each as the smallest file or output of a public report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.features.hooks.answers import HookAnswer, parse_answer
from agent_ls.features.hooks.config import load_hooks
from agent_ls.services.settings.model import HookSettings
from tests.support.reports import reported

pytestmark = pytest.mark.req("T15")


CONTEXT = json.dumps({"hookSpecificOutput": {"additionalContext": "known"}})
ANSWERS = [
    reported("anthropics/claude-code#21992", ("Stop", 0, "✅ Shell ready on arm64\n{}\n", ""), HookAnswer()),
    reported(
        "cline/cline#7314", ("PreToolUse", 0, f"loading...\n{CONTEXT}\n\n", ""), HookAnswer(context="known")
    ),
    reported(
        "mindfold-ai/Trellis#18",
        ("SessionStart", 0, "<session-context>\nBe brief.\n", ""),
        HookAnswer(context="<session-context>\nBe brief."),
    ),
    reported(
        "arpitnath/claude-capsule-kit#27", ("SessionEnd", 0, "=== Session summary ===\n", ""), HookAnswer()
    ),
    reported("mksglu/context-mode#235", ("PostToolUse", 0, "", ""), HookAnswer()),
    reported(
        "vybestack/llxprt-code#2942",
        ("PreToolUse", 2, "", ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
    ),
    reported(
        "anthropics/claude-code#26923",
        ("PreToolUse", 2, '{"hookSpecificOutput": {"additionalContext": "x"}}', "no issues here"),
        HookAnswer("deny", blocks=True, reason="no issues here", context="x"),
    ),
    reported(
        "mmnto-ai/totem#2615",
        ("PreToolUse", 2, 'lint 1\n{"decision": "deny", "reason": "no lint"}\n', ""),
        HookAnswer("deny", blocks=True, reason="no lint"),
    ),
    reported(
        "anthropics/claude-code#37210",
        (
            "PreToolUse",
            2,
            '{"permissionDecision": "deny", "permissionDecisionReason": "Blocked by policy"}',
            "",
        ),
        HookAnswer("deny", blocks=True, reason="Blocked by policy"),
    ),
    reported(
        "openai/codex#27833",
        ("PreToolUse", 2, "not an object", ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
    ),
    reported(
        "OthmanAdi/planning-with-files#262",
        ("Stop", 0, '{"followup_message": "go on"}', ""),
        HookAnswer("deny", blocks=True, reason="go on"),
    ),
    reported(
        "anthropics/claude-plugins-official#1865",
        (
            "PreToolUse",
            0,
            '{"hookSpecificOutput": {"permissionDecision": "deny"}, "systemMessage": "use x"}',
            "",
        ),
        HookAnswer("deny", reason="use x", message="use x"),
    ),
    reported(
        "open-gsd/gsd-core#787",
        ("PreToolUse", 0, '{"cancel": true, "errorMessage": "no js"}', ""),
        HookAnswer("deny", blocks=True, reason="no js"),
    ),
    reported(
        "git-ai-project/git-ai#654",
        ("PreToolUse", 0, '{"cancel": false, "contextModification": "", "errorMessage": ""}', ""),
        HookAnswer(),
    ),
    (
        ("PreToolUse", 0, '{"shouldContinue": false}', ""),
        HookAnswer("deny", blocks=True, reason="no reason was given"),
    ),
    reported(
        "Hypabolic/Hypa#51",
        ("PreToolUse", 0, '{"modifiedArgs": {"command": "x"}}', ""),
        HookAnswer(arguments={"command": "x"}),
    ),
    reported(
        "anthropics/claude-code#13912",
        ("UserPromptSubmit", 0, "test output", ""),
        HookAnswer(context="test output"),
    ),
    reported(
        "awslabs/aidlc-workflows#1024",
        ("PreToolUse", 0, '{"hookSpecificOutput": {"updatedInput": {"command": "x"}}}', ""),
        HookAnswer(arguments={"command": "x"}),
    ),
    reported(
        "nikhilsitaram/claude-caliper#96",
        ("PreToolUse", 0, '{"permissionDecision": "allow"}', ""),
        HookAnswer("allow"),
    ),
    reported(
        "anthropics/claude-code#15773",
        ("PreToolUse", 0, '{"permission": "ask", "updatedInput": {"command": "x"}, "reason": "own"}', ""),
        HookAnswer("ask", reason="own", arguments={"command": "x"}),
    ),
    reported("anthropics/claude-code#10463", ("Stop", 0, "", ""), HookAnswer()),
    reported(
        "philoserf/claude-code-config#350",
        ("PreToolUse", 0, "use rg and no grep\n", ""),
        HookAnswer(),
    ),
    (("PermissionRequest", 0, "noted", ""), HookAnswer()),
    reported(
        "kamp-us/phoenix#5423",
        (
            "PreToolUse",
            0,
            '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no spawn"}}',
            "",
        ),
        HookAnswer("deny", reason="no spawn"),
    ),
    reported(
        "alexgreensh/token-optimizer#177",
        (
            "UserPromptSubmit",
            0,
            '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "hint"}}',
            "",
        ),
        HookAnswer(context="hint"),
    ),
    reported(
        "anthropics/claude-code#24794",
        ("PreToolUse", 0, json.dumps(json.loads(CONTEXT), indent=2), ""),
        HookAnswer(context="known"),
    ),
]


@pytest.mark.parametrize(("run", "answer"), ANSWERS)
def test_the_answer_of_a_hook_is_what_its_author_meant(
    run: tuple[str, int, str, str], answer: HookAnswer
) -> None:
    event, code, stdout, stderr = run
    assert parse_answer(code, stdout, stderr, event) == answer


UNREADABLE = [
    reported("thedotmack/claude-mem#3910", '{"continue":true,"status":"ready"}\n{"continue":true}\n'),
    reported("baekenough/oh-my-customcode#1632", '{"decision": "block", "reason": "cut'),
]


@pytest.mark.parametrize("stdout", UNREADABLE)
def test_an_object_that_cannot_be_read_is_a_problem_and_never_silence(stdout: str) -> None:
    assert parse_answer(0, stdout, "", "PreToolUse").problem


@pytest.mark.report("anthropics/claude-code#44707")
@pytest.mark.report("doggy8088/better-rm#13")
@pytest.mark.report("mpfaffenberger/code_puppy#418")
def test_another_exit_code_is_a_problem() -> None:
    assert "no rules" in parse_answer(1, "", "no rules", "PreToolUse").problem


DECISIONS = [
    reported(
        "aws/amazon-q-developer-cli#3596", '{"decision": "ask", "message": "uses sudo"}', ("ask", "uses sudo")
    ),
    reported(
        "anthropics/claude-code#4669",
        '{"permissionDecision": "deny", "permissionDecisionReason": "no"}',
        ("deny", "no"),
    ),
    reported(
        "anthropics/claude-code#91574",
        '{"permissionDecision":"deny","permissionDecisionReason":"test"}',
        ("deny", "test"),
    ),
    reported(
        "garrytan/gstack#2331", '{"permissionDecision": "ask", "message": "careful"}', ("ask", "careful")
    ),
    reported(
        "aovestdipaperino/tokensave#187",
        '{"permission": "deny", "user_message": "no", "agent_message": "use rg"}',
        ("deny", "use rg"),
    ),
    reported("pcvelz/superpowers#9", '{"decision": "allow"}', ("allow", "")),
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
    reported(
        "raymondchins/agentmap#19",
        '{"hooks": {"PreToolUse": [{"hooks": [' + json.dumps(HOOK) + "]}, // ours\n],}}",
    ),
    reported(
        "vshulcz/deja-vu#3230",
        "\ufeff" + json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [HOOK]}]}}),
    ),
]


FILES += [
    reported(
        "aws/amazon-q-developer-cli#2875",
        '{"hooks": {"preToolUse": [{"matcher": "execute_bash", "command": "cat"}]}}',
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
