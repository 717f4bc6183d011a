"""House rules for every test: no network but loopback, no keys, a home of its own, a loop that is not blocked."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from agent_ls.app.trust import TRUST_VARIABLE
from agent_ls.llm.credentials import VARIABLES
from tests.support import services

# The same examples in every run: what fails here fails for everybody, and what passed does not fail by chance.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None, print_blob=True)
settings.load_profile("fixed")

KEY_VARIABLES = tuple(name for row in VARIABLES.values() for name in row.keys)
BASE_VARIABLES = (*(row.base_url for row in VARIABLES.values()), "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # pygls runs asyncio; nothing of ours promises trio


@pytest.fixture(autouse=True)
def _house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    for name in (*KEY_VARIABLES, *BASE_VARIABLES, *(name.lower() for name in BASE_VARIABLES)):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    # The workspaces of tests are trusted; what comes before that is tested where this is taken back.
    monkeypatch.setenv(TRUST_VARIABLE, tmp_path.anchor)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    if services.IS_WANTED and request.node.get_closest_marker("smoke"):
        yield  # it is for the network that they are
        return
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0] if isinstance(address, tuple) else ""
            if host not in ("127.0.0.1", "::1", "localhost"):
                raise OSError(f"no network in tests: {address!r}")
        real_connect(self, address)  # type: ignore[arg-type]  # as given by the caller

    monkeypatch.setattr(socket.socket, "connect", connect)
    yield
