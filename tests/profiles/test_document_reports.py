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
from tests.profiles.test_other_agents_rules import rule
from tests.profiles.test_rule_reports import FAMILY, at_start, environment, with_file
from tests.support.reports import reported

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]

OUTSIDE = "[This import is not read, because the file is outside of the project.]"

STARTS: list[Any] = [
    reported("editor-code-assistant/eca#140",
        {"AGENTS.md": "See @a.md, `@b.md` and @src/x.ts", "a.md": "A @d/d.md", "d/d.md": "D", "b.md": "B",
            "src/x.ts": "x"},
        ["d/d.md=D", "a.md=A @d/d.md", "AGENTS.md=See @a.md, `@b.md` and @src/x.ts"]),
    pytest.param({"AGENTS.md": "@x/y, @ada, @none and @a.md", "a.md": "A"},
        ["a.md=A", "AGENTS.md=@x/y, @ada, @none and @a.md"], id="names in AGENTS.md"),
    pytest.param({"AGENTS.md": "@AGENTS.md @a.md", "a.md": "@AGENTS.md"}, ["AGENTS.md=@AGENTS.md @a.md",
        "a.md=@AGENTS.md"], id="imports in a circle"),
    reported("camelaissani/markdown-it-include#1",
        {"AGENTS.md": "@a.md and @a.md and @b.md", "a.md": "A", "b.md": "@a.md"},
        ["a.md=A", "b.md=@a.md", "AGENTS.md=@a.md and @a.md and @b.md"]),
    pytest.param({"AGENTS.override.md": "@a.md#part", "a.md": "A"}, ["a.md=A", "AGENTS.override.md=@a.md#part"],
        id="override with an anchor"),
    reported("Hmbown/Codewhale#494",
        {"CLAUDE.md": "@A.md", "A.md": "TA @B.md @./s/t.md", "B.md": "TB @A.md", "s/t.md": "TS"},
        ["A.md=TA @B.md @./s/t.md", "B.md=TB @A.md", "s/t.md=TS", "CLAUDE.md=@A.md"]),
    reported("Lexus2016/hermes-agent-evolution#393",
        {"AGENTS.md": "BASE", "AGENTS.override.md": "OVER", "CLAUDE.md": "@~/out.md"},
        ["AGENTS.md=BASE", "AGENTS.override.md=OVER", f"~/out.md={OUTSIDE}", "CLAUDE.md=@~/out.md"]),
    pytest.param(
        {
            "CLAUDE.local.md": "@/repo/My Folder/CLAUDE.md",
            "My Folder/CLAUDE.md": "S",
        },
        ["My Folder/CLAUDE.md=S", "CLAUDE.local.md=@/repo/My Folder/CLAUDE.md"],
        marks=pytest.mark.report("anthropics/claude-code#92673"),
    ),
    reported("anthropics/claude-code#8765", {"CLAUDE.md": "# P\n- @~/.claude/PROJECT.md"},
        [f"~/.claude/PROJECT.md={OUTSIDE}", "CLAUDE.md=# P\n- @~/.claude/PROJECT.md"]),
    reported("basecamp/writebook#461", {"AGENTS.md": "Z", ".claude/CLAUDE.md": "@../AGENTS.md"},
        ["AGENTS.md=Z", ".claude/CLAUDE.md=@../AGENTS.md"]),
    reported("gitbutlerapp/gitbutler#14993", {"AGENTS.md": "Use tabs.", "CLAUDE.md": "AGENTS.md\n"},
        ["AGENTS.md=Use tabs."]),
    reported("kunchenguid/baby-menu#108", {"AGENTS.md": "Use tabs.", "CLAUDE.md": "@AGENTS.md\n"},
        ["AGENTS.md=Use tabs.", "CLAUDE.md=@AGENTS.md"]),
    reported("dyoshikawa/rulesync#2875", {".cursor/rules/a.mdc": rule("alwaysApply: true\nglobs:")},
        [".cursor/rules/a.mdc=Mind it."]),
    reported("getsentry/sentry-docs#15978", {"AGENTS.md": "Use tabs.", "CLAUDE.md": "AGENTS.md"},
        ["AGENTS.md=Use tabs."]),
    reported("flexcompute/tidy3d#3314",
        {"docs/agents.md": "Use tabs.", ".github/copilot-instructions.md": "../docs/agents.md"},
        ["docs/agents.md=Use tabs."]),
    reported("openai/codex#23223", {"AGENTS.md": b"Use \x93quotes\x94.\nMore."}, ["AGENTS.md=Use “quotes”.\nMore."]),
    reported("colmap/colmap#4704", {"AGENTS.md": "Ours.", "AGENTS.override.md": "Mine."},
        ["AGENTS.md=Ours.", "AGENTS.override.md=Mine."]),
    reported("coder/coder#21043", {"AGENTS.md": "Ours.", "AGENTS.local.md": "Mine."},
        ["AGENTS.md=Ours.", "AGENTS.local.md=Mine."]),
    reported("OpenHands/OpenHands#10528", {"agent.md": "A"}, ["agent.md=A"]),
    reported("aaif-goose/goose#7795", {".goosehints": "See @docs/api.md", "docs/api.md": "Api"},
        ["docs/api.md=Api", ".goosehints=See @docs/api.md"]),
    reported("Kilo-Org/kilocode#3420", {".kilocode/rules/memory-bank/brief.md": "Brief."},
        [".kilocode/rules/memory-bank/brief.md=Brief."]),
    reported("HerringtonDarkholme/megarepo#40", {".continue/rules/pirates.md": rule("name: Pirate rule", "- Talk.")},
        [".continue/rules/pirates.md=- Talk."]),
    reported("ctxpipe-ai/ctxpipe#39", {".agents/rules/memory.mdc": rule("description: Load\nalwaysApply: true")},
        [".agents/rules/memory.mdc=Mind it."]),
    reported("PatrickJS/awesome-cursorrules#360",
        {".cursor/rules/plan.mdc": rule('description: "Plan: first"\nglobs: **/*\nalwaysApply: true')},
        [".cursor/rules/plan.mdc=Mind it."]),
    reported("cline/cline#8624", {".clinerules/a.md": "---\npaths: [src/**\n---\nMind it."},
        [".clinerules/a.md=---\npaths: [src/**\n---\nMind it."]),
    reported("google-gemini/gemini-cli#18044", {"tests/codex/AGENTS.md": "Be odd."}, []),
    reported("Chemaclass/agnostic-ai#552", {".junie/AGENTS.md": "Mine."}, [".junie/AGENTS.md=Mine."]),
    reported("dyoshikawa/rulesync#2211", {".junie/guidelines/a.md": "One.", ".junie/guidelines/b.md": "Two."},
        [".junie/guidelines/a.md=One.", ".junie/guidelines/b.md=Two."]),
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
    reported(
        "google-gemini/gemini-cli#2185",
        "Use @config.yaml and `@not.md`",
        ["config.yaml=a: 1", "GEMINI.md=Use @config.yaml and `@not.md`"],
    ),
    reported(
        "google-gemini/gemini-cli#2983",
        'commit --author "Ann <ann@corp.md>" and bob@corp.md',
        ['GEMINI.md=commit --author "Ann <ann@corp.md>" and bob@corp.md'],
    ),
]


