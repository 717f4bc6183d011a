"""Measure in a real Chromium that changed words, buttons of approvals and names of files are in sight."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest

from tests.editors.test_panel import why_not
from tests.editors.vscode_rig import PICTURES, RIG
from tests.support import REPOSITORY

SCRIPT = Path(__file__).parent / "panel" / "approval.mjs"


@pytest.mark.req("H7", "H9")
@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.timeout(600)
async def test_changed_words_buttons_and_names_of_files_are_in_sight_at_every_width() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    given = {"sources": str(REPOSITORY / "vscode-extension"), "pictures": str(PICTURES), "rig": str(RIG)}
    process = await anyio.run_process(
        [str(RIG / "node/bin/node"), str(SCRIPT)],
        env={**os.environ, "APPROVAL": json.dumps(given)},
        stderr=None,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert len([it for it in lines if "lost" in it]) == 180
    assert [it for it in lines if it.get("lost")] == []
    rows = [row for it in lines for row in it.get("rows", ())]
    assert rows and not [row for row in rows if "other.txt" in row["text"]]
