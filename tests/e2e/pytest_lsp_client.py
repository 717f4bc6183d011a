"""pytest-lsp's client behind the interface of FramedClient. It checks each typed message against the announced
capabilities.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from lsprotocol import types as lsp
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

from tests.forking.fork_parent import REPOSITORY
from tests.support.framed_client import DEADLINE_S, Handler

ASKED = (
    lsp.WORKSPACE_APPLY_EDIT,
    lsp.WINDOW_SHOW_MESSAGE_REQUEST,
    lsp.WORKSPACE_CODE_LENS_REFRESH,
    lsp.CLIENT_REGISTER_CAPABILITY,
    lsp.CLIENT_UNREGISTER_CAPABILITY,
)
"""Server requests that the user of the client answers; pytest-lsp answers the others."""

NOTIFICATIONS = (lsp.WINDOW_SHOW_MESSAGE, lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


class PytestLspClient:
    """Implements the part of FramedClient that StockEditor uses."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.handlers: dict[str, Handler] = {}
        self.received: list[dict[str, Any]] = []
        self._converter = client.protocol._converter
        self._changed = anyio.Event()
        for method in ASKED:
            client.feature(method)(self._answering(method))
        for method in NOTIFICATIONS:
            client.protocol.fm.features.pop(method, None)  # replaces pytest-lsp's handler
            client.feature(method)(self._hearing(method))

    async def request(self, method: str, params: Any = None) -> Any:
        typed = self._structured(method, params)
        if isinstance(typed, lsp.InitializeParams):
            self.client.capabilities = typed.capabilities
        with anyio.fail_after(DEADLINE_S):
            # pytest-lsp has no type annotation here
            result = await self.client.protocol.send_request_async(method, typed)  # type: ignore[no-untyped-call]
        plain = self._converter.unstructure(result)
        return [_as_sent(action) for action in plain] if method == lsp.TEXT_DOCUMENT_CODE_ACTION else plain

    async def notify(self, method: str, params: Any = None) -> None:
        self.client.protocol.notify(method, self._structured(method, params))

    async def wait_for(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        seen = 0
        with anyio.fail_after(DEADLINE_S):
            while True:
                changed = self._changed
                for message in self.received[seen:]:
                    if fits(message):
                        return message
                seen = len(self.received)
                await changed.wait()

    async def shut_down(self) -> None:
        await self.request(lsp.SHUTDOWN)
        await self.notify(lsp.EXIT)

    def _structured(self, method: str, params: Any) -> Any:
        kind: Any = lsp.METHOD_TO_TYPES[method][2] if params is not None else None
        return self._converter.structure(params, kind) if kind else None

    def _answering(self, method: str) -> Callable[[Any], Awaitable[Any]]:
        async def answer(params: Any) -> Any:
            result = await self.handlers[method](self._converter.unstructure(params))
            kind = lsp.METHOD_TO_TYPES[method][1].__annotations__["result"]
            return self._converter.structure(result, kind) if result is not None else None

        return answer

    def _hearing(self, method: str) -> Callable[[Any], None]:
        def hear(params: Any) -> None:
            self.received.append({"method": method, "params": self._converter.unstructure(params)})
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

        return hear


def _as_sent(action: dict[str, Any]) -> dict[str, Any]:
    """Undo a conversion of lsprotocol, which parses a code action with a command as a plain command."""
    command = action["command"]
    is_text = isinstance(command, str) and command.startswith("{")
    return {**action, "command": ast.literal_eval(command)} if is_text else action


@asynccontextmanager
async def pytest_lsp_server(env: dict[str, str]) -> AsyncIterator[PytestLspClient]:
    """Run a real server process with pytest-lsp's client. At the end, raise the problems that the client found."""
    client = make_test_lsp_client()
    environ = {**env, "PYTHONPATH": REPOSITORY}
    await client.start_io(sys.executable, "-m", "agent_ls", "serve", "--stdio", env=environ)
    try:
        yield PytestLspClient(client)
        assert client.error is None, client.error
    finally:
        process = client._server
        if process and process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await client.stop()  # type: ignore[no-untyped-call]  # pytest-lsp left it untyped
