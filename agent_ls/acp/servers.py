"""Convert the MCP servers that a client sends with a session to agent-ls's own configuration format. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientServers:
    """The servers from a client. `entries` are like those of an `mcp.json`, by name. `problems`: a sentence
    for each server that is left out.
    """

    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_client_servers(given: object) -> ClientServers:
    """Read `mcpServers` of a request. Only the structure of the entries is checked here. They are validated
    later, like entries in configuration files.
    """
    if given is None:
        return ClientServers()
    if not isinstance(given, list):
        return ClientServers(
            problems=("Your editor sent MCP servers that are not a list. They are not used.",)
        )
    entries: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    for raw in given:
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(raw, dict) or not isinstance(name, str) or not name.strip():
            problems.append("Your editor sent an MCP server without a name. It is not used.")
        elif name in entries:
            problems.append(f"Your editor sent two MCP servers named {name}. Only the first is used.")
        else:
            entries[name] = _entry(raw)
    return ClientServers(entries, tuple(problems))


def _entry(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entry with its lists of `name` and `value` converted to objects. Malformed parts are not
    changed here; the validation refuses them later.
    """
    entry = {key: value for key, value in raw.items() if key not in ("name", "_meta")}
    for key in ("env", "headers"):
        if isinstance(pairs := entry.get(key), list):
            entry[key] = _pairs(pairs)
    return entry


def _pairs(pairs: list[Any]) -> object:
    if not all(isinstance(it, dict) and isinstance(it.get("name"), str) for it in pairs):
        return pairs
    return {it["name"]: it.get("value") for it in pairs}