@pytest.mark.parametrize(("text", "expected"), GEMINI)
async def test_imports_of_gemini_md(text: str, expected: list[str]) -> None:
    place = environment({"GEMINI.md": text, "config.yaml": "a: 1", "not.md": "N"})
    found = await find_project_documents(place, ("GEMINI.md",))
    assert [f"{it.path}={it.text}" for it in found] == expected


FOLDERS: list[Any] = [
    reported(
        "anthropics/claude-code#85683",
        {"RULES.md": "Z", "sub/CLAUDE.md": "@../RULES.md\nP"},
        "/repo/sub",
        ["RULES.md=Z", "sub/CLAUDE.md=@../RULES.md\nP"],
    ),
    reported(
        "aaif-goose/goose#358",
        {"foo/.goosehints": "1", "foo/bar/.goosehints": "2"},
        "/repo/foo/bar",
        ["foo/.goosehints=1", "foo/bar/.goosehints=2"],
    ),
    reported(
        "anthropics/claude-code#23569",
        {
            "CLAUDE.md": "Main.",
            ".claude/rules/c.md": rule("paths: src/**"),
            ".worktrees/wt/.git": "gitdir: /repo/.git/worktrees/wt",
            ".worktrees/wt/CLAUDE.md": "Tree.",
            ".worktrees/wt/.claude/rules/c.md": rule("paths: src/**"),
        },
        "/repo/.worktrees/wt",
        ["CLAUDE.md=Tree."],
    ),
]


@pytest.mark.parametrize(("files", "folder", "expected"), FOLDERS)
async def test_documents_from_the_root_to_the_folder(
    files: dict[str, str | bytes], folder: str, expected: list[str]
) -> None:
    assert await at_start(files, folder) == expected


