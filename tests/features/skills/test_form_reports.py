"""Skills, commands, subagents and rules in public reports, each in its smallest form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.loader import read_body
from agent_ls.features.skills.placeholders import insert_arguments
from agent_ls.services.settings.model import SkillSettings
from tests.features.skills.folders import command, load
from tests.features.skills.test_agents import tools_of
from tests.profiles.test_rule_reports import at_start, with_file
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import text
from tests.support.reports import reported
from tests.support.session_rig import running

pytestmark = pytest.mark.req("T12")

SKILL = "---\nname: s\ndescription: >\n  Does it.\n  Use it.\n---\n# S\n\nStep $1\n"
BOM = b"\xef\xbb\xbf"
FORMS: list[Any] = [
    reported("crewAIInc/crewAI#7538", BOM + SKILL.encode()),
    reported("Tencent/teamai-cli#378", BOM + SKILL.replace("\n", "\r\n").encode()),
    reported("mohitagw15856/pm-claude-skills#173", SKILL.replace("\n", "\r\n").encode()),
    (BOM + BOM + SKILL.encode(),),
    (SKILL.replace("\n", "\r\n").encode("utf-16"),),
]  # fmt: skip


@pytest.mark.parametrize("data", [it if hasattr(it, "marks") else it[0] for it in FORMS])
def test_line_ends_and_byte_order_marks_change_nothing(home: Path, data: bytes) -> None:
    for name in (".agents/skills/s/SKILL.md", ".claude/commands/c.md"):
        command(home / name, "").write_bytes(data)
    found = {it.name: it for it in load(home).found}
    assert found["s"].description == found["c"].description == "Does it. Use it."
    assert {read_body(it)[0] for it in found.values()} == {"# S\n\nStep $1"}
    agent = command(home / ".claude/agents/a.md", "")
    agent.write_bytes(data)
    (kind,) = load_agent_kinds(SkillSettings(), str(home / "state"), None).found.values()
    assert kind.instructions == "# S\n\nStep $1"


TEXTS: list[Any] = [
    reported("anthropics/claude-code#56361", "Wrapped with `if !` to surface it (IMP-5). It uses `find_path` per X.",
        "", "Wrapped with `if !` to surface it (IMP-5). It uses `find_path` per X."),
    reported("anthropics/claude-code#8406", "Explain: $ARGUMENTS", 'print("a b", \'c\') it\'s',
        'Explain: print("a b", \'c\') it\'s'),
    reported("anomalyco/opencode#9831", r"Use \$1, \$ARGUMENTS and $1.", "x y", "Use $1, $ARGUMENTS and x."),
    (r"\$@ \${1} \${2:-none} \${ARGUMENTS} \$ARGUMENTS[0] \$0 $ARGUMENTS", "x",
        "$@ ${1} ${2:-none} ${ARGUMENTS} $ARGUMENTS[0] $0 x"),
    (r"\$ARGUMENTS", "x", "$ARGUMENTS\n\nx"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "arguments", "read"), TEXTS)
def test_the_text_of_a_command_stays_as_it_is_meant(written: str, arguments: str, read: str) -> None:
    assert insert_arguments(written, arguments) == read


AGENTS: list[Any] = [
    reported("microsoft/vscode#292180", "['search/codebase', 'search/textSearch', 'web/githubRepo']", {"grep"},
        {"shell", "write_file", "edit_file"}),
    reported("j0k3r-dev-rgl/pi-subagents-j0k3r#2", "\n  - read\n  - grep\n  - glob", {"read_file", "grep", "glob"},
        {"shell", "write_file"}),
    ("['read/*', 'edit/createFile', 'execute/runInTerminal']", {"read_file", "write_file", "shell"}, {"edit_file"}),
    reported("gsd-build/gsd-2#4479", "Read, Bash, gsd_complete_task, browser_navigate", {"read_file", "shell"},
        {"write_file"}),
]  # fmt: skip


@pytest.mark.parametrize(("tools", "given", "missing"), AGENTS)
async def test_a_subagent_gets_the_tools_that_its_file_means(
    tmp_path: Path, home: Path, tools: str, given: set[str], missing: set[str]
) -> None:
    command(home / ".claude/agents/k.md", f"---\nname: k\ndescription: d\ntools: {tools}\n---\nDo")
    cast = Cast([spawn("look", kind="k"), wait_for("agent_1"), text("ok")], {"look": [text("fine")]})
    async with running(tmp_path, model=cast) as sessions:
        await sessions.talk(say="go")
    assert given <= tools_of(cast, "look") and not missing & tools_of(cast, "look")


FENCED = "Use:\n```\n@a.md\n```\n~~~\n@b.md\n~~~\nand `@c.md`, then\n@d.md"
PARTS: dict[str, str | bytes] = {f"{it}.md": it.upper() for it in "abcd"}


@pytest.mark.report("saeedkolivand/ai-job-hunter-app#903")  # fmt: skip
async def test_an_import_in_code_is_none() -> None:
    assert await at_start({"CLAUDE.md": FENCED, **PARTS}) == ["d.md=D", f"CLAUDE.md={FENCED}"]


@pytest.mark.report("kirodotdev/Kiro#10649")  # fmt: skip
async def test_a_rule_with_an_unknown_field_is_read() -> None:
    rule = "---\ninclusion: always\nspecInclusion: mandatory\n---\nGovern."
    assert await at_start({".kiro/steering/g.md": rule}) == [".kiro/steering/g.md=Govern."]


@pytest.mark.report("sebastienros/jint#3284")  # fmt: skip
async def test_a_rule_for_paths_comes_with_a_file() -> None:
    files: dict[str, str | bytes] = {".claude/rules/x.md": '---\npaths:\n  - "src/**/*.cs"\n---\nMind it.'}
    assert await at_start(files) == [] and "Mind it." in await with_file(files, "src/a/b.cs")
    assert "Mind it." not in await with_file(files, "docs/a.cs")


HINTED = """---
name: s
description: Some text. Enforces the core rule: an ADR records the decision.
argument-hint: [action] — e.g. "list", "status"
---
Do $1.
"""


@pytest.mark.report("vercel-labs/skills#1525")
def test_a_skill_whose_header_is_no_yaml_is_offered_with_a_warning(home: Path) -> None:
    command(home / ".claude/skills/s/SKILL.md", HINTED)
    loaded = load(home)
    (found,) = loaded.found
    assert (
        found.description.endswith("rule: an ADR records the decision.") and read_body(found)[0] == "Do $1."
    )
    assert found.argument_hint.startswith("[action] — e.g.") and loaded.problems


@pytest.mark.report("unslothai/unsloth#10247")
def test_a_line_of_dashes_in_a_description_ends_no_header(home: Path) -> None:
    rows = "name: s\ndescription: |\n  First.\n  ---\n  Second.\nargument-hint: place"
    command(home / ".agents/skills/s/SKILL.md", f"---\n{rows}\n---\nDo it.\n")
    (found,) = load(home).found
    read = (found.description, found.argument_hint, read_body(found)[0])
    assert read == ("First. --- Second.", "place", "Do it.")
