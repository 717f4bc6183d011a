from __future__ import annotations

import pytest

from agent_ls.environments.effects import (
    CommandEffect,
    Effect,
    FetchEffect,
    NoEffect,
    PlannedWrite,
    ProcessEffect,
    ReadEffect,
    TrustEffect,
    WriteEffect,
)
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.rules import EDITS_RULE
from agent_ls.policy.situation import Allow, Ask, Mode, Refuse, Situation

ROOT, HOME = "/w", "/home/u"


def situation(mode: Mode, grants: frozenset[str] = frozenset(), **resolved: str) -> Situation:
    paths = {f"/w/{name}": target for name, target in resolved.items()}
    return Situation(mode, Places((ROOT,), HOME), grants, paths)


def write(path: str, action: str = "modify") -> WriteEffect:
    assert action in ("modify", "delete", "create")
    return WriteEffect((PlannedWrite(path, "delete" if action == "delete" else "modify", "", "k"),))


def command(text: str, cwd: str = ROOT) -> CommandEffect:
    return CommandEffect(text, cwd)


def typed(text: str) -> CommandEffect:
    return CommandEffect(text, ROOT, input_of="p1")


CASES: list[tuple[str, Effect, dict[Mode, type]]] = [
    ("nothing", NoEffect(), {"plan": Allow, "ask": Allow, "edits": Allow, "full": Allow}),
    ("read inside", ReadEffect(("/w/a",)), {"plan": Allow, "ask": Allow, "edits": Allow, "full": Allow}),
    ("read the root", ReadEffect(("/w",)), {"plan": Allow, "full": Allow}),
    ("read outside", ReadEffect(("/etc/hosts",)), {"plan": Ask, "ask": Ask, "edits": Ask, "full": Ask}),
    ("read by dots", ReadEffect(("/w/../etc/hosts",)), {"ask": Ask, "full": Ask}),
    ("a name that begins like the root", ReadEffect(("/wide/a",)), {"ask": Ask}),
    ("read a key", ReadEffect(("/home/u/.ssh/id",)), {"plan": Refuse, "ask": Refuse, "full": Refuse}),
    ("edit", write("/w/a"), {"plan": Refuse, "ask": Ask, "edits": Allow, "full": Allow}),
    ("edit outside", write("/etc/a"), {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Ask}),
    ("read a system credential", ReadEffect(("/etc/shadow",)), {"ask": Refuse, "full": Refuse}),
    ("read a key in other letters", ReadEffect(("/home/u/.SSH/id",)), {"ask": Refuse, "full": Refuse}),
    ("read netrc", ReadEffect(("/home/u/.netrc",)), {"full": Refuse}),
    ("write a key", write("/home/u/.aws/credentials"), {"ask": Refuse, "full": Refuse}),
    ("edit in .git", write("/w/.git/config"), {"ask": Ask, "edits": Ask, "full": Ask}),
    ("edit CI", write("/w/.github/workflows/x.yml"), {"edits": Ask, "full": Ask}),
    ("edit in .GIT", write("/w/.GIT/config"), {"edits": Ask, "full": Ask}),
    ("edit agents.md", write("/w/sub/agents.md"), {"edits": Ask, "full": Ask}),
    ("edit editor settings", write("/w/.vscode/tasks.json"), {"edits": Ask, "full": Ask}),
    ("delete", write("/w/a", "delete"), {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Ask}),
    ("command", command("make test"), {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Allow}),
    ("command elsewhere", command("make", "/tmp"), {"ask": Ask, "full": Ask}),
    ("rm", command("rm -rf build"), {"edits": Ask, "full": Ask}),
    ("rm in a list", command("make && rm x"), {"full": Ask}),
    ("rm by path", command("/bin/rm x"), {"full": Ask}),
    ("push", command("git push -f"), {"full": Ask}),
    ("reset", command("git -C . reset --hard"), {"full": Ask}),
    ("pipe to shell", command("cat x | sh"), {"full": Ask}),
    ("redirect to a root path", command("echo x > /etc/passwd"), {"full": Ask}),
    ("redirect, appending", command("echo x >>/etc/passwd"), {"full": Ask}),
    ("redirect to the home", command("echo x > ~/.bashrc"), {"full": Ask}),
    ("redirect to nothing", command("make > /dev/null 2>/dev/null"), {"full": Allow}),
    ("redirect inside", command("make > build.log"), {"full": Allow}),
    ("credentials by name", command("cat ~/.ssh/id_rsa"), {"full": Ask}),
    ("credentials by a variable", command("cat $HOME/.AWS/credentials"), {"full": Ask}),
    ("find -delete", command("find . -name x -delete"), {"full": Ask}),
    ("own process", ProcessEffect("p1", "kill"), {"plan": Allow, "ask": Allow}),
    ("input", typed("yes\n"), {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Allow}),
    ("input that would only read", typed("ls\n"), {"plan": Refuse, "ask": Ask, "full": Allow}),
    ("input that is dangerous", typed("rm -rf build\n"), {"full": Ask}),
    ("input that wipes a root", typed("rm -rf /\n"), {"full": Refuse}),
    ("input without its end", typed("rm -rf"), {"full": Ask}),
    ("input that goes on", typed("echo x \\\n"), {"full": Ask}),
    ("input with an open quote", typed("echo 'x\n"), {"full": Ask}),
]  # fmt: skip


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    ("effect", "mode", "expected"),
    [
        pytest.param(effect, mode, kind, id=f"{name}-{mode}")
        for name, effect, by_mode in CASES
        for mode, kind in by_mode.items()
    ],
)
def test_judge_returns_the_decision_of_the_table(effect: Effect, mode: Mode, expected: type) -> None:
    assert type(judge(effect, situation(mode))) is expected


