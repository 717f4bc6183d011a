"""A simulated editor in this process that types, delays changes, drops stale edits and reports false results.

It calls an AgentProtocol directly. Messages keep their order in both directions, as on a pipe.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from anyio.lowlevel import checkpoint
from lsprotocol import types as lsp

from agent_ls.server.editor.host import Sleep
from agent_ls.server.lsp.documents import SyncedDocument
from agent_ls.server.server import AgentServer
from agent_ls.server.transport.framing import FrameParser
from agent_ls.server.transport.jsonrpc import AgentProtocol
from tests.support.framed_client import CAPABILITIES, CLIENT_INFO

Stale = Literal["refuse", "lie", "error", "apply anyway"]


@dataclass(frozen=True)
class Manners:
    """Behaviour of the editor.

    `stale`: how it handles an edit for an old version. `tells_first`: it sends didChange before the answer.
    `debounce_s`: it collects changes for this time and sends them together. `answers` False: it never answers an edit.
    `counts` False: it does not increment the version of the document.
    """

    client: str = "vscode"
    stale: Stale = "refuse"
    tells_first: bool = False
    debounce_s: float = 0.0
    answers: bool = True
    counts: bool = True


VSCODE = Manners()
HELIX = Manners(stale="refuse", tells_first=True)
NEOVIM = Manners(client="neovim", stale="lie", debounce_s=0.15)
EGLOT = Manners(stale="error", debounce_s=0.5)
UNCHECKED = Manners(stale="apply anyway", debounce_s=0.05)


class VirtualTime:
    """A clock that advances when no task can run, so that a run is fast and repeatable."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._count = 0
        self._sleepers: list[tuple[float, int, anyio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        woken = anyio.Event()
        heapq.heappush(self._sleepers, (self._now_s + seconds, self._count, woken))
        await woken.wait()

    async def run(self) -> None:
        while True:
            for _ in range(20):  # more iterations of the event loop than any chain of wake-ups here needs
                await checkpoint()
            if self._sleepers:
                self._now_s, _, woken = heapq.heappop(self._sleepers)
                woken.set()


class _Idle:
    """A backend that does nothing."""

    async def run(self, server: AgentServer) -> None:
        await anyio.sleep_forever()

    async def call(self, method: str, params: Any) -> Any:
        return None


class LyingEditor:
    """An editor with one document, which is synced after `open`. `text` is the content that its user sees."""

    def __init__(
        self,
        tasks: anyio.abc.TaskGroup,
        manners: Manners,
        *,
        uri: str = "file:///project/a.txt",
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self.manners = manners
        self.uri = uri
        self.version = 1
        self.requests: list[dict[str, Any]] = []
        self.on_request: Callable[[], None] = lambda: None
        self.server = AgentServer(_Idle(), sleep=sleep)
        self.protocol: AgentProtocol = self.server.protocol
        self.protocol.set_writer(self)
        self._tasks = tasks
        self._sleep = sleep
        self._parser = FrameParser()
        self._sent_text = ""
        self._is_telling = False
        self._document: SyncedDocument | None = None
        self._say(
            {
                "id": 1,
                "method": "initialize",
                "params": {
                    "clientInfo": CLIENT_INFO[manners.client],
                    "capabilities": CAPABILITIES[manners.client],
                },
            }
        )

    @property
    def text(self) -> str:
        return self._document.source if self._document else ""

    # -- the user

    def open(self, text: str) -> None:
        self._document = SyncedDocument(self.uri, text, 1, self.protocol.client)
        self._sent_text = text
        item = {"uri": self.uri, "languageId": "text", "version": self.version, "text": text}
        self._say({"method": "textDocument/didOpen", "params": {"textDocument": item}})

    def tell(self, *changes: Any) -> None:
        """Send these changes, which may be wrong, without changing `text`."""
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        params = {"textDocument": document, "contentChanges": changes}
        self._say({"method": "textDocument/didChange", "params": params})

    def close_document(self) -> None:
        self._document = None
        self._say({"method": "textDocument/didClose", "params": {"textDocument": {"uri": self.uri}}})

    def saved(self) -> None:
        self._say({"method": "textDocument/didSave", "params": {"textDocument": {"uri": self.uri}}})

    def type(self, offset: int, text: str, removed: int = 0) -> None:
        """Type as the user; the change is sent according to the editor's behaviour."""
        before = self.text
        self._change_to(before[:offset] + text + before[offset + removed :])

    async def tell_all(self) -> None:
        """Run until all changes are sent."""
        while self._is_telling:
            await self._sleep(0.01)

    # -- the wire

    def write(self, data: bytes) -> None:
        for body in self._parser.feed(data):
            message = json.loads(body)
            if message.get("method") == "workspace/applyEdit":
                self.requests.append(message)
                self._tasks.start_soon(self._on_edit, message)

    def close(self) -> None:
        """Close the writer; this object is also the writer."""

    def _say(self, message: dict[str, Any]) -> None:
        self.protocol.on_wire(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def _on_edit(self, message: dict[str, Any]) -> None:
        self.on_request()
        await self._sleep(0.001)
        (change,) = message["params"]["edit"]["documentChanges"]
        is_stale = change["textDocument"]["version"] != self.version
        applied = not is_stale or self.manners.stale == "apply anyway"
        if self.manners.tells_first and applied:
            self._apply(change["edits"])
            await self._tell()
        if self.manners.answers:
            self._answer(message["id"], applied=applied, is_stale=is_stale)
        if not self.manners.tells_first and applied:
            self._apply(change["edits"])

    def _answer(self, message_id: str, *, applied: bool, is_stale: bool) -> None:
        if is_stale and self.manners.stale == "error":
            self._say({"id": message_id, "error": {"code": -32000, "message": "version mismatch"}})
        else:
            self._say({"id": message_id, "result": {"applied": applied or self.manners.stale == "lie"}})

    def _apply(self, edits: Sequence[dict[str, Any]]) -> None:
        if self._document is None:
            return
        scratch = SyncedDocument(self.uri, self.text, 1, self.protocol.client)
        for edit in reversed(edits):
            where = lsp.Range(*(lsp.Position(**edit["range"][end]) for end in ("start", "end")))
            scratch.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=edit["newText"]))
        self._change_to(scratch.source)

    def _change_to(self, text: str) -> None:
        if self._document is None or text == self.text:
            return
        self.version += self.manners.counts
        self._document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text=text))
        if self.manners.debounce_s == 0:
            self._tell_now()
        elif not self._is_telling:
            self._is_telling = True
            self._tasks.start_soon(self._tell_later)

    async def _tell_later(self) -> None:
        await self._sleep(self.manners.debounce_s)
        self._is_telling = False
        self._tell_now()

    async def _tell(self) -> None:
        while self._is_telling:
            await self._sleep(0.001)

    def _tell_now(self) -> None:
        if self._document is None or self._sent_text == self.text:
            return
        self._sent_text = self.text
        document = {"uri": self.uri, "version": self.version}
        changes = [{"text": self.text}]
        self._say(
            {
                "method": "textDocument/didChange",
                "params": {"textDocument": document, "contentChanges": changes},
            }
        )
