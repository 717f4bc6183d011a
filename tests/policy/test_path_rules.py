"""Rules of the user for reads and writes of paths: which effects they allow, and which rules the user is offered."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import PlannedWrite, ReadEffect, WriteEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.path_rules import parse_path_rule
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, Situation

pytestmark = pytest.mark.req("H7")

PLACES = Places(("/w",), "/home/u", lambda path: path == "/w/src/private", state="/state")


def written(
    *paths: str, rule: str = "", mode: Mode = "ask", action: str = "modify", **links: str
) -> Judgement:
    files = tuple(PlannedWrite(path, action, "", "k") for path in paths)  # type: ignore[arg-type]
    resolved = {f"/w/{name}": target for name, target in links.items()}
    grants = frozenset([rule] if rule else [])
    return judge(WriteEffect(files), Situation(mode, PLACES, grants, resolved))


def read_of(path: str, rule: str = "", **links: str) -> Judgement:
    resolved = {f"/w/{name}": target for name, target in links.items()}
    return judge(ReadEffect((path,)), Situation("ask", PLACES, frozenset([rule] if rule else []), resolved))


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("write:src/**", "/w/src/a.py"),
        ("write:src/**", "/w/src/deep/a.py"),
        ("write:**/*.md", "/w/docs/a.md"),
        ("write:*.md", "/w/a.md"),
        ("write:a.md", "/w/a.md"),
        ("write:.npmrc", "/w/.npmrc"),
        ("write:.git/config", "/w/.git/config"),
        ("write:/data/out/**", "/data/out/a"),
        ("write:~/notes/*.txt", "/home/u/notes/a.txt"),
    ],
)
def test_write_rule_covers_what_its_pattern_names(rule: str, path: str) -> None:
    assert parse_path_rule(rule) == rule
    assert isinstance(written(path), Ask)
    assert written(path, rule=rule) == Allow("allowed by your rule", (rule,))


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("write:src/**", "/w/lib/a.py"),
        ("write:src/**", "/w/srcs/a.py"),
        ("write:src/*", "/w/src/deep/a.py"),
        ("write:src/**", "/w/src/.npmrc"),
        ("write:src/**", "/w/src/.git/hooks/pre-commit"),
        ("write:**", "/etc/hosts"),
        ("write:**", "/w/src/../../etc/hosts"),
        ("write:etc/**", "/etc/hosts"),
        ("read:src/**", "/w/src/a.py"),
        ("write:~/notes/*", "/home/u/notes/deep/a"),
        ("write:**", "/state/rules.json"),
        ("write:/state/**", "/state/rules.json"),
        ("write:/state/rules.json", "/state/rules.json"),
    ],
)
def test_write_rule_covers_no_path_outside_its_pattern_or_the_workspace(rule: str, path: str) -> None:
    assert isinstance(written(path, rule=rule), Ask)


@pytest.mark.parametrize("path", ["/home/u/.ssh/config", "/etc/shadow", "/w/src/private"])
def test_no_rule_covers_credentials_or_ignored_files(path: str) -> None:
    assert isinstance(written(path, rule=f"write:{path}"), Refuse)
    assert isinstance(read_of(path, rule=f"read:{path}"), Refuse)


def test_write_rule_does_not_cover_deletions_or_plan_mode() -> None:
    assert isinstance(written("/w/src/a", rule="write:src/**", action="delete"), Ask)
    assert isinstance(written("/w/src/a", rule="write:src/**", mode="plan"), Refuse)


def test_write_rule_has_to_cover_every_file_of_a_change() -> None:
    assert isinstance(written("/w/src/a", "/w/lib/b", rule="write:src/**"), Ask)
    assert isinstance(written("/w/src/a", "/w/src/b", rule="write:src/**"), Allow)


def test_write_rule_has_to_cover_where_a_link_leads() -> None:
    assert isinstance(written("/w/link", rule="write:link", link="/etc/hosts"), Ask)
    assert isinstance(written("/w/link", rule="write:link", link="/w/other"), Ask)


def test_read_rule_covers_places_outside_and_where_links_lead() -> None:
    assert isinstance(read_of("/data/a/b", rule="read:/data/**"), Allow)
    assert isinstance(read_of("/w/link", rule="read:/data/**", link="/data/a"), Allow)
    assert isinstance(read_of("/database", rule="read:/data/**"), Ask)


def test_read_rule_covers_a_secret_file_only_without_wildcards() -> None:
    assert isinstance(read_of("/w/.env", rule="read:**"), Ask)
    assert isinstance(read_of("/w/.env", rule="read:.env"), Allow)


@pytest.mark.parametrize(
    "text",
    ["write:", "write:../x", "write:a/../../x", "write:[a", "write:{a", "reads:a", "write", "npm test"],
)
def test_invalid_path_rule_is_parsed_as_no_rule(text: str) -> None:
    assert parse_path_rule(text) == ""


def test_change_below_a_folder_is_offered_the_folder_for_session_project_and_user() -> None:
    asked = written("/w/src/a.py", "/w/src/deep/b.py")
    assert isinstance(asked, Ask)
    offers = [(rule.id, rule.scope) for rule in asked.rules if rule.id != "edits"]
    assert offers == [("write:src/**", "session"), ("write:src/**", "project"), ("write:src/**", "user")]
    assert "src/" in asked.rules[-1].label


@pytest.mark.parametrize("paths", [("/w/a.py",), ("/w/src/a.py", "/w/lib/b.py")])
def test_change_of_files_of_no_common_folder_is_offered_no_path_rule(paths: tuple[str, ...]) -> None:
    asked = written(*paths)
    assert isinstance(asked, Ask) and [rule.id for rule in asked.rules] == ["edits"]


def test_read_outside_is_offered_its_folder_unless_that_is_too_wide() -> None:
    def offered(path: str) -> set[str]:
        asked = read_of(path)
        assert isinstance(asked, Ask)
        return {rule.id for rule in asked.rules}

    assert offered("/data/a/b") == {"read:/data/a/b", "read:/data/a/**"}
    assert offered("/b") == {"read:/b"}
    assert offered("/home/u/b") == {"read:/home/u/b"}
    assert offered("/etc/hosts") == {"read:/etc/hosts"}  # not /etc/**, which would include /etc/shadow


def test_offered_rule_covers_the_change_that_it_was_offered_for() -> None:
    asked = written("/w/src/a.py")
    assert isinstance(asked, Ask)
    assert all(isinstance(written("/w/src/a.py", rule=rule.id), Allow) for rule in asked.rules)
    assert all(isinstance(written("/w/.vscode/x", rule=rule.id), Ask) for rule in asked.rules)


@pytest.mark.parametrize("name", ["[a]/b.py", "a*/b.py", "{a}/b.py"])
def test_file_in_a_folder_with_a_wildcard_in_its_name_is_offered_no_path_rule(name: str) -> None:
    asked = written(f"/w/{name}")
    assert isinstance(asked, Ask) and [rule.id for rule in asked.rules] == ["edits"]


BRACKETS = [
    pytest.param("write:src/[id]/**", "src/[id]/page.tsx", {"[id]", "i"}, True, id="name-that-exists"),
    pytest.param(
        "write:src/[id]/**", "src/i/page.tsx", {"[id]", "i"}, False, id="class-of-a-name-that-exists"
    ),
    pytest.param("write:src/[id]/**", "src/i/page.tsx", {"i"}, True, id="class"),
    pytest.param("write:src/[id]/**", "src/i/page.tsx", None, False, id="class-where-names-are-unknown"),
    pytest.param("write:src/[id]/**", "src/[id]/page.tsx", None, True, id="name-where-names-are-unknown"),
    pytest.param("write:src/[id]/**", "src/[id]/page.tsx", {"src"}, True, id="name-that-is-created"),
    pytest.param("write:[a]/[xy].c", "[a]/x.c", {"[a]", "x.c"}, True, id="name-then-class"),
    pytest.param("write:[a]/[xy].c", "a/x.c", {"[a]", "x.c"}, False, id="class-then-class"),
    pytest.param("write:{{x}}/**", "x/a.c", {"{{x}}", "x"}, False, id="braces"),
    pytest.param("write:**/[id]*.ts", "a/id.ts", {"[id].ts"}, False, id="part-of-a-name"),
]


@pytest.mark.parametrize(("rule", "path", "beside", "is_allowed"), BRACKETS)
def test_brackets_in_a_rule_are_a_class_only_where_no_file_has_that_name(
    rule: str, path: str, beside: set[str] | None, is_allowed: bool
) -> None:
    names = None if beside is None else frozenset(beside)
    file = PlannedWrite(f"/w/{path}", "modify", "", "k")
    situation = Situation("ask", PLACES, frozenset([rule]), beside=names)
    assert isinstance(judge(WriteEffect((file,)), situation), Allow) is is_allowed


def test_rule_with_the_exact_path_covers_a_sensitive_file_with_brackets() -> None:
    assert isinstance(written("/w/src/[id]/.npmrc", rule="write:src/[id]/.npmrc"), Allow)
    assert isinstance(written("/w/src/i/.npmrc", rule="write:src/[id]/.npmrc"), Ask)


@pytest.mark.req("X6")
def test_the_rule_for_a_folder_outside_covers_the_folder_and_nothing_beside_it() -> None:
    effect = ReadEffect(("/x/data",))
    asked = judge(effect, Situation("ask", PLACES, folders=frozenset(effect.paths)))
    assert isinstance(asked, Ask) and {rule.id for rule in asked.rules} == {"read:/x/data", "read:/x/data/**"}
    granted = Situation("ask", PLACES, frozenset(("read:/x/data/**",)))
    for path, is_allowed in (
        ("/x/data", True),
        ("/x/data/a/b", True),
        ("/x/secret.txt", False),
        ("/x", False),
    ):
        assert isinstance(judge(ReadEffect((path,)), granted), Allow) is is_allowed, path
