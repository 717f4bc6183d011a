"""Rules and instruction files as users of other agents write them, each in the smallest form of a public report."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.profiles.project_docs import find_project_documents
from agent_ls.services.context.nested_documents import SessionDocuments
from tests.support.reports import reported

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]

FAMILY = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
GIT: dict[str, str | bytes] = {"/repo/.git/HEAD": "ref: refs/heads/main\n"}


def environment(files: dict[str, str | bytes], folder: str = "/repo") -> MemoryEnvironment:
    return MemoryEnvironment(
        GIT | {f"/repo/{name}": text for name, text in files.items()}, working_directory=folder
    )


async def at_start(files: dict[str, str | bytes], folder: str = "/repo") -> list[str]:
    """Return `path=text` of each document at the start of a session."""
    found = await find_project_documents(environment(files, folder), FAMILY)
    return [f"{it.path}={it.text}" for it in found]


async def with_file(files: dict[str, str | bytes], path: str) -> str:
    """Return what the model gets with the first result that uses the file `path`."""
    place = environment(files)

    async def project() -> MemoryEnvironment:
        return place

    async def trusted() -> bool:
        return True

    documents = SessionDocuments(project, trusted=trusted, size=lambda: 0)
    return await documents.for_paths([f"/repo/{path}"], FAMILY)


ALWAYS: list[Any] = [
    reported("cursor/cursor#3253",
        {".cursor/rules/a.mdc": '---\ndescription: "An advisor"\nalwaysApply: true\n---\nBe brief.\n'},
        [".cursor/rules/a.mdc=Be brief."]),
    reported("agent-sh/agnix#296", {".cursor/rules/a.mdc": '---\nalwaysApply: "true"\nglobs:\n---\nBe brief.'},
        [".cursor/rules/a.mdc=Be brief."]),
    pytest.param(
        {
            ".cursor/rules/00-context.mdc": '---\nalwaysApply: true\nglobs: ["**/*"]\n---\nRead AGENTS.md.',
            "AGENTS.md": "Use tabs.",
        },
        ["AGENTS.md=Use tabs.", ".cursor/rules/00-context.mdc=Read AGENTS.md."],
        marks=pytest.mark.report("databricks/cli#4544"),
    ),
    pytest.param(
        {
            ".github/copilot-instructions.md": "One.",
            ".github/instructions/x.instructions.md": "---\napplyTo: '**'\ndescription: 'files'\n---\nTwo.",
        },
        [".github/copilot-instructions.md=One.", ".github/instructions/x.instructions.md=Two."],
        marks=pytest.mark.report("microsoft/copilot-intellij-feedback#1624"),
    ),
    reported("anthropics/claude-code#51305",
        {".claude/CLAUDE.md": "See @insights/foo.md", ".claude/insights/foo.md": "Foo."},
        [".claude/insights/foo.md=Foo.", ".claude/CLAUDE.md=See @insights/foo.md"]),
    reported("kunchenguid/firstmate#389", {"agents.md": "# Keep me"}, ["agents.md=# Keep me"]),
    reported("langchain-ai/openwiki#776", {"CLAUDE.md": "See [AGENTS.md](AGENTS.md).", "AGENTS.md": "Use tabs."},
        ["AGENTS.md=Use tabs.", "CLAUDE.md=See [AGENTS.md](AGENTS.md)."]),
    reported("anthropics/claude-code#56927", {"CLAUDE.md": "- @docs/my rules.md\n", "docs/my rules.md": "Mine."},
        ["docs/my rules.md=Mine.", "CLAUDE.md=- @docs/my rules.md"]),
    reported("anthropics/claude-code#88813", {"CLAUDE.md": "@leaf.md", "memory/leaf.md": "x"},
        ["leaf.md=[This imported file does not exist.]", "CLAUDE.md=@leaf.md"]),
    pytest.param({"CLAUDE.md": "ask @ada, install @scope/pkg and read @a.md", "a.md": "A"},
        ["a.md=A", "CLAUDE.md=ask @ada, install @scope/pkg and read @a.md"], id="words with an at sign"),
    pytest.param({".claude/rules/x/a.md": "Short."}, [".claude/rules/x/a.md=Short."], id="rules of Claude"),
    pytest.param({".cursorrules": "Old."}, [".cursorrules=Old."], id="old rules of Cursor"),
    pytest.param({".cursor/rules/readme.md": "Not a rule."}, [], id="another file"),
    pytest.param({".cursor/rules/a.mdc": b"\xef\xbb\xbf---\r\nalwaysApply: true\r\n---\r\nA\r\n"},
        [".cursor/rules/a.mdc=A"], id="byte order mark and Windows line ends"),
    pytest.param({".cursor/rules/a.mdc": "---\nalwaysApply: false\nglobs: *.py\n---\nA"}, [], id="not yet"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), ALWAYS)
async def test_instructions_of_other_agents_are_read_at_the_start(
    files: dict[str, str | bytes], expected: list[str]
) -> None:
    assert await at_start(files) == expected


async def test_a_rule_for_some_tasks_is_named_with_its_description() -> None:
    rule = "---\ndescription: How background jobs work: retries. Use when adding one.\nalwaysApply: false\n---\nSecret."
    (found,) = await at_start({".cursor/rules/jobs.mdc": rule, ".claude/commands/c.md": "x"})
    assert "- .cursor/rules/jobs.mdc: How background jobs work: retries." in found and "Secret" not in found


GLOBS: list[Any] = [
    reported("microsoft/vscode-copilot-release#9476", 'applyTo: "**/*.ts,**/*.tsx"', "app/a.tsx", "a.py"),
    reported(
        "microsoft/vscode#258378", "applyTo: app/models/**/*.rb, db/**/*.rb", "db/seeds/a.rb", "lib/a.rb"
    ),
    reported("matlab/rules#5", 'applyTo:\n  - "**/*.m"\n  - "**/*.mlx"', "src/x.mlx", "src/x.py"),
    reported(
        "microsoft/vscode#270160",
        'applyTo: "src/**/*.ts"',
        "src/testA.component.ts",
        "app/src/testB.component.ts",
    ),
    reported(
        "PatrickJS/awesome-cursorrules#362",
        "globs: **/SKILL.md",
        "x/SKILL.md",
        "x/OTHER.md",
    ),
    reported(
        "bmadcode/cursor-custom-agents-rules-generator#26",
        "globs: **/*.{tsx,jsx}, docs/**/*.md",
        "x/a.jsx",
        "a.py",
    ),
    reported(
        "PIsberg/vibetags#699",
        'globs: ["**/A.java", "**/B.java"]',
        "x/B.java",
        "C.java",
    ),
    ("globs: **/*.ts, **/*.tsx  # code only", "x/a.tsx", "x/only"),
    ("applyTo: *.py", "deep/a.py", "a.ts"),
    ("applyTo: ./src/", "src/a.py", "lib/a.py"),
    ("applyTo: “**/*.{ts,tsx}”", "a.tsx", "a.js"),
    ("applyTo: app/[id]/**", "app/[id]/page.tsx", "app/x/page.tsx"),
]


@pytest.mark.parametrize(("row", "inside", "outside"), GLOBS)
async def test_a_rule_for_some_files_comes_with_the_first_use_of_one(
    row: str, inside: str, outside: str
) -> None:
    name = ".github/instructions/x.instructions.md"
    files: dict[str, str | bytes] = {name: f"---\n{row}\n---\nMind it."}
    assert await at_start(files) == []
    assert f'<project_document path="{name}">\nMind it.' in await with_file(files, inside)
    assert await with_file(files, outside) == ""


@pytest.mark.parametrize("row", ["globs: [", "globs: '[a'", "globs: 5", "globs: {a: b}", "globs: ','"])
async def test_a_pattern_that_cannot_be_read_stops_nothing(row: str) -> None:
    assert await with_file({".cursor/rules/a.mdc": f"---\n{row}\n---\nA", "AGENTS.md": "x"}, "b/c.py") == ""
