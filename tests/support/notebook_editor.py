"""A client with an open notebook, over real stdio: it syncs the cells, changes them on request, and saves them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, RICH, server_process
from tests.support.loopback import AnthropicServer, ToolCall

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
    {"cell_type": "raw", "id": "rest", "metadata": {}, "source": ["as it is"]},
]
LANGUAGES = {"markdown": "markdown", "code": "python", "raw": "raw"}
TEXT = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
READ = [ToolCall("read_file", {"file_path": "a.ipynb"})]


def edit(**arguments: str) -> list[ToolCall]:
    return [ToolCall("edit_notebook", {"file_path": "a.ipynb", **arguments})]


class NotebookEditor:
    """An open notebook and its cells.

    `error`: the error with which each edit request is answered; "": none. `lies`: report an edit as done without
    making it. `types_behind`: the user types this text into the first cell right after an edit.
    """

    def __init__(self, editor: Editor, path: Path) -> None:
        self.editor = editor
        self.path = path
        self.uri = path.as_uri()
        self.version = 1
        self.made = 0
        self.cells = [
            self._cell(LANGUAGES[cell["cell_type"]], cell["source"][0], cell["id"]) for cell in CELLS
        ]
        self.lies = False
        self.error = ""
        self.types_behind = ""
        self.before_save: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint

    def _cell(self, language: str, text: str, name: str) -> dict[str, Any]:
        self.made += 1
        kind = 1 if language == "markdown" else 2
        uri = f"vscode-notebook-cell:/a.ipynb#{self.made}"
        return {"kind": kind, "language": language, "text": text, "id": name, "uri": uri, "version": 1}

    def _document(self, cell: dict[str, Any]) -> dict[str, Any]:
        language = cell["language"]
        return {"uri": cell["uri"], "languageId": language, "version": 1, "text": cell["text"]}

    def _cell_to_wire(self, cell: dict[str, Any]) -> dict[str, Any]:
        return {"kind": cell["kind"], "document": cell["uri"], "metadata": {"id": cell["id"]}}

    async def open(self) -> None:
        notebook = {
            "uri": self.uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [self._cell_to_wire(cell) for cell in self.cells],
        }
        documents = [self._document(cell) for cell in self.cells]
        await self.editor.client.notify(
            "notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents}
        )

    async def close(self) -> None:
        documents = [{"uri": cell["uri"]} for cell in self.cells]
        params = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": documents}
        await self.editor.client.notify("notebookDocument/didClose", params)

    async def run(self, at: int) -> None:
        """Report that the user has run a cell. Its outputs are not sent, because clients do not sync them."""
        cell = self._cell_to_wire(self.cells[at]) | {
            "executionSummary": {"executionOrder": 7, "success": True}
        }
        await self._change({"data": [cell]})

    async def forget_run(self, at: int) -> None:
        """Report a cell without its execution, as VS Code does after a save."""
        await self._change({"data": [self._cell_to_wire(self.cells[at])]})

    async def save(self) -> None:
        """Write the notebook in the editor's own JSON layout, and report the save."""
        cells = [
            {
                "cell_type": next(kind for kind, name in LANGUAGES.items() if name == cell["language"]),
                "id": cell["id"] or "made",
                "metadata": {"language": "python"},
                **({"execution_count": None, "outputs": []} if cell["language"] == "python" else {}),
                "source": cell["text"].splitlines(keepends=True),
            }
            for cell in self.cells
        ]
        whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        await anyio.Path(self.path).write_text(json.dumps(whole, indent=3))
        await self.editor.client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": self.uri}})

    async def _change(self, cells: dict[str, Any]) -> None:
        self.version += 1
        named = {"uri": self.uri, "version": self.version}
        await self.editor.client.notify(
            "notebookDocument/didChange", {"notebookDocument": named, "change": {"cells": cells}}
        )

    async def tell_nonsense(self) -> None:
        """Send an invalid change."""
        named = {"uri": self.uri, "version": "later"}
        params = {"notebookDocument": named, "change": {"cells": [1]}}
        await self.editor.client.notify("notebookDocument/didChange", params)

    async def run_turn(self, session_id: str) -> None:
        """Send a message, and wait until the turn is completed."""
        await self.editor.submit(session_id, "go")
        await self.editor.client.event("processing_end", reason="completed")

    async def type(self, at: int, text: str) -> None:
        cell = self.cells[at]
        cell["text"] = text
        cell["version"] += 1
        document = {"uri": cell["uri"], "version": cell["version"]}
        await self._change({"textContent": [{"document": document, "changes": [{"text": text}]}]})

    async def _splice(self, splice: dict[str, Any]) -> None:
        start, count = splice["start"], len(splice["was"])
        added = [self._cell(c["language"], c["text"], c.get("id", "")) for c in splice["cells"]]
        gone, self.cells[start : start + count] = self.cells[start : start + count], added
        array = {"start": start, "deleteCount": count, "cells": [self._cell_to_wire(cell) for cell in added]}
        structure = {
            "array": array,
            "didOpen": [self._document(cell) for cell in added],
            "didClose": [{"uri": cell["uri"]} for cell in gone],
        }
        await self._change({"structure": structure})

    async def serve(self) -> None:
        def is_asked(message: dict[str, Any]) -> bool:
            return message.get("params", {}).get("data", {}).get("what") in ("editNotebook", "save")

        async def do(event: dict[str, Any]) -> None:
            asked = event["params"]["data"]
            answer = {"sessionId": event["params"]["sessionId"], "requestId": asked["requestId"]}
            if asked["what"] == "save":
                result = await self._saved(asked["params"])
                await self.editor.client.request("agent/clientAnswer", answer | {"result": result})
            else:
                await self._edited(asked["params"], answer)

        await self.editor.client.with_each(is_asked, do)

    async def _saved(self, params: dict[str, Any]) -> dict[str, Any]:
        (named,) = params["documents"]
        await self.before_save()
        assert named["uri"] == self.uri
        if named["cells"] != [{"uri": cell["uri"], "version": cell["version"]} for cell in self.cells]:
            return {
                "saved": [],
                "failed": [{"uri": self.uri, "reason": "the document was changed in the meantime"}],
            }
        await self.save()
        return {"saved": [self.uri], "failed": []}

    async def _edited(self, params: dict[str, Any], answer: dict[str, Any]) -> None:
        assert params["uri"] == self.uri and params["cellCount"] == len(self.cells)
        if self.error or self.lies:
            result: dict[str, Any] = {"error": self.error} if self.error else {"result": {}}
            await self.editor.client.request("agent/clientAnswer", answer | result)
            return
        # The answer is sent before the change, as VS Code may do.
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
    tmp_path: Path, *answers: Any, notebooks: bool = True, **settings: Any
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
            options = {"agentLs": {"mode": "full", **settings}}
            result = await server.client.initialize(
                folder=project, capabilities=abilities, initializationOptions=options
            )
            assert result["capabilities"]["notebookDocumentSync"]["notebookSelector"]
            found = NotebookEditor(editor, path)
            async with anyio.create_task_group() as group:
                group.start_soon(found.serve)
                await found.open()
                yield found, await editor.new_session(provider="anthropic"), path, provider
                group.cancel_scope.cancel()


def results(provider: AnthropicServer) -> list[str]:
    return [json.dumps(request.body["messages"][-1], ensure_ascii=False) for request in provider.requests[1:]]
