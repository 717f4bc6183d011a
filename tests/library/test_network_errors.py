"""Errors of the network in a provider of a program are retried, and others end the turn."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import AsyncGenerator
from email.message import Message
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "P1")


class Failing(FakeProvider):
    """Raises an error at its first request, and answers the next."""

    def __init__(self, error: Exception) -> None:
        super().__init__([text("Here.")])
        self._errors = [error]

    async def stream(self, request: Any) -> AsyncGenerator[Any]:
        if self._errors:
            raise self._errors.pop()
        async for event in super().stream(request):
            yield event


async def run(tmp_path: Path, error: Exception) -> list[Any]:
    given = options(tmp_path, Failing(error), settings={"retry": {"baseDelayMs": 1}})
    async with agent_ls.open_session(**given) as session:
        return [event async for event in session.run("go")]


def wrapping(cause: Exception) -> OSError:
    """Return an error as the library `requests` raises it: an OSError without a number."""
    error = OSError("max retries exceeded")
    error.__cause__ = ValueError("a pool of connections")
    error.__cause__.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (URLError("refused"), "network"),
        (URLError(ConnectionRefusedError(111, "refused")), "network"),
        (URLError(TimeoutError("slow")), "timeout"),
        (socket.gaierror(socket.EAI_NONAME, "no such name"), "network"),
        (ssl.SSLError(1, "record layer failure"), "network"),
        (OSError(errno.EHOSTUNREACH, "no route"), "network"),
        (RemoteDisconnected("closed"), "network"),
        (wrapping(ConnectionResetError(104, "reset")), "network"),
        (TimeoutError("slow"), "timeout"),
    ],
    ids=repr,
)
async def test_an_error_of_the_network_is_retried(tmp_path: Path, error: Exception, kind: str) -> None:
    events = await run(tmp_path, error)
    assert [it.error_kind for it in events if isinstance(it, agent_ls.Retry)] == [kind]
    assert events[-1].reason == "completed"


@pytest.mark.parametrize(
    "error",
    [
        OSError("io"),
        OSError(errno.ENOSPC, "full"),
        URLError(FileNotFoundError(errno.ENOENT, "no such file")),
        HTTPError("https://example.org", 401, "no", Message(), None),
        wrapping(FileNotFoundError(errno.ENOENT, "no such file")),
    ],
    ids=repr,
)
async def test_another_error_of_the_system_ends_the_turn(tmp_path: Path, error: Exception) -> None:
    events = await run(tmp_path, error)
    assert not [it for it in events if isinstance(it, agent_ls.Retry)]
    assert events[-1].reason == "error"
