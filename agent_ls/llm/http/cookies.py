"""Store the cookies that a server sets, to send them back. Load balancers use cookies to choose the same machine."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import Message
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from typing import cast
from urllib.request import Request


class Cookies:
    """The cookies that one server has set. `http.cookiejar` decides which of them are sent with a request."""

    def __init__(self) -> None:
        self._jar = CookieJar()

    def store(self, url: str, values: Sequence[str]) -> None:
        """Store the values of the header `set-cookie` of a response from `url`."""
        self._jar.extract_cookies(cast(HTTPResponse, _Response(values)), Request(url))

    def format_header(self, url: str) -> str:
        """Return the value of the header `cookie` for a request to `url`, "" without cookies."""
        request = Request(url)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie") or ""


class _Response:
    """A replacement for HTTPResponse that has only the method which CookieJar calls."""

    def __init__(self, values: Sequence[str]) -> None:
        self._headers = Message()
        for value in values:
            self._headers["set-cookie"] = value

    def info(self) -> Message:
        return self._headers
