"""Decide from the base URL and the environment whether connections are made without httpx (see direct.py)."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass

from agent_ls.patterns import regex

# The URLs that direct.py handles. httpx handles all others: URLs with a user name, a non-ASCII host or a query, and
# invalid URLs.
_SIMPLE = regex(
    r"(?P<scheme>https?)://(?:(?P<host>[a-z0-9._-]+)|\[(?P<ipv6>[0-9a-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[a-z0-9._~!$&'()*+,;=:@%/-]*)?)",
    re.IGNORECASE,
)
_PROXIED = ("http", "https", "all")  # the schemes whose proxies httpx uses


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a base URL. `path` has no slash at its end."""

    host: str
    port: int
    is_tls: bool
    path: str
    authority: str
    """Host and port for messages and for the header `host`. The default port of http or https is left out."""


def parse_address(base_url: str) -> Address | None:
    """Return the parts of a simple base URL; None if httpx has to handle or refuse the URL."""
    parts = _SIMPLE.fullmatch(base_url)
    if not parts:
        return None
    is_tls = parts["scheme"].lower() == "https"
    default = 443 if is_tls else 80
    port = int(parts["port"] or default)
    if port > 65535:
        return None
    host = parts["host"] or parts["ipv6"]
    shown = f"[{host}]" if parts["ipv6"] else host
    return Address(
        host, port, is_tls, parts["path"].rstrip("/"), shown if port == default else f"{shown}:{port}"
    )


def find_proxies() -> list[str]:
    """Return the proxy URLs of the environment; if it has none, those of the system settings (macOS, Windows)."""
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies  # a slow import, which Linux does not need

        proxies = getproxies()
        return [proxies[scheme] for scheme in _PROXIED if proxies.get(scheme)]
    variables = {name.lower(): value for name, value in os.environ.items() if value}
    return [url for scheme in _PROXIED if (url := variables.get(f"{scheme}_proxy"))]
