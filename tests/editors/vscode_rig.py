"""Play a script of tests/editors/vscode in a real VS Code workbench, with this test as its model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import REPOSITORY
from tests.support.loopback import LoopbackProvider

SCRIPTS = REPOSITORY / "tests/editors/vscode"
PICTURES = REPOSITORY / "build/screenshots"
CACHE = os.environ.get("AGENT_LS_EDITORS_CACHE") or str(Path.home() / ".cache/agent-ls-editors")
RIG = Path(CACHE) / "vscode"
DEADLINE_S = 560
KEY = "sk-of-the-test"


def why_not() -> str:
    """Return why no workbench can be driven here; "" if one can."""
    if not os.environ.get("AGENT_LS_VSIX"):
        return "a browser at a time, with the packed extension: run by make test-editors"
    if not (RIG / "stamp").exists():
        return "needs a VS Code workbench (make test-editors sets one up where it may)"
    return "" if shutil.which("chromium") else "needs chromium (make test-editors installs it where it may)"


MARKS = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.timeout(DEADLINE_S + 60),
]


def machine(model: LoopbackProvider, **settings: Any) -> dict[str, Any]:
    """Return settings with which sessions use this model, and the server of the repository instead of the packed
    one.
    """
    return {
        "agentLs.command": [str(Path(sys.executable).parent / "agent-ls")],
        "agentLs.provider": "anthropic",
        "agentLs.providers": {"anthropic": {"baseUrl": model.base_url}},
        **{f"agentLs.{name}": value for name, value in settings.items()},
    }


def variables(state: Path, **more: str) -> dict[str, str]:
    """Return the environment of a user with a key, whose sessions are stored in `state`."""
    return {"AGENT_LS_STATE_DIR": str(state), "ANTHROPIC_API_KEY": KEY, **more}


def play(
    script: str,
    project: Path,
    *,
    machine: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    trust: bool = False,
    answers: Mapping[str, Callable[..., Any]] | None = None,
    pictures: str = "",
) -> str:
    """Run the script to its end and return its output. Screenshots go to build/screenshots/SCRIPT, or to `pictures`.

    `machine` has settings of scope machine, `settings` those of the user. `answers` are functions that the script
    calls with a name and arguments; they return JSON.
    """
    folder = PICTURES / (pictures or Path(script).stem)
    stage = {
        "vsix": os.environ["AGENT_LS_VSIX"],
        "project": str(project),
        "pictures": str(folder),
        "machine": dict(machine or {}),
        "settings": dict(settings or {}),
        "env": dict(env or {}),
        "trust": trust,
    }
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "AGENT_LS_VSCODE_RIG": str(RIG),
        "AGENT_LS_CHROMIUM": shutil.which("chromium") or "",
        "AGENT_LS_STAGE": json.dumps(stage),
    }
    process = subprocess.Popen(
        [str(RIG / "node/bin/node"), str(SCRIPTS / script)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    timer = threading.Timer(DEADLINE_S, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        said = _converse(process, answers or {})
        code = process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()
    sys.stdout.write(said)
    assert code == 0, f"{script} failed; pictures and logs are in {folder}\n{said[-4000:]}"
    return said


def _converse(process: subprocess.Popen[str], answers: Mapping[str, Callable[..., Any]]) -> str:
    assert process.stdin is not None and process.stdout is not None
    said = []
    for line in process.stdout:
        if not line.startswith("@"):
            said.append(line)
            continue
        question = json.loads(line[1:])
        try:
            reply = {"id": question["id"], "result": answers[question["what"]](*question["args"])}
        except Exception as error:  # the script raises this error again, and keeps its screenshots
            reply = {"id": question["id"], "error": repr(error)}
        process.stdin.write(json.dumps(reply) + "\n")
        process.stdin.flush()
    return "".join(said)
