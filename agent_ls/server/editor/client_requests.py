"""Send the event `client_request` to one client and wait for its single answer (docs/protocol/requests.md).

These events are not recorded and never replayed. A request without an answer at its deadline is an ordinary
outcome. Late answers, second answers and answers of other clients are refused, so that nothing is done twice.
Only requests that the client has announced are sent.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio

from agent_ls.background import TaskStarter
from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.terminal_host import OPEN_SECONDS, NewTerminal
from agent_ls.loop.ids import new_id
from agent_ls.server.editor.notebooks import SavableNotebook
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.transport.errors import NothingPendingError

log = logging.getLogger(__name__)

DEADLINE_MS = 5_000  # long enough for formatters and hooks that run on save


class NotDoneError(Exception):
    """The client reported an error, or did not answer in time. `str()` returns the reason, as given by the
    client or by agent-ls.
    """


@dataclass(slots=True)
class _Pending:
    answered: anyio.Event = field(default_factory=anyio.Event)
    result: dict[str, Any] | None = None
    error: str | None = None


class ClientRequests:
    """Requests to one client. `send` writes an event to the client; `session_id` returns a session that the
    client is subscribed to, or "".
    """

    def __init__(
        self,
        client_id: str,
        client: ClientAbilities,
        *,
        send: Callable[[bytes], None],
        session_id: Callable[[], str],
        start: TaskStarter,
        deadline_ms: int = DEADLINE_MS,
    ) -> None:
        self._deadline_ms = deadline_ms
        self._client_id = client_id
        self._client = client
        self._send = send
        self._session_id = session_id
        self._start = start
        self._pending: dict[str, _Pending] = {}

    def answer(self, request_id: str, result: dict[str, Any] | None, error: str | None) -> None:
        """Deliver the client's answer to a pending request.

        Raises:
            NothingPendingError: the request is not pending.
        """
        pending = self._pending.pop(request_id, None)
        if pending is None:
            raise NothingPendingError(
                f"no request {request_id} waits for an answer",
                "the request was already answered, timed out, or was never made",
            )
        pending.result, pending.error = result, error
        pending.answered.set()

    # -- ClientActions (editor_host.py)

    def reload_files(self, paths: Sequence[str]) -> None:
        params = {"uris": [to_lsp.uri(path) for path in paths]}

        async def ask() -> None:
            await self._ask("checkTime", params)

        if paths and self._client.is_rich:
            self._start(ask)

    async def save(self, documents: Sequence[OpenDocument]) -> bool:
        """Ask the client to save documents. The client saves a document only if it still has the given
        version, so that text typed since then is not saved. Returns whether the client answered.
        """
        if not documents or not self._client.save:
            return True
        named = [_name_document(document) for document in documents]
        return await self._ask("save", {"documents": named}) is not None

    @property
    def edits_notebooks(self) -> bool:
        return self._client.notebooks and bool(self._session_id())

    async def edit_notebook(self, params: dict[str, Any]) -> str:
        """Ask the client to change cells of a notebook. Returns "", or why the client has not changed them."""
        try:
            await self.ask("editNotebook", params)
        except NotDoneError as error:
            return str(error)
        return ""

    @property
    def has_terminals(self) -> bool:
        return self._client.terminal and bool(self._session_id())

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        """Ask the client to open a terminal. Returns False if the client cannot do so, or does not answer in
        time.
        """
        params = {
            "terminalId": terminal.id,
            "argv": list(terminal.argv),
            "cwd": terminal.cwd,
            "title": terminal.title,
        }
        return await self._ask("terminalOpen", params, int(OPEN_SECONDS * 1000)) is not None

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        async def ask() -> None:
            await self._ask("terminalRuns", {"terminalId": terminal_id, "callId": call_id})

        self._start(ask)

    async def _ask(
        self, what: str, params: dict[str, Any], deadline_ms: int | None = None
    ) -> dict[str, Any] | None:
        """Return the client's result; None if it reported an error, did not answer in time, or is not subscribed to a
        session.
        """
        if not self._session_id():
            return None  # without a subscription the client receives no events
        try:
            return await self.ask(what, params, deadline_ms)
        except NotDoneError as error:
            log.warning("the client did not do %s: %s", what, error)
            return None

    async def ask(self, what: str, params: dict[str, Any], deadline_ms: int | None = None) -> dict[str, Any]:
        """Send a request and return the client's result.

        Raises:
            NotDoneError: no client is subscribed, the client reported an error, or there is no answer until
            the deadline.
        """
        session_id = self._session_id()
        if not session_id:
            raise NotDoneError("no editor is connected to the session")
        deadline_ms = self._deadline_ms if deadline_ms is None else deadline_ms
        request_id = new_id("cr")
        pending = self._pending[request_id] = _Pending()
        data = {
            "requestId": request_id,
            "clientId": self._client_id,
            "what": what,
            "params": params,
            "deadlineMs": deadline_ms,
        }
        self._send(_event(session_id, data))
        try:
            with anyio.move_on_after(deadline_ms / 1000):
                await pending.answered.wait()
        finally:
            self._pending.pop(request_id, None)
        if pending.error is not None:
            raise NotDoneError(pending.error)
        if not pending.answered.is_set():
            raise NotDoneError(f"the editor did not answer within {deadline_ms / 1000:g} s")
        return pending.result or {}


def _name_document(document: OpenDocument) -> dict[str, Any]:
    named: dict[str, Any] = {"uri": to_lsp.uri(document.path), "version": document.version}
    if isinstance(document, SavableNotebook):
        named["cells"] = [{"uri": uri, "version": version} for uri, version in document.cells]
    return named


def _event(session_id: str, data: dict[str, Any]) -> bytes:
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event = {"sessionId": session_id, "kind": "client_request", "timestamp": timestamp, "data": data}
    return json.dumps(event, separators=(",", ":")).encode()
