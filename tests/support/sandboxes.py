"""Real sandboxes for the folder of a test. A test that needs one is skipped if the system does not support it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from agent_ls.confinement.confine import unavailable
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.policy.places import Places
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.settings.model import SandboxSettings

needs_bubblewrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="bubblewrap (bwrap) is not installed, so this run does not test it",
)


needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or bool(unavailable()),
    reason="this kernel does not support Landlock version 3, so this run does not test it",
)


def make_sandbox(
    root: Path, state: Path, events: list[RecordedEvent] | None = None, **settings: object
) -> SessionSandbox:
    """Return a session's sandbox, which appends its events to `events`.

    It replaces a temporary folder of the test, because replacing /tmp would hide the folders of tests.
    """
    (root.parent / "tmp").mkdir(exist_ok=True)
    recorded: list[RecordedEvent] = events if events is not None else []
    places = Places((str(root.resolve()),), str(Path.home().resolve()))
    chosen = SandboxSettings.model_validate({"enabled": True, **settings})
    return SessionSandbox(
        chosen,
        lambda: places,
        str(state),
        recorded.append,
        ReadOnlySandbox(state),
        replaced=(str(root.parent / "tmp"),),
    )
