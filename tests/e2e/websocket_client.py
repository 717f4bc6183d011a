"""A WebSocket client: streams for FramedClient in which each message is one text frame."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agent_ls.server.transport.framing import FrameParser, frame
from tests.support.framed_client import FramedClient


class _Out(ByteSendStream):
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._parser = FrameParser()

    async def send(self, item: bytes) -> None:
        for body in self._parser.feed(item):
            try:
                await self._socket.send(body.decode())
            except ConnectionClosed:
                raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        await self._socket.close()


class _In(ByteReceiveStream):
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def receive(self, max_bytes: int = 65536) -> bytes:
        try:
            message = await self._socket.recv()
        except ConnectionClosed:
            raise anyio.EndOfStream from None
        assert isinstance(message, str), "a message is a text frame"
        return frame(message.encode())

    async def aclose(self) -> None:
        await self._socket.close()


def bearer(token_file: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_file.read_text().strip()}"}


@asynccontextmanager
async def opened(port: int, headers: dict[str, str], **options: Any) -> AsyncIterator[ClientConnection]:
    """Open a connection without a FramedClient."""
    where = f"ws://127.0.0.1:{port}/"
    options = {"compression": None, "proxy": None, "ping_interval": None, **options}
    async with connect(where, additional_headers=headers, **options) as socket:
        yield socket


@asynccontextmanager
async def connected(port: int, token_file: Path) -> AsyncIterator[FramedClient]:
    async with opened(port, bearer(token_file)) as socket, anyio.create_task_group() as tasks:
        client = FramedClient(_Out(socket), _In(socket))
        tasks.start_soon(client.run)
        yield client
        tasks.cancel_scope.cancel()
