"""A draw of reports on front matter of skills and of rules, as their authors write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.features.skills.folders import command, load
from tests.profiles.test_rule_reports import at_start, with_file
from tests.support.reports import reported

pytestmark = pytest.mark.req("T12")

HEAD = "---\nname: s\ndescription: {}\n---\nDo it.\n"
DESCRIBED: list[Any] = [
    reported("secondsky/claude-skills#60",
        HEAD.format("Next.js 16 with App Router.\n\n  Keywords: Next.js 16, use cache"),
        "Next.js 16 with App Router."),
    reported("garrytan/gstack#950", HEAD.format("Investigate: find the cause. Use when: it fails"),
        "Investigate: find the cause. Use when: it fails"),
    reported("mindverse-ltd/macaron-artifacts#87", HEAD.format("[a, b, c] list"), "[a, b, c] list"),
    (HEAD.format("{a: b} map"), "{a: b} map"),
    (HEAD.format("tags #important stuff"), "tags"),
    (HEAD.format("'Review': finds bugs"), "'Review': finds bugs"),
    (HEAD.format("@team reviews `code`"), "@team reviews `code`"),
    (HEAD.format("%d of 10: count"), "%d of 10: count"),
    reported("cooneycw/claude-power-pack#312", HEAD.format("Power pack skill: MCP optimization: reduce tokens"),
        "Power pack skill: MCP optimization: reduce tokens"),
    reported("openai/codex#8609", HEAD.format("something: something else"), "something: something else"),
    reported("Jamie-BitFlight/claude_skills#12", HEAD.format(">\n  Does it.\n  Use it for tests."),
        "Does it. Use it for tests."),
    reported("hoblin/claude-ruby-marketplace#24", HEAD.format("Use touch: true and dependent: destroy in models"),
        "Use touch: true and dependent: destroy in models"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "said"), DESCRIBED)
def test_a_skill_has_the_description_that_its_author_wrote(home: Path, written: str, said: str) -> None:
    command(home / ".agents/skills/s/SKILL.md", written)
    found = load(home)
    (skill,) = found.found
    assert (skill.name, skill.description.startswith(said)) == ("s", True), (skill.description, found)


HEADLESS: list[Any] = [
    reported("VoltAgent/awesome-design-md#103", "# Mintlify\n\nThe look of Mintlify.\n"),
    reported("affaan-m/ECC#188", "name: s\ndescription: Verify loops\n---\nDo it.\n"),
    reported("brennhill/Kaboom-Browser-AI-Devtools-MCP#696",
        "<!-- made by x -->\n---\nname: s\ndescription: d\n---\nA\n"),
    reported("wkentaro/git-hunk#20", "---\nname: s\ndescription: d\n\n# Body\nmodel: x\n"),
]  # fmt: skip


@pytest.mark.parametrize("written", HEADLESS)
def test_a_skill_without_front_matter_is_named_with_what_it_needs(home: Path, written: str) -> None:
    path = command(home / ".agents/skills/s/SKILL.md", written)
    (problem,) = load(home).problems
    assert problem.startswith(f"{path}: ") and "`name: value`" in problem


RULE = "---\ndescription: d\n{}\n---\nMind it."
PATHS: list[Any] = [
    (".cursor/rules/x.mdc", "globs: **/SKILL.md\nalwaysApply: false", "a/b/SKILL.md", "a/b/other.md"),
    reported("cosai-oasis/project-codeguard#121", ".cursor/rules/x.mdc", "globs:\n  - \"**/*.c\"\n  - '**/*.h'",
        "src/a.h", "src/a.py"),
    (".cursor/rules/x.mdc", "globs: '**/*.c'", "src/a.c", "src/a.py"),
    reported("stbenjam/skillsaw#500", ".cursor/rules/x.mdc", "globs: docs/**/*.md, docs/**/*.mdx", "docs/x/a.mdx",
        "src/a.md"),
    reported("surveysolutions/surveysolutions#4880", ".github/instructions/x.instructions.md",
        'applyTo: "{src/A/src/**,src/B/src/**/*}.{js,ts,vue}"', "src/B/src/q/x.vue", "src/C/x.vue"),
    (".github/instructions/x.instructions.md", "applyTo: **/*.c,**/*.h",
        "src/a.h", "src/a.py"),
    (".github/instructions/x.instructions.md", "applyTo: '**/*.{java,kt},docs/**'",
        "src/a.kt", "src/a.py"),
    (".github/instructions/x.instructions.md", "applyTo: 'Application/**, Domain/**'",
        "Domain/a.cs", "Other/a.cs"),
    (".github/instructions/x.instructions.md",
        "applyTo: “**/*.{ts,tsx}”", "src/a.tsx", "src/a.py"),
    reported("microsoft/vscode#267649", ".github/instructions/x.instructions.md", 'applyTo: "**/*.md"', "README.md",
        "a.py"),
    reported("microsoft/apm#1387", ".github/instructions/x.instructions.md", "applyTo: ',**/*.css, ,**/*.scss,'",
        "a/b.scss", "a/b.ts"),
    reported("kexi/vibe#380", ".claude/rules/x.md", 'globs: [".github/workflows/*.yml"]', ".github/workflows/a.yml",
        "a.yml"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "rows", "path", "other"), PATHS)
async def test_a_rule_comes_with_the_files_that_its_author_means(
    file: str, rows: str, path: str, other: str
) -> None:
    files: dict[str, str | bytes] = {file: RULE.format(rows), path: "x", **({other: "x"} if other else {})}
    assert "Mind it." in await with_file(files, path)
    assert not other or "Mind it." not in await with_file(files, other)


DOCUMENTS: list[Any] = [
    reported("anthropics/claude-code#78697", {"CLAUDE.md": "@RULES.md", "RULES.md": "CANARY", "sub/a": "x"},
        "/repo/sub"),
    reported("php/php-src#23691", {".claude/CLAUDE.md": "@../AGENTS.md", "AGENTS.md": "CANARY"}, "/repo"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "folder"), DOCUMENTS)
async def test_documents_are_read_at_each_level(files: dict[str, str | bytes], folder: str) -> None:
    assert "CANARY" in str(await at_start(files, folder))


@pytest.mark.report("PatrickJS/awesome-cursorrules#317")  # fmt: skip
@pytest.mark.parametrize(
    "rows", ["globs: **/*\nalwaysApply: false", 'alwaysApply: "true"', "alwaysApply: yes"]
)
async def test_a_rule_that_always_applies(rows: str) -> None:
    assert "Mind it." in str(await at_start({".cursor/rules/x.mdc": RULE.format(rows)}))
