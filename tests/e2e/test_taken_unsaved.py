"""A session is taken over while the agent's changes exist only in the unsaved text of the former owner's editor."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_owners import check_log, is_event, taken, wait_received
from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H3", "H6", "R4")


@pytest.mark.parametrize("how", ["asked", "forced"])
async def test_agent_changes_unsaved_in_the_former_owners_editor_are_reviewable_after_that_editor_saves(
    tmp_path: Path, how: str
) -> None:
    """The agent replaces a line and inserts one. The new owner's editor does not watch files."""
    edits = [
        ToolCall("read_file", {"file_path": "shop/cart.py"}),
        ToolCall(
            "edit_file", {"file_path": "shop/cart.py", "old_string": "def total", "new_string": "def sum"}
        ),
        ToolCall(
            "edit_file", {"file_path": "shop/cart.py", "old_string": "import", "new_string": "# new\nimport"}
        ),
    ]
    with AnthropicServer([[edit] for edit in edits] + ["Done."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            path = first.project / "shop" / "cart.py"
            path.write_text("# cart\nimport json\n\n\ndef total():\n    return json\n")
            await first.editor.open(path)
            await first.editor.type(path, 0, "# mine, not saved\n")
            session_id = await first.editor.new_session(provider="anthropic", mode="full")
            await first.editor.submit(session_id, "go")
            await first.client.event("processing_end")
            made = [hunk["id"] for file in await open_files(first, session_id) for hunk in file["hunks"]]
            assert len(made) == 2 and "def total" in path.read_text()
            await second.editor.subscribe(session_id)
            if how == "forced":
                os.kill(first.server.process.pid, signal.SIGSTOP)
            try:
                await taken(second, session_id, force=how == "forced")
            finally:
                os.kill(first.server.process.pid, signal.SIGCONT)
            warning = await second.client.event("warning", code="unsaved_elsewhere")
            assert "2 changes" in warning["data"]["message"] and "shop/cart.py" in warning["data"]["message"]
            assert f"process {first.server.process.pid}" in warning["data"]["message"]
            await wait_received(
                first, session_id, warning["seq"]
            )  # the user of the first editor gets the warning too
            assert not await open_files(second, session_id)

            await first.editor.save(path)
            await second.client.wait_for(is_event("hunk_state", path=str(path)), after=at(second, warning))
            (file,) = await open_files(second, session_id)
            assert {hunk["id"] for hunk in file["hunks"]} == set(made)
            assert {hunk["state"] for hunk in file["hunks"]} == {"pending"}
            await second.client.request(
                "agent/review", {"clientKey": new_key(), "verdict": "undo", "hunkIds": made}
            )
            assert (
                path.read_text()
                == "# mine, not saved\n# cart\nimport json\n\n\ndef total():\n    return json\n"
            )
            check_log(second, session_id)


async def open_files(found: Served, session_id: str) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = (await found.ask("hunks", session_id))["files"]
    return files


def at(found: Served, event: dict[str, Any]) -> int:
    """Return how many messages the client had received when it got this event."""
    return next(k for k, m in enumerate(found.client.received) if m.get("params") == event) + 1
