"""Pure: convert entries of servers as other agents write them to the form of agent-ls."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from agent_ls.environments.local.environ import WINDOWS_NAMES
from agent_ls.mcp.foreign_keys import (
    ALLOWED,
    APPROVALS,
    DENIED,
    HEADER_VARIABLES,
    IGNORED,
    OFF,
    ON,
    RENAMED,
    TOKEN_VARIABLES,
    TOKENS,
    TYPES,
    VARIABLES,
)
from agent_ls.patterns import regex

_OF_OPENCODE = regex(r"(?<!\$)\{env:([A-Za-z_]\w*)\}")
_BARE = regex(r"\A((?:\w+ )?)\$([A-Z_][A-Z0-9_]*)\Z")
_INSIDE = regex(r"(?<![\w$\\])\$([A-Z_][A-Z0-9_]+)\b")
_OF_WINDOWS = regex(r"%([A-Za-z_]\w{2,}(?:\(x86\))?)%")
_WINDOWS_NAMES = WINDOWS_NAMES | {"ALLUSERSPROFILE", "COMPUTERNAME", "PUBLIC"}
_METADATA = regex(r"/\.well-known/(?:oauth-authorization-server|openid-configuration)")
_LOGIN_SERVERS = ("authServerMetadataUrl", "auth_server_metadata_url", "authorizationServerUrl", "issuer")
_LINE = regex(r"[\w.-]+ +\S")
"""The name of a program with arguments behind it. A path may have blanks."""

_LIMIT = regex(
    r"(?P<start>start|startup|init|initialize|connect|connection|discover|discovery|handshake)?"
    r"(?:tool|call|toolcall|request|read|sseread|execution)?timeout"
    r"(?:(?P<ms>ms|millis|milliseconds)|(?P<s>s|secs?|seconds))?"
)
"""A time limit of the start or of calls, in small letters without `_`, and its unit."""
_MOST_SECONDS = 3600
"""Of limits without a unit, some agents count in seconds, others in milliseconds. A larger number is the latter."""


_NO_LIMIT_MS = 24 * 3_600_000
"""For limits of 0, which other agents understand as none."""


def our_entry(raw: Mapping[str, Any], *, is_literal: bool = False) -> dict[str, Any]:
    """Return the entry with the keys of agent-ls, as far as other agents have them under another name.
    `is_literal`: its values have no variables.
    """
    raw = _flat(raw)
    limits = _limits(raw)
    entry = {
        RENAMED.get(key, key): value for key, value in raw.items() if key not in IGNORED and key not in limits
    }
    kind = entry.get("type")
    if isinstance(kind, str):
        entry["type"] = TYPES.get(type_key(kind), kind)
    if isinstance(address := entry.get("url"), str):
        text = _as_text(address.strip())
        entry["url"] = text if is_literal else _with_variable(text)
    if isinstance(words := entry.get("command"), list) and words:
        entry["command"], entry["args"] = words[0], [*words[1:], *(entry.get("args") or [])]
    _split_words(entry)
    if isinstance(args := entry.get("args"), list):
        entry["args"] = [_as_text(it) for it in args]
        if not is_literal and not runs_line(entry["args"]):
            entry["args"] = [_with_variable(it) for it in entry["args"]]
    for key in ("command", "cwd"):
        if isinstance(path := entry.get(key), str) and not is_literal:
            entry[key] = _OF_WINDOWS.sub(_of_windows, path)
    for key in ("env", "headers"):
        if isinstance(table := _as_table(entry.get(key)), Mapping):
            table = table["headers"] if isinstance(table.get("headers"), Mapping) else table
            entry[key] = {name: _as_text(value) for name, value in table.items()}
            if not is_literal:
                entry[key] = {name: _with_variable(value) for name, value in entry[key].items()}
    _add_variables(entry, raw)
    _add_headers(entry, raw)
    _add_filter(entry, raw)
    _add_switches(entry, raw)
    for oauth in (raw.get("oauth"), raw.get("auth")):
        if isinstance(oauth, Mapping):
            entry |= {key: value for key, value in _login(oauth).items() if value and key not in entry}
    if isinstance(scopes := entry.get("oauthScopes"), list):
        entry["oauthScopes"] = " ".join(map(str, scopes))
    for name, limit in limits.values():
        entry.setdefault(name, limit)
    return entry


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry with its target at the top, where some agents write it in an object of its own."""
    raw = {key.strip(): value for key, value in raw.items() if value is not None}
    if isinstance(program := raw.get("command"), Mapping):  # the first form of Zed
        raw = {**raw, **program, "command": program.get("path")}
        raw.pop("path", None)
    for key in ("transport", "connection", "config"):  # the target in an object of its own
        if isinstance(inner := raw.get(key), Mapping) and inner.keys() & {"type", "url", "command"}:
            raw = {name: it for name, it in raw.items() if name != key} | dict(inner)
    if isinstance(inner := raw.get("requestOptions"), Mapping):  # of Continue
        raw = {**{key: it for key, it in inner.items() if key != "headers"}, **raw}
        raw["requestOptions"] = inner.get("headers") or {}
    if raw.get("settings") == {}:
        del raw["settings"]
    return raw


