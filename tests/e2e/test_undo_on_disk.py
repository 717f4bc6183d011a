"""An undo is also saved to disk where agent-ls has saved the agent's text, over real stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from lsprotocol import types as lsp

from tests.loopback.script import Answer
from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H4", "H6")

OLD, NEW = "a = 1\nb = 1\n", "a = 1\nb = 2\n"

READ: Answer = [ToolCall("read_file", {"file_path": "b.py"})]
EDIT: Answer = [ToolCall("edit_file", {"file_path": "b.py", "old_string": "b = 1", "new_string": "b = 2"})]
COMMAND: Answer = [ToolCall("shell", {"command": "cat b.py"})]
CREATE: Answer = [ToolCall("write_file", {"file_path": "new.py", "content": "new\n"})]


@asynccontextmanager
async def at_work(
    tmp_path: Path, script: list[Answer], **settings: Any
) -> AsyncIterator[tuple[Served, Path]]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "b.py").write_text(OLD)
    with AnthropicServer([*script, "done"]) as provider:
        async with (
            served(tmp_path, provider=provider, **settings) as found,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(found.editor.approve_all)
            tasks.start_soon(found.editor.do_as_asked)
            yield found, folder / "b.py"
            tasks.cancel_scope.cancel()


async def work(found: Served) -> str:
    session_id = await found.editor.new_session(provider="anthropic", mode="edits")
    await found.editor.submit(session_id, "go")
    await found.client.event("processing_end", reason="completed")
    return session_id


async def review(found: Served, verdict: str = "undo", **which: Any) -> dict[str, Any]:
    wanted = {"clientKey": new_key(), "verdict": verdict, **which}
    result: dict[str, Any] = await found.client.request("agent/review", wanted)
    assert result["refused"] == []
    return result


async def hunks(found: Served, session_id: str) -> list[tuple[str, str]]:
    files = (await found.client.request("agent/hunks", {"sessionId": session_id}))["files"]
    return [(hunk["id"], hunk["state"]) for file in files for hunk in file["hunks"]]


def buffer(found: Served, path: Path) -> str:
    return found.editor.documents[path.as_uri()].source


def warnings(found: Served) -> list[str]:
    return [e["data"]["message"] for e in found.client.events if e["data"].get("code") == "undone_unsaved"]


@pytest.mark.parametrize("by", ["session", "file", "turn", "hunk"])
async def test_undo_in_a_file_that_was_saved_before_a_command_is_saved_to_disk_too(
    tmp_path: Path, by: str
) -> None:
    async with at_work(tmp_path, [READ, EDIT, COMMAND]) as (found, path):
        await found.editor.open(path)
        session_id = await work(found)
        assert path.read_text() == NEW
        ((hunk_id, _),) = await hunks(found, session_id)
        turn_id = (await found.client.event("processing_end"))["turnId"]
        which = {
            "session": {"sessionId": session_id},
            "file": {"uri": path.as_uri()},
            "turn": {"turnId": turn_id},
            "hunk": {"hunkIds": [hunk_id]},
        }
        await review(found, **which[by])
        assert (path.read_text(), buffer(found, path)) == (OLD, OLD)
        assert warnings(found) == []


@pytest.mark.parametrize(("save", "on_disk"), [("auto", OLD), ("never", NEW)])
async def test_undo_in_a_closed_file_that_was_opened_later_is_saved_to_disk_or_warns(
    tmp_path: Path, save: str, on_disk: str
) -> None:
    async with at_work(tmp_path, [READ, EDIT], save=save) as (found, path):
        session_id = await work(found)
        assert path.read_text() == NEW
        await found.editor.open(path)
        await review(found, sessionId=session_id)
        assert (path.read_text(), buffer(found, path)) == (on_disk, OLD)
        assert len(warnings(found)) == (save == "never")


async def test_undo_of_a_created_file_that_was_opened_later_deletes_it(tmp_path: Path) -> None:
    async with at_work(tmp_path, [CREATE]) as (found, path):
        session_id = await work(found)
        await found.editor.open(path.with_name("new.py"))
        await review(found, sessionId=session_id)
        assert not path.with_name("new.py").exists()


async def test_roll_back_of_a_file_that_was_saved_before_a_command_is_saved_to_disk_too(
    tmp_path: Path,
) -> None:
    async with at_work(tmp_path, [READ, EDIT, COMMAND]) as (found, path):
        await found.editor.open(path)
        session_id = await work(found)
        turn_id = (await found.client.event("user_input"))["turnId"]
        await found.change("revert", session_id, atTurnId=turn_id)
        assert (path.read_text(), buffer(found, path)) == (OLD, OLD)


async def test_undo_next_to_unsaved_user_text_saves_nothing_and_warns(tmp_path: Path) -> None:
    async with at_work(tmp_path, [READ, EDIT, COMMAND]) as (found, path):
        await found.editor.open(path)
        session_id = await work(found)
        await found.editor.type(path, 0, "# mine\n")
        await review(found, sessionId=session_id)
        assert (path.read_text(), buffer(found, path)) == (NEW, "# mine\n" + OLD)
        (message,) = warnings(found)
        assert "b.py" in message and "save it there" in message


async def test_undo_is_not_saved_to_disk_unless_agent_ls_saved_the_change(tmp_path: Path) -> None:
    async with at_work(tmp_path, [READ, EDIT]) as (found, path):
        await found.editor.open(path)
        session_id = await work(found)
        assert path.read_text() == OLD
        await found.editor.save(path)
        await review(found, sessionId=session_id)
        assert (path.read_text(), buffer(found, path)) == (NEW, OLD)
        assert warnings(found) == []


async def show(found: Served, path: Path, text: str) -> None:
    """Change the text as the editor's own undo or redo does."""
    document = found.editor.documents[path.as_uri()]
    document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text=text))
    await found.editor._changed(document, [{"text": text}])


async def test_a_hunk_undone_and_then_restored_by_the_editors_undo_is_pending_again(tmp_path: Path) -> None:
    more: Answer = [
        ToolCall("edit_file", {"file_path": "b.py", "old_string": "a = 1", "new_string": "a = 2"})
    ]
    async with at_work(tmp_path, [READ, EDIT, more]) as (found, path):
        await found.editor.open(path)
        session_id = await work(found)
        (first, _), (second, _) = await hunks(found, session_id)
        both = buffer(found, path)
        await review(found, hunkIds=[first])
        one = buffer(found, path)
        await review(found, hunkIds=[second])
        assert await hunks(found, session_id) == []

        await show(found, path, one)
        assert await hunks(found, session_id) == [(second, "pending")]
        await show(found, path, both)
        assert await hunks(found, session_id) == [(first, "pending"), (second, "pending")]
        changes = [e["data"] for e in found.client.events if e["kind"] == "hunk_state"]
        assert [hunk["id"] for hunk in changes[-1]["hunks"]] == [first] and changes[-1]["by"] == "editor"

        await show(found, path, one)
        assert await hunks(found, session_id) == [(second, "pending")]
        await show(found, path, both)
        await review(found, sessionId=session_id)
        assert buffer(found, path) == OLD
        await show(found, path, "b = 2\n")
        assert await hunks(found, session_id) == [], "another text with the agent's line is the user's own"
