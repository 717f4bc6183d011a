"""A hunk that was undone and then restored by the editor's own undo stays open across a restart of the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.loopback.script import Answer
from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H6", "R3", "R4")

OLD, NEW = "a = 1\nb = 1\n", "a = 1\nb = 2\n"
SCRIPT: list[Answer] = [
    [ToolCall("read_file", {"file_path": "b.py"})],
    [ToolCall("edit_file", {"file_path": "b.py", "old_string": "b = 1", "new_string": "b = 2"})],
    "Done.",
    "I see.",
]


async def show(found: Served, path: Path, text: str) -> None:
    """Change the text as the editor's own undo or redo does."""
    document = found.editor.documents[path.as_uri()]
    document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text=text))
    await found.editor._changed(document, [{"text": text}])


async def review(found: Served, session_id: str, verdict: str) -> None:
    wanted = {"clientKey": new_key(), "verdict": verdict, "sessionId": session_id}
    assert (await found.client.request("agent/review", wanted))["refused"] == []


async def hunks(found: Served, session_id: str) -> list[tuple[str, str]]:
    files = (await found.client.request("agent/hunks", {"sessionId": session_id}))["files"]
    return [(hunk["id"], hunk["state"]) for file in files for hunk in file["hunks"]]


async def end(found: Served, how: str) -> None:
    if how == "orderly":
        await found.client.shut_down()
    else:
        found.server.process.kill()
    await found.server.exit_code()


@pytest.mark.parametrize("how", ["orderly", "killed"])
@pytest.mark.parametrize("is_saved", [True, False], ids=["saved", "unsaved"])
async def test_a_hunk_reopened_by_the_editors_undo_is_still_pending_after_a_restart(
    tmp_path: Path, how: str, is_saved: bool
) -> None:
    path = tmp_path / "project" / "b.py"
    path.parent.mkdir()
    path.write_text(OLD)
    with AnthropicServer(SCRIPT) as provider:
        async with served(tmp_path, provider=provider) as found:
            await found.editor.open(path)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.say(session_id, "go")
            ((hunk_id, _),) = await hunks(found, session_id)
            await review(found, session_id, "undo")
            await show(found, path, NEW)
            assert await hunks(found, session_id) == [(hunk_id, "pending")]
            if is_saved:
                await found.editor.save(path)
            await found.client.request(
                "agent/sessions"
            )  # all earlier messages are processed when this one is answered
            await end(found, how)
        async with served(tmp_path, provider=provider) as found:
            await found.editor.open(path, NEW)
            await found.editor.subscribe(session_id)
            assert await hunks(found, session_id) == [(hunk_id, "pending")]
            await found.editor.say(session_id, "And now?")
            last = str(provider.requests[-1].body["messages"][-1])
            assert "undo" not in last or "again" in last
            async with found.editor.doing_as_asked():
                await review(found, session_id, "undo")
            assert found.editor.documents[path.as_uri()].source == OLD
            assert await hunks(found, session_id) == []


@pytest.mark.parametrize("how", ["orderly", "killed"])
async def test_text_that_the_editor_restores_only_after_a_restart_is_a_user_change(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "project" / "b.py"
    path.parent.mkdir()
    path.write_text(OLD)
    with AnthropicServer(SCRIPT) as provider:
        async with served(tmp_path, provider=provider) as found:
            await found.editor.open(path)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.say(session_id, "go")
            await review(found, session_id, "undo")
            await end(found, how)
        async with served(tmp_path, provider=provider) as found:
            await found.editor.open(path, OLD)
            await found.editor.subscribe(session_id)
            assert await hunks(found, session_id) == []
            await show(found, path, NEW)
            # Only the running server knows the whole text before the decision. Without it, the editor's undo
            # looks like a user who types the same line.
            assert await hunks(found, session_id) == []
