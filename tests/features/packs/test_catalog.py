"""The packs are complete as section 11.3 of the specification lists them, and each tool in them can be used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.features.packs import catalog
from agent_ls.features.packs.catalog import CATEGORIES, CODE_TOOLS, COVERED_BY, PACKS, PRESETS, PROGRAMS
from agent_ls.features.packs.load import pack_tools
from agent_ls.features.tools.yaml_tools import own_names, read_packaged_tools, read_tool_file
from agent_ls.services.settings.model import PACK_NAMES, PRESET_NAMES, parse_settings
from agent_ls.tools.cli_tool import CliTool
from tests.docs.pages import read
from tests.tools.tool_pack_docs import rendered

pytestmark = pytest.mark.req("T8")

FOLDER = Path(catalog.__file__).parent
MANIFEST = (
    "execution file_read file_write file_manage directory search git testing validation process network reasoning "
    "control"
)
"""The categories of the specification, section 11.3."""


def test_packs_have_the_thirteen_categories_with_at_least_three_tools_each() -> None:
    assert list(CATEGORIES) == MANIFEST.split()
    assert all(len({*PACKS[name].tools, *PACKS[name].own}) >= 3 for name in CATEGORIES)
    assert all(len(pack.tools) >= 2 for pack in PACKS.values())


def test_every_packaged_tool_definition_is_valid_and_listed_in_its_pack() -> None:
    for path in FOLDER.glob("*.yaml"):
        found = list(read_tool_file(path))
        assert not [one for one in found if isinstance(one, str)]
        names = {one.name for one in found if isinstance(one, CliTool)}
        assert names == set(PACKS[path.stem].tools) - set(CODE_TOOLS)


def test_fast_and_validating_parsers_of_tool_files_give_the_same_tools() -> None:
    for path in FOLDER.glob("*.yaml"):
        checked = [replace(one, source="") for one in read_tool_file(path) if isinstance(one, CliTool)]
        assert checked == list(read_packaged_tools(path))


def test_every_tool_listed_in_a_pack_exists_once_and_has_descriptions() -> None:
    names = [name for pack in PACKS.values() for name in pack.tools]
    found = [tool for pack in PACKS for tool in pack_tools(pack)]
    assert [tool.name for tool in found] == names
    assert len(names) == len(set(names))
    for tool in found:
        assert len(tool.definition.description) >= 20
        if isinstance(tool.definition, CliTool):
            assert all(one.description for one in tool.definition.parameters.values()), tool.name
        else:
            fields = tool.definition.arguments.model_fields.values()
            assert all(field.description for field in fields), tool.name


def test_no_pack_tool_has_the_name_of_a_built_in_tool() -> None:
    defined = {name for pack in PACKS.values() for name in pack.tools} - set(CODE_TOOLS)
    assert not defined & own_names()


def test_every_program_of_a_pack_has_an_install_command_or_advice() -> None:
    needed = {program for pack in PACKS for tool in pack_tools(pack) for program in tool.programs}
    assert needed == set(PROGRAMS)
    assert all(bool(one.command) is not bool(one.advice) for one in PROGRAMS.values())


def test_each_preset_has_the_tool_categories_of_the_specification() -> None:
    has = {
        preset: [bool({*words.split()} & set(PRESETS[preset])) for words in COLUMNS]
        for preset in ("minimal", "standard", "full", "swe-agent", "openhands", "custom")
    }
    assert has == {
        "minimal": [True, True, False, False, False, False, False],
        "standard": [True, True, True, True, True, False, False],
        "full": [True] * 7,
        "swe-agent": [True, True, True, True, False, False, False],
        "openhands": [True] * 7,
        "custom": [True, True, True, True, False, False, False],
    }
    assert PRESETS["none"] == ()


COLUMNS = ("execution process", "file_read file_write", "git", "testing", "network", "browser", "containers")
"""Bash, Files, Git, Tests, Network, Browser and Docker of section 11.6, as packs."""


def test_settings_accept_exactly_the_presets_and_packs_of_the_catalogue() -> None:
    assert PRESET_NAMES == tuple(PRESETS) and PACK_NAMES == tuple(PACKS)
    assert all(set(packs) <= set(PACKS) for packs in PRESETS.values())
    assert set(COVERED_BY) <= {name for pack in PACKS.values() for name in pack.tools}
    _, problems = parse_settings({"toolPacks": {"preset": "all", "packs": ["gitt"]}})
    assert len(problems) == 2 and "toolPacks.preset" in problems[0] and '"gitt"' in problems[1]


def test_the_tables_on_the_tool_packs_page_are_up_to_date() -> None:
    page = read("docs/tool-packs.md")
    assert page == rendered(page), "run python -m tests.tools.tool_pack_docs"
