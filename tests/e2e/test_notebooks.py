"""A notebook that a client has open, over real stdio: read as it is synced, changed by the client (H15)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, RICH, server_process
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H15", "H4")

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
    {
        "cell_type": "code",
        "execution_count": 1,
        "id": "calc",
        "metadata": {},
        "outputs": [],
        "source": ["x = 1"],
    },
]
TEXT = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
READ = [ToolCall("read_file", {"file_path": "a.ipynb"})]


def edit(**arguments: str) -> list[ToolCall]:
    return [ToolCall("edit_notebook", {"file_path": "a.ipynb", **arguments})]


class NotebookEditor:
    """The client's part: cells as it has them, and what it does when it is asked to change them."""

    def __init__(self, editor: Editor, path: Path) -> None:
        self.editor = editor
        self.uri = path.as_uri()
        self.version = 1
        self.made = 0
        self.cells = [
            self._cell(2 if cell["cell_type"] == "code" else 1, cell["source"][0], cell["id"])
            for cell in CELLS
        ]
        self.lies = False
        self.error = ""
        self.types_behind = ""

    def _cell(self, kind: int, text: str, name: str) -> dict[str, Any]:
        self.made += 1
        return {"kind": kind, "text": text, "id": name, "uri": f"vscode-notebook-cell:/a.ipynb#{self.made}"}

    def _document(self, cell: dict[str, Any]) -> dict[str, Any]:
        language = "python" if cell["kind"] == 2 else "markdown"
        return {"uri": cell["uri"], "languageId": language, "version": 1, "text": cell["text"]}

    def _told(self, cell: dict[str, Any]) -> dict[str, Any]:
        return {"kind": cell["kind"], "document": cell["uri"], "metadata": {"id": cell["id"]}}

    async def open(self) -> None:
        notebook = {
            "uri": self.uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [self._told(cell) for cell in self.cells],
        }
        documents = [self._document(cell) for cell in self.cells]
        await self.editor.client.notify(
            "notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents}
        )

    async def close(self) -> None:
        documents = [{"uri": cell["uri"]} for cell in self.cells]
        params = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": documents}
        await self.editor.client.notify("notebookDocument/didClose", params)

    async def _change(self, cells: dict[str, Any]) -> None:
        self.version += 1
        named = {"uri": self.uri, "version": self.version}
        await self.editor.client.notify(
            "notebookDocument/didChange", {"notebookDocument": named, "change": {"cells": cells}}
        )

    async def type(self, at: int, text: str) -> None:
        cell = self.cells[at]
        cell["text"] = text
        document = {"uri": cell["uri"], "version": self.version + 1}
        await self._change({"textContent": [{"document": document, "changes": [{"text": text}]}]})

    async def _splice(self, splice: dict[str, Any]) -> None:
        start, count = splice["start"], len(splice["was"])
        added = [
            self._cell(1 if c["kind"] == "markdown" else 2, c["text"], c.get("id", ""))
            for c in splice["cells"]
        ]
        gone, self.cells[start : start + count] = self.cells[start : start + count], added
        array = {"start": start, "deleteCount": count, "cells": [self._told(cell) for cell in added]}
        structure = {
            "array": array,
            "didOpen": [self._document(cell) for cell in added],
            "didClose": [{"uri": cell["uri"]} for cell in gone],
        }
        await self._change({"structure": structure})

    async def serve(self) -> None:
        seen = 0
        while True:
            event = await self.editor.client.wait_for(
                lambda m: m.get("params", {}).get("data", {}).get("what") == "editNotebook", after=seen
            )
            seen = self.editor.client.received.index(event) + 1
            asked = event["params"]["data"]
            answer = {"sessionId": event["params"]["sessionId"], "requestId": asked["requestId"]}
            params = asked["params"]
            assert params["uri"] == self.uri and params["cellCount"] == len(self.cells)
            if self.error or self.lies:
                result: dict[str, Any] = {"error": self.error} if self.error else {"result": {}}
                await self.editor.client.request("agent/clientAnswer", answer | result)
                continue
            # The answer comes before the change is told, as it may in VS Code.
            await self.editor.client.request("agent/clientAnswer", answer | {"result": {}})
            for text in params["texts"]:
                assert self.cells[text["index"]]["uri"] == text["uri"]
                assert self.cells[text["index"]]["text"] == text["was"]
                await self.type(text["index"], text["text"])
            for splice in reversed(params["splices"]):
                await self._splice(splice)
            if self.types_behind:
                await self.type(0, self.types_behind)


