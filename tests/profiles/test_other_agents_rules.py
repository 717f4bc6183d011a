"""Rules and instruction files of other agents, in the places and forms that public reports show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.instruction_names import is_looked_for
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.profiles.project_docs import OF_ALL_MODELS, OF_OTHER_AGENTS, find_project_documents
from agent_ls.profiles.rule_files import WITH_SKILLS
from tests.profiles.test_rule_reports import FAMILY, at_start, with_file
from tests.support.reports import reported

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]


def rule(header: str, text: str = "Mind it.") -> str:
    return f"---\n{header}\n---\n{text}\n"


COVERED: list[Any] = [
    reported("anthropics/claude-code#45587", ".claude/rules/test.md", 'paths:\n  - "**/*.ts"\n  - "**/*.js"',
        "src/a.js", "src/a.py"),
    reported("anthropics/claude-code#17204", ".claude/rules/g.md", "globs: **/*.cs, **/Controllers/**", "a/b.cs",
        "a/b.ts"),
    reported("anthropics/claude-code#93435", ".claude/rules/house/github.md",
        "paths:\n  - .github/**\n  - .githooks/**\n  - .env.example", ".env.example", "env.example"),
    reported("anthropics/claude-code#24692", ".claude/rules/some.md", 'paths: ["no/such/**", "src/**"]', "src/a.py",
        "lib/a.py"),
    reported("anthropics/claude-code#16853", ".claude/rules/api/rules.md", "paths: src/api/**, lib/api/**",
        "lib/api/x.ts", "lib/x.ts"),
    reported("rjmurillo/ai-agents#2513", ".claude/rules/a.md", 'applyTo: "**/*.py"\nalwaysApply: false', "a.py",
        "a.rb"),
    reported("dyoshikawa/rulesync#1988", ".clinerules/react.md", "paths:\n  - 'src/components/**'",
        "src/components/a.tsx", "src/a.ts"),
    reported("PIsberg/vibetags#683", ".windsurf/rules/t.md", "trigger: glob\nglobs: **/*.test.ts", "x/a.test.ts",
        "x/a.ts"),
    reported("kirodotdev/Kiro#1643", ".kiro/steering/python.md", "inclusion: fileMatch\nfileMatchPattern: '*.py'",
        "deep/a.py", "a.js"),
    reported("kirodotdev/Kiro#11095", ".kiro/steering/x.md",
        'inclusion: fileMatch\nfileMatchPattern: "src/**/*.ts,tests/**/*.ts"', "tests/a/b.ts", "b.ts"),
    reported("kirodotdev/Kiro#10448", ".kiro/steering/more/y.md",
        'inclusion: fileMatch\nfileMatchPattern: ["**/*.ts", "**/*.tsx"]', "a.tsx", "a.py"),
    reported("PIsberg/vibetags#696", ".github/instructions/a.instructions.md",
        'applyTo: "**/*.{java,kt}, src/{a,b}/*.md"', "x/A.kt", "x/A.py"),
    reported("github/awesome-copilot#162", ".github/instructions/b.instructions.md",
        "description: 'd'\napplyTo: '**/*.csproj', '**/*.cs'", "x/a.cs", "a.fs"),
    reported("project-codeguard/rules#49", ".github/instructions/c.instructions.md", "applyTo: **/*.c,**/*.h",
        "a/b.h", "a.py"),
    reported("microsoft/vscode#249256", ".github/instructions/d.instructions.md",
        "applyTo: 'Application/**/*.cs,Domain/**/*.cs'", "Domain/x/a.cs", "Web/a.cs"),
    reported("nefarius/BthPS3#143", ".cursor/rules/spaced.mdc",
        "globs: src/**/*.ts, tests/**/*.ts\nalwaysApply: false", "tests/x/a.ts", "lib/a.ts"),
    reported("PatrickJS/awesome-cursorrules#362", ".cursor/rules/skills.mdc",
        "description: Review skills (SKILL.md) — front matter: contract, the bar\nglobs: **/SKILL.md", "a/b/SKILL.md",
        "SKILLS.md"),
    reported("dyoshikawa/rulesync#231", ".cursor/rules/a.mdc", "description: x\nglobs: *.ts, *.js\nalwaysApply: false",
        "src/a.js", "a.py"),
    reported("github/copilot-cli-for-beginners#124", ".github/instructions/p.instructions.md", "applyTo: **/*.py",
        "x/a.py", "a.rb"),
    reported("microsoft/vscode#293592", ".github/instructions/b.instructions.md", 'applyTo: "**/*.dart"',
        "lib/a.dart", "a.py"),
    reported("microsoft/vscode#314894", ".github/instructions/c.instructions.md", "applyTo: 'src/**/*.ts'",
        "src/a/b.ts", "b.ts"),
    (".augment/rules/a.md", "type: auto\nglobs: '*.sql'", "db/a.sql", "a.py"),
    (".continue/rules/a.md", "name: x\nglobs: ['src/*.py']", "src/a.py", "src/x/a.py"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "header", "inside", "outside"), COVERED)
async def test_a_rule_for_some_files_counts_in_the_fields_of_any_agent(
    name: str, header: str, inside: str, outside: str
) -> None:
    files: dict[str, str | bytes] = {name: rule(header)}
    assert await at_start(files) == []
    assert "Mind it." in await with_file(files, inside)
    assert await with_file(files, outside) == ""


STARTS: list[Any] = [
    reported("Chemaclass/agnostic-ai#639",
        {".clinerules/off.md": rule("paths: []"), ".clinerules/on.md": "Always.", ".clinerules/hooks/x.md": "no"},
        [".clinerules/on.md=Always."]),
    reported("intellectronica/ruler#178", {".windsurf/rules/a.md": rule("trigger: always_on")},
        [".windsurf/rules/a.md=Mind it."]),
    reported("Exafunction/codeium#231", {".windsurf/rules/a.md": "R", ".windsurfrules": "W"},
        [".windsurfrules=W", ".windsurf/rules/a.md=R"]),
    reported("Exafunction/codeium#157", {".windsurfrules": "日本語で"}, [".windsurfrules=日本語で"]),
    reported("Chemaclass/agnostic-ai#455", {".cursor/rules/a.mdc": rule("description:\nalwaysApply: true")},
        [".cursor/rules/a.mdc=Mind it."]),
    reported("anthropics/claude-code#5231", {"CLAUDE.md": "Rules:\n@Rule User Name.md\n", "Rule User Name.md": "N"},
        ["Rule User Name.md=N", "CLAUDE.md=Rules:\n@Rule User Name.md"]),
    reported("kunchenguid/firstmate#4298",
        {"CLAUDE.md": "<!-- see AGENTS.md -->\r\n@AGENTS.md\r\n", "AGENTS.md": "T"},
        ["AGENTS.md=T", "CLAUDE.md=<!-- see AGENTS.md -->\r\n@AGENTS.md"]),
    reported("RooCodeInc/Roo-Code#2354", {".roo/rules/1.md": "One.", ".roo/rules/2.txt": "Two."},
        [".roo/rules/1.md=One.", ".roo/rules/2.txt=Two."]),
    reported("RooCodeInc/Roo-Code#304", {".windsurfrules": "W.", ".clinerules/a.md": "C."},
        [".windsurfrules=W.", ".clinerules/a.md=C."]),
    reported("anthropics/claude-code#20934", {"CLAUDE.md": "# example\n@test.md#rule", "test.md": "## rule\nAnswer."},
        ["test.md=## rule\nAnswer.", "CLAUDE.md=# example\n@test.md#rule"]),
    reported("anthropics/claude-code#86060",
        {"CLAUDE.md": "In @flow.md: when, and @b.md, too", "flow.md": "F", "b.md": "B"},
        ["flow.md=F", "b.md=B", "CLAUDE.md=In @flow.md: when, and @b.md, too"]),
    reported("google-gemini/gemini-cli#11161", {"CLAUDE.md": "tags @param, @returns; npx @zilliz/core"},
        ["CLAUDE.md=tags @param, @returns; npx @zilliz/core"]),
    reported("anthropics/claude-code#79046", {"CLAUDE.md": "## T\n@./r.md\n", "r.md": "R"},
        ["r.md=R", "CLAUDE.md=## T\n@./r.md"]),
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
    reported(
        "Goldziher/ai-rulez#70", ".windsurf/rules/a.md", "trigger: model_decision\ndescription: For SQL"
    ),
    (".kiro/steering/a.md", "inclusion: auto\ndescription: For SQL"),
    (".continue/rules/a.md", "alwaysApply: false\ndescription: For SQL"),
]


@pytest.mark.parametrize(("name", "header"), TASKS)
async def test_a_rule_that_the_model_chooses_is_named(name: str, header: str) -> None:
    (found,) = await at_start({name: rule(header, "Secret")})
    assert f"- {name}: For SQL" in found and "Secret" not in found


@pytest.mark.report("RooCodeInc/Roo-Code#11786")
async def test_links_within_the_project_lead_to_rules(tmp_path: Path) -> None:
    for folder in (".git", ".roo", "rules"):
        (tmp_path / folder).mkdir()
    (tmp_path / "1.txt").write_text("One.")
    os.symlink("../1.txt", tmp_path / "rules/1.txt")
    os.symlink("../rules", tmp_path / ".roo/rules")
    found = await find_project_documents(LocalEnvironment(str(tmp_path)), FAMILY)
    assert [(it.path, it.text) for it in found] == [(".roo/rules/1.txt", "One.")]


def test_clients_and_recordings_know_all_names_that_are_looked_for() -> None:
    names = [*OF_ALL_MODELS, *OF_OTHER_AGENTS, *(place.folder for place in WITH_SKILLS)]
    assert [name for name in names if not is_looked_for(f"/repo/{name}")] == []
