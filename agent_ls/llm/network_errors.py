"""Find out whether an exception of a program's provider is plainly one of the network."""

from __future__ import annotations

import errno
import socket
import ssl
from urllib.error import HTTPError, URLError

from agent_ls.llm.errors import NetworkError, RequestTimeoutError

_CODES = {
    getattr(errno, name)
    for name in ("ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "EADDRNOTAVAIL")
    if hasattr(errno, name)
}
MAX_CAUSES = 8


def network_error_kind(error: BaseException) -> type[NetworkError] | type[RequestTimeoutError] | None:
    """Return the class of model errors for an OSError of the network; None for other exceptions.

    An OSError without a number is judged by what it wraps: urllib and `requests` wrap the error of the socket.
    """
    if not isinstance(error, OSError) or isinstance(error, HTTPError):
        return None  # an HTTPError is an answer of the server
    inner: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if isinstance(inner, TimeoutError):
            return RequestTimeoutError
        if isinstance(inner, ConnectionError | socket.gaierror | socket.herror | ssl.SSLError):
            return NetworkError
        if isinstance(inner, OSError) and inner.errno is not None:
            return NetworkError if inner.errno in _CODES else None
        if isinstance(inner, URLError) and not isinstance(inner.reason, BaseException):
            return NetworkError
        inner = _wrapped(inner) if inner else None
    return None


def _wrapped(error: BaseException) -> BaseException | None:
    if isinstance(error, URLError) and isinstance(error.reason, BaseException):
        return error.reason
    return error.__cause__ or error.__context__
