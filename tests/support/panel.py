"""A real `agent-ls panel` process and its clients: one for HTTP requests, one for the WebSocket that the page opens."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support import REPOSITORY
from tests.support.editor import new_key
from tests.support.framed_client import DEADLINE_S, ResponseError

Message = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class PanelProcess:
    process: anyio.abc.Process
    port: int
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path: str, **headers: str) -> Answer:
        """Request a path without normalising it or following redirects. A header `Host` replaces the usual one."""

        def request() -> Answer:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
            connection.putrequest("GET", path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            try:
                return Answer(response.status, dict(response.getheaders()), response.read())
            finally:
                connection.close()

        return await anyio.to_thread.run_sync(request)

    async def log_in(self) -> str:
        """Exchange the link's token for the cookie, and return it."""
        answer = await self.get(f"/open?token={self.token}")
        assert answer.status == 200, answer
        return answer.headers["Set-Cookie"].partition(";")[0]

    @asynccontextmanager
    async def page(self, cookie: str) -> AsyncIterator[Page]:
        headers = {"Cookie": cookie, "Origin": self.origin}
        where = f"ws://127.0.0.1:{self.port}/socket"
        async with connect(where, additional_headers=headers, compression=None, proxy=None) as socket:
            async with anyio.create_task_group() as tasks:
                page = Page(socket)
                tasks.start_soon(page.run)
                yield page
                tasks.cancel_scope.cancel()


@dataclass
class Page:
    socket: ClientConnection
    received: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self._changed = anyio.Event()

    async def run(self) -> None:
        try:
            async for text in self.socket:
                self.received.append(json.loads(text))
                changed, self._changed = self._changed, anyio.Event()
                changed.set()
        except ConnectionClosed:
            return

    async def wait_for(self, fits: Callable[[Message], bool]) -> Message:
        with anyio.move_on_after(DEADLINE_S):
            while True:
                changed = self._changed
                for message in self.received:
                    if fits(message):
                        return message
                await changed.wait()
        raise AssertionError(f"the message did not arrive; received: {self.received[-20:]}")

    async def event(self, kind: str, **fields: Any) -> Message:
        def fits(message: Message) -> bool:
            event = message.get("params", {})
            return event.get("kind") == kind and all(event["data"].get(k) == v for k, v in fields.items())

        params: Message = (await self.wait_for(fits))["params"]
        return params

    async def request(self, method: str, session: str = "", **params: Any) -> Any:
        """Send a request about a session, as the page does."""
        message_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params, "session": session}
        await self.socket.send(json.dumps(message))
        answer = await self.wait_for(lambda m: m.get("id") == message_id)
        if "error" in answer:
            raise ResponseError(answer["error"])
        return answer["result"]

    async def of(self, session: str, method: str, **params: Any) -> Any:
        """Send a request about a session with its id and a new client key."""
        return await self.request(
            f"agent/{method}", session, sessionId=session, clientKey=new_key(), **params
        )

    async def subscribe(self, session: str, since: int = 0) -> Any:
        return await self.request("agent/subscribe", session, sessionId=session, since=since)

    async def take_over(self, session: str) -> None:
        with anyio.fail_after(DEADLINE_S):
            while True:
                try:
                    await self.of(session, "takeOver")
                    return
                except ResponseError as error:
                    # On a slow machine the owner of the session may not answer in time, so try again.
                    assert error.data["kind"] == "owner_silent"


@asynccontextmanager
async def panel(state: Path, folder: Path, **env: str) -> AsyncIterator[PanelProcess]:
    command = (sys.executable, "-m", "agent_ls", "panel", "--no-open")
    environ = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "AGENT_LS_STATE_DIR": str(state),
        **env,
    }
    async with await anyio.open_process(command, env=environ, cwd=folder, stderr=None) as process:
        try:
            yield await _started(process)
        finally:
            if process.returncode is None:
                process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()


async def _started(process: anyio.abc.Process) -> PanelProcess:
    """Read the link that the process prints."""
    assert process.stdout
    printed = ""
    with anyio.fail_after(DEADLINE_S):
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/open\?token=(\S+)\n", printed)):
            printed += (await process.stdout.receive()).decode()
    return PanelProcess(process, int(found[1]), found[2])
