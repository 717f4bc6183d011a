"""Tools by name; the latest registration of a name wins (000 section 3.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.requests import ToolDefinition
from agent_ls.tools.base import Arguments, Tool


class ToolRegistry:
    def __init__(self, tools: Iterable[Tool[Any]] = ()) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool[Any]) -> None:
        self._tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Removes a tool; a name that is not there is no error."""
        self._tools.pop(name, None)

    def remove_kinds(self, names: Iterable[str]) -> None:
        """Removes the tools that go by these names, also where a model knows them by its family's own."""
        kinds = set(names)
        self._tools = {name: tool for name, tool in self._tools.items() if tool.kind not in kinds}

    def lookup(self, name: str) -> Tool[Any] | None:
        """By its name, else by ours where it goes by another."""
        named = (tool for tool in self._tools.values() if tool.known_as == name)
        return self._tools.get(name) or (next(named, None) if name else None)

    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """In order of registration, with plain JSON Schemas (no titles, no `$defs`)."""
        return tuple(_definition(tool) for tool in self._tools.values())

    def copy(self) -> ToolRegistry:
        return ToolRegistry(self._tools.values())


def _definition(tool: Tool[Any]) -> ToolDefinition:
    arguments: type[Arguments] = tool.arguments
    return ToolDefinition(tool.name, tool.description, _schema(arguments))


@lru_cache(maxsize=256)  # a host may make tools as it goes
def _schema(arguments: type[Arguments]) -> JsonObject:
    told = arguments.model_json_schema()
    schema: JsonObject = _plain_schema(told, told.get("$defs", {}))
    return schema


def _plain_schema(schema: Any, named: Mapping[str, Any]) -> Any:
    """Without what costs tokens and says nothing: pydantic's `title` keys and empty defaults; property names stay.

    Parts that pydantic names (`$defs`) stand where they are used: not every provider follows a reference.
    """
    if isinstance(schema, dict):
        if name := str(schema.get("$ref", "")).removeprefix("#/$defs/"):
            return _plain_schema(named[name], named)
        return {
            key: {name: _plain_schema(prop, named) for name, prop in value.items()}
            if key == "properties"
            else _plain_schema(value, named)
            for key, value in schema.items()
            if key not in ("title", "$defs") and not (key == "default" and value in (None, ""))
        }
    if isinstance(schema, list):
        return [_plain_schema(item, named) for item in schema]
    return schema
