"""A notebook that a client has open, over real stdio: read from the synced cells, and edited by the client (H15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.notebook_editor import READ, TEXT, NotebookEditor, edit, opened, results

pytestmark = pytest.mark.req("H15", "H4")


async def test_synced_notebook_cells_are_read_and_edits_are_sent_to_the_client(tmp_path: Path) -> None:
    script = (
        READ,
        edit(action="replace", cell="calc", old_string="2", source="3"),
        edit(action="insert", cell="1", source="new", kind="markdown"),
        edit(action="delete", cell="intro"),
    )
    async with opened(tmp_path, *script) as (notebook, session_id, path, provider):
        await notebook.type(1, "x = 2")
        await notebook.run_turn(session_id)

        assert [cell["text"] for cell in notebook.cells] == ["new", "x = 3", "as it is"]
        assert path.read_text() == TEXT, "what the editor has open is not written behind it"
        said = results(provider)
        assert (
            "cell 3 (raw, id rest" in said[0]
            and "x = 2" in said[0]
            and "cell 2" in said[1]
            and "deleted cell 1" in said[3]
        )
        changes = [e["data"] for e in notebook.editor.client.events if e["kind"] == "file_change"]
        assert [change["path"] for change in changes] == [str(path)] * 3 and changes[0]["hunks"]
        assert not any("raw" in str(change["hunks"]) for change in changes), "of cells that are as they were"

        await notebook.editor.client.request(
            "agent/review", {"clientKey": "k1", "sessionId": session_id, "verdict": "undo"}
        )
        with anyio.fail_after(240):
            while [cell["text"] for cell in notebook.cells] != ["# Title", "x = 2", "as it is"]:
                await notebook.editor.client.event("hunk_state")
        assert path.read_text() == TEXT


async def test_text_typed_right_after_a_notebook_change_belongs_to_the_user(tmp_path: Path) -> None:
    script = (READ, edit(action="replace", cell="2", source="y"))
    async with opened(tmp_path, *script) as (notebook, session_id, _, provider):
        notebook.types_behind = "# Typed"
        await notebook.run_turn(session_id)

        assert "cell 2" in results(provider)[1]
        assert [cell["text"] for cell in notebook.cells] == ["# Typed", "y", "as it is"]


async def test_after_an_invalid_notebook_change_notification_edits_are_refused_until_a_reopen(
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
        await notebook.run_turn(session_id)
        assert "open it again" in results(provider)[1]
        assert path.read_text() == TEXT and [cell["text"] for cell in notebook.cells][1] != "y"

        await notebook.close()
        await notebook.open()
        await notebook.editor.say(session_id, "go on")
        assert "cell 2" in results(provider)[4]
        assert notebook.cells[1]["text"] == "y"


@pytest.mark.parametrize("fault", ["refused", "lies", "cannot"])
async def test_a_notebook_edit_that_the_client_does_not_apply_is_reported_to_the_model(
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
        await notebook.run_turn(session_id)

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
        await notebook.run_turn(session_id)

        assert path.read_text() == TEXT.replace("x = 1", "y")


async def test_an_edit_of_an_unsaved_notebook_that_the_editor_does_not_sync_is_refused(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y")) as (
        notebook, session_id, path, provider,
    ):  # fmt: skip
        await notebook.close()
        await notebook.editor.client.notify("agent/editorState", {"unsynced": [notebook.uri]})
        await notebook.run_turn(session_id)

        assert "not share them" in results(provider)[1] and path.read_text() == TEXT


Part = tuple[int, list[int], list[str], list[str]]


def parts(hunks: list[dict[str, Any]]) -> list[Part]:
    return [
        (cell["cell"], cell["range"], cell["oldLines"], cell["newLines"])
        for hunk in hunks
        for cell in hunk.get("cells", ())
    ]


async def sent_hunks(notebook: NotebookEditor, count: int = 1) -> list[dict[str, Any]]:
    """Wait for the notification about this many hunks that names the cell documents as they are now."""
    now = [(cell["uri"], cell["version"]) for cell in notebook.cells]

    def is_current(message: dict[str, Any]) -> bool:
        if message.get("method") != "agent/hunksMoved" or message["params"]["uri"] != notebook.uri:
            return False
        hunks = message["params"]["hunks"]
        found = [cell for hunk in hunks for cell in hunk.get("cells", ())]
        named = [(cell.get("uri"), cell.get("version")) for cell in found]
        return len(hunks) == count and named == [now[cell["cell"]] for cell in found]

    message = await notebook.editor.client.wait_for(is_current)
    hunks: list[dict[str, Any]] = message["params"]["hunks"]
    return hunks


@pytest.mark.req("H9")
async def test_hunks_of_an_open_notebook_are_sent_with_cell_indexes_and_line_ranges(tmp_path: Path) -> None:
    script = (
        READ,
        edit(action="replace", cell="2", source="x = 1\ny = 2"),
        edit(action="insert", cell="2", source="import os"),
        edit(action="delete", cell="intro"),
    )
    async with opened(tmp_path, *script) as (notebook, session_id, _, _):
        await notebook.run_turn(session_id)
        texts = [cell["text"] for cell in notebook.cells]
        assert sorted(parts(await sent_hunks(notebook, count=3))) == [
            (0, [0, 0], ["# Title"], []),
            (texts.index("x = 1\ny = 2"), [1, 2], [], ["y = 2"]),
            (texts.index("import os"), [0, 1], [], ["import os"]),
        ]


@pytest.mark.req("H9")
async def test_typing_in_a_notebook_cell_updates_the_position_and_text_of_its_hunk(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y = 2")) as (
        notebook, session_id, _, _,
    ):  # fmt: skip
        await notebook.run_turn(session_id)
        (before,) = await sent_hunks(notebook)
        assert parts([before]) == [(1, [0, 1], ["x = 1"], ["y = 2"])]

        await notebook.type(0, "# Title\n\nMore.")
        await notebook.type(1, "z = 0\ny = 2")
        (moved,) = await sent_hunks(notebook)
        assert moved["id"] == before["id"] and moved["newRange"][0] > before["newRange"][0]
        assert parts([moved]) == [(1, [1, 2], ["x = 1"], ["y = 2"])]

        await notebook.type(1, "z = 0\ny = 20")
        (edited,) = await sent_hunks(notebook)
        assert edited["state"] == "edited" and parts([edited]) == [(1, [1, 2], ["x = 1"], ["y = 20"])]


@pytest.mark.req("H9")
async def test_hunks_include_cell_document_uris_after_the_notebook_is_opened(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y = 2")) as (
        notebook, session_id, _, _,
    ):  # fmt: skip
        client = notebook.editor.client
        await notebook.close()
        await notebook.run_turn(session_id)
        (file,) = (await client.request("agent/hunks", {"uri": notebook.uri}))["files"]
        assert parts(file["hunks"]) == [(1, [0, 1], ["x = 1"], ["y = 2"])]
        assert "uri" not in file["hunks"][0]["cells"][0]

        notebook.cells[1]["text"] = "y = 2"
        await notebook.open()
        assert parts(await sent_hunks(notebook)) == [(1, [0, 1], ["x = 1"], ["y = 2"])]


@pytest.mark.req("H9")
async def test_proposed_hunks_are_sent_with_the_cell_lines_that_they_would_replace(tmp_path: Path) -> None:
    change = edit(action="replace", cell="2", source="y = 2\nz = 3")
    async with opened(tmp_path, READ, change, review="before") as (notebook, session_id, path, _):
        client = notebook.editor.client
        await notebook.editor.submit(session_id, "go")
        (hunk,) = await sent_hunks(notebook)
        assert hunk["state"] == "proposed"
        assert parts([hunk]) == [(1, [0, 1], ["x = 1"], ["y = 2\n", "z = 3"])]

        await client.request("agent/review", {"clientKey": "k", "hunkIds": [hunk["id"]], "verdict": "keep"})
        await client.event("processing_end", reason="completed")
        assert notebook.cells[1]["text"] == "y = 2\nz = 3" and path.read_text() == TEXT


@pytest.mark.req("H9")
async def test_a_notebook_that_is_also_open_as_text_keeps_the_hunks_of_its_unsaved_cells(
    tmp_path: Path,
) -> None:
    """An editor opens the file as text to compare it, and the text on disk lacks the agent's change."""
    async with opened(tmp_path, READ, edit(action="replace", cell="2", source="y = 2")) as (
        notebook, session_id, path, _,
    ):  # fmt: skip
        await notebook.run_turn(session_id)
        await notebook.editor.open(path)
        await notebook.type(0, "# Typed")
        (hunk,) = await sent_hunks(notebook)
        assert hunk["state"] == "pending" and parts([hunk]) == [(1, [0, 1], ["x = 1"], ["y = 2"])]

        await notebook.editor.client.request(
            "agent/review", {"clientKey": "k", "hunkIds": [hunk["id"]], "verdict": "undo"}
        )
        assert [cell["text"] for cell in notebook.cells] == ["# Typed", "x = 1", "as it is"]
