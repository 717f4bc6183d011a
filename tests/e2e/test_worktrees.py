"""A session in a git worktree over real stdio: its changes become hunks in the editor's unsaved text."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H23")


def commit_all(folder: Path) -> None:
    git = ["git", "-c", "user.name=Jo", "-c", "user.email=jo@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True, capture_output=True)


async def say(found: Served, session_id: str, words: str) -> None:
    seen = len(found.client.received)
    await found.change("submit", session_id, input=[{"type": "text", "text": words}])
    await found.client.wait_for(lambda m: m.get("params", {}).get("kind") == "processing_end", after=seen)


async def test_worktree_changes_are_applied_to_the_folder_after_the_turn_and_later_changes_on_request(
    tmp_path: Path,
) -> None:
    made: dict[str, Any] = {"file_path": "made.txt", "content": "made\n"}
    script: list[Answer] = [[ToolCall("write_file", made)], "Done."]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            commit_all(found.project)
            session_id = await found.editor.new_session(
                provider="anthropic", mode="edits", worktree="current"
            )
            listed = (await found.client.request("agent/sessions", {"running": True}))["sessions"]
            assert [(it["id"], it["activity"]) for it in listed] == [(session_id, "idle")]
            worktree = Path(listed[0]["worktree"].removeprefix("file://"))
            assert worktree.is_relative_to(found.state / "worktrees")

            await say(found, session_id, "make a file")

            assert (found.project / "made.txt").read_text() == "made\n"
            hunks = (await found.client.request("agent/hunks", {"sessionId": session_id}))["files"]
            assert [it["uri"] for it in hunks] == [(found.project / "made.txt").as_uri()]
            (worktree / "more.txt").write_text("more\n")
            brought = await found.change("bringChanges", session_id)
            assert brought["files"] == [
                {"uri": (found.project / "more.txt").as_uri(), "state": "brought", "reason": ""}
            ]
            assert (await found.change("bringChanges", session_id))["files"] == []

            plain = await found.editor.new_session(provider="anthropic")
            refused = await found.refused("bringChanges", plain)
            assert "in your folder" in str(refused)
