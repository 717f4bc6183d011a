"""Show the agent's changes as diagnostics of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.loop.events.types import Hunk
from agent_ls.server.chat import code_actions as offers
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc.context import Context
from agent_ls.server.transport.jsonrpc import AgentProtocol

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession

MARKS_S = 0.3
"""Seconds from a change to the new diagnostics. Until then the editor moves the old diagnostics with the
text.
"""


class ChatDiagnostics:
    """Sends diagnostics to the client: for open hunks, for findings, and for chats that are read-only.

    `findings` returns the diagnostics of a file's findings. `read_only` returns who owns the session of a chat
    document, "" if it is this process. `shown` is called after the diagnostics of a file were sent.
    """

    def __init__(
        self,
        context: Context,
        protocol: AgentProtocol,
        start: TaskStarter,
        read_only: Callable[[str], str],
        shown: Callable[[], None],
        findings: Callable[[str], Sequence[dict[str, Any]]],
    ) -> None:
        self._context = context
        self._protocol = protocol
        self._start = start
        self._read_only = read_only
        self._shown = shown
        self._findings = findings
        self._marked: set[str] = set()
        self._unmarked: set[str] = set()

    def hunks(self, path: str) -> Sequence[Hunk]:
        return self._context.manager.review.open_hunks(path=path).get(path, [])

    def handle_typing(self, path: str) -> None:
        if path in self._marked:
            self.handle_change(path)

    def handle_change(self, path: str) -> None:
        if not self._context.client.publish_diagnostics:
            self._shown()
        elif path not in self._unmarked:
            self._unmarked.add(path)
            self._start(partial(self._mark, path))

    def refresh(self, live: LiveSession) -> None:
        """Update the diagnostics of all marked files and of the session's files."""
        for path in {*self._marked, *self._context.manager.review.open_hunks(session_id=live.session.id)}:
            self.handle_change(path)

    async def _mark(self, path: str) -> None:
        await anyio.sleep(MARKS_S)
        self._unmarked.discard(path)
        marks = [*map(offers.hunk_mark, self.hunks(path)), *self._findings(path)]
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
