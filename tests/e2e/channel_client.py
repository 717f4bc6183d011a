"""A client of a server's local channel, like the panel."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from agent_ls.server.channel.paths import connect
from tests.support.framed_client import FramedClient
from tests.support.processes import eventually

ABILITIES = {"version": 1, "events": True, "review": True, "approvals": True}


async def socket_of(state: Path, pid: int) -> Path:
    """Wait until the server process listens; return its socket."""
    found: list[Path] = []

    def is_there() -> bool:
        found[:] = (state / "channels").glob(f"*-{pid}-*.sock")
        return bool(found)

    await eventually(is_there)
    return found[0]


def hello(token: str) -> dict[str, Any]:
    return {
        "processId": os.getpid(),
        "capabilities": {"experimental": {"agentLs": ABILITIES}},
        "initializationOptions": {"agentLs": {"token": token}},
    }


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[FramedClient]:
    """Connect to the socket without sending a token."""
    async with await connect(path) as stream, anyio.create_task_group() as tasks:
        client = FramedClient(stream, stream)
        tasks.start_soon(client.run)
        yield client
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def channel_client(state: Path, pid: int) -> AsyncIterator[FramedClient]:
    async with opened(await socket_of(state, pid)) as client:
        await client.request("initialize", hello((state / "channels" / "token").read_text()))
        yield client
