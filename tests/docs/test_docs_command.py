"""`agent-ls docs` prints the pages, and the hints of messages name pages and sections that exist."""

from __future__ import annotations

import ast
import re

import pytest

from agent_ls.cli.docs import find_docs, sections
from agent_ls.cli.main import main
from tests.docs.pages import ROOT

PAGE = re.compile(r"\bdocs/[a-z-]+\.md")
NAMED = re.compile(r"`agent-ls docs ([a-z/-]+)((?: [a-z-]+)*)`")


def hints() -> set[tuple[str, str]]:
    """Return page and section of each `agent-ls docs PAGE SECTION` in the package's modules."""
    texts = (path.read_text("utf-8") for path in (ROOT / "agent_ls").rglob("*.py"))
    return {(page, words.strip()) for text in texts for page, words in NAMED.findall(text)}


@pytest.mark.parametrize(("page", "words"), sorted(hints()))
def test_each_docs_command_in_a_hint_names_an_existing_page_and_section(
    page: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["docs", page, *words.split()]) == 0
    assert capsys.readouterr().out.startswith("#")


def test_no_message_names_a_markdown_file_of_the_docs() -> None:
    """An installed package has no docs/*.md files. Docstrings may name them, because only developers read those."""
    for path in (ROOT / "agent_ls").rglob("*.py"):
        text = path.read_text("utf-8")
        if "docs" not in text:
            continue
        tree = ast.parse(text)
        documented = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                assert not PAGE.search(node.value), f"{path}:{node.lineno}: {node.value}"


def test_all_pages_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    listed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert listed["configuration"] == "Configuration"
    folder = find_docs()
    assert folder and len(listed) == len(list(folder.rglob("*.md")))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["confguration"], "did you mean configuration?"),
        (["../nothing-alike"], "lists the pages"),
        (["mcp", "x y"], "no heading"),
    ],
)
def test_an_unknown_page_or_section_gets_a_hint(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["docs", *words]) == 2
    assert problem in capsys.readouterr().err


def test_a_docs_section_ends_at_the_next_heading_of_the_same_level_outside_code_blocks() -> None:
    page = (
        "# A\n## Get it\none\n```\n# not a heading\n```\n### Below\ntwo\n## Other\nthree\n## Get more\nfour"
    )
    assert "\n".join(sections(page, "get")) == (
        "## Get it\none\n```\n# not a heading\n```\n### Below\ntwo\n## Get more\nfour"
    )
