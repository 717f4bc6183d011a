"""Run the real command line in its own process, with a home and a state folder of the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support import REPOSITORY
from tests.support.loopback import LoopbackProvider

DEADLINE_S = 240


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events of a run with --json."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events if event["kind"] == kind]


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return a minimal environment in which every folder is trusted. Only PATH is that of the machine."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "AGENT_LS_STATE_DIR": str(home / "state"),
        TRUST_VARIABLE: os.sep,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }


PREFIXES = {
    "AnthropicServer": "ANTHROPIC",
    "OpenAIResponsesServer": "OPENAI",
    "GeminiServer": "GEMINI",
    "ChatServer": "DEEPSEEK",  # a service with the wire format of ChatServer and a default model
}


def provider_variables(server: LoopbackProvider, key: str = "test-key") -> dict[str, str]:
    prefix = PREFIXES[type(server).__name__]
    return {f"{prefix}_API_KEY": key, f"{prefix}_BASE_URL": server.base_url}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "agent_ls", *arguments]


def start(*arguments: str, cwd: Path, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> Finished:
    try:
        out, err = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"not done in {DEADLINE_S} s\n{out[-2000:]}\n{err[-2000:]}") from None
    return Finished(process.returncode, out, err)


def run(*arguments: str, cwd: Path, environ: Mapping[str, str]) -> Finished:
    return finish(start(*arguments, cwd=cwd, environ=environ))
