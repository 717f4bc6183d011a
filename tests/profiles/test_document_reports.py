"""Instruction files in several folders, behind links and over the budget, as public reports show them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.profiles.project_docs import (
    BUDGET_BYTES,
    TRUNCATED_MARKER,
    build_documents_layer,
    find_project_documents,
)
from agent_ls.services.context.project_docs import DiskLookup
from agent_ls.services.permissions.paths import PathBounds, places_of
from tests.profiles.test_rule_harvest import rule
from tests.profiles.test_rule_reports import FAMILY, at_start, environment, with_file

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]

OUTSIDE = "[This import is not read, because the file is outside of the project.]"

STARTS: list[Any] = [
    pytest.param(
        {
            "CLAUDE.local.md": "@/repo/My Folder/CLAUDE.md",
            "My Folder/CLAUDE.md": "S",
        },
        ["My Folder/CLAUDE.md=S", "CLAUDE.local.md=@/repo/My Folder/CLAUDE.md"],
        marks=pytest.mark.report(
            "anthropics/claude-code#92673",
            "an import by an absolute path with spaces is not read, and nothing says so",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "# P\n- @~/.claude/PROJECT.md"},
        [f"~/.claude/PROJECT.md={OUTSIDE}", "CLAUDE.md=# P\n- @~/.claude/PROJECT.md"],
        marks=pytest.mark.report(
            "anthropics/claude-code#8765",
            "an import from the home folder is ignored without a word (here: reported, not read)",
            area="rules",
            before="flaw",
        ),
    ),
    pytest.param(
        {"AGENTS.md": "Z", ".claude/CLAUDE.md": "@../AGENTS.md"},
        ["AGENTS.md=Z", ".claude/CLAUDE.md=@../AGENTS.md"],
        marks=pytest.mark.report(
            "basecamp/writebook#461",
            "a file in a hidden folder imports the instructions at the root",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"AGENTS.md": "Use tabs.", "CLAUDE.md": "AGENTS.md"},
        ["AGENTS.md=Use tabs."],
        marks=pytest.mark.report(
            "getsentry/sentry-docs#15978",
            "a link was checked out as a text file that has only the path",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"docs/agents.md": "Use tabs.", ".github/copilot-instructions.md": "../docs/agents.md"},
        ["docs/agents.md=Use tabs."],
        marks=pytest.mark.report(
            "flexcompute/tidy3d#3314",
            "a plain file in place of a link gives agents its path and no instructions",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"AGENTS.md": b"Use \x93quotes\x94.\nMore."},
        ["AGENTS.md=Use “quotes”.\nMore."],
        marks=pytest.mark.report(
            "openai/codex#23223",
            "quotes of Windows make the whole file disappear",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"AGENTS.md": "Ours.", "AGENTS.override.md": "Mine."},
        ["AGENTS.md=Ours.", "AGENTS.override.md=Mine."],
        marks=pytest.mark.report(
            "colmap/colmap#4704",
            "personal instructions beside the shared ones are never read",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"AGENTS.md": "Ours.", "AGENTS.local.md": "Mine."},
        ["AGENTS.md=Ours.", "AGENTS.local.md=Mine."],
        marks=pytest.mark.report(
            "coder/coder#21043",
            "personal instructions in an ignored file need a line in the shared file",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"agent.md": "A"},
        ["agent.md=A"],
        marks=pytest.mark.report(
            "OpenHands/OpenHands#10528",
            "a name in small letters, or without its s, is not found",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".goosehints": "See @docs/api.md", "docs/api.md": "Api"},
        ["docs/api.md=Api", ".goosehints=See @docs/api.md"],
        marks=pytest.mark.report(
            "aaif-goose/goose#7795",
            "files that hints import (there: also ignored ones) are read with the hints",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".kilocode/rules/memory-bank/brief.md": "Brief."},
        [".kilocode/rules/memory-bank/brief.md=Brief."],
        marks=pytest.mark.report(
            "Kilo-Org/kilocode#3420",
            "rules are looked for in a subfolder of the documented folder",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {".continue/rules/pirates.md": rule("name: Pirate rule", "- Talk.")},
        [".continue/rules/pirates.md=- Talk."],
        marks=pytest.mark.report(
            "HerringtonDarkholme/megarepo#40",
            "a rule whose header has only a name applies always",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {".agents/rules/memory.mdc": rule("description: Load\nalwaysApply: true")},
        [".agents/rules/memory.mdc=Mind it."],
        marks=pytest.mark.report(
            "ctxpipe-ai/ctxpipe#39",
            "a rule with the ending of another agent lies in the common folder",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".cursor/rules/plan.mdc": rule('description: "Plan: first"\nglobs: **/*\nalwaysApply: true')},
        [".cursor/rules/plan.mdc=Mind it."],
        marks=pytest.mark.report(
            "PatrickJS/awesome-cursorrules#360",
            "a rule for all files is not read, because asterisks without quotes are no YAML",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {".clinerules/a.md": "---\npaths: [src/**\n---\nMind it."},
        [".clinerules/a.md=---\npaths: [src/**\n---\nMind it."],
        marks=pytest.mark.report(
            "cline/cline#8624",
            "a rule with a broken header must still be read",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"tests/codex/AGENTS.md": "Be odd."},
        [],
        marks=pytest.mark.report(
            "google-gemini/gemini-cli#18044",
            "instructions deep in the tree change every session",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {".junie/AGENTS.md": "Mine."},
        [".junie/AGENTS.md=Mine."],
        marks=pytest.mark.report(
            "Chemaclass/agnostic-ai#552",
            "instructions of Junie are in a file of another name than before",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {".junie/guidelines/a.md": "One.", ".junie/guidelines/b.md": "Two."},
        [".junie/guidelines/a.md=One.", ".junie/guidelines/b.md=Two."],
        marks=pytest.mark.report(
            "dyoshikawa/rulesync#2211",
            "guidelines of Junie are a folder of files",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param({"claude.md": "@a.md\n", "a.md": "A"}, ["a.md=A", "claude.md=@a.md"], id="small letters"),
    pytest.param({"AGENTS.md": "See README.md"}, ["AGENTS.md=See README.md"], id="no link"),
    pytest.param({"AGENTS.md": "missing.md"}, ["AGENTS.md=missing.md"], id="no file behind it"),
    pytest.param({".cursorrules": "../outside.md"}, [".cursorrules=../outside.md"], id="outside"),
    pytest.param({"QWEN.md": "@a.md", "a.md": "A"}, ["a.md=A", "QWEN.md=@a.md"], id="imports of Qwen"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), STARTS)
async def test_instructions_at_the_start_of_a_session(
    files: dict[str, str | bytes], expected: list[str]
) -> None:
    assert await at_start(files) == expected


GEMINI: list[Any] = [
    pytest.param(
        "Use @config.yaml and `@not.md`",
        ["config.yaml=a: 1", "GEMINI.md=Use @config.yaml and `@not.md`"],
        marks=pytest.mark.report(
            "google-gemini/gemini-cli#2185",
            "imports in code are followed, and files that are no Markdown are not",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        'commit --author "Ann <ann@corp.md>" and bob@corp.md',
        ['GEMINI.md=commit --author "Ann <ann@corp.md>" and bob@corp.md'],
        marks=pytest.mark.report(
            "google-gemini/gemini-cli#2983",
            "the address of an author is taken for an import",
            area="rules",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), GEMINI)
async def test_imports_of_gemini_md(text: str, expected: list[str]) -> None:
    place = environment({"GEMINI.md": text, "config.yaml": "a: 1", "not.md": "N"})
    found = await find_project_documents(place, ("GEMINI.md",))
    assert [f"{it.path}={it.text}" for it in found] == expected


FOLDERS: list[Any] = [
    pytest.param(
        {"RULES.md": "Z", "sub/CLAUDE.md": "@../RULES.md\nP"},
        "/repo/sub",
        ["RULES.md=Z", "sub/CLAUDE.md=@../RULES.md\nP"],
        marks=pytest.mark.report(
            "anthropics/claude-code#85683",
            "an import from the folder above is never read",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"foo/.goosehints": "1", "foo/bar/.goosehints": "2"},
        "/repo/foo/bar",
        ["foo/.goosehints=1", "foo/bar/.goosehints=2"],
        marks=pytest.mark.report(
            "aaif-goose/goose#358", "only the hints of one folder are read", area="rules", before="passed"
        ),
    ),
    pytest.param(
        {
            "CLAUDE.md": "Main.",
            ".claude/rules/c.md": rule("paths: src/**"),
            ".worktrees/wt/.git": "gitdir: /repo/.git/worktrees/wt",
            ".worktrees/wt/CLAUDE.md": "Tree.",
            ".worktrees/wt/.claude/rules/c.md": rule("paths: src/**"),
        },
        "/repo/.worktrees/wt",
        ["CLAUDE.md=Tree."],
        marks=pytest.mark.report(
            "anthropics/claude-code#23569",
            "in a worktree inside the repository, rules for some files apply always",
            area="rules",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("files", "folder", "expected"), FOLDERS)
async def test_documents_from_the_root_to_the_folder(
    files: dict[str, str | bytes], folder: str, expected: list[str]
) -> None:
    assert await at_start(files, folder) == expected


@pytest.mark.report(
    "openai/codex#13386",
    "a long file at the root takes the place of the one that is nearest to the work",
    area="rules",
    before="failed",
)
async def test_the_longest_document_is_cut_first() -> None:
    files: dict[str, str | bytes] = {"AGENTS.md": "ä" * BUDGET_BYTES, "app/AGENTS.md": "Nearest."}
    layer = build_documents_layer(await find_project_documents(environment(files, "/repo/app"), ()))
    assert "Nearest." in layer and layer.count(TRUNCATED_MARKER) == 1 and "\ufffd" not in layer


@pytest.mark.report(
    "github/copilot-cli#3051",
    "instructions of subfolders are not found from the root",
    area="rules",
    before="passed",
)
@pytest.mark.report(
    "Yeachan-Heo/oh-my-claudecode#4006",
    "instructions in subfolders, with comments at their top, never reach the model",
    area="rules",
    before="passed",
)
async def test_instructions_of_a_subfolder_come_with_its_first_file() -> None:
    assert "# Web" in await with_file(
        {"webapp/AGENTS.md": "<!-- Parent: ../AGENTS.md -->\n# Web"}, "webapp/src/a.ts"
    )


@pytest.mark.report(
    "anthropics/claude-code#40640",
    "skills of a subfolder are not discovered when a file of it is edited",
    area="rules",
    before="failed",
)
@pytest.mark.report(
    "anthropics/claude-code#39787",
    "of two subfolders with skills, only one is discovered",
    area="rules",
    before="failed",
)
@pytest.mark.parametrize("folder", [".claude/skills", ".agents/skills"])
async def test_skills_of_a_subfolder_are_named_with_its_first_file(folder: str) -> None:
    files: dict[str, str | bytes] = {
        f"{part}/{folder}/{name}/SKILL.md": f"---\nname: {name}\ndescription: Makes {name}.\n{more}---\nSecret"
        for part, name, more in (
            ("web", "pages", ""),
            ("web", "mine", "disable-model-invocation: true\n"),
            ("db", "x", ""),
        )
    }
    got = await with_file(files, "web/src/a.ts")
    assert f"- web/{folder}/pages/SKILL.md: Makes pages." in got
    assert not {"Secret", "mine", "Makes x"} & {word for word in ("Secret", "mine", "Makes x") if word in got}
    assert "Makes x." in await with_file(files, "db/a.sql")
    assert await at_start(files) == []


@pytest.mark.report(
    "anthropics/claude-code#44884",
    "instructions of a submodule are not read from the repository around it",
    area="rules",
    before="passed",
)
async def test_instructions_of_a_submodule_come_with_its_first_file() -> None:
    files: dict[str, str | bytes] = {
        "part/.git": "gitdir: ../.git/modules/part",
        "part/.claude/CLAUDE.md": "Part.",
    }
    assert "Part." in await with_file(files, "part/a.py")


LINKS: list[Any] = [
    pytest.param(
        {"AGENTS.md": "A"},
        {"CLAUDE.md": "AGENTS.md"},
        ["AGENTS.md=A"],
        marks=pytest.mark.report(
            "atomantic/PortOS#4852", "a file and the link to it are both read", area="rules", before="passed"
        ),
    ),
    pytest.param(
        {"AGENTS.md": "A"},
        {"CLAUDE.md": "D:/MyProject/AGENTS.md"},
        ["AGENTS.md=A"],
        marks=pytest.mark.report(
            "xxynet/KiraAI#96", "a link leads to a path of another machine", area="rules", before="passed"
        ),
    ),
    pytest.param(
        {"shared/t.txt": "Pirate."},
        {".roo/rules/testing": "../../shared/t.txt"},
        [".roo/rules/testing=Pirate."],
        marks=pytest.mark.report(
            "RooCodeInc/Roo-Code#3143",
            "a rule is a link whose name has no ending",
            area="rules",
            before="failed",
        ),
    ),
    pytest.param(
        {"CLAUDE.md": "C", ".cursor/rules/general.mdc": rule("alwaysApply: true", "G")},
        {".clinerules/CLAUDE.md": "../CLAUDE.md", ".clinerules/general.md": "../.cursor/rules/general.mdc"},
        ["CLAUDE.md=C", ".cursor/rules/general.mdc=G"],
        marks=pytest.mark.report(
            "cline/cline#3092",
            "rules that are links to other rules are ignored",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"src/AGENTS.md": rule('applyTo: "src/**"')},
        {".github/instructions/web.instructions.md": "../../src/AGENTS.md"},
        [],
        marks=pytest.mark.report(
            "github/copilot-cli#1655",
            "instructions of a subfolder are linked as a rule for its files",
            area="rules",
            before="passed",
        ),
    ),
    pytest.param(
        {"docs/CLAUDE.md": "@style.md", "docs/style.md": "S"},
        {"CLAUDE.md": "docs/CLAUDE.md"},
        ["docs/style.md=S", "CLAUDE.md=@style.md"],
        id="an import beside the file behind the link",
    ),
    pytest.param(
        {"docs/CLAUDE.md": "@style.md", "docs/style.md": "S", "style.md": "Mine."},
        {"CLAUDE.md": "docs/CLAUDE.md"},
        ["style.md=Mine.", "CLAUDE.md=@style.md"],
        id="an import beside the link",
    ),
    pytest.param(
        {"shared/a.md": "A"}, {".roo/rules/more": "../../shared"}, [], id="a link to a folder is no rule"
    ),
]


@pytest.mark.parametrize(("files", "links", "expected"), LINKS)
async def test_instructions_that_are_links(
    tmp_path: Path, files: dict[str, str], links: dict[str, str], expected: list[str]
) -> None:
    (tmp_path / ".git").mkdir()
    for name in (*files, *links):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, target in links.items():
        os.symlink(target, tmp_path / name)
    lookup = DiskLookup(dict)
    found = await find_project_documents(LocalEnvironment(str(tmp_path)), FAMILY, lookup)
    assert [f"{it.path}={it.text}" for it in found] == expected


@pytest.mark.report(
    "anthropics/claude-code#89461",
    "an import through a link to outside is refused without a word",
    area="rules",
    before="passed",
)
async def test_an_import_through_a_link_to_outside_is_told(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "mine.md").write_text("private")
    (project / "CLAUDE.md").write_text("@local/mine.md")
    os.symlink(tmp_path, project / "local")
    place = BoundedEnvironment(LocalEnvironment(str(project)), PathBounds(places_of(str(project))))
    found = await find_project_documents(place, FAMILY)
    assert [it.text for it in found] == [OUTSIDE, "@local/mine.md"]
