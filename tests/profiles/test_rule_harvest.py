"""More rules and instruction files of other agents, in the places and forms that public reports show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.instruction_names import is_looked_for
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.profiles.project_docs import OF_OTHER_AGENTS, find_project_documents
from agent_ls.profiles.rule_files import PLACES
from tests.profiles.test_rule_reports import FAMILY, at_start, with_file

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]


def rule(header: str, text: str = "Mind it.") -> str:
    return f"---\n{header}\n---\n{text}\n"


COVERED: list[Any] = [
    pytest.param(
        ".claude/rules/test.md",
        'paths:\n  - "**/*.ts"\n  - "**/*.js"',
        "src/a.js",
        "src/a.py",
        marks=pytest.mark.report(
            "anthropics/claude-code#45587",
            "only the first of several patterns counts",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".claude/rules/g.md",
        "globs: **/*.cs, **/Controllers/**",
        "a/b.cs",
        "a/b.ts",
        marks=pytest.mark.report(
            "anthropics/claude-code#17204",
            "patterns in a field of another agent do not limit a rule",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".claude/rules/house/github.md",
        "paths:\n  - .github/**\n  - .githooks/**\n  - .env.example",
        ".env.example",
        "env.example",
        marks=pytest.mark.report(
            "anthropics/claude-code#93435",
            "a rule for folders that begin with a dot is never used",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".claude/rules/some.md",
        'paths: ["no/such/**", "src/**"]',
        "src/a.py",
        "lib/a.py",
        marks=pytest.mark.report(
            "anthropics/claude-code#24692",
            "one pattern without a file disables the other patterns",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".claude/rules/api/rules.md",
        "paths: src/api/**, lib/api/**",
        "lib/api/x.ts",
        "lib/x.ts",
        marks=pytest.mark.report(
            "anthropics/claude-code#16853",
            "rules in a subfolder are not used when a matching file is read",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".claude/rules/a.md",
        'applyTo: "**/*.py"\nalwaysApply: false',
        "a.py",
        "a.rb",
        marks=pytest.mark.report(
            "rjmurillo/ai-agents#2513",
            "rules for some files apply always, because their fields are those of other agents",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".clinerules/react.md",
        "paths:\n  - 'src/components/**'",
        "src/components/a.tsx",
        "src/a.ts",
        marks=pytest.mark.report(
            "dyoshikawa/rulesync#1988",
            "rules of Cline with patterns are not limited to them",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".windsurf/rules/t.md",
        "trigger: glob\nglobs: **/*.test.ts",
        "x/a.test.ts",
        "x/a.ts",
        marks=pytest.mark.report(
            "PIsberg/vibetags#683",
            "a rule of Windsurf needs a field of its own to be loaded",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".kiro/steering/python.md",
        "inclusion: fileMatch\nfileMatchPattern: '*.py'",
        "deep/a.py",
        "a.js",
        marks=pytest.mark.report(
            "kirodotdev/Kiro#1643",
            "a pattern with only an ending matches no file",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".kiro/steering/x.md",
        'inclusion: fileMatch\nfileMatchPattern: "src/**/*.ts,tests/**/*.ts"',
        "tests/a/b.ts",
        "b.ts",
        marks=pytest.mark.report(
            "kirodotdev/Kiro#11095",
            "several patterns in one text match nothing, without a word",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".kiro/steering/more/y.md",
        'inclusion: fileMatch\nfileMatchPattern: ["**/*.ts", "**/*.tsx"]',
        "a.tsx",
        "a.py",
        marks=pytest.mark.report(
            "kirodotdev/Kiro#10448",
            "steering files in subfolders are not found",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        ".github/instructions/a.instructions.md",
        'applyTo: "**/*.{java,kt}, src/{a,b}/*.md"',
        "x/A.kt",
        "x/A.py",
        marks=pytest.mark.report(
            "PIsberg/vibetags#696", "the comma in braces splits a pattern", area="rules", before="passed"
        ),
    ),
    pytest.param(
        ".github/instructions/b.instructions.md",
        "description: 'd'\napplyTo: '**/*.csproj', '**/*.cs'",
        "x/a.cs",
        "a.fs",
        marks=pytest.mark.report(
            "github/awesome-copilot#162",
            "two quoted patterns in a row are no YAML",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".github/instructions/c.instructions.md",
        "applyTo: **/*.c,**/*.h",
        "a/b.h",
        "a.py",
        marks=pytest.mark.report(
            "project-codeguard/rules#49",
            "several patterns without quotes are not read",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        ".github/instructions/d.instructions.md",
        "applyTo: 'Application/**/*.cs,Domain/**/*.cs'",
        "Domain/x/a.cs",
        "Web/a.cs",
        marks=pytest.mark.report(
            "microsoft/vscode#249256",
            "instructions with several folders are not applied",
            area="rules",
            before="passed",
        ),
    ),
    (".augment/rules/a.md", "type: auto\nglobs: '*.sql'", "db/a.sql", "a.py"),
    (".continue/rules/a.md", "name: x\nglobs: ['src/*.py']", "src/a.py", "src/x/a.py"),
]


@pytest.mark.parametrize(("name", "header", "inside", "outside"), COVERED)
async def test_a_rule_for_some_files_counts_in_the_fields_of_any_agent(
    name: str, header: str, inside: str, outside: str
) -> None:
    files: dict[str, str | bytes] = {name: rule(header)}
    assert await at_start(files) == []
    assert "Mind it." in await with_file(files, inside)
    assert await with_file(files, outside) == ""


STARTS: list[Any] = [
    pytest.param(
        {".clinerules/off.md": rule("paths: []"), ".clinerules/on.md": "Always.", ".clinerules/hooks/x.md": "no"},
        [".clinerules/on.md=Always."],
        marks=pytest.mark.report(
            "Chemaclass/agnostic-ai#639",
            "an empty list of patterns turns a rule off",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".windsurf/rules/a.md": rule("trigger: always_on")},
        [".windsurf/rules/a.md=Mind it."],
        marks=pytest.mark.report(
            "intellectronica/ruler#178",
            "a rule of Windsurf that is always on",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".roo/rules/1.md": "One.", ".roo/rules/2.txt": "Two."},
        [".roo/rules/1.md=One.", ".roo/rules/2.txt=Two."],
        marks=pytest.mark.report(
            "RooCodeInc/Roo-Code#2354",
            "a folder of rules, in Markdown and text files",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".windsurfrules": "W.", ".clinerules/a.md": "C."},
        [".windsurfrules=W.", ".clinerules/a.md=C."],
        marks=pytest.mark.report(
            "RooCodeInc/Roo-Code#304",
            "rules in a file of another editor are not read",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "# example\n@test.md#rule", "test.md": "## rule\nAnswer."},
        ["test.md=## rule\nAnswer.", "CLAUDE.md=# example\n@test.md#rule"],
        marks=pytest.mark.report(
            "anthropics/claude-code#20934",
            "an import of one heading of a file is not read",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "In @flow.md: when, and @b.md, too", "flow.md": "F", "b.md": "B"},
        ["flow.md=F", "b.md=B", "CLAUDE.md=In @flow.md: when, and @b.md, too"],
        marks=pytest.mark.report(
            "anthropics/claude-code#86060",
            "an import before a colon or a comma is not read, without a word",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "tags @param, @returns; npx @zilliz/core"},
        ["CLAUDE.md=tags @param, @returns; npx @zilliz/core"],
        marks=pytest.mark.report(
            "google-gemini/gemini-cli#11161",
            "tags of comments are taken for imports of missing files",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "## T\n@./r.md\n", "r.md": "R"},
        ["r.md=R", "CLAUDE.md=## T\n@./r.md"],
        marks=pytest.mark.report(
            "anthropics/claude-code#79046",
            "imports in a file above the working folder are not read",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param({".windsurf/rules/a.md": rule("trigger: manual")}, [], id="only by mention"),
    pytest.param({".kiro/steering/a.md": rule("inclusion: manual")}, [], id="only by name"),
    pytest.param({".goosehints": "G", "QWEN.md": "Q"}, [".goosehints=G", "QWEN.md=Q"], id="hints"),
    pytest.param({".cursor/rules/a.mdc": rule("paths: []\nalwaysApply: true")}, [".cursor/rules/a.mdc=Mind it."],
        id="always counts more than an empty list"),
    pytest.param({".roo/rules/a.md": b"\0\1binary", ".roo/rules/b.md": "B"}, [".roo/rules/b.md=B"], id="no text"),
    pytest.param({".roo/rules/a.md": "\ufeffÄ".encode("utf-16-le")}, [".roo/rules/a.md=Ä"], id="UTF-16"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), STARTS)
async def test_rules_without_patterns_are_read_where_their_agent_reads_them(
    files: dict[str, str | bytes], expected: list[str]
) -> None:
    assert await at_start(files) == expected


TASKS: list[Any] = [
    pytest.param(
        ".windsurf/rules/a.md",
        "trigger: model_decision\ndescription: For SQL",
        marks=pytest.mark.report(
            "Goldziher/ai-rulez#70",
            "rules that the model chooses by their description",
            area="rules",
            before="failed",
        ),
    ),
    (".kiro/steering/a.md", "inclusion: auto\ndescription: For SQL"),
    (".continue/rules/a.md", "alwaysApply: false\ndescription: For SQL"),
]


@pytest.mark.parametrize(("name", "header"), TASKS)
async def test_a_rule_that_the_model_chooses_is_named(name: str, header: str) -> None:
    (found,) = await at_start({name: rule(header, "Secret")})
    assert f"- {name}: For SQL" in found and "Secret" not in found


@pytest.mark.report(
    "RooCodeInc/Roo-Code#11786",
    "relative links in a folder of rules that is itself a link are not read",
    area="rules",
    before="failed",
)
async def test_links_within_the_project_lead_to_rules(tmp_path: Path) -> None:
    for folder in (".git", ".roo", "rules"):
        (tmp_path / folder).mkdir()
    (tmp_path / "1.txt").write_text("One.")
    os.symlink("../1.txt", tmp_path / "rules/1.txt")
    os.symlink("../rules", tmp_path / ".roo/rules")
    found = await find_project_documents(LocalEnvironment(str(tmp_path)), FAMILY)
    assert [(it.path, it.text) for it in found] == [(".roo/rules/1.txt", "One.")]


def test_clients_and_recordings_know_all_names_that_are_looked_for() -> None:
    names = [*OF_OTHER_AGENTS, *(place.folder for place in PLACES)]
    assert [name for name in names if not is_looked_for(f"/repo/{name}")] == []
