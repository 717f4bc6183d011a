"""Pure: find the hosts that the arguments of a call name, however a program may read the addresses in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.mcp.results import strings_in
from agent_ls.patterns import regex

_ADDRESS = regex(r"\b(?:(?:https?|wss?|ftp):[/\\]*|[a-z][a-z0-9+.-]*://)", re.IGNORECASE)
"""The start of an address. Browsers and node take `https:x`, `https:/x` and `https:\\\\x` for `https://x`."""
_IGNORED = regex(r"[\t\r\n]")
"""Characters that parsers leave out of an address: `https://a<tab>.b` has the host `a.b`."""
_WORDS = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HOST_NAMES = frozenset(("host", "hostname", "domain", "server", "url", "uri", "site", "endpoint"))
_HOST = regex(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?")
_WITH_DOT = regex(r"[\w.-]*\w\.\w[\w.-]*(?::\d*)?")
_NUMERIC = regex(r"\[[0-9A-Fa-f:.]+\](?::\d*)?")
_MAX_AUTHORITY = 1_024
"""A longer part of an address, in characters, is no host that somebody has allowed."""
_AUTHORITIES = tuple(regex(rf"[^{end}?#\s]{{0,{_MAX_AUTHORITY}}}") for end in ("/", r"/\\"))
_UNTIL_BLANK = regex(rf"\S{{0,{_MAX_AUTHORITY}}}")
_AROUND = regex(r"[\"'<>`{}|^,;)\]!*]")


def hosts_in(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts that the arguments name: in addresses, or as values of keys such as `host` at any depth.

    Programs read some addresses differently: of `https://a\\@b/`, some connect to `a` and others to `b`. All readings
    are returned. A host that is not in a usual form is returned as it is written, so nobody has allowed it.
    """
    found: dict[str, None] = {}
    for text in strings_in(values):
        for written in dict.fromkeys((text, _IGNORED.sub("", text))):
            for start in _ADDRESS.finditer(written):
                is_usual = written[start.end() : start.end() + 1] != "/"
                found |= dict.fromkeys(
                    _readings(written, start.end()) if is_usual else [_until_blank(written, start.start())]
                )
    for text in _named(values):
        found |= dict.fromkeys(_bare_hosts(text.strip()))
    return tuple(found)


def _readings(text: str, at: int = 0) -> Iterator[str]:
    """Yield the hosts of the address whose slashes end at `at`."""
    for authority in _AUTHORITIES:
        found = authority.match(text, at)
        written = found[0] if found else ""
        if host := _host_of(written) if len(written) < _MAX_AUTHORITY else written.lower():
            yield host


def _host_of(authority: str) -> str:
    host = authority.rpartition("@")[2]
    if found := _NUMERIC.match(host):
        return found[0].rpartition("]")[0].removeprefix("[").lower()
    before, *after = _AROUND.split(host, maxsplit=1)
    rest = "".join(after)
    # the end of a text in quotes, if no parser can take it for a part of the host's name
    if rest.isascii() and not re.search(r"%|\.\w", rest):
        host = before
    host = host.partition(":")[0] if re.fullmatch(r"[^:]*:\d*", host) else host
    return host.rstrip(".").lower()


def _until_blank(text: str, at: int) -> str:
    found = _UNTIL_BLANK.match(text, at)
    return found[0].lower() if found else ""


def _named(values: Any, is_host: bool = False) -> Iterator[str]:
    """Yield the texts that are values of a key such as `host`, `baseUrl` or `urls`."""
    if isinstance(values, str):
        if is_host:
            yield values
    elif isinstance(values, Mapping):
        for key, value in values.items():
            words = _WORDS.findall(str(key)) or [""]
            yield from _named(value, words[-1].lower().removesuffix("s") in _HOST_NAMES)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _named(value, is_host)


def _bare_hosts(text: str) -> Iterator[str]:
    """Yield the hosts of an address without a scheme, such as `a.example/x` or `//a`."""
    if _HOST.fullmatch(text):
        yield text.lower()
    elif text.startswith(("//", "\\\\", "/\\", "\\/")):
        yield from _readings(text.lstrip("/\\"))
    elif not _ADDRESS.match(text):
        for host in _readings(text):
            if _WITH_DOT.fullmatch(host) or _NUMERIC.fullmatch(text):
                yield host
