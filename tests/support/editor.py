"""A client with all editor capabilities, on a FramedClient: it syncs documents, applies edits and answers approvals."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from lsprotocol import types as lsp

from agent_ls.server.lsp import from_lsp
from agent_ls.server.lsp.capabilities import ClientAbilities, client_abilities
from agent_ls.server.lsp.documents import SyncedDocument
from tests.support.framed_client import CAPABILITIES, CLIENT_INFO, FramedClient, is_event


def new_key() -> str:
    return str(uuid.uuid4())


def text_input(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


class Editor:
    """A client that syncs its open documents. `name` selects its capabilities; `save` writes the file."""

    def __init__(self, client: FramedClient, name: str = "vscode") -> None:
        self.client = client
        self.name = name
        self.abilities: ClientAbilities = client_abilities(
            {"capabilities": CAPABILITIES[name], "clientInfo": CLIENT_INFO[name]}
        )
        self.documents: dict[str, SyncedDocument] = {}
        self.drops_stale_silently = name == "neovim"
        client.handlers["workspace/applyEdit"] = self._apply_edit

    async def start(self, folder: Path, **settings: Any) -> dict[str, Any]:
        options = {"agentLs": {"walkthroughPauseMs": 0, **settings}}
        return await self.client.initialize(self.name, folder=folder, initializationOptions=options)

    # -- documents

    async def open(self, path: Path, text: str | None = None) -> SyncedDocument:
        """Open a file; `text` is its unsaved content."""
        found = await anyio.Path(path).read_text() if text is None else text
        document = self.documents[path.as_uri()] = SyncedDocument(path.as_uri(), found, 1, self.abilities)
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": found}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})
        return document

    async def type(self, path: Path, line: int, text: str) -> None:
        """Type at the start of a line."""
        await self.replace(path, (line, 0), (line, 0), text)

    async def replace(self, path: Path, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Replace the text between two positions (line, character)."""
        document = self.documents[path.as_uri()]
        where = lsp.Range(lsp.Position(*start), lsp.Position(*end))
        document.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=text))
        ends = {
            name: {"line": line, "character": at} for name, (line, at) in (("start", start), ("end", end))
        }
        await self._changed(document, [{"range": ends, "text": text}])

    async def save(self, path: Path) -> None:
        await anyio.Path(path).write_text(self.documents[path.as_uri()].source)
        await self.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    async def _changed(self, document: SyncedDocument, changes: list[dict[str, Any]]) -> None:
        document.version = (document.version or 0) + 1
        identifier = {"uri": document.uri, "version": document.version}
        await self.client.notify(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": changes}
        )

    async def _apply_edit(self, params: Any) -> dict[str, Any]:
        change, *operations = params["edit"]["documentChanges"]
        document = self.documents.get(change["textDocument"]["uri"])
        if document is None or change["textDocument"]["version"] != document.version:
            return {"applied": self.drops_stale_silently}
        for operation in operations:
            await self._operate(operation)
            return {"applied": True}
        changes = list(reversed(change["edits"]))
        for edit in changes:
            where = lsp.Range(*(lsp.Position(**edit["range"][end]) for end in ("start", "end")))
            document.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=edit["newText"]))
        await self._changed(document, [{"range": edit["range"], "text": edit["newText"]} for edit in changes])
        return {"applied": True}

    async def _operate(self, operation: dict[str, Any]) -> None:
        """Rename or delete a file, and update its open document."""
        uri = operation.get("oldUri") or operation["uri"]
        path = anyio.Path(from_lsp.maybe_path(uri) or "")
        document = self.documents.pop(uri)
        if operation["kind"] == "rename":
            await path.rename(from_lsp.maybe_path(operation["newUri"]) or "")
        else:
            await path.unlink()
        await self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        if operation["kind"] == "rename":
            await self.open(Path(from_lsp.maybe_path(operation["newUri"]) or ""), document.source)

    # -- requests of the server

    async def do_as_asked(self, after: int = 0) -> None:
        """Answer each client_request until cancelled: save the documents of a `save`, and return {} for all others.

        Requests among the first `after` messages are left out.
        """

        async def do(event: dict[str, Any]) -> None:
            asked = event["params"]["data"]
            result: dict[str, Any] = {}
            if asked["what"] == "save":
                for item in asked["params"]["documents"]:
                    await self.save(Path(from_lsp.maybe_path(item["uri"]) or ""))
                result = {"saved": [item["uri"] for item in asked["params"]["documents"]], "failed": []}
            which = {"sessionId": event["params"]["sessionId"], "requestId": asked["requestId"]}
            await self.client.request("agent/clientAnswer", {**which, "result": result})

        await self.client.with_each(is_event("client_request"), do, after)

    @asynccontextmanager
    async def doing_as_asked(self) -> AsyncIterator[None]:
        """Answer client_requests inside the block. Without an answer, the server waits five seconds for a save."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.do_as_asked, len(self.client.received))
            yield
            tasks.cancel_scope.cancel()

    # -- sessions

    async def new_session(self, **params: Any) -> str:
        """Create a walkthrough session and subscribe to it; return its id."""
        wanted = {"clientKey": new_key(), "provider": "walkthrough", **params}
        session_id: str = (await self.client.request("agent/newSession", wanted))["session"]["id"]
        await self.subscribe(session_id)
        return session_id

    async def subscribe(self, session_id: str, since: int = 0) -> dict[str, Any]:
        result: dict[str, Any] = await self.client.request(
            "agent/subscribe", {"sessionId": session_id, "since": since}
        )
        return result

    async def submit(self, session_id: str, text: str, **params: Any) -> dict[str, Any]:
        wanted = {"sessionId": session_id, "clientKey": new_key(), "input": text_input(text), **params}
        result: dict[str, Any] = await self.client.request("agent/submit", wanted)
        return result

    async def say(self, session_id: str, text: str, **params: Any) -> str:
        """Send a message, and return why its turn ended."""
        start = len(self.client.received)
        await self.submit(session_id, text, **params)
        return await self.turn_end(session_id, start)

    async def turn_end(self, session_id: str, after: int = 0) -> str:
        """Wait for the end of a turn after the first `after` messages, and return its reason."""
        ended = await self.client.wait_for(
            lambda m: is_event("processing_end")(m) and m["params"]["sessionId"] == session_id, after=after
        )
        reason: str = ended["params"]["data"]["reason"]
        return reason

    async def approve(self, event: dict[str, Any], decision: str = "allow", **params: Any) -> dict[str, Any]:
        wanted = {
            "sessionId": event["sessionId"],
            "requestId": event["data"]["requestId"],
            "clientKey": new_key(),
            "decision": decision,
            **params,
        }
        result: dict[str, Any] = await self.client.request("agent/approve", wanted)
        return result

    async def approve_all(self, *, unless: Callable[[dict[str, Any]], bool] = lambda event: False) -> None:
        """Allow each requested approval, until cancelled, except those for which `unless` returns True."""

        async def answer(event: dict[str, Any]) -> None:
            if not unless(event["params"]):
                await self.approve(event["params"])

        await self.client.with_each(is_event("approval_requested"), answer)