@pytest.mark.report("openai/codex#13386")
@pytest.mark.report("nexu-io/open-design#7815")
@pytest.mark.report("Yeachan-Heo/gajae-code#3722")
async def test_the_longest_document_is_cut_first() -> None:
    files: dict[str, str | bytes] = {"AGENTS.md": "ä" * BUDGET_BYTES, "app/AGENTS.md": "Nearest."}
    layer = build_documents_layer(await find_project_documents(environment(files, "/repo/app"), ()))
    assert "Nearest." in layer and layer.count(TRUNCATED_MARKER) == 1 and "\ufffd" not in layer


@pytest.mark.report("github/copilot-cli#3051")
@pytest.mark.report("code-yeongyu/oh-my-openagent#852")
@pytest.mark.report("ouro-ai-labs/ouro#196")
@pytest.mark.report("olafkfreund/nixarchy#836")
@pytest.mark.report("dyoshikawa/rulesync#2436")
@pytest.mark.report("Yeachan-Heo/oh-my-claudecode#4006")
async def test_instructions_of_a_subfolder_come_with_its_first_file() -> None:
    assert "# Web" in await with_file(
        {"webapp/AGENTS.md": "<!-- Parent: ../AGENTS.md -->\n# Web"}, "webapp/src/a.ts"
    )


@pytest.mark.report("anthropics/claude-code#40640")
@pytest.mark.report("anthropics/claude-code#39787")
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


@pytest.mark.report("anthropics/claude-code#44884")
async def test_instructions_of_a_submodule_come_with_its_first_file() -> None:
    files: dict[str, str | bytes] = {
        "part/.git": "gitdir: ../.git/modules/part",
        "part/.claude/CLAUDE.md": "Part.",
    }
    assert "Part." in await with_file(files, "part/a.py")


LINKS: list[Any] = [
    reported("atomantic/PortOS#4852", {"AGENTS.md": "A"}, {"CLAUDE.md": "AGENTS.md"}, ["AGENTS.md=A"]),
    reported("xxynet/KiraAI#96", {"AGENTS.md": "A"}, {"CLAUDE.md": "D:/MyProject/AGENTS.md"}, ["AGENTS.md=A"]),
    reported("RooCodeInc/Roo-Code#3143", {"shared/t.txt": "Pirate."}, {".roo/rules/testing": "../../shared/t.txt"},
        [".roo/rules/testing=Pirate."]),
    reported("cline/cline#3092", {"CLAUDE.md": "C", ".cursor/rules/general.mdc": rule("alwaysApply: true", "G")},
        {".clinerules/CLAUDE.md": "../CLAUDE.md", ".clinerules/general.md": "../.cursor/rules/general.mdc"},
        ["CLAUDE.md=C", ".cursor/rules/general.mdc=G"]),
    reported("github/copilot-cli#1655", {"src/AGENTS.md": rule('applyTo: "src/**"')},
        {".github/instructions/web.instructions.md": "../../src/AGENTS.md"}, []),
    pytest.param({"docs/CLAUDE.md": "@style.md", "docs/style.md": "S"}, {"CLAUDE.md": "docs/CLAUDE.md"},
        ["docs/style.md=S", "CLAUDE.md=@style.md"], id="an import beside the file behind the link"),
    pytest.param({"docs/CLAUDE.md": "@style.md", "docs/style.md": "S", "style.md": "Mine."},
        {"CLAUDE.md": "docs/CLAUDE.md"}, ["style.md=Mine.", "CLAUDE.md=@style.md"], id="an import beside the link"),
    reported("agentsmd/agents.md#211", {"shared/x/CLAUDE.md": "@../commit.md", "shared/commit.md": "C"},
        {"CLAUDE.md": "shared/x/CLAUDE.md"}, ["shared/commit.md=C", "CLAUDE.md=@../commit.md"]),
    pytest.param({"shared/a.md": "A"}, {".roo/rules/more": "../../shared"}, [], id="a link to a folder is no rule"),
]  # fmt: skip


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


@pytest.mark.report("anthropics/claude-code#89461")
async def test_an_import_through_a_link_to_outside_is_told(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "mine.md").write_text("private")
    (project / "CLAUDE.md").write_text("@local/mine.md")
    os.symlink(tmp_path, project / "local")
    place = BoundedEnvironment(LocalEnvironment(str(project)), PathBounds(places_of(str(project))))
    found = await find_project_documents(place, FAMILY)
    assert [it.text for it in found] == [OUTSIDE, "@local/mine.md"]
