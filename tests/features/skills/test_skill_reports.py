"""Skills and commands as users of other agents write them, each as the smallest file of a public report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.features.skills.front_matter import parse_page
from tests.features.skills.folders import command, load, skill

pytestmark = pytest.mark.req("T12")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "someone"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


DESCRIPTIONS = [
    pytest.param(
        "Configure the harness: Hooks, MCP Servers, Skills",
        "Configure the harness: Hooks, MCP Servers, Skills",
        marks=pytest.mark.report(
            "vercel-labs/skills#1058",
            "a colon in the description, and the skill is left out without a word",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        "StarRun collector: progress, errors, tables out",
        "StarRun collector: progress, errors, tables out",
        marks=pytest.mark.report(
            "bytedance/deer-flow#3333",
            "a description that the model wrote itself is no YAML",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        "妈妈唠叨模式 — Triggers on: '/pua:mama', '/pua mama', ...",
        "妈妈唠叨模式 — Triggers on: '/pua:mama', '/pua mama', ...",
        marks=pytest.mark.report(
            "tanweai/pua#147", "quotes within a description with a colon", area="rules", before="passed"
        ),
    ),
    pytest.param(
        "Any task: writing or improving copy\nallowed-tools: Read",
        "Any task: writing or improving copy",
        marks=pytest.mark.report(
            "jaredrhod/ai-marketing-skills#3",
            "a colon in the description drops all other fields too",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        '\n  Grills you.\n  "review my plan before I build". Pairs with the skill: grill first,\n  then build.',
        'Grills you. "review my plan before I build". Pairs with the skill: grill first, then build.',
        marks=pytest.mark.report(
            "open-octo/octo-agent#1417",
            "a colon in the second line of a description",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "Use `type: command` for it",
        "Use `type: command` for it",
        marks=pytest.mark.report(
            "gug007/lpm#87", "code with a colon in a description", area="rules", before="passed"
        ),
    ),
]


@pytest.mark.parametrize(("written", "read"), DESCRIPTIONS)
def test_a_description_with_a_colon_is_read_as_it_is_written(home: Path, written: str, read: str) -> None:
    command(home / ".agents/skills/s/SKILL.md", f"---\nname: s\ndescription: {written}\n---\nText.\n")
    loaded = load(home)
    assert [(it.name, it.description) for it in loaded.found] == [("s", read)]
    assert loaded.problems, "the user is told that other agents cannot read it"


HINTS = [
    pytest.param(
        "[SCOPE] [--create-tasks]",
        "[SCOPE] [--create-tasks]",
        marks=pytest.mark.report(
            "benbrastmckie/nvim#153",
            "two pairs of square brackets are no YAML, and the command is lost",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "[--strict] [--json]",
        "[--strict] [--json]",
        marks=pytest.mark.report(
            "cathrynlavery/diagram-design#155",
            "a hint that begins with a bracket loses the command",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "[title-override]",
        "[title-override]",
        marks=pytest.mark.report(
            "fockus/skill-memory-bank#5",
            "a hint in brackets is a list, and the command disappears",
            area="rules",
            before="flaw",
        ),
    ),
    pytest.param(
        "[PROMPT] | --analyze",
        "[PROMPT] | --analyze",
        marks=pytest.mark.report(
            "haacked/dotfiles#198",
            "a hint with brackets and a bar drops all fields",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "'[--session-number N] [--objective \"text\"]'",
        '[--session-number N] [--objective "text"]',
        marks=pytest.mark.report(
            "rjmurillo/ai-agents#2870",
            "a quoted hint with two pairs of brackets cannot be read",
            area="rules",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("written", "read"), HINTS)
def test_the_hint_of_a_command_is_read_as_it_is_written(home: Path, written: str, read: str) -> None:
    text = f"---\nargument-hint: {written}\ndescription: Does it\n---\nDo it.\n"
    command(home / ".claude/commands/c.md", text)
    (found,) = load(home).found
    assert (found.name, found.description, found.argument_hint) == ("c", "Does it", read)


GLOBS = [
    pytest.param(
        "globs: *.json\nalwaysApply: false",
        "*.json",
        marks=pytest.mark.report(
            "ThreeMoonsLab/agents-shipgate#729",
            "an asterisk without quotes makes the whole file invalid",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "globs: **/*.tsx, **/*.ts\nalwaysApply: false",
        "**/*.tsx, **/*.ts",
        marks=pytest.mark.report(
            "langwatch/scenario#958",
            "nothing of a rule is read, because its pattern begins with an asterisk",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        "globs: \ndescription: What: why",
        "",
        marks=pytest.mark.report(
            "sanity-io/agent-toolkit#15",
            "patterns and descriptions of rules are no YAML",
            area="rules",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("rows", "globs"), GLOBS)
def test_patterns_without_quotes_are_read_as_text(rows: str, globs: str) -> None:
    page = parse_page(f"---\n{rows}\n---\nText.")
    assert (page.string("globs"), page.text) == (globs, "Text.")


def test_tabs_line_ends_and_a_byte_order_mark_are_read() -> None:
    page = parse_page("\ufeff---\r\nname: a\r\nmetadata:\r\n\tauthor: me\r\ndescription: b\r\n---\r\nText.")
    assert (page.string("name"), page.string("description"), page.text) == ("a", "b", "Text.")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Bash(git add:*), Bash(git status:*), Read", ("Bash(git add:*)", "Bash(git status:*)", "Read")),
        ("Read Grep", ("Read", "Grep")),
        ("[Read, Grep]", ("Read", "Grep")),
        ("*", ("*",)),
    ],
)
def test_tools_are_names_with_their_brackets(written: str, names: tuple[str, ...]) -> None:
    assert parse_page(f"---\nname: a\nallowed-tools: {written}\n---\n").names("allowed-tools") == names


@pytest.mark.report(
    "craft-ai-agents/craft-agents-oss#744",
    "a skill folder that is a link is not found",
    area="rules",
    before="failed",
)
@pytest.mark.report(
    "apache/maka#4096",
    "10 of 19 skills are links to a repository, and none of them is found or reported",
    area="rules",
    before="failed",
)
@pytest.mark.report(
    "NousResearch/hermes-agent#8293",
    "a linked skill can be read by its path but is in no list",
    area="rules",
    before="failed",
)
@pytest.mark.report(
    "get-bb/bb#3715",
    "the folder of all skills is itself a link, and nothing in it is found",
    area="rules",
    before="failed",
)
def test_links_in_the_users_own_folders_are_followed(home: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    one, two, three = skill(shared, "one"), skill(shared / "code", "two"), skill(shared, "three")
    (home / ".agents/skills/file").mkdir(parents=True)
    os.symlink(one.parent, home / ".agents/skills/one")
    os.symlink(two.parent, home / ".agents/skills/other-name")
    os.symlink(three, home / ".agents/skills/file/SKILL.md")
    os.symlink(home / ".agents/skills", home / ".agents/skills/loop")
    (home / ".claude").mkdir()
    os.symlink(shared, home / ".claude/skills")
    assert {it.name for it in load(home).found} == {"one", "two", "three"}


@pytest.mark.report(
    "1ay1/agentty#25", "skills in folders of groups are not found", area="rules", before="passed"
)
@pytest.mark.report(
    "rebelytics/one-skill-to-rule-them-all#178",
    "a skill in a folder of a category ceases to exist without a word",
    area="rules",
    before="passed",
)
@pytest.mark.report(
    "openai/codex#22275",
    "files in the folder of a skill are taken for skills of their own",
    area="rules",
    before="failed",
)
def test_skills_in_groups_are_found_and_files_of_a_skill_are_none(home: Path) -> None:
    skills = home / ".agents/skills"
    skill(skills / "ios/motion", "springs")
    skill(skills, "toolkit")
    skill(skills / "toolkit/runtime-sources/skills", "apply-log")
    skill(skills, "toolkit-extra")
    assert {it.name for it in load(home).found} == {"springs", "toolkit", "toolkit-extra"}
