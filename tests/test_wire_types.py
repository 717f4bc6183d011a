"""The message types of the clients match the types of the code, and the Neovim plugin reads only fields that exist.

The fields that the plugin reads are found by the types in its annotations. This is not a type checker: it follows
parameters, `local x = y.z` and `for _, x in ipairs(y.z)` within one function, and ignores all other values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.tools import wire_lua, wire_types


@pytest.mark.req("H9", "H10")
def test_the_generated_client_message_types_match_the_python_types() -> None:
    for path, text in wire_types.files():
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


# --- the Lua source

_PARAM = re.compile(r"^---@param (\w+)\??\s+(agent_ls\.wire\.[^\s?]+)")
_FUNCTION = re.compile(r"^(\s*)(?:local function |function |[\w.]+ = function)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CHAIN = re.compile(r"(?<![\w.:])(\w+)((?:\.\w+)+)")
_LOCAL = re.compile(r"^\s*local (\w+) = (\w+(?:\.\w+)*)$")
_LOOP = re.compile(r"^\s*for _, (\w+) in ipairs\((\w+(?:\.\w+)*)\) do$")


@dataclass(frozen=True, slots=True)
class Types:
    """The message types: for each class its fields with their types, and for each alias the type that it means."""

    classes: Mapping[str, Mapping[str, str]]
    aliases: Mapping[str, str]

    def field(self, type_: str, name: str) -> str | None:
        """Return the field's type; "" if it is not a message type, None if the class has no such field."""
        choices = self.aliases.get(type_, type_).split("|")
        if not all(choice in self.classes for choice in choices):
            return ""
        found = [self.classes[choice][name] for choice in choices if name in self.classes[choice]]
        return found[0] if found else None

    def of(self, known: Mapping[str, str], chain: str) -> str | None:
        root, *names = chain.split(".")
        type_: str | None = known.get(root, "")
        for name in names:
            if not type_:
                break
            type_ = self.field(type_, name)
        return type_


def read_types(folder: Path) -> Types:
    classes: dict[str, dict[str, str]] = {}
    aliases: dict[str, str] = {}
    for path in sorted(folder.glob("*.lua")):
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            match line.split(" ", 2):
                case ["---@class", name]:
                    classes[name] = {}
                case ["---@alias", alias, words]:
                    aliases[alias] = words
                case ["---@field", key, words]:
                    classes[name][key.removesuffix("?")] = words
                case _:
                    pass
    return Types(classes, aliases)


@dataclass
class Read:
    """The number of message fields that a file reads, and descriptions of those that do not exist (`strange`)."""

    fields: int = 0
    strange: list[str] = field(default_factory=list)


def fields_read(path: Path, types: Types) -> Read:
    read = Read()
    for number, known, body in _functions(path.read_text(encoding="utf-8").splitlines()):
        for offset, line in enumerate(body):
            bare = _STRING.sub('""', line.partition(" -- ")[0])
            if given := _LOCAL.match(bare):
                known[given[1]] = types.of(known, given[2]) or ""
            elif loop := _LOOP.match(bare):
                known[loop[1]] = (types.of(known, loop[2]) or "").removesuffix("[]")
            for chain in _CHAIN.finditer(bare):
                read.fields += bool(known.get(chain[1]))
                if types.of(known, chain[0]) is None:
                    read.strange.append(
                        f"{path.name}:{number + offset}: {known[chain[1]]} has no {chain[2][1:]}"
                    )
    return read


def _functions(lines: list[str]) -> Iterator[tuple[int, dict[str, str], list[str]]]:
    """Yield functions with message parameters: the number of the first line, the parameter types, and the lines."""
    for at, line in enumerate(lines):
        start = _FUNCTION.match(line)
        if not start:
            continue
        known: dict[str, str] = {}
        above = at
        while above and lines[above - 1].startswith("---"):
            above -= 1
            if given := _PARAM.match(lines[above]):
                known[given[1]] = given[2]
        if not known:
            continue
        end = at
        while not re.fullmatch(rf"{start[1]}end\W*", lines[end]) and not (
            end == at and line.rstrip().endswith("end")
        ):
            end += 1
        yield at + 1, known, lines[at : end + 1]
