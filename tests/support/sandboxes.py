"""Sandboxes of the real system around a test's folder. Without a sandbox program the test is skipped with a
reason."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from agent_ls.app.permissions.looking import LookingSandbox
from agent_ls.app.permissions.sandbox import SessionSandbox
from agent_ls.app.settings.model import SandboxSettings
from agent_ls.confinement.confine import unavailable
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.policy.places import Places

needs_bubblewrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="bubblewrap (bwrap) is not installed: what it confines is not shown by this run",
)


needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or bool(unavailable()),
    reason="this kernel has no Landlock of version 3: what it confines is not shown by this run",
)


def make_sandbox(
    root: Path, state: Path, told: list[RecordedEvent] | None = None, **settings: object
) -> SessionSandbox:
    """Return a session's sandbox. Its folder for temporary files is the test's own, because the real one
    would hide the folders of tests."""
    (root.parent / "tmp").mkdir(exist_ok=True)
    heard: list[RecordedEvent] = told if told is not None else []
    places = Places((str(root.resolve()),), str(Path.home().resolve()))
    chosen = SandboxSettings.model_validate({"enabled": True, **settings})
    return SessionSandbox(
        chosen,
        lambda: places,
        str(state),
        heard.append,
        LookingSandbox(state),
        replaced=(str(root.parent / "tmp"),),
    )
