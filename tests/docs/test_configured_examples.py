"""Every example of a file that users write, on any page, is accepted by the code that reads the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.services.settings.model import Settings, parse_settings
from tests.docs.pages import blocks, read, repository_files
from tests.support.commands import environment, run

PAGES = [
    name
    for name in repository_files()
    if name.startswith("docs/")
    and name.endswith(".md")
    and name != "docs/hooks.md"  # `hooks` is a setting too
]
SETTINGS = {field.alias or name for name, field in Settings.model_fields.items()}


def settings_examples() -> list[tuple[str, dict[str, Any]]]:
    """Return the page and the settings of each JSON object on a page whose names are settings."""
    found = []
    for page in PAGES:
        for block in blocks(read(page), "json"):
            raw = json.loads(block.text) if block.text.count("\n{") == 0 else {}
            raw = raw.get("agentLs", raw) if isinstance(raw, dict) else {}
            if raw and set(raw) <= SETTINGS:
                found.append((page, raw))
    return found


def test_each_example_of_settings_is_valid() -> None:
    examples = settings_examples()
    pages = {page for page, _ in examples}
    assert {"docs/configuration.md", "docs/limits.md", "docs/remote.md", "docs/tool-packs.md"} <= pages
    assert not [(page, problems) for page, raw in examples if (problems := parse_settings(raw)[1])]


@pytest.mark.parametrize(
    ("page", "language", "place", "listing", "count"),
    [
        ("docs/hooks.md", "json", "hooks.json", "hooks", 1),
        ("docs/mcp.md", "json", "mcp.json", "mcp list", 2),
        ("docs/skills.md", "yaml", "skills/release-notes/SKILL.md", "skills", 1),
        ("docs/skills.md", "markdown", "agents/reviewer.md", "skills", 1),
        ("docs/adding-a-tool.md", "yaml", "tools.yaml", "tools", 1),
    ],
)
def test_each_example_of_a_file_is_listed_without_a_problem(
    page: str, language: str, place: str, listing: str, count: int, tmp_path: Path
) -> None:
    environ = environment(tmp_path / "home")
    file = Path(environ["AGENT_LS_STATE_DIR"]) / place
    file.parent.mkdir(parents=True)
    file.write_text(blocks(read(page), language)[0].text)
    done = run(*listing.split(), "--json", cwd=tmp_path, environ=environ)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0 and len(rows) >= count and not done.err, done
    assert not [row for row in rows if row.get("problem") or row.get("problems")], rows
