"""A plugin-free editor on a FramedClient: it announces the capabilities of a real editor and behaves like it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from lsprotocol import types as lsp

from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import client_abilities
from agent_ls.server.lsp.documents import SyncedDocument
from tests.support.framed_client import DEADLINE_S, FramedClient, ResponseError, server_process
from tests.support.loopback import LoopbackProvider

FOLDER = Path(__file__).parent / "capabilities"


def stock_editors() -> list[str]:
    """Return the names of the editors whose capabilities are stored; each file documents its source."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


class StockEditor:
    """The editor. `on_prompt` returns the title that the user selects, or a whole answer ("error" for an error).
    Without `on_prompt` no prompt is answered.

    `problems` collects the server's requests that need a capability which the editor has not announced.
    """

    def __init__(self, client: FramedClient, name: str) -> None:
        stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.client = client
        self.capabilities: dict[str, Any] = stored["capabilities"]
        self.info: dict[str, Any] | None = stored["clientInfo"]
        self.abilities = client_abilities({"capabilities": self.capabilities, "clientInfo": self.info})
        self.documents: dict[str, SyncedDocument] = {}
        self.chat: Path | None = None
        self.on_prompt: Callable[[list[str]], Any] | None = lambda titles: None
        self.prompts_shown = self.open_prompts = self.most_prompts = 0
        self.problems: list[str] = []
        self.takes_edits, self.refused_edits = True, 0
        self.lens_refreshes = 0
        self._changed = anyio.Event()
        client.handlers["workspace/applyEdit"] = self._apply_edit
        client.handlers["window/showMessageRequest"] = self._prompt
        client.handlers["window/workDoneProgress/create"] = self._create_progress
        client.handlers["workspace/codeLens/refresh"] = self._refresh
        client.handlers["client/registerCapability"] = self._register
        client.handlers["client/unregisterCapability"] = self._register

    async def _register(self, params: Any) -> None:
        for item in params.get("registrations") or params["unregisterations"]:
            feature = item["method"].split("/")
            if not self.can(*feature, "dynamicRegistration"):
                self.problems.append(f"{item['method']} was registered")

    def can(self, *path: str) -> bool:
        value: Any = self.capabilities
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return bool(value) or value == {}

    async def start(
        self, folder: Path, *, folders: Sequence[Path] | None = None, **settings: Any
    ) -> dict[str, Any]:
        """Start the server. `folders` are the workspace folders, if other than `folder`.

        Raises: AssertionError: the server offers a feature that this editor did not announce.
        """
        result: dict[str, Any] = await self.client.request(
            "initialize",
            {
                "processId": None,
                "clientInfo": self.info,
                "rootUri": folder.as_uri() if folders is None else None,
                "workspaceFolders": [
                    {"uri": it.as_uri(), "name": it.name} for it in ([folder] if folders is None else folders)
                ],
                "capabilities": self.capabilities,
                "initializationOptions": {"agentLs": {"walkthroughPauseMs": 0, **settings}},
            },
        )
        await self.client.notify("initialized", {})
        assert "experimental" not in result["capabilities"]
        return result

    # -- documents

    async def open(self, path: Path, text: str | None = None) -> SyncedDocument:
        found = await anyio.Path(path).read_text() if text is None else text
        document = self.documents[path.as_uri()] = SyncedDocument(path.as_uri(), found, 1, self.abilities)
        item = {"uri": path.as_uri(), "languageId": "markdown", "version": 1, "text": found}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})
        if path.name.endswith(".agent.md"):
            self.chat = path
        return document

    async def append(self, path: Path, text: str) -> None:
        """Type at the end of the document."""
        document = self.documents[path.as_uri()]
        line = document.source.count("\n")
        last = document.source.rpartition("\n")[2]
        at = {"line": line, "character": to_lsp.character(last, len(last), self.abilities.encoding)}
        await self._change(document, [{"range": {"start": at, "end": at}, "newText": text}])

    async def empty(self, path: Path) -> None:
        document = self.documents[path.as_uri()]
        start, end = {"line": 0, "character": 0}, {"line": document.source.count("\n") + 1, "character": 0}
        await self._change(document, [{"range": {"start": start, "end": end}, "newText": ""}])

    async def save(self, path: Path) -> None:
        await anyio.Path(path).write_text(self.documents[path.as_uri()].source, newline="\n")
        await self.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    async def say(self, text: str) -> None:
        """Write at the end of the chat and save."""
        assert self.chat
        await self.append(self.chat, f"{text}\n")
        await self.save(self.chat)

    async def holds_settings(self) -> anyio.Event:
        """Make the server request the settings again; answer this request only when the test sets the returned event.

        Before the answer no session can be created.
        """
        may_answer = anyio.Event()

        async def configuration(params: Any) -> Any:
            await may_answer.wait()
            return [None]

        def is_asked(message: dict[str, Any]) -> bool:
            return message.get("method") == "workspace/configuration"

        await self.client.wait_for(is_asked)
        self.client.handlers["workspace/configuration"] = configuration
        seen = len(self.client.received)
        await self.client.notify("workspace/didChangeConfiguration", {"settings": None})
        await self.client.wait_for(is_asked, after=seen)
        return may_answer

    async def close(self, path: Path) -> str:
        """Close a document; return its text."""
        document = self.documents.pop(path.as_uri())
        await self.client.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})
        return document.source

    async def _change(self, document: SyncedDocument, edits: list[dict[str, Any]]) -> None:
        for edit in edits:
            where = lsp.Range(*(lsp.Position(**edit["range"][end]) for end in ("start", "end")))
            document.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=edit["newText"]))
        document.version = (document.version or 0) + 1
        self._wake()
        await self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": document.uri, "version": document.version},
                "contentChanges": [{"range": e["range"], "text": e["newText"]} for e in edits],
            },
        )

    async def _apply_edit(self, params: Any) -> dict[str, Any]:
        (change,) = params["edit"]["documentChanges"]
        document = self.documents.get(change["textDocument"]["uri"])
        if not self.takes_edits:
            self.refused_edits += 1
            return {"applied": False}
        if document is None or change["textDocument"]["version"] != document.version:
            return {"applied": False}
        await self._change(document, list(reversed(change["edits"])))
        return {"applied": True}

    # -- requests of the server

    async def _prompt(self, params: Any) -> Any:
        self.prompts_shown += 1
        self.open_prompts += 1
        self.most_prompts = max(self.most_prompts, self.open_prompts)
        self._wake()
        titles = [action["title"] for action in params["actions"]]
        assert titles[0] in ("Deny", "Do not trust it", "Leave It There"), "the safe choice comes first"
        choose = self.on_prompt
        if choose is None:
            return await anyio.sleep_forever()
        answer = choose(titles)
        self.open_prompts -= 1
        self._wake()
        if answer == "error":
            raise ResponseError({"code": -32603, "message": "no prompt can be shown"})
        return {"title": answer} if isinstance(answer, str) else answer

    async def _create_progress(self, params: Any) -> None:
        if not self.can("window", "workDoneProgress"):
            self.problems.append("progress was created, which was not announced")

    async def _refresh(self, params: Any) -> None:
        if not self.can("workspace", "codeLens", "refreshSupport"):
            self.problems.append("lenses were refreshed, which was not announced")
        self.lens_refreshes += 1
        self._wake()

    # -- requests of the user

    async def lenses(self, path: Path) -> list[str]:
        """Return the titles of a document's code lenses, as an editor requests them after each refresh."""
        found: list[dict[str, Any]] = await self.client.request(
            "textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}}
        )
        return [lens["command"]["title"] for lens in found]

    async def actions(
        self, path: Path, first: int, last: int, only: list[str] | None = None
    ) -> list[dict[str, Any]]:
        start, end = {"line": first, "character": 0}, {"line": last, "character": 0}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        found: list[dict[str, Any]] = await self.client.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": path.as_uri()},
                "range": {"start": start, "end": end},
                "context": context,
            },
        )
        return found

    async def choose(self, action: dict[str, Any]) -> None:
        command = action["command"] if isinstance(action["command"], dict) else action
        await self.command(command["command"], *command["arguments"])

    async def command(self, name: str, *arguments: Any) -> None:
        answer = await self.client.request(
            "workspace/executeCommand", {"command": name, "arguments": list(arguments)}
        )
        assert answer is None

    async def complete(self, path: Path, line: int, before: str) -> dict[str, Any]:
        at = {"line": line, "character": to_lsp.character(before, len(before), self.abilities.encoding)}
        found: dict[str, Any] = await self.client.request(
            "textDocument/completion", {"textDocument": {"uri": path.as_uri()}, "position": at}
        )
        return found

    # -- waiting

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(DEADLINE_S):
            while not condition():
                await self._changed.wait()

    async def chat_until(self, words: str, after: str = "") -> str:
        """Return the chat's text once it contains these words after the text `after`."""
        assert self.chat
        document = self.documents[self.chat.as_uri()]
        try:
            await self.until(lambda: words in document.source[max(document.source.find(after), 0) :])
        except TimeoutError:
            raise AssertionError(f"{words!r} did not come into the chat:\n{document.source}") from None
        return document.source

    async def marks(self, path: Path) -> list[dict[str, Any]]:
        """Return the first non-empty diagnostics of a file."""
        message = await self.client.wait_for(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == path.as_uri()
                and m["params"]["diagnostics"] != []
            )
        )
        found: list[dict[str, Any]] = message["params"]["diagnostics"]
        return found

    async def progress(self, kind: str) -> dict[str, Any]:
        message = await self.client.wait_for(
            lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == kind
        )
        params: dict[str, Any] = message["params"]
        return params


@asynccontextmanager
async def chatting(
    chat: Path,
    text: str | None = "",
    provider: LoopbackProvider | None = None,
    *,
    name: str = "neovim",
    state: Path | None = None,
    **settings: Any,
) -> AsyncIterator[StockEditor]:
    """Run an editor with this chat document open, unless `text` is None.

    `provider` answers sessions; without it, the walkthrough does. `state` is the server's state folder.
    """
    env = {"ANTHROPIC_BASE_URL": provider.base_url, "ANTHROPIC_API_KEY": "k"} if provider else {}
    if state:
        env["AGENT_LS_STATE_DIR"] = str(state)
    async with server_process(env=env) as server:
        editor = StockEditor(server.client, name)
        await editor.start(chat.parent, provider="anthropic" if provider else "walkthrough", **settings)
        if text is not None:
            await editor.open(chat, text)
        yield editor
        assert "Traceback" not in server.log
