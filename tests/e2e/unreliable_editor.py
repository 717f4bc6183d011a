"""An editor over a real connection that reports false results of edits while its user types. A seed determines its
behaviour.

Each edit that the server requests is one step: the user types some keys before it, between its parts and after the
answer. No time passes; only the order of messages counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeAlias

import anyio
from lsprotocol import types as lsp

from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.documents import SyncedDocument
from agent_ls.text import split_lines
from tests.support.editor import Editor
from tests.support.framed_client import FramedClient

USER_MARKS = 0x4E00
"""The first character that the user types. Each key types the next character."""
MAX_KEYS = 40

Answer: TypeAlias = Literal["applied", "not applied", "error", "null"]
DENIALS: tuple[Answer, ...] = ("not applied", "error", "null")


def is_user_mark(char: str) -> bool:
    return USER_MARKS <= ord(char) < USER_MARKS + 0x5000


@dataclass(frozen=True)
class Manners:
    """The behaviour of the editor. Shares are numbers from 0 to 1.

    `stale_answer` is its answer to an edit of an old version, which it drops. `drops` and `halves`: the shares of
    current edits of which it applies nothing or only a part, although it reports success. `denies`: the share that
    it applies and reports as failed. `doubles`: the share that it applies twice. `repeats`: the share of changes
    that do not raise the version. `joins`: it sends several keys as one change. `sends_late`: it sends changes after
    the answer. `near`: the share of keys typed into lines of the edit.
    """

    stale_answer: Answer
    drops: float
    halves: float
    repeats: float
    joins: bool
    sends_late: bool
    near: float
    denies: float = 0
    doubles: float = 0


def manners_of(random: Random) -> Manners:
    return Manners(
        stale_answer=random.choice(("applied", "applied", "not applied", "error", "null")),
        drops=random.choice((0, 0, 0.5)),
        halves=random.choice((0, 0, 0.7)),
        repeats=random.choice((0, 0, 0.5, 1)),
        joins=random.random() < 0.5,
        sends_late=random.random() < 0.5,
        near=random.choice((0.0, 0.5, 1.0)),
        denies=random.choice((0, 0, 0.7)),
        doubles=random.choice((0, 0, 0, 0.7)),
    )


@dataclass
class Buffer:
    """A document with a typing user. `typed` are the characters that it must contain, `history` all its texts.

    `sent` is the text that the server has received.
    """

    document: SyncedDocument
    abilities: ClientAbilities
    random: Random
    manners: Manners
    typed: set[str] = field(default_factory=set)
    history: list[str] = field(default_factory=list)
    sent: str = ""
    version: int = 1
    keys: int = 0
    was_doubled: bool = False
    busy: anyio.Lock = field(default_factory=anyio.Lock)

    def __post_init__(self) -> None:
        self.sent = self.text
        self.history.append(self.text)

    @property
    def text(self) -> str:
        return self.document.source

    def change(self, text: str) -> None:
        self.document.apply_change(lsp.TextDocumentContentChangeWholeDocument(text=text))
        self.version += self.random.random() >= self.manners.repeats
        self.history.append(text)

    def press_key(self, lines_of_edit: Sequence[int]) -> None:
        lines = split_lines(self.text) or [""]
        is_near = lines_of_edit and self.random.random() < self.manners.near
        at = self.random.choice(lines_of_edit) if is_near else self.random.randrange(len(lines))
        at = min(at, len(lines) - 1)
        column = self.random.randrange(len(lines[at].rstrip("\n")) + 1)
        start = sum(map(len, lines[:at])) + column
        if self.random.random() < 0.1:
            self.change(self.text[:start] + "\n" + self.text[start:])
            return
        mark = chr(USER_MARKS + self.keys)
        self.keys += 1
        self.typed.add(mark)
        self.change(self.text[:start] + mark + self.text[start:])

    def apply(self, edits: Sequence[dict[str, Any]]) -> None:
        scratch = SyncedDocument(self.document.uri, self.text, 1, self.abilities)
        for edit in reversed(edits):
            where = lsp.Range(*(lsp.Position(**edit["range"][end]) for end in ("start", "end")))
            scratch.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=edit["newText"]))
        self.change(scratch.source)


class UnreliableEditor(Editor):
    """The editor. `buffers` are the open documents, by uri."""

    def __init__(self, client: FramedClient, name: str = "vscode") -> None:
        super().__init__(client, name)
        self.buffers: dict[str, Buffer] = {}

    async def show(self, uri: str, text: str, random: Random, manners: Manners) -> Buffer:
        document = SyncedDocument(uri, text, 1, self.abilities)
        buffer = self.buffers[uri] = Buffer(document, self.abilities, random, manners)
        item = {"uri": uri, "languageId": "text", "version": 1, "text": text}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    async def _apply_edit(self, params: Any) -> dict[str, Any]:
        (change,) = params["edit"]["documentChanges"]
        buffer = self.buffers[change["textDocument"]["uri"]]
        (request,) = (m for m in self.client.received if m.get("params") is params)
        async with buffer.busy:
            await self._tick(buffer, request["id"], change)
        # The answer is sent by hand, because its order among the changes matters.
        await anyio.sleep_forever()
        raise AssertionError

    async def _tick(self, buffer: Buffer, request_id: Any, change: dict[str, Any]) -> None:
        random, manners = buffer.random, buffer.manners
        near = [edit["range"]["start"]["line"] for edit in change["edits"]]
        await self._type(buffer, near)
        is_stale = change["textDocument"]["version"] != buffer.version
        applied = not is_stale and random.random() >= manners.drops
        edits = list(change["edits"])
        if applied and len(edits) > 1 and random.random() < manners.halves:
            edits = [
                edits[at] for at in sorted(random.sample(range(len(edits)), random.randrange(1, len(edits))))
            ]
        is_denied = applied and random.random() < manners.denies
        if applied:
            lost = set(buffer.text)
            buffer.apply(edits)
            if random.random() < manners.doubles:
                buffer.apply(edits)
                buffer.was_doubled = True
            # An editor that repeats versions may apply an edit made for another text, and so remove typed characters.
            buffer.typed -= lost - set(buffer.text)
        if not manners.sends_late:
            await self._send(buffer)
            await self._type(buffer, near)
        denial = random.choice(DENIALS) if is_denied else "applied"
        await self._answer_edit(request_id, manners.stale_answer if is_stale else denial)
        await self._send(buffer)
        await self._type(buffer, near)
        await self._send(buffer)

    async def _type(self, buffer: Buffer, near: Sequence[int]) -> None:
        for _ in range(buffer.random.choice((0, 0, 1, 3, buffer.random.randrange(1, MAX_KEYS + 1)))):
            buffer.press_key(near)
            if not buffer.manners.joins and not buffer.manners.sends_late:
                await self._send(buffer)

    async def _send(self, buffer: Buffer) -> None:
        if buffer.sent != buffer.text:
            buffer.sent = buffer.text
            identifier = {"uri": buffer.document.uri, "version": buffer.version}
            params = {"textDocument": identifier, "contentChanges": [{"text": buffer.text}]}
            await self.client.notify("textDocument/didChange", params)

    async def _answer_edit(self, request_id: Any, answer: Answer) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        match answer:
            case "error":
                message["error"] = {"code": -32000, "message": "the version is not the one of the document"}
            case "null":
                message["result"] = None
            case _:
                message["result"] = {"applied": answer == "applied"}
        await self.client.send(message)
