"""Rules for every test: no network except loopback, no keys, a home folder of its own, fixed examples."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import sys
import time
import zlib
from collections.abc import Generator, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from agent_ls import program_lookup
from agent_ls.llm.credentials import VARIABLES
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests import tiers
from tests.forking import forked_programs
from tests.support import services

# Derandomised: an example that fails here fails for everybody. Tests set no counts of their own.
settings.register_profile(
    "quick", max_examples=60, derandomize=True, database=None, deadline=None, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1_000)
is_whole = os.environ.get("AGENT_LS_SWEEPS") == "whole"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thorough" if is_whole else "quick"))

# A test run started in the background, or by nohup, ignores these signals, and so would the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

HERE = Path(__file__).parent

forked_programs.install()


def _is_script(program: str | None) -> bool:
    if not program:
        return False
    with open(program, "rb") as file:
        return file.read(2) == b"#!"


# A version manager (pyenv, asdf) puts a shell script on PATH as `python3`, which takes five times as long as Python.
# Commands of tests then run the interpreter of these tests instead.
if sys.platform != "win32" and _is_script(shutil.which("python3")):
    os.environ["PATH"] = f"{Path(sys.base_prefix, 'bin')}:{os.environ['PATH']}"

KEY_VARIABLES = tuple(name for row in VARIABLES.values() for name in row.keys)
BASE_VARIABLES = (*(row.base_url for row in VARIABLES.values()), "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
REMOVED_VARIABLES = {*KEY_VARIABLES, *BASE_VARIABLES, *(name.lower() for name in BASE_VARIABLES)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=("check", "test"), help="only these tests (tests/tiers.py)")
    parser.addoption(
        "--group", action="append", choices=tiers.GROUPS, help="only the tests of this group; repeatable"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files without a selected test: each worker collects all tests."""
    tier, groups = config.getoption("--tier"), config.getoption("--group") or ()
    if not (tier or groups) or not collection_path.name.startswith("test_") or "sweeps" in groups:
        return None
    file = collection_path.relative_to(HERE).as_posix()
    group = tiers.group_of(file)
    if tier:
        is_selected = group is None and (tier == "test" or tiers.is_inner(file))
    else:
        is_selected = group in groups or "mark.group(" in collection_path.read_text(encoding="utf-8")
    return None if is_selected else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of a tier or of groups, and those of a share of the sweeps.

    Every property is a sweep, so that the whole run tries more examples. Tests marked `sweep(only_whole=True)` run
    only in the whole sweeps. AGENT_LS_SWEEPS_SHARE=1/3 leaves out two of three sweeps; 0/3 and 2/3 run the others.
    """
    for item in items:
        group = item.get_closest_marker("group")
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False) or (
            group and group.args[0] == "sweeps"
        ):
            item.add_marker("sweep")
    tier, groups = config.getoption("--tier"), config.getoption("--group")
    if tier or groups:
        _deselect(config, items, {item for item in items if not _is_selected(item, tier, groups or ())})
    if not is_whole:
        _deselect(config, items, {item for item in items if _is_only_whole(item)})
    part, _, parts = os.environ.get("AGENT_LS_SWEEPS_SHARE", "").partition("/")
    if parts:
        _deselect(config, items, {item for item in items if not _is_in_share(item, int(part), int(parts))})


def _is_selected(item: pytest.Item, tier: str | None, groups: Sequence[str]) -> bool:
    file = str(item.path).removeprefix(f"{HERE}/")
    marker = item.get_closest_marker("group")
    group = marker.args[0] if marker else tiers.group_of(file)
    if groups:
        return group in groups or ("sweeps" in groups and item.get_closest_marker("sweep") is not None)
    return group is None and (tier == "test" or tiers.is_inner(file))


def _is_in_share(item: pytest.Item, part: int, parts: int) -> bool:
    """Return whether this run includes the test: it is not a sweep, or the hash of its name belongs to the share.

    Only the name counts, so that a second run of the failed tests has the same share.
    """
    return not item.get_closest_marker("sweep") or zlib.crc32(item.nodeid.encode()) % parts == part


def _is_only_whole(item: pytest.Item) -> bool:
    return any(mark.kwargs.get("only_whole") for mark in item.iter_markers("sweep"))


def _deselect(config: pytest.Config, items: list[pytest.Item], others: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests with the garbage collector off. Later collections skip all objects that exist by then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the sweeps that would start after the Unix time AGENT_LS_SWEEPS_UNTIL."""
    until = int(os.environ.get("AGENT_LS_SWEEPS_UNTIL", "0"))
    if until and item.get_closest_marker("sweep") and time.time() > until:
        pytest.skip("the time for sweeps is over: run it by itself, with AGENT_LS_SWEEPS=whole")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # pygls runs on asyncio; agent-ls does not promise to support trio


@pytest.fixture
def _real_starts() -> Iterator[None]:
    with forked_programs.real_starts():
        yield


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield paths for new home folders. Making a `tmp_path` for each test would take longer than most tests."""
    parent = tmp_path_factory.mktemp("homes")
    return (f"{parent}/{number}" for number in count())


@pytest.fixture(autouse=True)
def _house(
    monkeypatch: pytest.MonkeyPatch, _homes: Iterator[str], request: pytest.FixtureRequest
) -> Iterator[None]:
    for name in REMOVED_VARIABLES.intersection(os.environ):
        monkeypatch.delenv(name)
    home = next(_homes)
    os.mkdir(home)
    monkeypatch.setenv("HOME", home)
    # The folders of earlier tests exclude the programs below them from all searches of this process.
    monkeypatch.setattr(program_lookup, "_WORKSPACES", set())
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, f"{home}/{name.lower()}")
    if request.node.get_closest_marker("real_start"):
        request.getfixturevalue("_real_starts")
    # Tests trust all workspaces. Tests of the trust decision remove this variable again.
    monkeypatch.setenv(TRUST_VARIABLE, Path(home).anchor)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    if services.IS_WANTED and request.node.get_closest_marker("smoke"):
        yield  # smoke tests use the network
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
