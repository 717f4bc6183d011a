"""Skills, commands and subagents of other agents, in the places and forms that public reports show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.placeholders import insert_arguments
from agent_ls.services.settings.model import SkillSettings
from tests.features.skills.folders import command, load
from tests.support.reports import reported

pytestmark = pytest.mark.req("T12")


TEXT = "---\nname: s\ndescription: d\n---\nA"
SKILLS: list[Any] = [
    reported("op7418/Humanizer-zh#21", "---\nname: s\ndescription: d\n---\nA\n\n---\n\nB\n", "s"),
    reported("elizaOS/eliza#22471", "---\r\nname: s\r\ndescription: d\r\n---\r\nA", "s"),
    reported("aipoch/open-science#181", "---\rname: s\rdescription: >\r  a\r  b\r---\rA", "s"),
    reported("elizaOS/eliza#27534", "---\nname: true\ndescription: d\n---\nA", "s"),
    reported(
        "vercel/eve#3105",
        "---\nname: s\ndescription: d\nmetadata:\n  requires:\n    bins: [x]\n  help: x --help\n---\nA",
        "s",
    ),
    reported(
        "mattpocock/skills#908",
        "---\nname: s\ndescription: Two axes: standards and spec, no: interview\n---\nA",
        "s",
    ),
    reported(
        "smnandre/symfony-ux-skills#16",
        f"---\nname: s\ndescription: {'ux:icons:lock ' * 90}\n---\nA",
        "s",
    ),
    ("---\nname: 42\ndescription: d\n---\nA", "42"),
    ("---\nname: 2024-01-01\ndescription: d\n---\nA", "2024-01-01"),
    (TEXT.encode("utf-16"), "s"),
    (TEXT.encode("utf-8-sig"), "s"),
]


@pytest.mark.parametrize(("text", "name"), SKILLS)
def test_a_skill_is_read_in_the_form_that_its_author_gave_it(
    home: Path, text: str | bytes, name: str
) -> None:
    path = command(home / ".agents/skills/s/SKILL.md", "")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert [it.name for it in load(home).found] == [name]


ARGUMENTS: list[Any] = [
    reported("gotalab/cc-sdd#23", "Feature: $ARGUMENTS / $1", '"core-mod"', 'Feature: "core-mod" / core-mod'),
    reported("anomalyco/opencode#3272", "a $ARGUMENTS b $ARGUMENTS", "x", "a x b x"),
    reported("earendil-works/pi#417", 'do $@ with "$@"', "a b", 'do a b with "$@"'),
    reported(
        "Gentleman-Programming/agent-teams-lite#35",
        "Plan {argument} in {workdir}",
        "x",
        "Plan {argument} in {workdir}\n\nx",
    ),
    ("do ${1} ${ARGUMENTS} ${2:-none}", "a", "do a a none"),
    ("do $ARGUMENTS[0] and $ARGUMENTS[1]", "a b", "do a and b"),
    ("from $0 to $1", "a b", "from a to b"),
    ("costs $0.50 for $1", "a", "costs $0.50 for a"),
]


@pytest.mark.parametrize(("written", "arguments", "read"), ARGUMENTS)
def test_arguments_are_inserted_in_the_spelling_of_any_agent(written: str, arguments: str, read: str) -> None:
    assert insert_arguments(written, arguments) == read


@pytest.mark.report("rappdw/sandy#43")
def test_a_command_in_the_text_is_asked_for_and_not_run_with_the_arguments_in_it() -> None:
    assert "run it if you are allowed to" in insert_arguments("!`set -- $ARGUMENTS`", 'it\'s "x"')


AGENTS: list[Any] = [
    reported("anomalyco/opencode#24181", "---\ndescription: d\ntools:\n  skill:true\n---\nDo", True, True),
    reported("anomalyco/opencode#45876", "---\n name: test\n  description: test agent\n ---\n\nYou.", False, True),
    reported("anomalyco/opencode#18017",
        "---\ndescription: d\nmode: subagent\npermission:\n  task:\n    *: deny\n    build: allow\n---\nDo", True,
        False),
    reported("rjmurillo/ai-agents#2492",
        "---\nname: test\ndescription: Use it\nuser: a thing: two\n<example>\nmodel: inherit\n---\nDo", True, False),
    reported("affaan-m/ECC#2526", '---\nname: test\ndescription: d\ntools: ["Read", "Grep"]\n---\nDo', True, False),
    reported("anthropics/claude-code#4623",
        "---\nname: test\ndescription: |\n  First.\n\n  user: x\nmodel: inherit\n---\nDo", True, False),
    reported("anomalyco/opencode#26434", "---\nname: test\ndescription: d\nprompt: You are x.\n---\n", True, False),
    reported("anthropics/claude-code#32218", "---\nname: Mobile App Builder\ndescription: d\nskills:\n  - a\n---\nDo",
        True, False),
    reported("redhat-data-and-ai/template-agent#62", "---\nname: a\ndescription: d\nmcps: [x]\n---\nDo", True, False),
    reported("nth5693/gemini-kit#20", "# Tester\n\nText", False, True),
    ("", False, True),
    ("---\n", False, True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "is_found", "is_reported"), AGENTS)
def test_the_file_of_a_subagent_is_read_or_told(
    home: Path, text: str, is_found: bool, is_reported: bool
) -> None:
    command(home / ".claude/agents/test.md", text)
    got = load_agent_kinds(SkillSettings(), str(home / "state"), None)
    assert (bool(got.found), bool(got.problems)) == (is_found, is_reported)
    assert all(kind.instructions for kind in got.found.values())


@pytest.mark.parametrize(
    "rows",
    [
        reported(
            "open-octo/octo-agent#803",
            "disallowed_tools: write\nmodel: inherit",
        ),
        "tools:\n  write: false\n  bash: true",
        "tools:\n  write:false",
        "permission:\n  write: deny\n  read: allow",
    ],
)
def test_a_table_of_tools_takes_away_what_it_turns_off(home: Path, rows: str) -> None:
    command(home / ".config/opencode/agent/test.md", f"---\ndescription: d\n{rows}\n---\nDo")
    (kind,) = load_agent_kinds(SkillSettings(), str(home / "state"), None).found.values()
    assert (kind.tools, kind.denied) == (None, ("write",))


FILES: list[Any] = [
    reported("google-gemini/gemini-cli#7537", 'description = "A"\nprompt = """\nB\n"""\'', False),
    reported("github/spec-kit#807", 'description = "A"\nprompt = """\nuse I\\\'m and \\d+\n"""', True),
    reported("google-gemini/gemini-cli#11269", '[command."/psb"]\ndescription = "A"\nprompt = "B"', False),
    reported("JuliusBrussee/caveman#372", "---\ndescription: A\n---\nDo it {{args}}", True),
    ('\ufeffprompt = "B"\r\n', True),
]


