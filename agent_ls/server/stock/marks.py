"""The agent's changes as diagnostics of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio
from lsprotocol import types as lsp

from agent_ls.loop.events import Hunk
from agent_ls.server import to_lsp
from agent_ls.server.context import Context
from agent_ls.server.jsonrpc import AgentProtocol
from agent_ls.server.seams import Live
from agent_ls.server.stock import offers
from agent_ls.server.stock.means import Start

MARKS_S = 0.3
"""Marks follow typing at this distance: the editor moves its own meanwhile."""


class Marks:
    """`read_only` says of a chat who else has its session, "" of others; `shown` is called when new ones are."""

    def __init__(
        self,
        context: Context,
        protocol: AgentProtocol,
        start: Start,
        read_only: Callable[[str], str],
        shown: Callable[[], None],
    ) -> None:
        self._context = context
        self._protocol = protocol
        self._start = start
        self._read_only = read_only
        self._shown = shown
        self._marked: set[str] = set()
        self._unmarked: set[str] = set()

    def hunks(self, path: str) -> Sequence[Hunk]:
        return self._context.bench.review.open_hunks(path=path).get(path, [])

    def typed(self, path: str) -> None:
        if path in self._marked:
            self.changed(path)

    def changed(self, path: str) -> None:
        if not self._context.client.publish_diagnostics:
            self._shown()
        elif path not in self._unmarked:
            self._unmarked.add(path)
            self._start(partial(self._mark, path))

    def refresh(self, live: Live) -> None:
        """All files that are marked, and those of the session."""
        for path in {*self._marked, *self._context.bench.review.open_hunks(session_id=live.session.id)}:
            self.changed(path)

    async def _mark(self, path: str) -> None:
        await anyio.sleep(MARKS_S)
        self._unmarked.discard(path)
        marks = [offers.hunk_mark(hunk) for hunk in self.hunks(path)]
        if owner := self._read_only(path):
            marks.append(offers.read_only_mark(owner))
        if not marks and path not in self._marked:
            return
        document = self._context.host.open_document(path)
        params: dict[str, Any] = {"uri": to_lsp.uri(path), "diagnostics": marks}
        if document:
            params["version"] = document.version
        self._protocol.notify_plain(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
        (self._marked.add if marks else self._marked.discard)(path)
        self._shown()
