"""Show a running turn as work-done progress; its cancel button interrupts the turn."""

from __future__ import annotations

import logging
from collections.abc import Callable

from lsprotocol import types as lsp

from agent_ls.loop.ids import new_id
from agent_ls.server.transport.jsonrpc import AgentProtocol

log = logging.getLogger(__name__)


class TurnProgress:
    """The progress of one turn at a time, from `begin` to `end`. The callback `cancelled` is called when the
    user presses the cancel button.
    """

    def __init__(self, protocol: AgentProtocol, tokens: dict[str, Callable[[], None]]) -> None:
        self._protocol = protocol
        self._tokens = tokens
        self._token = ""
        self._turn = 0

    async def begin(self, cancelled: Callable[[], None]) -> None:
        self.end("")
        turn, token = self._turn, new_id("p")  # the token is a string, because Kate does not accept numbers
        try:
            await self._protocol.send_request_async(
                lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=token)
            )
        except Exception as error:  # the client refused: no progress
            log.info("no progress is shown: %s", error)
            return
        if turn != self._turn:
            return  # the turn was over before the client answered
        self._token, self._tokens[token] = token, cancelled
        self._notify(lsp.WorkDoneProgressBegin(title="agent-ls", cancellable=True, message="at work"))

    def report(self, message: str) -> None:
        if self._token:
            self._notify(lsp.WorkDoneProgressReport(message=message, cancellable=True))

    def end(self, message: str) -> None:
        self._turn += 1
        if self._token:
            self._notify(lsp.WorkDoneProgressEnd(message=message or None))
            self._tokens.pop(self._token, None)
            self._token = ""

    def _notify(
        self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd
    ) -> None:
        self._protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token=self._token, value=value))
