"""Instruction files that the configuration of another agent lists, as public reports show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.profiles.test_rule_reports import at_start, with_file
from tests.support.reports import reported

pytestmark = [pytest.mark.anyio, pytest.mark.req("O5")]

OUTSIDE = "[This import is not read, because the file is outside of the project.]"
FILES: dict[str, str | bytes] = {
    "docs/standards.md": "Standards.",
    "docs/more/a.md": "A.",
    "test/guide.md": "Guide.",
    "packages/web/AGENTS.md": "Web.",
    "packages/api/AGENTS.md": "Api.",
}

LISTS: list[Any] = [
    reported(
        "anomalyco/opencode#4553",
        ["docs/standards.md", "test/guide.md", "packages/*/AGENTS.md"],
        ["docs/standards.md", "test/guide.md", "packages/api/AGENTS.md", "packages/web/AGENTS.md"],
    ),
    reported("anomalyco/opencode#11317", ["docs/**/*.md"], ["docs/more/a.md", "docs/standards.md"]),
    (["./test/guide.md", "test/guide.md"], ["test/guide.md"]),
    (["docs/{standards,none}.md", "none/*.md"], ["docs/standards.md"]),
    (["https://example.com/rules.md", "", 7, None], []),
    ("docs/standards.md", []),
]


@pytest.mark.parametrize("name", ["opencode.json", "opencode.jsonc"])
@pytest.mark.parametrize(("listed", "read"), LISTS)
async def test_files_that_a_configuration_lists_are_read(name: str, listed: object, read: list[str]) -> None:
    config = json.dumps({"$schema": "https://opencode.ai/config.json", "instructions": listed})
    found = await at_start(FILES | {name: f"// ours\n{config}"})
    assert [it.partition("=")[0] for it in found] == read


@pytest.mark.report("marcusquinn/aidevops#266")
async def test_a_listed_file_that_cannot_be_read_is_reported() -> None:
    config = json.dumps({"instructions": ["~/.aidevops/agents/AGENTS.md", "gone.md"]})
    found = await at_start({"opencode.json": config})
    assert [it.partition("=")[2] for it in found] == [OUTSIDE, "[This imported file does not exist.]"]


@pytest.mark.parametrize("config", ["{", "[]", "{}", "null", '{"instructions": {"a": 1}}'])
async def test_another_configuration_lists_nothing(config: str) -> None:
    assert await at_start({"opencode.json": config}) == []


async def test_a_configuration_counts_in_its_folder() -> None:
    files = FILES | {
        "packages/web/opencode.json": '{"instructions": ["rules.md"]}',
        "packages/web/rules.md": "R.",
    }
    assert "R." in await with_file(files, "packages/web/a.ts") and await at_start(files) == []


@pytest.mark.report("anomalyco/opencode#18903")
async def test_rules_of_opencode_are_read() -> None:
    rule = "---\npaths: src/**\n---\nMind it."
    files: dict[str, str | bytes] = {".opencode/rules/a.md": "Always.", ".opencode/rules/b.mdc": rule}
    assert await at_start(files) == [".opencode/rules/a.md=Always."]
    assert "Mind it." in await with_file(files, "src/a.ts")
