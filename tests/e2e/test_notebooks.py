"""A notebook that a client has open, over real stdio: read from the synced cells, and edited by the client (H15)."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.support.notebook_editor import READ, TEXT, edit, opened, results

pytestmark = pytest.mark.req("H15", "H4")


async def test_cells_are_read_as_they_are_synced_and_changed_by_the_client(tmp_path: Path) -> None:
    script = (
        READ,
        edit(action="replace", cell="calc", old_string="2", source="3"),
        edit(action="insert", cell="1", source="new", kind="markdown"),
        edit(action="delete", cell="intro"),
    )
    async with opened(tmp_path, *script) as (notebook, session_id, path, provider):
        await notebook.type(1, "x = 2")
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        assert [cell["text"] for cell in notebook.cells] == ["new", "x = 3", "as it is"]
        assert path.read_text() == TEXT, "what the editor has open is not written behind it"
        said = results(provider)
        assert (
            "cell 3 (raw, id rest" in said[0]
            and "x = 2" in said[0]
            and "replaced the source of cell 2" in said[1]
            and "deleted cell 1" in said[3]
        )
        changes = [e["data"] for e in notebook.editor.client.events if e["kind"] == "file_change"]
        assert [change["path"] for change in changes] == [str(path)] * 3 and changes[0]["hunks"]
        assert not any("raw" in str(change["hunks"]) for change in changes), "of cells that are as they were"

        await notebook.editor.client.request(
            "agent/review", {"clientKey": "k1", "sessionId": session_id, "verdict": "undo"}
        )
        with anyio.fail_after(30):
            while [cell["text"] for cell in notebook.cells] != ["# Title", "x = 2", "as it is"]:
                await notebook.editor.client.event("hunk_state")
        assert path.read_text() == TEXT


async def test_text_typed_right_after_a_notebook_change_belongs_to_the_user(tmp_path: Path) -> None:
    script = (READ, edit(action="replace", cell="2", source="y"))
    async with opened(tmp_path, *script) as (notebook, session_id, _, provider):
        notebook.types_behind = "# Typed"
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        assert "replaced the source of cell 2" in results(provider)[1]
        assert [cell["text"] for cell in notebook.cells] == ["# Typed", "y", "as it is"]


async def test_after_an_unreadable_change_a_notebook_is_not_changed_until_reopened(
    tmp_path: Path,
) -> None:
    change = edit(action="replace", cell="2", source="y")
    async with opened(tmp_path, READ, change, "Not yet.", READ, change) as (
        notebook,
        session_id,
        path,
        provider,
    ):
        await notebook.tell_nonsense()
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")
        assert "open it again" in results(provider)[1]
        assert path.read_text() == TEXT and [cell["text"] for cell in notebook.cells][1] != "y"

        await notebook.close()
        await notebook.open()
        client, seen = notebook.editor.client, len(notebook.editor.client.received)
        await notebook.editor.submit(session_id, "go on")
        await client.wait_for(
            lambda message: message.get("params", {}).get("kind") == "processing_end", after=seen
        )
        assert "replaced the source of cell 2" in results(provider)[4]
        assert notebook.cells[1]["text"] == "y"


@pytest.mark.parametrize("fault", ["refused", "lies", "cannot"])
async def test_notebook_edits_that_the_client_omits_are_reported_and_nothing_is_lost(
    tmp_path: Path, fault: str
) -> None:
    script = (READ, edit(action="replace", cell="2", source="y"))
    async with opened(tmp_path, *script, notebooks=fault != "cannot") as (
        notebook,
        session_id,
        path,
        provider,
    ):
        notebook.error = "it is read only" if fault == "refused" else ""
        notebook.lies = fault == "lies"
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        words = {
            "refused": "read only",
            "lies": "did not show the change",
            "cannot": "cannot change notebooks",
        }
        assert words[fault] in results(provider)[1]
        assert [cell["text"] for cell in notebook.cells] == [
            "# Title",
            "x = 1",
            "as it is",
        ] and path.read_text() == TEXT


async def test_a_notebook_that_was_closed_is_changed_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y")) as (
        notebook, session_id, path, _,
    ):  # fmt: skip
        await notebook.close()
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        assert path.read_text() == TEXT.replace("x = 1", "y")


async def test_a_notebook_that_is_dirty_and_not_synced_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y")) as (
        notebook, session_id, path, provider,
    ):  # fmt: skip
        await notebook.close()
        await notebook.editor.client.notify("agent/editorState", {"unsynced": [notebook.uri]})
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        assert "does not share with agent-ls" in results(provider)[1] and path.read_text() == TEXT
