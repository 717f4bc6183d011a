"""Calls of added tools: decided by category and mode, and at least as strictly as the command they run (X8, T10)."""

from __future__ import annotations

from typing import Literal

import pytest

from agent_ls.environments.effects import CallEffect, CommandEffect, Effect, PlannedWrite, WriteEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Category, Mode, Refuse, Situation

pytestmark = pytest.mark.req("X8", "T10")

PLACES = Places(("/w",), "/home/u")
Kind = Literal["-", "?", "+"]
KINDS = {"-": Refuse, "?": Ask, "+": Allow}
MODES: tuple[Mode, ...] = ("plan", "ask", "edits", "full")


def situation(mode: Mode, *grants: str, category: Category | None = None, walled: bool = True) -> Situation:
    return Situation(mode, PLACES, frozenset(grants), category=category, is_sandbox_available=walled)


def call(category: Category, *argv: str, definition: str = "d1") -> CallEffect:
    return CallEffect("t", " ".join(argv) or "{}", category, definition if argv else "", argv, "/w")


@pytest.mark.parametrize(
    ("effect", "answers"),
    [
        (call("read"), "-??+"),
        (call("write"), "-??+"),
        (call("admin"), "-???"),
        (call("read", "kubectl", "get", "pods"), "-??+"),
        (call("write", "mine", "apply", "x.yml"), "-??+"),
        (call("write", "kubectl", "apply", "x.yml"), "-???"),
        (call("admin", "kubectl", "get", "pods"), "-???"),
        (call("read", "git", "log"), "-+++"),
        (call("write", "git", "log"), "-+++"),
        (call("admin", "git", "log"), "-???"),
        # the category "read" does not allow a command that needs approval
        (call("read", "rm", "-r", "src"), "-???"),
        (call("read", "/opt/mine/rm", "-r", "src"), "-???"),
        (call("read", "rm", "-rf", "/"), "----"),
        (call("read", "cat", "/etc/hosts"), "-???"),
        (call("read", "cat", "/home/u/.ssh/id"), "-???"),
        (call("read", "bash", "-c", "curl x | sh"), "-???"),
        (call("read", "env", "X=1", "sudo", "ls"), "-???"),
        # the path of the user's own program is not checked, but its arguments are
        (call("read", "/opt/mine/show", "a.txt"), "-??+"),
        (call("read", "/opt/mine/show", "/etc/hosts"), "-???"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.category} {value.text}",
)
def test_call_is_judged_by_the_stricter_of_its_category_and_its_command(
    effect: CallEffect, answers: str
) -> None:
    for mode, expected in zip(MODES, answers, strict=True):
        assert type(judge(effect, situation(mode))) is KINDS[expected], mode


def test_tool_rule_covers_one_tool_definition_and_no_path_outside_the_workspace() -> None:
    effect = call("write", "mine", "apply", "x.yml")
    asked = judge(effect, situation("ask"))
    assert isinstance(asked, Ask)
    assert [rule.scope for rule in asked.rules] == ["session", "project", "user", "session", "turn"]
    rule = asked.rules[0].id
    assert isinstance(judge(effect, situation("ask", rule)), Allow)
    assert isinstance(judge(call("write", "mine", "apply", "y.yml"), situation("ask", rule)), Allow)
    assert isinstance(judge(call("write", "mine", "x", definition="d2"), situation("ask", rule)), Ask)
    assert isinstance(judge(call("write", "mine", "apply", "/etc/x"), situation("ask", rule)), Ask)
    assert isinstance(judge(CommandEffect("t", "/w"), situation("ask", rule)), Ask), "nor for a command"


def test_tool_call_of_the_admin_category_is_offered_only_an_exact_rule() -> None:
    asked = judge(call("admin", "mine", "apply"), situation("full"))
    assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode
    assert {rule.scope for rule in asked.rules} == {"session", "turn"}
    exact = asked.rules[0].id
    assert isinstance(judge(call("admin", "mine", "apply"), situation("full", exact)), Allow)
    assert isinstance(judge(call("admin", "mine", "apply", "x"), situation("full", exact)), Ask)
    listed = situation("ask", "tool:t")
    assert isinstance(judge(call("admin", "mine", "apply", "x"), listed), Allow), (
        "what the user lists himself"
    )


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (call("admin", "mine", "apply", "x"), Allow),
        (call("admin", "kubectl", "apply", "x"), Allow),
        (call("admin", "kubectl", "apply", "/etc/x"), Ask),
        (call("write", "mine", "/home/u/.ssh/id"), Ask),
        (call("write", "rm", "-rf", "/"), Refuse),
        (call("admin"), Allow),
    ],
    ids=lambda value: value.text if isinstance(value, CallEffect) else value.__name__,
)
def test_tool_allowed_by_name_still_obeys_path_policy_refusals_and_plan_mode(
    effect: CallEffect, expected: type
) -> None:
    assert type(judge(effect, situation("ask", "tool:t"))) is expected
    assert type(judge(effect, situation("plan", "tool:t"))) is Refuse


def test_command_rule_covers_a_tool_by_the_command_it_runs_and_not_by_the_tool_name() -> None:
    granted = situation("ask", "words:kubectl get pods")
    assert isinstance(judge(call("read", "kubectl", "get", "pods"), granted), Allow)
    named_like_a_command = CallEffect("cat", '{"path": "a"}', "write")
    assert isinstance(judge(named_like_a_command, situation("ask")), Ask)
    assert isinstance(judge(named_like_a_command, situation("ask", "words:cat")), Ask)


def test_a_call_needs_approval_while_the_sandbox_is_unavailable() -> None:
    assert isinstance(judge(call("write", "mine", "x"), situation("full", walled=False)), Ask)
    assert isinstance(judge(call("write"), situation("full", walled=False)), Ask)


WRITE = WriteEffect((PlannedWrite("/w/a", "modify", "", "k"),))


@pytest.mark.parametrize(
    ("effect", "expected"),
    [(WRITE, Ask), (CommandEffect("make", "/w"), Ask), (CommandEffect("ls", "/w"), Allow)],
)
def test_read_category_tool_with_a_write_effect_needs_approval_in_every_mode(
    effect: Effect, expected: type
) -> None:
    assert type(judge(effect, situation("full", category="read"))) is expected
    assert type(judge(effect, situation("full", category="write"))) is Allow


SEARCH = CallEffect("web_search", "newest version of it", "read")


@pytest.mark.req("T13")
def test_search_of_the_web_is_asked_about_in_every_mode_but_plan_until_a_rule_allows_it() -> None:
    for mode in ("ask", "edits", "full"):
        asked = judge(SEARCH, Situation(mode, PLACES))
        assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode
        assert {"session", "project", "user"} <= {
            rule.scope for rule in asked.rules if rule.id == "tool:web_search"
        }
        allowed = judge(SEARCH, Situation(mode, PLACES, frozenset(["tool:web_search"])))
        assert isinstance(allowed, Allow)
    assert isinstance(judge(SEARCH, Situation("plan", PLACES, frozenset(["tool:web_search"]))), Refuse)
    untrusted = Situation("full", PLACES, frozenset(["tool:web_search"]), is_trusted=False)
    assert isinstance(judge(SEARCH, untrusted), Refuse)
