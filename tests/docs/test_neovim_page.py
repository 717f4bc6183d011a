"""Compare docs/neovim-reference.md with the plugin's source files. The plugin's own specs run the plugin."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import blocks, code_words, read, section, table

PAGE = read("docs/neovim-reference.md")
CONFIG = read("editors/nvim/lua/agent_ls/config.lua")
COMMANDS = read("editors/nvim/lua/agent_ls/commands.lua")
HELP = read("editors/nvim/doc/agent-ls.txt")

DEFAULTS = CONFIG.partition("local defaults = {")[2].partition("\n}\n")[0]
OPTIONS = dict(re.findall(r"^  (\w+) = (.+?),?$", DEFAULTS, re.MULTILINE))
KEYMAPS = dict(re.findall(r'^    (\w+) = "(.+)",$', DEFAULTS, re.MULTILINE))
SUBCOMMANDS = re.findall(r"^  (\w+) = ", COMMANDS.partition("M.commands = {")[2], re.MULTILINE)


@pytest.mark.req("H10")
def test_the_keymaps_on_the_page_match_the_plugin_defaults() -> None:
    documented = {row[0].strip("`"): row[1].strip("`") for row in table(section(PAGE, "## Keys"), "action")}

    assert documented == KEYMAPS


def test_the_options_on_the_page_match_the_plugin_defaults() -> None:
    documented = {
        row[0].strip("`"): row[1].strip("`") for row in table(section(PAGE, "## Options"), "option")
    }

    assert documented == {**OPTIONS, "keymaps": "see above"}


def test_the_subcommands_on_the_page_match_the_plugin() -> None:
    rows = table(section(PAGE, "## Commands"), "subcommand")

    assert sorted(name for row in rows for name in code_words(row[0])) == sorted(SUBCOMMANDS)


def test_each_option_keymap_and_subcommand_is_in_the_plugin_help() -> None:
    names = [*OPTIONS, *KEYMAPS, *SUBCOMMANDS]
    assert [name for name in names if not re.search(rf"`{name}`|:AgentLs {name}\b", HELP)] == []


@pytest.mark.parametrize("place", ["docs/installation.md", "README.md"])
def test_the_configuration_examples_use_existing_options(place: str) -> None:
    lua, *_ = blocks(read(place), "lua")
    documented = re.findall(r"^  (\w+) = ", lua.text, re.MULTILINE)

    assert len(lua.text.splitlines()) == 5
    assert documented and set(documented) <= set(OPTIONS)
