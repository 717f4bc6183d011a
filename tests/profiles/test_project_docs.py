from __future__ import annotations

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.profiles.project_docs import (
    BUDGET_BYTES,
    TRUNCATED_MARKER,
    ProjectDocument,
    build_documents_layer,
    find_project_documents,
)

GIT = {"/repo/.git/HEAD": "ref: refs/heads/main\n"}


async def found(
    files: dict[str, str | bytes], cwd: str = "/repo/app/web", family: tuple[str, ...] = ()
) -> list[str]:
    environment = MemoryEnvironment(GIT | files, working_directory=cwd)
    return [f"{d.path}={d.text}" for d in await find_project_documents(environment, family)]


@pytest.mark.spec("loop 9.8.4", "loop 9.8.6")
@pytest.mark.req("O5")
@pytest.mark.parametrize(
    ("files", "family", "expected"),
    [
        pytest.param(
            {"/repo/AGENTS.md": "root", "/repo/app/AGENTS.md": "app", "/repo/app/web/AGENTS.md": "web"},
            (),
            ["AGENTS.md=root", "app/AGENTS.md=app", "app/web/AGENTS.md=web"],
            id="deeper-later",
        ),
        pytest.param(
            {"/repo/AGENTS.md": "a", "/repo/CLAUDE.md": "c", "/repo/GEMINI.md": "g"},
            ("CLAUDE.md",),
            ["AGENTS.md=a", "CLAUDE.md=c"],
            id="only-this-family",
        ),
        pytest.param(
            {"/repo/.codex/instructions.md": "o", "/repo/CLAUDE.md": "c", "/repo/app/AGENTS.md": "a"},
            (".codex/instructions.md",),
            [".codex/instructions.md=o", "app/AGENTS.md=a"],
            id="in-a-folder-of-its-own",
        ),
        pytest.param(
            {"/repo/other/AGENTS.md": "x", "/AGENTS.md": "y"}, (), [], id="beside-and-above-the-root"
        ),
        pytest.param(
            {"/repo/AGENTS.md": "same", "/repo/CLAUDE.md": "same"},
            ("CLAUDE.md",),
            ["AGENTS.md=same"],
            id="once",
        ),
        pytest.param({"/repo/AGENTS.md": " \n"}, (), [], id="blank"),
        pytest.param({"/repo/AGENTS.md": b"caf\xe9"}, (), ["AGENTS.md=café"], id="not-utf-8"),
        pytest.param({"/repo/AGENTS.md": "ä".encode("utf-16")}, (), ["AGENTS.md=ä"], id="utf-16"),
        pytest.param(
            {"/repo/AGENTS.md/f": "x"},
            (),
            ["AGENTS.md=[This file could not be read: Not a regular file: /repo/AGENTS.md is a directory]"],
            id="unreadable",
        ),
    ],
)
async def test_project_documents_are_listed_in_order_from_repository_root_to_working_directory(
    files: dict[str, str | bytes], family: tuple[str, ...], expected: list[str]
) -> None:
    assert await found(files, family=family) == expected


@pytest.mark.req("O5")
async def test_documents_when_there_is_no_repository_then_only_the_working_directory_counts() -> None:
    environment = MemoryEnvironment(
        {"/w/AGENTS.md": "above", "/w/app/AGENTS.md": "here"}, working_directory="/w/app"
    )
    assert [d.text for d in await find_project_documents(environment)] == ["here"]


def layer(*texts: str) -> str:
    return build_documents_layer([ProjectDocument(f"{number}.md", text) for number, text in enumerate(texts)])


@pytest.mark.req("O5")
@pytest.mark.parametrize(
    ("texts", "kept", "is_cut"),
    [
        pytest.param(["x" * BUDGET_BYTES], BUDGET_BYTES, False, id="just-fits"),
        pytest.param(["x" * (BUDGET_BYTES + 1)], BUDGET_BYTES, True, id="one-byte-over"),
        pytest.param(["x" * (BUDGET_BYTES - 1), "xx", "xxx"], BUDGET_BYTES, True, id="over-several-files"),
        pytest.param(["x" * BUDGET_BYTES, "y"], BUDGET_BYTES - 1, True, id="the-longest-is-cut"),
        pytest.param(["x" * (BUDGET_BYTES - 1) + "ä"], BUDGET_BYTES - 1, True, id="never-half-a-character"),
        pytest.param(
            ["x" * (BUDGET_BYTES - 2) + "ä"], BUDGET_BYTES - 2, False, id="a-character-of-two-bytes-fits"
        ),
    ],
)
def test_layer_when_over_the_budget_then_it_is_cut_and_marked(
    texts: list[str], kept: int, is_cut: bool
) -> None:
    text = layer(*texts)
    assert text.count("x") == kept
    assert (TRUNCATED_MARKER in text) is is_cut
    assert text.encode("utf-8")


def test_layer_when_there_are_no_documents_then_it_is_empty() -> None:
    assert layer() == ""


@pytest.mark.req("T16")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"CLAUDE.md": "See @docs/a.md.", "docs/a.md": "A"}, ["docs/a.md=A"], id="before-its-importer"
        ),
        pytest.param(
            {"CLAUDE.md": "@a.md", "a.md": "1 @b.md", "b.md": "2"}, ["b.md=2", "a.md=1 @b.md"], id="deeper"
        ),
        pytest.param({"CLAUDE.md": "@AGENTS.md", "AGENTS.md": "all"}, ["AGENTS.md=all"], id="once"),
        pytest.param(
            {"CLAUDE.md": "@a.md", "a.md": "@CLAUDE.md @a.md"}, ["a.md=@CLAUDE.md @a.md"], id="in-a-circle"
        ),
        pytest.param({"CLAUDE.md": "`@a.md`\n```\n@a.md\n```\nx@a.md", "a.md": "A"}, [], id="not-in-code"),
        pytest.param({"CLAUDE.md": "ask @ada about ~/x and @~/.claude/"}, [], id="no-file"),
        pytest.param({"AGENTS.md": "@a.md", "a.md": "A"}, ["AGENTS.md=@a.md"], id="not-in-agents-md"),
        pytest.param({"CLAUDE.md": "@logo", "logo": b"\x89PNG\0"}, [], id="not-text"),
    ],
)
async def test_claude_md_imports_files_of_the_project(
    files: dict[str, str | bytes], expected: list[str]
) -> None:
    placed = {f"/repo/{name}": text for name, text in files.items()}
    documents = await found(placed, "/repo", ("CLAUDE.md",))
    assert documents == [*expected, f"CLAUDE.md={files['CLAUDE.md']!s}"] if "CLAUDE.md" in files else expected


@pytest.mark.req("T16")
async def test_imports_of_claude_md_are_limited_in_depth_and_number() -> None:
    chain = {f"/repo/d{n}.md": f"d{n} @d{n + 1}.md" for n in range(9)}
    deep = await found({"/repo/CLAUDE.md": "@d0.md", **chain}, "/repo", ("CLAUDE.md",))
    assert len(deep) == 1 + 5
    names = " ".join(f"@f{n}.md" for n in range(50))
    many = {f"/repo/f{n}.md": f"text {n}" for n in range(50)}
    wide = await found({"/repo/CLAUDE.md": names, **many}, "/repo", ("CLAUDE.md",))
    assert len(wide) == 1 + 20
