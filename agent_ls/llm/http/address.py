"""Decide from the base URL and the environment whether connections are made without httpx (see direct.py)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from agent_ls.patterns import regex

# The URLs that direct.py handles. httpx handles all others: URLs with a user name, a non-ASCII host or a query, and
# invalid URLs.
_SIMPLE = regex(
    r"(?P<scheme>https?)://(?:(?P<host>[a-z0-9._-]+)|\[(?P<ipv6>[0-9a-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[a-z0-9._~!$&'()*+,;=:@%/-]*)?)",
    re.IGNORECASE,
)
_BETWEEN = regex(r"[,\s]+")
_WITH_PORT = regex(r"([^:]*|\[.*\]):([0-9]+)")
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


def find_proxies() -> Mapping[str, str]:
    """Return the proxies by scheme, and `no`, from the environment; if it has none, from the system settings (macOS,
    Windows)."""
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies  # a slow import, which Linux does not need

        found = getproxies()
    else:
        names = sorted(name for name in os.environ if name.lower().endswith("_proxy"))
        found = {name.lower().removesuffix("_proxy"): os.environ[name] for name in names if os.environ[name]}
    proxies = {scheme: found[scheme] for scheme in _PROXIED if found.get(scheme)}
    return {**proxies, "no": found.get("no", "")} if proxies else {}


def find_proxy(scheme: str, host: str, port: int) -> str | None:
    """Return the URL of the proxy for this host; None if there is none, or if NO_PROXY excludes the host."""
    proxies = find_proxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or any(_excludes(entry, host, port) for entry in _BETWEEN.split(proxies["no"]) if entry):
        return None
    return url if "://" in url else f"http://{url}"


def _excludes(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY names a host: `*`, a host or domain, an address or a network, with port or
    without."""
    import ipaddress  # imported here, to keep the start fast: few users have a proxy

    entry, host = entry.lower().rpartition("://")[2].rstrip("/"), host.lower()
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass  # a name, or an address with a port
    named = _WITH_PORT.fullmatch(entry)
    domain = (named[1] if named else entry).strip("[]").removeprefix("*").removeprefix(".")
    fits = host == domain or host.endswith(f".{domain}")
    return entry == "*" or (fits and domain != "" and (not named or int(named[2]) == port))
