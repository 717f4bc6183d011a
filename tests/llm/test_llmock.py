"""Run agent-ls against llmock, a third-party server that breaks answers on purpose, and compare its findings.

llmock counts repeated requests. An answer that breaks off after its first words is kept and not requested
again (docs/providers.md, Errors and limits), so for these its finding is expected, and the session reports
the failure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.loop.events.types import AssistantTextEnd, Error, ProcessingEnd

pytestmark = pytest.mark.req("U8", "R1", "R5")

VERSION = "0.2.2"
PROGRAM = "from llmock.cli import app; app()"

WIRES = {
    "openai": ("OPENAI", "/v1", "gpt-6.1-sol"),
    "anthropic": ("ANTHROPIC", "/anthropic", "claude-sonnet-4-5"),
    "gemini": ("GEMINI", "/gemini", "gemini-4-argon"),
    "mistral": ("MISTRAL", "/mistral/v1", "mistral-large-latest"),
}
LONG = " ".join(f"word{number}" for number in range(100))
BROKEN = ("truncate", "disconnect", "malformed")
EXPLAINED = {
    "truncate": ["truncated_stream_accepted"],
    "disconnect": ["gave_up"],
    "malformed": ["malformed_chunk_ignored"],
}
"""Findings for answers that broke off after their first words: the same request was not repeated."""


@pytest.fixture(scope="session")
def llmock_folder() -> Path:
    """Return the folder in which llmock is installed; the first run installs it if the registry is reachable."""
    tools = Path(__file__).parents[2] / ".tools"
    folder = tools / f"llmock-{VERSION}"
    if not folder.exists():
        tools.mkdir(exist_ok=True)
        made = tempfile.mkdtemp(dir=tools)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--only-binary", ":all:"]
        options = ["--retries", "0", "--timeout", "15", "--target", made, f"llmock=={VERSION}"]
        done = subprocess.run([*install, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(made)
            pytest.skip(f"llmock cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
        try:
            os.rename(made, folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder


@dataclass(frozen=True)
class Mock:
    base: str

    def call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}/_llmock/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=240) as answer:
            return json.load(answer)

    def plan(self, *behaviors: dict[str, Any]) -> None:
        self.call("reset", {})
        self.call("scenario", {"behaviors": behaviors})

    def findings(self) -> list[str]:
        return sorted(finding["code"] for finding in self.call("verdict")["findings"])

    def attempts(self) -> int:
        return int(self.call("verdict")["attempts"])


@pytest.fixture(scope="module")
def mock(llmock_folder: Path) -> Iterator[Mock]:
    arguments = ["serve", "--port", "0", "--tool-mode", "off"]
    environ = {**os.environ, "PYTHONPATH": str(llmock_folder), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(r"running on (http://[\d.]+:\d+)", line):
            break
    else:
        raise AssertionError(f"llmock did not start:\n{''.join(lines)}")
    yield Mock(found[1])
    process.kill()
    process.communicate()


@dataclass(frozen=True)
class Turn:
    reason: str
    errors: list[Error]
    texts: list[str]


async def turn(session: agent_ls.AgentSession, text: str) -> Turn:
    found = [event.data async for event in session.run(text)]
    (end,) = [it for it in found if isinstance(it, ProcessingEnd)]
    errors = [it for it in found if isinstance(it, Error)]
    return Turn(end.reason, errors, [it.text for it in found if isinstance(it, AssistantTextEnd)])


@pytest.fixture
def given(tmp_path: Path, mock: Mock, monkeypatch: pytest.MonkeyPatch, wire: str) -> dict[str, Any]:
    prefix, path, model = WIRES[wire]
    monkeypatch.setenv(f"{prefix}_API_KEY", "sk-test")
    monkeypatch.setenv(f"{prefix}_BASE_URL", mock.base + path)
    folder = tmp_path / "project"
    folder.mkdir()
    return {"folder": folder, "state_dir": tmp_path / "state", "provider": wire, "model": model}


def fault(kind: str, after_chunks: int) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_breaks_off_after_its_first_words_is_kept_and_reported(
    given: dict[str, Any], mock: Mock, kind: str
) -> None:
    mock.plan({"type": "reply", "text": LONG}, fault(kind, 8))
    async with agent_ls.open_session(**given) as session:
        broken = await turn(session, "Say something long.")
        assert broken.reason == "error"
        assert [error.action for error in broken.errors] == ["continue"]
        assert mock.findings() == EXPLAINED[kind]  # not requested again; the user has seen that it broke off
        again = await turn(session, "Continue.")
        assert again.reason == "completed" and again.texts
        (begun,) = broken.texts
        assert begun and mock.attempts() == 2


@pytest.mark.parametrize("kind", ["truncate", "disconnect"])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_breaks_off_before_its_first_words_is_requested_again(
    given: dict[str, Any], mock: Mock, kind: str
) -> None:
    mock.plan(fault(kind, 0))
    async with agent_ls.open_session(**given) as session:
        assert (await turn(session, "Say something long.")).reason == "completed"
    assert mock.findings() == [] and mock.attempts() == 2


@pytest.mark.parametrize(("status", "attempts"), [(403, 1), (401, 1), (429, 2), (503, 2)])
@pytest.mark.parametrize("wire", WIRES)
async def test_refused_requests_are_retried_only_for_retryable_http_statuses(
    given: dict[str, Any], mock: Mock, status: int, attempts: int
) -> None:
    retry_after = {"retry_after": 1} if status == 429 else {}
    mock.plan({"type": "fail", "status": status, **retry_after})
    async with agent_ls.open_session(**given) as session:
        assert (await turn(session, "Hello.")).reason == ("completed" if attempts > 1 else "error")
    assert mock.findings() == [] and mock.attempts() == attempts
