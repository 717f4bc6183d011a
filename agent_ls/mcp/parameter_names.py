"""Rename the parameters of servers' tools whose names some model services refuse.

Such a service refuses each request that has the tool, so one name such as `filter[name]` would end every session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.llm.requests import PARAMETER_NAME, PARAMETER_NAME_CHARS
from agent_ls.mcp.descriptions import JsonObject
from agent_ls.patterns import regex

_OTHER = regex(r"[^a-zA-Z0-9_.-]")


def sent_names(schema: JsonObject) -> dict[str, str]:
    """Return the name for models of each parameter of a tool that needs another one than its own."""
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    taken = {name for name in names if PARAMETER_NAME.fullmatch(name)}
    found: dict[str, str] = {}
    for name in names:
        if name not in taken:
            found[name] = _free_name(name, taken)
            taken.add(found[name])
    return found


def _free_name(name: str, taken: set[str]) -> str:
    plain = _OTHER.sub("_", name)[:PARAMETER_NAME_CHARS] or "_"
    free, number = plain, 2
    while free in taken:
        ending = f"_{number}"
        free, number = f"{plain[: PARAMETER_NAME_CHARS - len(ending)]}{ending}", number + 1
    return free


def with_sent_names(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return the schema with the names for models. The description of a renamed parameter has its own name."""
    if not names:
        return schema
    properties = {names.get(name, name): _named(name, it, names) for name, it in schema["properties"].items()}
    required = [names.get(name, name) for name in schema.get("required", [])]
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def _named(name: str, parameter: Any, names: Mapping[str, str]) -> Any:
    if name not in names or not isinstance(parameter, Mapping):
        return parameter
    return {**parameter, "description": f"{name}: {parameter.get('description', '')}".rstrip(": ")}


def with_own_names(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a call's arguments with the names that the server knows."""
    own = {sent: name for name, sent in names.items()}
    return {own.get(name, name): value for name, value in values.items()}
