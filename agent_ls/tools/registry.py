"""Tools by name. A later registration of a name replaces the earlier one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.requests import ToolDefinition, check_tool_name
from agent_ls.patterns import regex
from agent_ls.tools.base import Arguments, Tool
from agent_ls.tools.schemas import prebuilt_schemas, schema_key

_PREFIX = regex(r"\A(?:functions\.|tools\.|mcp__)")
"""Prefixes that some models write before the names of tools, as other agents name them."""
_NOT_IN_NAMES = regex(r"[^A-Za-z0-9_]")


class ToolRegistry:
    def __init__(self, tools: Iterable[Tool[Any]] = ()) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None
        self._refused: dict[str, bool] = {}  # whether a tool of this kind was refused
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool[Any]) -> None:
        """Add a tool, unless its kind is refused.

        Raises:
            ConfigurationError: at least one provider refuses the tool's name.
        """
        check_tool_name(tool.name)
        if tool.kind in self._refused:
            self._refused[tool.kind] = True
            return
        self._tools[tool.name] = tool
        self._definitions = None

    def unregister(self, name: str) -> None:
        """Remove a tool; an unknown name is ignored."""
        self._tools.pop(name, None)
        self._definitions = None

    def remove_kinds(self, names: Iterable[str]) -> None:
        """Remove tools by their names in agent-ls, even if they are registered under other names."""
        kinds = set(names)
        self._tools = {name: tool for name, tool in self._tools.items() if tool.kind not in kinds}
        self._definitions = None

    def refuse_kinds(self, names: Iterable[str]) -> None:
        """Ignore tools with these names in agent-ls that are registered from now on, also in copies."""
        self._refused |= dict.fromkeys(names, False)

    def refuses(self, tool: Tool[Any]) -> bool:
        return tool.kind in self._refused

    def refused(self) -> frozenset[str]:
        """Return the refused names for which there was a tool."""
        return frozenset(name for name, was_there in self._refused.items() if was_there)

    def restrict(self, keeps: Callable[[Tool[Any]], bool]) -> None:
        """Remove the tools for which `keeps` returns False."""
        self._tools = {name: tool for name, tool in self._tools.items() if keeps(tool)}
        self._definitions = None

    def lookup(self, name: str) -> Tool[Any] | None:
        """Return the tool that is registered under `name`, or else the tool whose name in agent-ls is `name`;
        None if there is neither.
        """
        named = (tool for tool in self._tools.values() if tool.known_as == name)
        return self._tools.get(name) or (next(named, None) if name else None)

    def lookup_called(self, name: str) -> Tool[Any] | None:
        """Return the tool that a model calls as `name`, also if it spells the name in another way
        (`git__git-status`, `mcp__git__git_status`, `functions.shell`, `Read_File`); None if there is none.
        """
        spelled = _NOT_IN_NAMES.sub("_", _PREFIX.sub("", name))
        return self.lookup(name) or self.lookup(spelled) or self._in_other_case(spelled)

    def _in_other_case(self, name: str) -> Tool[Any] | None:
        same = [tool for tool in self._tools.values() if tool.name.casefold() == name.casefold()]
        return same[0] if len(same) == 1 else None

    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the definitions in order of registration, with plain JSON Schemas (no titles, no `$defs`)."""
        if self._definitions is None:
            self._definitions = tuple(map(_definition, self._tools.values()))
        return self._definitions

    def copy(self) -> ToolRegistry:
        made = ToolRegistry(self._tools.values())
        made._refused = self._refused  # shared: the same names are refused everywhere
        return made


def _definition(tool: Tool[Any]) -> ToolDefinition:
    arguments: type[Arguments] = tool.arguments
    schema = _schema(arguments) if tool.schema is None else tool.schema
    return ToolDefinition(tool.name, tool.description, schema, tool.free_text)


@lru_cache(maxsize=256)  # bounded, because the host program may define tools at run time
def _schema(arguments: type[Arguments]) -> JsonObject:
    prebuilt = prebuilt_schemas().get(schema_key(arguments))
    return generate_schema(arguments) if prebuilt is None else prebuilt


def generate_schema(arguments: type[Arguments]) -> JsonObject:
    """Return the JSON Schema of an argument class in the form for models. This builds the validators of the class."""
    full = arguments.model_json_schema()
    schema: JsonObject = plain_schema(full, full.get("$defs", {}))
    return schema


def plain_schema(schema: Any, named: Mapping[str, Any]) -> Any:
    """Return the schema without keys that have no information for a model: pydantic's `title` and empty defaults.

    `$defs` are inlined, because some providers do not resolve references.
    """
    if isinstance(schema, dict):
        if name := str(schema.get("$ref", "")).removeprefix("#/$defs/"):
            return plain_schema(named[name], named)
        return {
            key: {name: plain_schema(prop, named) for name, prop in value.items()}
            if key == "properties"
            else plain_schema(value, named)
            for key, value in schema.items()
            if key not in ("title", "$defs") and not (key == "default" and value in (None, ""))
        }
    if isinstance(schema, list):
        return [plain_schema(item, named) for item in schema]
    return schema
