"""A server process whose `agent/*` methods test the transport: `python -m tests.support.wire_server`.

With the argument `broken` it has the real backend, but creating the session manager fails.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
from lsprotocol import types as lsp

from agent_ls.server.backend import AgentBackend
from agent_ls.server.editor.host import LspEditorHost
from agent_ls.server.server import AgentServer, ClientStreams, run
from agent_ls.server.transport.framing import FrameParser
from agent_ls.server.transport.jsonrpc import RawJson
from agent_ls.sessions.host import ClientState
from agent_ls.system import claim_stdio

if TYPE_CHECKING:
    from agent_ls.sessions.manager import SessionManager


class WireBackend:
    server: AgentServer

    async def run(self, server: AgentServer) -> None:
        self.server = server
        server.command("test.cancelled")(_cancelled)
        server.command("test.forever")(_forever)
        print("this must not reach the wire")  # noqa: T201  # a stray print is what is tested
        try:
            await anyio.sleep_forever()
        finally:
            sys.stderr.write("settled\n")

    async def call(self, method: str, params: Any) -> Any:
        return await getattr(self, method.removeprefix("agent/"))(params)

    async def echo(self, params: Any) -> Any:
        return params

    async def fail(self, params: Any) -> Any:
        raise RuntimeError(f"a secret: {params}")

    async def wait(self, params: Any) -> Any:
        await anyio.sleep_forever()

    async def write(self, params: Any) -> None:
        await anyio.Path(params["path"]).write_text("alive")

    async def flood(self, params: Any) -> Any:
        """Send as fast as the client reads; return in `most` the largest number of bytes that waited to be sent."""
        most = 0
        for number in range(params["count"]):
            self.server.protocol.send_event(json.dumps({"number": number, "pad": params["pad"]}).encode())
            most = max(most, self.server.writer.waiting_bytes)
            await self.server.writer.drain()
        return {"most": most}

    async def ask(self, params: Any) -> Any:
        """Send a request to the client. It is cancelled together with the client's request."""
        question = lsp.ShowMessageRequestParams(type=lsp.MessageType.Info, message="?")
        answer = await self.server.protocol.send_request_async(lsp.WINDOW_SHOW_MESSAGE_REQUEST, question)
        return {"answer": answer and answer.title}

    async def raw(self, params: Any) -> RawJson:
        return RawJson(
            b'{"text":"\xc3\xa9"}', lambda: self.server.protocol.send_event(b'{"after":"the answer"}')
        )


async def _cancelled() -> None:
    raise asyncio.CancelledError


async def _forever() -> None:
    await anyio.sleep_forever()


def _broken(
    host: LspEditorHost, options: dict[str, Any], client_state: ClientState
) -> tuple[SessionManager, Sequence[str]]:
    raise OSError("the state folder cannot be made")


if __name__ == "__main__":
    reader, writer = claim_stdio()
    backend = AgentBackend(_broken) if "broken" in sys.argv else WireBackend()
    sys.exit(run(backend, ClientStreams(reader, writer, FrameParser())))
