"""The types in the clients' tests match the types of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.lua_types import fields_read, read_types
from tests.tools import wire_lua, wire_types


@pytest.mark.req("H9", "H10")
@pytest.mark.parametrize(
    ("path", "text"), list(wire_types.files()), ids=lambda it: it.name if isinstance(it, Path) else ""
)
def test_the_generated_file_matches_the_code(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, f"run `{wire_types.COMMAND}`"


@pytest.mark.req("H10")
def test_every_message_type_in_the_neovim_plugin_exists() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in wire_types.LUA.parent.rglob("*.lua")}
    every = "".join(texts.values())
    known = set(re.findall(rf"^---@(?:class|alias) {wire_lua.PREFIX}(\S+)", every, re.MULTILINE))
    named = set(re.findall(rf"\b{wire_lua.PREFIX}(\w+(?:\.\w+)*)", every))

    assert len(known) > 150
    assert not named - known


@pytest.mark.req("H10")
def test_every_parameter_field_read_by_the_neovim_plugin_exists() -> None:
    types = read_types(wire_types.LUA)
    read = [fields_read(path, types) for path in sorted(wire_types.LUA.parent.rglob("*.lua"))]

    assert sum(one.fields for one in read) > 100
    assert [strange for one in read for strange in one.strange] == []
