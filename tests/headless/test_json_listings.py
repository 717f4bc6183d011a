"""Every listing of the command line prints one JSON object per line with --json, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import environment, run
from tests.support.loopback import ChatServer

pytestmark = pytest.mark.req("H13")

LISTINGS = {
    "models": ({"provider", "problem", "models"}, True),
    "keys list": ({"provider", "location"}, True),
    "docs": ({"page", "title", "path"}, True),
    "hooks": ({"origin", "state", "description"}, True),
    "skills": ({"name", "kind", "description", "path"}, True),
    "trust list": ({"path", "trust", "decided"}, True),
    "tools": ({"name", "category"}, False),
    "tools --packs": ({"pack", "about", "tools"}, True),
    "policy list": ({"number", "id"}, False),
    "policy log": ({"kind", "what"}, True),
    "mcp list": ({"name", "state", "target"}, True),
    "sessions": ({"id"}, False),
    "sessions --running": ({"id"}, False),
}
"""Each listing: names that a row has, and whether there are rows in the place that the test makes."""


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_listing_as_json_has_one_object_per_line(listing: str, tmp_path: Path) -> None:
    names, has_rows = LISTINGS[listing]
    state = tmp_path / "home" / "state"
    page = state / "skills" / "greet" / "SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
    (state / "hooks.json").write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}})
    )
    (state / "mcp.json").write_text(json.dumps({"mcpServers": {"one": {"command": "true"}}}))
    with ChatServer([]) as local:
        environ = environment(tmp_path / "home", OPENAI_API_KEY="k", OPENAI_BASE_URL=local.base_url)
        done = run(*listing.split(), "--json", cwd=tmp_path, environ=environ)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0, done
    assert bool(rows) is has_rows and all(names <= set(row) for row in rows), done
    assert '"k"' not in done.out


@pytest.mark.parametrize("json_option", [(), ("--json",)])
@pytest.mark.parametrize(
    "listing, file",
    [
        ("skills", "skills/greet/SKILL.md"),
        ("skills", "agents/scout.md"),
        ("hooks", "hooks.json"),
        ("tools", "tools.yaml"),
        ("mcp list", "mcp.json"),
    ],
)
def test_a_listing_that_names_a_problem_fails(
    listing: str, file: str, json_option: tuple[str, ...], tmp_path: Path
) -> None:
    environ = environment(tmp_path / "home")
    path = Path(environ["AGENT_LS_STATE_DIR"]) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\nname: [\n---\n")

    done = run(*listing.split(), *json_option, cwd=tmp_path, environ=environ)

    assert done.code == 1 and path.name in done.err, done
