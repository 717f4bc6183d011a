"""Collect the MCP servers of a session from the user's file, the settings, the client and the project's files."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent_ls.jsonc import parse_jsonc
from agent_ls.mcp.config import ConfigError, ServerConfig, Source, parse_server
from agent_ls.mcp.foreign_keys import ADVICE
from agent_ls.yaml_depth import is_too_deep

USER_FILE = "mcp.json"
PROJECT_FILES = (".mcp.json", os.path.join(".vscode", "mcp.json"))
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoundServers:
    """The MCP servers that were found, in order of precedence and with unique names.

    `problems` has a sentence for each error and each ignored entry.
    """

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuppliedServers:
    """Servers that no file configures: servers from the settings, and servers from an ACP client for one
    session.
    """

    settings: Mapping[str, Mapping[str, Any]]
    client: Mapping[str, Mapping[str, Any]]


NO_SUPPLIED_SERVERS = SuppliedServers({}, {})


def no_code(config: ServerConfig) -> str:
    return ""


def find_servers(
    account: Path | None,
    folder: Path | None,
    given: SuppliedServers = NO_SUPPLIED_SERVERS,
    code_of: Callable[[ServerConfig], str] = no_code,
) -> FoundServers:
    """Return all servers of a session in `folder`. `folder` None: read no project files, because they are
    switched off or not trusted. `account` is the folder with the user's own file, None to leave it out. `code_of`
    returns the digest of the files of the project that a server runs.

    If two servers have the same name, the first in this order is used: ACP client, user's file, settings, project.
    Blocks.
    """
    found: list[tuple[ServerConfig, str]] = []
    problems: list[str] = []
    found += _entries(given.client, "client", "", "the client's servers", problems)
    if account:
        found += _read(account / USER_FILE, "user", problems)
    found += _entries(given.settings, "settings", "", "agentLs.mcp.servers", problems)
    for name in PROJECT_FILES if folder else ():
        found += _read(Path(folder or "", name), "project", problems)
    chosen: dict[str, tuple[ServerConfig, str]] = {}
    for config, place in found:
        if known := chosen.get(config.name):
            problems.append(
                f"{place}: the server {config.name} is left out: {known[1]} already has a server of that name"
            )
            continue
        chosen[config.name] = (config, place)
    servers = (replace(config, code=code_of(config)) for config, _ in chosen.values())
    return FoundServers(tuple(servers), tuple(problems))


def _read(path: Path, source: Source, problems: list[str]) -> Iterable[tuple[ServerConfig, str]]:
    try:
        raw = read_file(path)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        problems.append(f"{path}: cannot be read: {_reason(error)}")
        return ()
    try:
        entries = servers_of(raw)
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return ()
    return _entries(entries, source, str(path), str(path), problems)


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe must not make the reader wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_file(path: Path) -> Any:
    """Read and parse a JSON, TOML or YAML file.

    Raises:
        OSError, ValueError: the file cannot be read, is too large, or is not valid.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("this is not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"the file is larger than {MAX_BYTES // 1024} KiB")
    text = data.decode("utf-8-sig")
    if path.suffix in (".yaml", ".yml"):
        return _read_yaml(text)
    if path.suffix == ".toml" and not text.lstrip().startswith("{"):  # no TOML begins so
        return tomllib.loads(text)
    if text.lstrip().startswith('"'):  # the inner part of a file, pasted without its brackets
        text = f"{{{text}}}"
    return parse_jsonc(text) if text.strip() else {}


def _read_yaml(text: str) -> Any:
    import yaml  # imported here, because few files are YAML

    if is_too_deep(text):
        raise ValueError("the file has too many nested brackets")
    try:
        if any(isinstance(it, yaml.AliasToken) for it in yaml.scan(text)):
            raise ValueError("the file has aliases (`*NAME`): write the values in their places")
        return json.loads(json.dumps(yaml.safe_load(text) or {}, default=str))
    except (yaml.YAMLError, TypeError) as error:
        raise ValueError(f"the file is not valid YAML: {' '.join(str(error).split())}") from None


_TABLES = (
    "mcpServers",
    "servers",
    "mcp_servers",
    "context_servers",
    "mcp.servers",
    "amp.mcpServers",
    "extensions",
)
_TARGETS = frozenset(("command", "cmd", "url", "uri", "httpUrl", "serverUrl"))
_NAMES = ("name", "key", "id")
"""Keys with the name of a server in a list."""


def servers_of(raw: Any) -> Mapping[str, Any]:
    """Return the table of servers in a file of agent-ls or of another agent.

    Raises:
        ValueError: the file has no such table.
    """
    if isinstance(raw, Mapping):
        inner = raw.get("mcp")
        places = [(raw, name) for name in _TABLES]
        places += (
            [(inner, "servers"), (inner, "mcpServers"), (raw, "mcp")] if isinstance(inner, Mapping) else []
        )
        for holder, name in places:
            if name in holder and (table := _as_table(holder[name])) is not None:
                return table
        if raw and all(isinstance(it, Mapping) and it.keys() & _TARGETS for it in raw.values()):
            return raw  # servers without a table around them
        if any(isinstance(raw.get(key), str | list) for key in _TARGETS):
            raise ValueError(_NO_NAME)
        if raw.keys() & {"remotes", "packages"}:
            raise ValueError(
                "this is a server's entry in a registry: add its address or command by `agent-ls mcp add`"
            )
    if raw == {} or (isinstance(raw, Mapping) and "inputs" in raw):
        return {}
    raise ValueError("the file has no table of MCP servers")


_NO_NAME = 'the file has a server without a name: write it as {"mcpServers": {"NAME": {…}}}'


def _as_table(value: Any) -> Mapping[str, Any] | None:
    """Return a table of servers, which may be a list of entries with names; None for other values.

    Raises:
        ValueError: a server has no name.
    """
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(it, Mapping) for it in value):
        return dict(map(_named, value))
    if isinstance(value, Mapping) and any(isinstance(value.get(key), str | list) for key in _TARGETS):
        raise ValueError(_NO_NAME)
    return value if isinstance(value, Mapping) else None


def _named(entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    key = next((key for key in _NAMES if isinstance(entry.get(key), str)), None)
    if key is None:
        raise ValueError(_NO_NAME)
    return entry[key], {name: it for name, it in entry.items() if name != key}


def _entries(
    table: Mapping[str, Any], source: Source, file: str, place: str, problems: list[str]
) -> Sequence[tuple[ServerConfig, str]]:
    found = []
    for name, raw in table.items():
        try:
            found.append((config := parse_server(name, raw, source, file), place))
        except ConfigError as error:
            problems.append(f"{place}: the server {name}: {error}")
        else:
            problems += [f"{place}: the server {name}: {words}" for words in describe_left_out(config)]
    return found


def describe_left_out(config: ServerConfig) -> Sequence[str]:
    """Return a sentence for each key without effect for which there is something else to do, and one for the others."""
    notes = [f"{key} has no effect: {ADVICE[key]}" for key in config.left_out if key in ADVICE]
    others = [key for key in config.left_out if key not in ADVICE]
    return [
        *notes,
        *([f"these keys are not known and have no effect: {', '.join(others)}"] if others else []),
    ]


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
