"""Where the programs of the rig are, how one is served on a free port, and how agent-ls is run against it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import REPOSITORY

RIG = REPOSITORY / ".tools" / "interop"
PYTHON = RIG / "python" / "bin" / "python"
NODE = REPOSITORY / ".tools" / "node" / "bin" / "node"
HERE = Path(__file__).parent

needs_rig = pytest.mark.skipif(
    not (RIG / ".ready").exists(), reason="needs programs of PyPI and npm (make test-interop sets them up)"
)

START_S = 240.0
"""The longest time that a server may take to answer its first request."""


def free_port() -> int:
    """Return a port of the loopback interface that was free a moment ago."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str | Path], log: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server while the context is entered; its standard error goes to `log`."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **variables},
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_served(url: str, process: subprocess.Popen[str]) -> None:
    """Wait until `url` answers with status 200. Fails if the process has ended or takes longer than START_S."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, f"{url} did not answer"
            time.sleep(0.2)  # between two looks at another program's port


@dataclass(frozen=True)
class Run:
    """A finished `agent-ls exec --json`. `events` are its events in order."""

    code: int
    events: tuple[dict[str, Any], ...]
    errors: str

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events if event["kind"] == kind]

    @property
    def text(self) -> str:
        return "".join(data["text"] for data in self.of_kind("assistant_text_end"))


def run_agent(
    folder: Path, *arguments: str, prompt: str, variables: Mapping[str, str], seconds: float = 120
) -> Run:
    """Run `agent-ls exec --json` in `folder` with keys and addresses from `variables`. Fails after `seconds`."""
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", "exec", "--json", *arguments, prompt],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    lines = [line for line in done.stdout.splitlines() if re.match(r"\{", line)]
    return Run(done.returncode, tuple(json.loads(line) for line in lines), done.stderr)