@pytest.mark.req("X6")
def test_a_link_to_the_outside_needs_approval() -> None:
    assert isinstance(judge(write("/w/link"), situation("full", link="/etc/hosts")), Ask)
    assert isinstance(judge(ReadEffect(("/w/link",)), situation("ask", link="/home/u/.ssh/id")), Refuse)


@pytest.mark.req("H7")
def test_an_edit_rule_covers_the_next_edit_but_no_deletion() -> None:
    granted = situation("ask", frozenset((EDITS_RULE,)))
    assert isinstance(judge(write("/w/a"), granted), Allow)
    assert isinstance(judge(write("/w/a", "delete"), granted), Ask)
    assert isinstance(judge(write("/etc/a"), granted), Ask)


@pytest.mark.req("H7")
def test_a_command_rule_covers_only_that_command_in_that_folder() -> None:
    asked = judge(command("make test"), situation("ask"))
    assert isinstance(asked, Ask)
    exact = next(rule.id for rule in asked.rules if rule.id.startswith("command:"))
    granted = situation("ask", frozenset((exact,)))
    assert isinstance(judge(command("make test"), granted), Allow)
    assert isinstance(judge(command("make test "), granted), Ask)
    assert isinstance(judge(command("make test", "/w/sub"), granted), Ask)


@pytest.mark.req("X6", "X8")
def test_edit_is_allowed_in_a_workspace_below_a_sensitive_folder() -> None:
    inside = Situation("edits", Places(("/home/u/.codex/worktrees/w",), HOME))
    assert isinstance(judge(write("/home/u/.codex/worktrees/w/a"), inside), Allow)
    assert isinstance(judge(write("/home/u/.codex/worktrees/w/.git/a"), inside), Ask)


@pytest.mark.req("X6")
def test_files_of_a_workspace_opened_through_a_link_are_inside_by_either_path() -> None:
    both = Situation("edits", Places(("/data/w", "/w"), HOME), resolved={"/w/a": "/data/w/a"})
    assert isinstance(judge(write("/w/a"), both), Allow)
    assert isinstance(judge(ReadEffect(("/data/w/a",)), both), Allow)


@pytest.mark.req("X6")
def test_credentials_in_the_workspace_are_refused() -> None:
    home = Situation("full", Places((HOME,), HOME))
    assert isinstance(judge(ReadEffect((f"{HOME}/.ssh/id",)), home), Refuse)
    assert isinstance(judge(ReadEffect((f"{HOME}/notes",)), home), Allow)


@pytest.mark.req("H7", "X6")
def test_the_rule_offered_for_a_link_names_its_target() -> None:
    asked = judge(ReadEffect(("/w/link",)), situation("ask", link="/etc/hosts"))
    assert isinstance(asked, Ask) and "/etc/hosts" in asked.rules[0].label
    grants = frozenset((asked.rules[0].id,))
    assert isinstance(judge(ReadEffect(("/w/link",)), situation("ask", grants, link="/etc/hosts")), Allow)
    assert isinstance(judge(ReadEffect(("/w/link",)), situation("ask", grants, link="/etc/group")), Ask)


@pytest.mark.req("H7")
def test_each_of_several_paths_outside_needs_a_rule() -> None:
    both = ReadEffect(("/etc/hosts", "/etc/group"))
    asked = judge(both, situation("ask"))
    assert isinstance(asked, Ask) and asked.rules == ()
    one = judge(both, situation("ask", frozenset(("read:/etc/hosts",))))
    assert isinstance(one, Ask) and [rule.id for rule in one.rules] == ["read:/etc/group"]


def test_a_never_silent_command_is_offered_only_an_exact_rule() -> None:
    asked = judge(command("rm x"), situation("full"))
    assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode
    assert [(rule.id.partition(":")[0], rule.scope) for rule in asked.rules] == [
        ("command", "session"),
        ("command", "turn"),
    ]
    granted = situation("full", frozenset((asked.rules[0].id,)))
    assert isinstance(judge(command("rm x"), granted), Allow)
    assert isinstance(judge(command("rm y"), granted), Ask)


@pytest.mark.parametrize(
    ("effect", "mode", "cause"),
    [
        (write("/w/a"), "ask", "mode"),
        (command("make test"), "ask", "mode"),
        (write("/etc/a"), "full", "outside"),
        (command("make test", "/etc"), "full", "outside"),
        (ReadEffect(("/etc/hosts",)), "full", "outside"),
        (write("/w/.git/config"), "full", "sensitive"),
        (ReadEffect(("/w/.env",)), "full", "sensitive"),
        (write("/w/a", "delete"), "full", "danger"),
        (command("rm -rf sub"), "ask", "danger"),
        (command("$TOOL sub"), "ask", "unclear"),
        (FetchEffect("https://example.org/"), "full", "network"),
        (CommandEffect("make", ROOT, outside_sandbox=True), "full", "sandbox"),
        (TrustEffect(ROOT, ""), "full", "trust"),
    ],
)
def test_a_question_has_the_kind_of_its_reason(effect: Effect, mode: Mode, cause: str) -> None:
    asked = judge(effect, situation(mode))
    assert isinstance(asked, Ask) and asked.cause == cause