@asynccontextmanager
async def opened(
    tmp_path: Path, *answers: Any, notebooks: bool = True
) -> AsyncIterator[tuple[NotebookEditor, str, Path, AnthropicServer]]:
    project = tmp_path / "project"
    project.mkdir()
    path = project / "a.ipynb"
    path.write_text(TEXT)
    abilities = {
        **CAPABILITIES["vscode"],
        "notebookDocument": {"synchronization": {"dynamicRegistration": True}},
        "experimental": {"agentLs": {**RICH, "notebooks": notebooks, "workspaceTrusted": True}},
    }
    with AnthropicServer([*answers, "Done."]) as provider:
        env = {
            "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
            "ANTHROPIC_API_KEY": "sk-test-loopback",
            "ANTHROPIC_BASE_URL": provider.base_url,
        }
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            options = {"agentLs": {"mode": "edits"}}
            told = await server.client.initialize(
                folder=project, capabilities=abilities, initializationOptions=options
            )
            assert told["capabilities"]["notebookDocumentSync"]["notebookSelector"]
            found = NotebookEditor(editor, path)
            async with anyio.create_task_group() as group:
                group.start_soon(found.serve)
                await found.open()
                yield found, await editor.new_session(provider="anthropic"), path, provider
                group.cancel_scope.cancel()


def results(provider: AnthropicServer) -> list[str]:
    return [json.dumps(request.body["messages"][-1], ensure_ascii=False) for request in provider.requests[1:]]


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

        assert [cell["text"] for cell in notebook.cells] == ["new", "x = 3"]
        assert path.read_text() == TEXT, "what the editor has open is not written behind it"
        said = results(provider)
        assert (
            "x = 2" in said[0] and "replaced the source of cell 2" in said[1] and "deleted cell 1" in said[3]
        )
        changes = [e["data"] for e in notebook.editor.client.events if e["kind"] == "file_change"]
        assert [change["path"] for change in changes] == [str(path)] * 3 and changes[0]["hunks"]

        await notebook.editor.client.request(
            "agent/review", {"clientKey": "k1", "sessionId": session_id, "verdict": "undo"}
        )
        with anyio.fail_after(30):
            while [cell["text"] for cell in notebook.cells] != ["# Title", "x = 2"]:
                await notebook.editor.client.event("hunk_state")
        assert path.read_text() == TEXT


async def test_what_is_typed_right_behind_a_change_is_the_user_s_and_stays(tmp_path: Path) -> None:
    script = (READ, edit(action="replace", cell="2", source="y"))
    async with opened(tmp_path, *script) as (notebook, session_id, _, provider):
        notebook.types_behind = "# Typed"
        await notebook.editor.submit(session_id, "go")
        await notebook.editor.client.event("processing_end", reason="completed")

        assert "replaced the source of cell 2" in results(provider)[1]
        assert [cell["text"] for cell in notebook.cells] == ["# Typed", "y"]


@pytest.mark.parametrize("fault", ["refused", "lies", "cannot"])
async def test_what_the_client_does_not_do_is_told_and_nothing_is_lost(tmp_path: Path, fault: str) -> None:
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
        assert [cell["text"] for cell in notebook.cells] == ["# Title", "x = 1"] and path.read_text() == TEXT


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