@pytest.mark.parametrize(("text", "is_found"), FILES)
def test_a_command_in_toml_is_read_or_told(home: Path, text: str, is_found: bool) -> None:
    command(home / ".gemini/commands/c.toml", text)
    got = load(home)
    assert (bool(got.found), bool(got.problems)) == (is_found, not is_found)


PLACES: list[Any] = [
    reported("anomalyco/opencode#6567", ".opencode/command/hello.md"),
    reported("Kilo-Org/kilocode#5183", ".kilocode/commands/hello.md"),
    ".qwen/commands/hello.md",
    ".windsurf/workflows/hello.md",
    ".clinerules/workflows/hello.md",
    ".roo/commands/hello.md",
    ".factory/commands/hello.md",
    ".augment/commands/hello.md",
    ".cursor/commands/hello.md",
    ".agents/commands/hello.md",
    ".opencode/skills/hello/SKILL.md",
    ".cursor/skills/hello/SKILL.md",
]


@pytest.mark.parametrize("name", PLACES)
def test_commands_and_skills_of_other_agents_are_found(home: Path, tmp_path: Path, name: str) -> None:
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    command(project / name, '---\ndescription: "Just a test"\nagent: agent\n---\n\nWrite hello.')
    assert [it.name for it in load(home, project).found] == ["hello"]
    assert [it.name for it in load(home, project, foreign=False).found] == (
        ["hello"] if name.startswith(".agents/") else []
    )


def test_the_same_file_in_two_places_is_no_problem(home: Path) -> None:
    command(home / ".agents/skills/s/SKILL.md", TEXT)
    (home / ".cursor").mkdir()
    (home / ".cursor/skills").symlink_to(home / ".agents/skills")
    got = load(home)
    assert ([it.name for it in got.found], [*got.problems]) == (["s"], [])


@pytest.mark.report("laurigates/claude-plugins#1606")
@pytest.mark.report("OpenBMB/PilotDeck#44")
@pytest.mark.report("ruvnet/ruflo#2052")
@pytest.mark.parametrize("names", [["skill.md"], ["SKILL.MD"], ["Skill.md"], ["SKILL.md", "skill.md"]])
def test_the_capitals_of_a_skills_file_make_no_difference(home: Path, names: list[str]) -> None:
    for name in names:
        command(home / ".agents/skills/s" / name, TEXT)
    command(home / ".agents/skills/s/inner/skill.md", TEXT)
    got = load(home)
    assert ([it.name for it in got.found], [*got.problems]) == (["s"], [])
