"""Limit the total number of model requests per minute of several processes with a shared file."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio
from anyio import to_thread

from agent_ls.llm.middleware import Complete, Middleware, Stream
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.store.locks import kernel_lock

_POLL_SECONDS = 0.02


class SharedPace(Middleware):
    """Delays requests so that the requests of all processes that share this file are at least 60 /
    `per_minute` seconds apart.

    The file contains the time at which the next request may start. If a process is killed, at most one start
    time stays unused.
    """

    def __init__(self, path: Path, per_minute: int) -> None:
        self._path = path
        self._seconds = 60 / per_minute

    async def complete(self, request: Request, proceed: Complete) -> Response:
        await self._wait()
        return await proceed(request)

    async def stream(self, request: Request, proceed: Stream) -> AsyncGenerator[StreamEvent]:
        await self._wait()
        async with aclosing(proceed(request)) as events:
            async for event in events:
                yield event

    async def _wait(self) -> None:
        while (pause := await to_thread.run_sync(self._take_slot)) is None:  # noqa: ASYNC110  # a lock of another process sends no event
            await anyio.sleep(_POLL_SECONDS)
        await anyio.sleep(pause)

    def _take_slot(self) -> float | None:
        """Reserve a start time, and return the seconds until then. Returns None while another process has the
        file locked, and 0 if the file cannot be used.
        """
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError:
            return 0
        try:
            try:
                kernel_lock(descriptor)
            except (BlockingIOError, PermissionError):
                return None
            except OSError:
                return 0
            now = time.time()
            slot = max(now, _parse(os.read(descriptor, 100)))
            if slot > now + 3600:  # the clock was set back
                slot = now
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{slot + self._seconds:.3f}".encode())
            return slot - now
        finally:
            os.close(descriptor)


def _parse(data: bytes) -> float:
    try:
        return float(data or b"0")
    except ValueError:
        return 0
