"""Skills and commands as users of other agents write them, each as the smallest file of a public report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.placeholders import insert_arguments
from agent_ls.front_matter import parse_page
from agent_ls.services.settings.model import SkillSettings
from tests.features.skills.folders import command, load, skill
from tests.support.reports import reported

pytestmark = pytest.mark.req("T12")


DESCRIPTIONS = [
    reported("vercel-labs/skills#1058", "Configure the harness: Hooks, MCP Servers, Skills",
        "Configure the harness: Hooks, MCP Servers, Skills"),
    reported("bytedance/deer-flow#3333", "StarRun collector: progress, errors, tables out",
        "StarRun collector: progress, errors, tables out"),
    reported("tanweai/pua#147", "妈妈唠叨模式 — Triggers on: '/pua:mama', '/pua mama', ...",
        "妈妈唠叨模式 — Triggers on: '/pua:mama', '/pua mama', ..."),
    reported("jaredrhod/ai-marketing-skills#3", "Any task: writing or improving copy\nallowed-tools: Read",
        "Any task: writing or improving copy"),
    reported("open-octo/octo-agent#1417",
        '\n  Grills you.\n  "review my plan before I build". Pairs with the skill: grill first,\n  then build.',
        'Grills you. "review my plan before I build". Pairs with the skill: grill first, then build.'),
    reported("gug007/lpm#87", "Use `type: command` for it", "Use `type: command` for it"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "read"), DESCRIPTIONS)
def test_a_description_with_a_colon_is_read_as_it_is_written(home: Path, written: str, read: str) -> None:
    path = command(home / ".agents/skills/s/SKILL.md", f"---\nname: s\ndescription: {written}\n---\nText.\n")
    loaded = load(home)
    assert [(it.name, it.description) for it in loaded.found] == [("s", read)]
    assert loaded.problems == [
        f"{path}: other agents cannot read it until you put quotes around the value of `description`."
    ]


HINTS = [
    reported(
        "anthropics/claude-code#8429",
        "[file-reference] [prose] [concept]",
        "[file-reference] [prose] [concept]",
    ),
    reported("benbrastmckie/nvim#153", "[SCOPE] [--create-tasks]", "[SCOPE] [--create-tasks]"),
    reported("cathrynlavery/diagram-design#155", "[--strict] [--json]", "[--strict] [--json]"),
    reported("fockus/skill-memory-bank#5", "[title-override]", "[title-override]"),
    reported("haacked/dotfiles#198", "[PROMPT] | --analyze", "[PROMPT] | --analyze"),
    reported(
        "rjmurillo/ai-agents#2870",
        "'[--session-number N] [--objective \"text\"]'",
        '[--session-number N] [--objective "text"]',
    ),
]


@pytest.mark.parametrize(("written", "read"), HINTS)
def test_the_hint_of_a_command_is_read_as_it_is_written(home: Path, written: str, read: str) -> None:
    text = f"---\nargument-hint: {written}\ndescription: Does it\n---\nDo it.\n"
    command(home / ".claude/commands/c.md", text)
    (found,) = load(home).found
    assert (found.name, found.description, found.argument_hint) == ("c", "Does it", read)


GLOBS = [
    reported("ThreeMoonsLab/agents-shipgate#729", "globs: *.json\nalwaysApply: false", "*.json"),
    reported("langwatch/scenario#958", "globs: **/*.tsx, **/*.ts\nalwaysApply: false", "**/*.tsx, **/*.ts"),
    reported("sanity-io/agent-toolkit#15", "globs: \ndescription: What: why", ""),
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
    "apache/maka#4096",
    "NousResearch/hermes-agent#8293",
    "get-bb/bb#3715",
)
@pytest.mark.report("google-gemini/gemini-cli#4906")
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
    (shared / "commands").mkdir()
    (shared / "commands/four.md").write_text("Say $ARGUMENTS.")
    os.symlink(shared / "commands", home / ".claude/commands")
    assert {it.name for it in load(home).found} == {"one", "two", "three", "four"}


@pytest.mark.report("openai/codex#15756")
def test_a_skill_behind_a_link_out_of_its_folder_is_named(home: Path, tmp_path: Path) -> None:
    project, found = tmp_path / "project", []
    shared = skill(project / "shared", "one")
    skill(project / ".agents/skills", "known")
    for name, target, link in (
        ("file/SKILL.md", shared, "file/SKILL.md"),
        ("folder", shared.parent, "folder/SKILL.md"),
        ("known-again", project / ".agents/skills/known", ""),
        ("notes", project / "shared", ""),
        ("gone", project / "nowhere", ""),
    ):
        path = project / ".claude/skills" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, path)
        found += [str(project / ".claude/skills" / link)] if link else []
    got = load(home, project)
    assert [it.name for it in got.found] == ["known"]
    assert [it.partition(": ")[0] for it in sorted(got.problems)] == sorted(found)


@pytest.mark.report("1ay1/agentty#25", "rebelytics/one-skill-to-rule-them-all#178", "openai/codex#22275")
def test_skills_in_groups_are_found_and_files_of_a_skill_are_none(home: Path) -> None:
    skills = home / ".agents/skills"
    skill(skills / "ios/motion", "springs")
    skill(skills, "toolkit")
    skill(skills / "toolkit/runtime-sources/skills", "apply-log")
    skill(skills, "toolkit-extra")
    assert {it.name for it in load(home).found} == {"springs", "toolkit", "toolkit-extra"}


PLACES = [
    reported("earendil-works/pi#418", "Price: $ARGUMENTS", "$100 $1", "Price: $100 $1"),
    reported(
        "anthropics/claude-code#78759",
        "It costs $0.01, $1.2M and $2K: `awk '{print $2}'` of $1.",
        "A B",
        "It costs $0.01, $1.2M and $2K: `awk '{print $2}'` of A.",
    ),
    reported("anthropics/claude-code#92171", "1=$1 2=$2 3=$3", "one two", "1=one 2=two 3="),
    reported(
        "Gitlawb/openclaude#1966",
        "cost $ARGUMENTS",
        "is 100$$ & $& $1",
        "cost is 100$$ & $& $1",
    ),
    ("\\$1 is $1", "one", "$1 is one"),
    ("costs $1,200", "", "costs $1,200"),
]


@pytest.mark.parametrize(("written", "arguments", "read"), PLACES)
def test_only_placeholders_are_replaced_and_only_once(written: str, arguments: str, read: str) -> None:
    assert insert_arguments(written, arguments) == read


@pytest.mark.report("anthropics/claude-code#73158")
@pytest.mark.report("google-gemini/gemini-cli#20079")
@pytest.mark.report("nicobailon/pi-subagents#1505")
@pytest.mark.report("MoonshotAI/kimi-code#3673")
def test_subagents_behind_links_and_marks_are_found_and_bad_files_are_told(
    home: Path, tmp_path: Path
) -> None:
    agents, shared = home / ".claude/agents", tmp_path / "shared"
    command(shared / "team/one.md", "\ufeff---\r\nname: one\r\ndescription: d\r\n---\r\nDo.")
    command(shared / "two.md", "---\ndescription: d\n---\nDo.")
    command(agents / "bad.md", "No header.")
    os.symlink(shared / "team", agents / "team")
    os.symlink(shared / "two.md", agents / "two.md")
    found = load_agent_kinds(SkillSettings(), str(home / "state"), None)
    assert [*found.found] == ["one", "two"]
    assert [it for it in found.problems if "bad.md" in it] == [*found.problems]
