"""A document that is too large to be read: the server and the session continue, and the model gets the
reason.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from tests.support.framed_client import is_event
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.notebook_editor import READ, NotebookEditor, edit, opened, results
from tests.support.served import Served, served_session

pytestmark = pytest.mark.req("H4", "H15", "R5")

LARGE = "x" * (70 * 1024 * 1024)
NAME = "notes.txt"


def steps(path: Path) -> list[list[ToolCall]]:
    return [
        [ToolCall("read_file", {"file_path": str(path)})],
        [ToolCall("write_file", {"file_path": str(path), "content": "the agent's\n"})],
    ]


@asynccontextmanager
async def opened_file(tmp_path: Path) -> AsyncIterator[tuple[Served, str, Path]]:
    """Yield a session that reads and writes a file which is open in the editor, with the file's path."""
    path = tmp_path / "project" / NAME
    with AnthropicServer([*steps(path), "Done."]) as provider:
        async with served_session(tmp_path, provider, mode="full") as (found, session_id):
            path.write_text("on disk\n")
            await found.editor.open(path)
            yield found, session_id, path


async def outputs(found: Served, session_id: str, text: str) -> list[tuple[bool, str]]:
    """Return for each call of the turn whether it failed, and its output."""
    start = len(found.client.received)
    await found.editor.submit(session_id, text)
    await found.client.wait_for(is_event("processing_end"), after=start)
    ends = [m["params"]["data"] for m in found.client.received[start:] if is_event("tool_call_end")(m)]
    return [(end["isError"], end["output"]) for end in ends]


CHANGES: dict[str, dict[str, Any]] = {
    "the whole text": {"text": LARGE},
    "text in a line": {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "text": LARGE,
    },
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_document_that_a_change_makes_too_large_is_neither_read_nor_written(
    name: str, tmp_path: Path
) -> None:
    async with opened_file(tmp_path) as (found, session_id, path):
        named = {"uri": path.as_uri(), "version": 2}
        change = {"textDocument": named, "contentChanges": [CHANGES[name]]}
        await found.client.notify("textDocument/didChange", change)
        shown = await found.client.wait_for(lambda m: m.get("method") == "window/showMessage")
        assert f"{NAME} is too large" in shown["params"]["message"]
        for is_error, output in await outputs(found, session_id, "Write it."):
            assert is_error and "too large" in output
        assert path.read_text() == "on disk\n"


async def test_a_too_large_document_is_edited_again_after_a_small_full_text_is_received(
    tmp_path: Path,
) -> None:
    async with opened_file(tmp_path) as (found, session_id, path):
        document = found.editor.documents[path.as_uri()]
        for version, text in ((2, LARGE), (3, "typed\n")):
            named = {"uri": path.as_uri(), "version": version}
            change = {"textDocument": named, "contentChanges": [{"text": text}]}
            await found.client.notify("textDocument/didChange", change)
        document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text="typed\n"))
        document.version = 3
        read, written = await outputs(found, session_id, "Write it.")
        assert not read[0] and "typed" in read[1]
        assert not written[0] and document.source == "the agent's\n"


async def test_a_partial_change_after_a_too_large_change_does_not_make_the_document_editable(
    tmp_path: Path,
) -> None:
    async with opened_file(tmp_path) as (found, session_id, path):
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        for version, text in ((2, LARGE), (3, "y")):
            named = {"uri": path.as_uri(), "version": version}
            change = {"textDocument": named, "contentChanges": [{"range": where, "text": text}]}
            await found.client.notify("textDocument/didChange", change)
        for is_error, output in await outputs(found, session_id, "Write it."):
            assert is_error and "too large" in output
        assert path.read_text() == "on disk\n"


async def expect_too_large_notice(
    notebook: NotebookEditor, session_id: str, provider: AnthropicServer
) -> None:
    """Check that the user and the model are informed that the notebook is too large, and that the file is unchanged."""
    before = notebook.path.read_text()
    client = notebook.editor.client
    shown = await client.wait_for(lambda m: m.get("method") == "window/showMessage")
    assert "a.ipynb is too large" in shown["params"]["message"]
    await notebook.editor.submit(session_id, "Edit it.")
    assert (await client.event("processing_end"))["data"]["reason"] == "completed"
    assert [("too large for agent-ls" in result) for result in results(provider)] == [True, True]
    assert notebook.path.read_text() == before


async def test_a_notebook_that_grows_too_large_is_neither_read_nor_written(tmp_path: Path) -> None:
    change = edit(action="replace", cell="2", source="x = 2")
    async with opened(tmp_path, READ, change) as (notebook, session_id, _, provider):
        await notebook.type(1, LARGE)
        await expect_too_large_notice(notebook, session_id, provider)


async def test_a_notebook_that_is_too_large_when_opened_is_not_edited_on_disk_while_open(
    tmp_path: Path,
) -> None:
    change = edit(action="replace", cell="2", source="x = 2")
    small = edit(action="replace", cell="2", source="x = 3")
    async with opened(tmp_path, READ, change, "Done.", READ, small) as (notebook, session_id, path, provider):
        await notebook.close()
        cell = notebook.cells[1]
        was, cell["text"] = cell["text"], LARGE
        await notebook.open()
        await expect_too_large_notice(notebook, session_id, provider)
        await notebook.close()  # after closing, the file on disk counts again
        cell["text"] = was
        start = len(notebook.editor.client.received)
        await notebook.editor.submit(session_id, "Edit it now.")
        await notebook.editor.client.wait_for(is_event("processing_end"), after=start)
        assert json.loads(path.read_text())["cells"][1]["source"] in ("x = 3", ["x = 3"])
