"""docs/other-editors.md: its configuration blocks parse and use existing settings, and its commands exist."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest

from agent_ls.server.lsp.capabilities import FINDING_COMMANDS, STOCK_COMMANDS
from agent_ls.services.settings.model import parse_settings
from tests.docs.pages import blocks, code_words, read, table

PAGE = read("docs/other-editors.md")


def recipe(tag: str) -> str:
    """Return the configuration block that the page has for one editor. `tag` names the editor."""
    (block,) = (block for block in blocks(PAGE) if block.tag == tag)
    return block.text


def test_the_commands_on_the_page_match_the_server() -> None:
    documented = {word for row in table(PAGE, "command") for word in code_words(row[0])}

    assert documented == {*STOCK_COMMANDS, *FINDING_COMMANDS}


@pytest.mark.req("H11")
@pytest.mark.parametrize(
    "found",
    [
        tomllib.loads(recipe("helix"))["language-server"]["agent-ls"]["config"],
        json.loads(recipe("kate"))["servers"]["agent-ls"]["initializationOptions"],
        json.loads(recipe("sublime"))["clients"]["agent-ls"]["initializationOptions"],
    ],
    ids=["helix", "kate", "sublime"],
)
def test_the_settings_in_each_editor_recipe_are_valid(found: dict[str, Any]) -> None:
    assert parse_settings(found["agentLs"])[1] == []


@pytest.mark.req("H11")
@pytest.mark.parametrize("tag", ["neovim", "eglot", "lsp-mode", "helix", "kate", "sublime"])
def test_every_editor_recipe_starts_the_server_with_agent_ls_serve_stdio(tag: str) -> None:
    words = re.findall(r'"(agent-ls|serve|--stdio)"', recipe(tag))

    assert "agent-ls serve --stdio" in " ".join(words) or tag == "helix"