def _add_variables(entry: dict[str, Any], raw: Mapping[str, Any]) -> None:
    listed = [it for key in VARIABLES for it in _list(raw.get(key))]
    names = [
        it
        for item in listed
        if isinstance(it := item.get("name") if isinstance(item, Mapping) else item, str)
    ]
    if names:  # variables of the user that the server gets too
        entry["env"] = {**{name: f"${{{name}:-}}" for name in names}, **(entry.get("env") or {})}


def _add_switches(entry: dict[str, Any], raw: Mapping[str, Any]) -> None:
    """Add whether the server is off, and name the permissions to call without approval."""
    is_off = any(_truth(raw.get(key)) is True for key in OFF)
    if is_off or any(_truth(raw.get(key)) is False for key in ON):
        entry["enabled"] = False
    if isinstance(trust := entry.get("trust"), bool):
        del entry["trust"]
        entry |= {"trust: true": True} if trust else {}
    for key in APPROVALS:  # another agent's permission to call without approval
        if entry.get(key) in (False, [], "auto", "prompt"):
            del entry[key]


def _limits(raw: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Return the time limits in an entry under the names of other agents: our name of each, and its milliseconds."""
    limits = {}
    for key, value in raw.items():
        found = _LIMIT.fullmatch(key.replace("_", "").replace("-", "").lower())
        if found is None or key in ("timeoutMs", "startTimeoutMs"):
            continue
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value) if not isinstance(value, bool) else float("nan")
            is_seconds = found["s"] or (not found["ms"] and number <= _MOST_SECONDS)
            limit = max(0, int(number * (1000 if is_seconds else 1))) or _NO_LIMIT_MS
            limits[key] = ("startTimeoutMs" if found["start"] else "timeoutMs", limit)
    return limits


def type_key(kind: str) -> str:
    """Return the name of a transport in the form of TYPES and ELSEWHERE."""
    return re.sub(r"[\s_-]", "", kind.lower())


def unknown_keys(entry: Mapping[str, Any], known: frozenset[str]) -> tuple[str, ...]:
    """Return the keys that mean nothing to agent-ls and may be left out: they resemble no known key, whose effect
    the user would miss.
    """
    return tuple(key for key in entry if key not in known and not get_close_matches(key, known, 1, 0.75))


def _login(oauth: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts about logins in an entry of Claude Code, Cursor, Gemini CLI, OpenCode or Zed."""
    texts = {_in_camel_case(key): _as_text(value) for key, value in oauth.items()}
    scopes = texts.get("scopes") or texts.get("scope")
    port = texts.get("callbackPort")
    redirect = texts.get("redirectUri") or (f"http://localhost:{port}/callback" if port else "")
    found = {
        "oauthServer": _server_of(texts),
        "oauthClientId": texts.get("clientId"),
        "oauthClientSecret": texts.get("clientSecret"),
        "oauthScopes": " ".join(map(str, scopes)) if isinstance(scopes, list) else scopes,
        "oauthRedirect": redirect,
    }
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _in_camel_case(key: str) -> str:
    first, *others = key.lower().split("_") if "_" in key else [key]
    return first + "".join(map(str.capitalize, others))


def _server_of(texts: Mapping[str, Any]) -> str:
    """Return the address of the login server, which some agents write as the address of its metadata."""
    named = [it for key in _LOGIN_SERVERS if isinstance(it := texts.get(key), str) and it]
    if not named and isinstance(address := texts.get("tokenUrl"), str) and "://" in address:
        named = ["/".join(address.split("/")[:3])]
    return _METADATA.sub("", named[0]) if named else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _truth(value: Any) -> Any:
    """Return a Boolean that is written as text as a Boolean, other values unchanged."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return {"true": True, "false": False}.get(word, value)


def _as_table(value: Any) -> Any:
    """Return pairs that are written as a list (`A=b`, or an object with `name` and `value`) as a table."""
    if not isinstance(value, list):
        return value
    table = {}
    for item in value:
        match item:
            case {"name": str(name), "value": inner}:
                table[name] = inner
            case str() if "=" in item:
                table[item.partition("=")[0]] = item.partition("=")[2]
            case _:
                return value
    return table


def _split_words(entry: dict[str, Any]) -> None:
    """Split a whole command line in `command`, and arguments that are one text."""
    command = entry.get("command")
    if isinstance(command, str) and _LINE.match(command) and not entry.get("args"):
        with suppress(ValueError):
            entry["command"], *entry["args"] = shlex.split(command)
    if isinstance(args := entry.get("args"), str):
        with suppress(ValueError):
            entry["args"] = shlex.split(args)


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return _OF_OPENCODE.sub(r"${\1}", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def runs_line(args: Sequence[Any]) -> bool:
    """Return whether the arguments are those of a shell that runs a line, which has variables of its own."""
    return any(isinstance(it, str) and re.fullmatch(r"-\w*c", it) for it in args)


def _of_windows(found: re.Match[str]) -> str:
    """Return a variable in our form. One that Windows does not set itself stays as it is if there is none of its name,
    and so does a name in small letters, which may be a pattern.
    """
    name = found[1]
    if name.upper() == "USERPROFILE":
        return "${userHome}"
    if name.upper() in _WINDOWS_NAMES:
        return f"${{{name}}}"
    return f"${{{name}:-{found[0]}}}" if name.isupper() else found[0]


def _with_variable(value: Any) -> Any:
    """Return a text with a variable as in Gemini CLI, in shells (`$NAME`, `Bearer $NAME`) and in Windows (`%NAME%`) in
    our form. Within other text, `$NAME` stays as it is if there is no such variable.
    """
    if not isinstance(value, str):
        return value
    value = _OF_WINDOWS.sub(_of_windows, value)
    whole = _BARE.sub(r"\1${\2}", value)
    return _INSIDE.sub(r"${\1:-$\1}", value) if whole == value else whole


def _add_headers(entry: dict[str, Any], raw: Mapping[str, Any]) -> None:
    more = {}
    for key in TOKENS:
        if isinstance(token := raw.get(key), str) and token:
            more["Authorization"] = f"Bearer {token}"
    for key in TOKEN_VARIABLES:
        if isinstance(name := raw.get(key), str):
            more["Authorization"] = f"Bearer ${{{name}}}"
    for key in HEADER_VARIABLES:
        if isinstance(table := raw.get(key), Mapping):
            more |= {header: f"${{{variable}}}" for header, variable in table.items()}
    if more:
        entry["headers"] = {**(entry.get("headers") or {}), **more}


def _add_filter(entry: dict[str, Any], raw: Mapping[str, Any]) -> None:
    given = entry.get("tools")
    if isinstance(given, list):
        entry["tools"] = given = {"allow": [] if "*" in given else given, "deny": [] if given else ["*"]}
    if isinstance(given, Mapping) and given and all(isinstance(it, bool | Mapping) for it in given.values()):
        off = [
            name
            for name, it in given.items()
            if it is False or (it is not True and it.get("enabled") is False)
        ]
        entry["tools"] = given = {"deny": off}  # the settings of each tool
    allow = [name for key in ALLOWED for name in _list(raw.get(key))]
    deny = [name for key in DENIED for name in _list(raw.get(key))]
    if not allow and any(raw.get(key) == [] for key in ALLOWED):  # a list of the allowed tools that is empty
        deny = ["*"]
    if (allow or deny) and (given is None or isinstance(given, Mapping)):
        found = dict(given or {})
        entry["tools"] = {
            "allow": [*_list(found.get("allow")), *allow],
            "deny": [*_list(found.get("deny")), *deny],
        }
