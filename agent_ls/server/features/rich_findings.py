"""Show review findings to clients with a plugin by standard LSP messages: diagnostics, code actions and their
commands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.server.features.findings import FindingDiagnostics
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import COMMAND, FINDING_COMMANDS
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.parameters import CodeAction, Command, read_params
from agent_ls.server.transport.errors import BadInputError
from agent_ls.server.transport.jsonrpc import AgentProtocol
from agent_ls.services.review.findings import ReviewFindings

SEND_DELAY_S = 0.2
"""Delay after a change; until then the editor moves its diagnostics itself."""

KIND = "quickfix.agentLs"


class RichFindings:
    """Sends findings as diagnostics, and offers their code actions. Implements Watcher of editor/host.py.

    `answers` are the handlers of standard LSP messages, by method.
    """

    def __init__(
        self, context: Context, findings: ReviewFindings, protocol: AgentProtocol, start: TaskStarter
    ) -> None:
        self._context = context
        self._protocol = protocol
        self._start = start
        self._waiting: set[str] = set()
        self._marked: set[str] = set()
        self._findings = FindingDiagnostics(context, findings, self._handle_change, start)
        self.answers: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            lsp.TEXT_DOCUMENT_CODE_ACTION: self._code_actions,
            COMMAND: self._command,
        }

    def on_opened(self, path: str) -> None:
        self._findings.text_changed(path)

    def on_changed(self, path: str) -> None:
        self._findings.text_changed(path)

    def on_saved(self, path: str) -> None:
        return

    def on_closed(self, path: str) -> None:
        self._findings.text_changed(path)

    def text_changed(self, path: str) -> None:
        """Handle a possible change of a file on disk."""
        self._findings.text_changed(path)

    def _handle_change(self, path: str) -> None:
        if self._context.client.publish_diagnostics and path not in self._waiting:
            self._waiting.add(path)
            self._start(partial(self._send, path))

    async def _send(self, path: str) -> None:
        await anyio.sleep(SEND_DELAY_S)
        self._waiting.discard(path)
        marks = self._findings.diagnostics(path)
        if not marks and path not in self._marked:
            return
        params: dict[str, Any] = {"uri": to_lsp.uri(path), "diagnostics": marks}
        if document := self._context.host.open_document(path):
            params["version"] = document.version
        self._protocol.notify_plain(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
        (self._marked.add if marks else self._marked.discard)(path)

    async def _code_actions(self, raw: Any) -> list[dict[str, Any]]:
        params = read_params(CodeAction, lsp.TEXT_DOCUMENT_CODE_ACTION, raw)
        only = params.context.only
        if only is not None and not any(KIND == kind or KIND.startswith(f"{kind}.") for kind in only):
            return []
        path = maybe_path(params.text_document.uri) or ""
        first, last = sorted((params.range.start.line, params.range.end.line))
        return [
            {
                "title": action.title,
                "kind": KIND,
                "command": {
                    "title": action.title,
                    "command": action.command,
                    "arguments": [dict(action.argument)],
                },
            }
            for action in self._findings.actions(path, first, last)
        ]

    async def _command(self, raw: Any) -> None:
        params = read_params(Command, lsp.WORKSPACE_EXECUTE_COMMAND, raw)
        if params.command not in FINDING_COMMANDS:
            known = ", ".join(FINDING_COMMANDS)
            raise BadInputError(f"there is no command {params.command!r}", f"the commands are: {known}")
        await self._findings.run(params.command, (params.arguments or (None,))[0])
