"""The panel in a real Chromium, used by keyboard only, next to a session that an editor owns. Saves screenshots to
build/screenshots.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.panel.page import FOLDER
from tests.editors.vscode_rig import PICTURES, RIG
from tests.support import REPOSITORY
from tests.support.panel import panel
from tests.support.served import TASK, served

AXE = REPOSITORY / "vscode-extension/node_modules/axe-core/axe.min.js"
STORY = Path(__file__).parent / "panel" / "story.mjs"


def why_not() -> str:
    if not (RIG / "stamp").exists():
        return "needs the browser driver of the VS Code workbench (make test-editors sets it up where it may)"
    if not (FOLDER / "panel.js").exists() or not AXE.exists():
        return "needs the built page (make panel-page)"
    return "" if shutil.which("chromium") else "needs chromium (make test-editors installs it where it may)"


pytestmark = [
    pytest.mark.req("H29"),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.timeout(600),
]


async def play(link: str) -> list[dict[str, Any]]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    story = {"link": link, "pictures": str(PICTURES), "rig": str(RIG), "axe": str(AXE)}
    process = await anyio.run_process(
        [str(RIG / "node/bin/node"), str(STORY)],
        env={**os.environ, "PANEL_STORY": json.dumps(story)},
        stderr=None,
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


async def test_a_panel_user_decides_approvals_of_an_editor_session_by_keyboard(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        path = found.project / "shop" / "cart.py"
        before = path.read_text()
        document = await found.editor.open(path)
        session = await found.editor.new_session()
        await found.editor.submit(session, TASK)
        await found.client.event("approval_requested")
        async with panel(found.state, found.project) as running:
            lines = await play(f"{running.origin}/open?token={running.token}")
        assert not [line["problem"] for line in lines if "problem" in line]
        assert lines[-1] == {"done": True, "hosts": [f"127.0.0.1:{running.port}"], "problems": []}
        titles = [line["title"] for line in lines if "title" in line]
        assert titles[0].startswith("● asks you")
        (changes,) = [line["changes"] for line in lines if "changes" in line]
        assert changes >= 1
        decided = [event for event in found.client.events if event["kind"] == "approval_resolved"]
        by = {event["data"]["decidedBy"].partition("-")[0] for event in decided}
        assert by == {"panel", "interrupt"}, "the page allowed some, and stopped the turns of others"
        sent = [event for event in found.client.events if event["kind"] == "user_input"]
        assert "shop/cart.py" in json.dumps(sent[-1]["data"]), "the mentioned file went along"
        (prompt,) = [line["rolledBack"] for line in lines if "rolledBack" in line]
        assert prompt == "Look at @shop/cart.py "
        assert "reverted" in {event["kind"] for event in found.client.events}
        # the first change is kept in the editor's document, the others are undone there
        assert document.source != before
