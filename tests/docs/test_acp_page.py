"""docs/acp.md and the files for the ACP registry: their commands start the agent, and each named request exists."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

from agent_ls._version import __version__
from agent_ls.acp.capabilities import EXTENSIONS
from agent_ls.acp.commands import OWN
from agent_ls.acp.extension_types import ALL, extension_schema
from tests.docs.pages import ROOT, blocks, code_words, read, table

PAGE = read("docs/acp.md")


@pytest.mark.req("H11")
@pytest.mark.parametrize("tag", ["zed", "jetbrains", "codecompanion", "avante", "agent-shell", "toad"])
def test_every_editor_recipe_on_the_page_runs_agent_ls_acp(tag: str) -> None:
    (block,) = (block for block in blocks(PAGE) if block.tag == tag)
    assert re.search(r"agent-ls\W+(?:args\W+|:command-params\W+|\")*acp\b", block.text.replace("args", "")), (
        block.text
    )
    if block.language == "json":
        json.loads(block.text)


def test_the_slash_commands_on_the_page_match_the_code() -> None:
    documented = [code_words(row[0])[0].removeprefix("/") for row in table(PAGE, "command")]
    assert documented == list(OWN)


def test_the_extension_requests_on_the_page_match_the_code_and_the_schema() -> None:
    documented = [code_words(row[0])[0] for row in table(PAGE, "request")]
    assert documented == [f"_agent-ls/{name}" for name in EXTENSIONS]
    methods = {params.method for params in ALL}
    assert methods == {*documented, "_session/steering"} == set(extension_schema()["methods"])


def test_the_acp_registry_manifest_contains_the_current_version() -> None:
    entry = json.loads(read("editors/acp-registry/agent.json"))
    assert {"id", "name", "version", "description", "license_url", "distribution"} <= entry.keys()
    assert entry["version"] == __version__
    assert entry["distribution"] == {"uvx": {"package": f"agent-ls=={__version__}", "args": ["acp"]}}


def test_the_acp_registry_icon_uses_only_current_color() -> None:
    icon = ET.parse(ROOT / "editors/acp-registry/icon.svg").getroot()
    assert (icon.get("width"), icon.get("height")) == ("16", "16")
    colours = {element.get(name) for element in icon.iter() for name in ("fill", "stroke")} - {None}
    assert colours <= {"currentColor", "none"}
