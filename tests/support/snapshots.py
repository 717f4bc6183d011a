"""Compare a text with a file under version control. AGENT_LS_UPDATE_SNAPSHOTS=1 writes the file again."""

from __future__ import annotations

import os
from pathlib import Path


def check_snapshot(path: Path, text: str) -> None:
    """Assert that the file has this text."""
    if os.environ.get("AGENT_LS_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    assert path.read_text(encoding="utf-8") == text, (
        f"{path.name} differs; AGENT_LS_UPDATE_SNAPSHOTS=1 updates it"
    )
