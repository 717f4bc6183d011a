"""Decide which requests a panel answers: by one-time links, cookies, and checks of Host and Origin. Pure.

A link has a token that works once and is exchanged for a cookie. `Host` is checked because a web page could
reach this server under its own host name (DNS rebinding). `Origin` is checked because pages of other servers on
this machine send the same cookies.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping

from agent_ls.patterns import regex

TOKEN_BYTES = 32
_HOST = regex(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class Access:
    """Valid tokens and cookies of one panel process. `port` is part of the cookie's name, because all ports
    of a host share cookies.
    """

    def __init__(self, port: int) -> None:
        self.cookie_name = f"agent-ls-panel-{port}"
        self._tokens: set[str] = set()
        self._cookies: set[str] = set()

    def new_token(self) -> str:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._tokens.add(token)
        return token

    def redeem(self, token: str) -> str | None:
        """Exchange a token for the value of a cookie. None: the token is wrong or was used before."""
        found = _find_equal(token, self._tokens)
        if found is None:
            return None
        self._tokens.remove(found)
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookies.add(cookie)
        return cookie

    def set_cookie(self, value: str) -> str:
        """Return the value of the header that stores the cookie. Scripts cannot read the cookie, and requests
        from other sites do not have it.
        """
        return f"{self.cookie_name}={value}; Path=/; HttpOnly; SameSite=Strict"

    def has_cookie(self, header: str) -> bool:
        """Return whether a header `Cookie` has a valid cookie."""
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and _find_equal(value, self._cookies) is not None:
                return True
        return False


def _find_equal(given: str, known: set[str]) -> str | None:
    """Return the known value that equals `given`, None if there is none. Each comparison takes constant time."""
    found = [
        one for one in known if hmac.compare_digest(one.encode(), given.encode("utf-8", "surrogateescape"))
    ]
    return found[0] if found else None


def is_loopback_host(host: str) -> bool:
    """Return whether a header `Host` names this machine. Any port is accepted, because a tunnel may use
    another port.
    """
    if not _HOST.fullmatch(host):
        return False
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_own_origin(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from a page of this server. Browsers send `Origin` with each WebSocket."""
    return headers.get("Origin", "") == f"http://{headers.get('Host', '')}"
