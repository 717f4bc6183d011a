"""Walls of the real system around a folder of the test's; without a program for them a test is skipped and says so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from agent_ls.app.settings import SandboxSettings
from agent_ls.app.walls import SessionWalls
from agent_ls.environments.local import landlock
from agent_ls.loop.events import RecordedEvent
from agent_ls.policy.places import Places

needs_bubblewrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="bubblewrap (bwrap) is not installed: what it confines is not shown by this run",
)


@lru_cache(maxsize=1)
def _has_landlock() -> bool:
    wanted = json.dumps({"writable": [], "hidden": [], "network": False})
    command = [sys.executable, "-I", "-S", landlock.__file__, wanted, "true"]
    return (
        sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


needs_landlock = pytest.mark.skipif(
    not _has_landlock(),
    reason="this kernel has no Landlock of version 3: what it confines is not shown by this run",
)


def walls(
    root: Path, state: Path, told: list[RecordedEvent] | None = None, **settings: object
) -> SessionWalls:
    """The place for temporary files is the test's own: where tests work would be hidden by the real one."""
    (root.parent / "tmp").mkdir(exist_ok=True)
    heard: list[RecordedEvent] = told if told is not None else []
    places = Places((str(root.resolve()),), str(Path.home().resolve()))
    chosen = SandboxSettings.model_validate({"enabled": True, **settings})
    return SessionWalls(
        chosen, lambda: places, str(state), heard.append, replaced=(str(root.parent / "tmp"),)
    )
