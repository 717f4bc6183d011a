"""A raw client of a language server: it frames messages itself, can send any message, and keeps everything it receives.

It checks each received message against the specification (lsp_model.py, wire_schema.py), but nothing about their
order: tests of errors, order, cancellation and back-pressure need a client that does what pygls does not allow.
`Editor` (tests/support/editor.py) adds documents.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from agent_ls.server.transport.framing import FrameParser, frame
from tests.support import REPOSITORY, lsp_model, wire_schema

DEADLINE_S = 240.0

RICH = {"version": 1, "events": True, "review": True, "approvals": True, "terminal": False, "save": True}

CAPABILITIES: dict[str, dict[str, Any]] = {
    "vscode": {
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {
                "documentChanges": True,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "textOnlyTransactional",
            },
            "configuration": True,
            "workspaceFolders": True,
        },
        "textDocument": {"synchronization": {"dynamicRegistration": True, "didSave": True}},
        "window": {"showMessage": {}, "showDocument": {"support": True}, "workDoneProgress": True},
        "general": {"positionEncodings": ["utf-16"]},
        "experimental": {"agentLs": RICH},
    },
    "neovim": {
        "workspace": {"applyEdit": True, "workspaceFolders": True, "configuration": True},
        "textDocument": {"synchronization": {"didSave": True}},
        "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
        "experimental": {"agentLs": RICH},
    },
    "minimal": {},
}
CLIENT_INFO: dict[str, dict[str, str] | None] = {
    "vscode": {"name": "Visual Studio Code", "version": "1.139.1"},
    "neovim": {"name": "Neovim", "version": "0.11.4"},
    "minimal": None,
}


class ResponseError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class HungUpError(AssertionError):
    """The server has closed the connection, so the awaited message can no longer arrive."""


def is_event(kind: str) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate for events of this kind."""
    return lambda message: message.get("params", {}).get("kind") == kind


Handler = Callable[[Any], Awaitable[Any]]


class FramedClient:
    """A client on two streams. `received` has every message in order.

    `handlers` answer the requests of the server, by method; a request without a handler gets an error.

    A received message that does not match the protocol's schema fails the test.
    """

    def __init__(self, output: anyio.abc.ByteSendStream, incoming: anyio.abc.ByteReceiveStream) -> None:
        self.received: list[dict[str, Any]] = []
        self.handlers: dict[str, Handler] = {}
        self.ended = anyio.Event()
        self._output = output
        self._incoming = incoming
        self._sending = anyio.Lock()
        self._changed = anyio.Event()
        self._next_id = 0
        self._asked: dict[int, str] = {}
        self._may_read = anyio.Event()
        self._may_read.set()

    # -- sending

    async def send_raw(self, data: bytes) -> None:
        async with self._sending:
            await self._output.send(data)

    async def send(self, message: Any) -> None:
        await self.send_raw(frame(json.dumps(message).encode()))

    async def notify(self, method: str, params: Any = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def start(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        message_id = self._next_id
        self._asked[message_id] = method
        await self.send({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})
        return message_id

    async def request(self, method: str, params: Any = None) -> Any:
        return await self.result(await self.start(method, params))

    async def hang_up(self) -> None:
        await self._output.aclose()

    # -- receiving

    async def result(self, message_id: int | None) -> Any:
        """Wait for the result of a request.

        Raises: ResponseError: the answer is an error.
        """
        message = await self.wait_for(lambda m: "method" not in m and "id" in m and m["id"] == message_id)
        if "error" in message:
            raise ResponseError(message["error"])
        return message["result"]

    async def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the first agent/event of this kind with these fields in its data."""

        def fits(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            if message.get("method") != "agent/event" or params.get("kind") != kind:
                return False
            return all(params["data"].get(name) == value for name, value in fields.items())

        params: dict[str, Any] = (await self.wait_for(fits))["params"]
        return params

    @property
    def events(self) -> list[dict[str, Any]]:
        return [m["params"] for m in self.received if m.get("method") == "agent/event"]

    async def wait_for(
        self, fits: Callable[[dict[str, Any]], bool], *, after: int = 0, deadline_s: float = DEADLINE_S
    ) -> dict[str, Any]:
        """Return the first matching message received at index `after` or later, including past ones."""
        seen = after
        with anyio.move_on_after(deadline_s):
            while True:
                changed = self._changed
                for message in self.received[seen:]:
                    if fits(message):
                        return message
                seen = len(self.received)
                if self.ended.is_set():
                    raise HungUpError(f"the server closed the connection; received: {self.received[-20:]}")
                await changed.wait()
        raise AssertionError(f"the message did not arrive; received: {self.received[-20:]}")

    async def with_each(
        self,
        fits: Callable[[dict[str, Any]], bool],
        work: Callable[[dict[str, Any]], Awaitable[object]],
        after: int = 0,
    ) -> None:
        """Run `work` with each matching message, one after the other, beginning with message number `after`.

        Runs until it is cancelled or the server closes the connection.
        """
        seen = after
        with suppress(HungUpError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                message = await self.wait_for(fits, after=seen, deadline_s=math.inf)
                seen = self.received.index(message, seen) + 1
                await work(message)

    def stop_reading(self) -> None:
        self._may_read = anyio.Event()

    def go_on_reading(self) -> None:
        self._may_read.set()

    async def run(self) -> None:
        """Read until the server closes the connection."""
        parser = FrameParser()
        async with anyio.create_task_group() as tasks:
            try:
                while True:
                    await self._may_read.wait()
                    for body in parser.feed(await self._incoming.receive()):
                        self._take(json.loads(body), tasks)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.ended.set()
                self._wake()

    def _take(self, message: dict[str, Any], tasks: anyio.abc.TaskGroup) -> None:
        self.received.append(message)
        misfit = self._misfit(message)
        assert not misfit, misfit
        if "method" in message and "id" in message:
            tasks.start_soon(self._answer, message)
        self._wake()

    def _misfit(self, message: dict[str, Any]) -> str:
        # Tests of the transport use messages that are not in the schema.
        if message.get("method") == "agent/event" and "kind" in message["params"]:
            return wire_schema.misfit_of_event(message["params"])
        method = self._asked.get(message["id"], "") if isinstance(message.get("id"), int) else ""
        if error := lsp_model.error_in_message(message, method):
            return error
        if "result" not in message or method not in wire_schema.schema()["methods"]:
            return ""
        return wire_schema.misfit_of("methods", method, "result", message["result"])

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _answer(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"])
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if handler is None:
                answer["error"] = {"code": -32601, "message": "method not found"}
            else:
                try:
                    answer["result"] = await handler(message.get("params"))
                except ResponseError as error:
                    answer["error"] = {"code": error.code, "message": error.message}
            await self.send(answer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the server is gone, perhaps while the handler reported a change to it

    # -- handshake and shutdown

    async def initialize(self, editor: str = "vscode", **params: Any) -> dict[str, Any]:
        folder = params.pop("folder", None)
        uri = Path(folder).as_uri() if folder else None
        result: dict[str, Any] = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": CLIENT_INFO[editor],
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": "work"}] if uri else None,
                "capabilities": CAPABILITIES[editor],
                **params,
            },
        )
        await self.notify("initialized", {})
        return result

    async def shut_down(self) -> None:
        await self.request("shutdown")
        await self.notify("exit")


class ServerProcess:
    """A real server process; `log` is its stderr."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin and process.stdout
        self.process = process
        self.client = FramedClient(process.stdin, process.stdout)
        self.log = ""
        self._said = anyio.Event()

    async def exit_code(self) -> int:
        with anyio.fail_after(DEADLINE_S):
            return await self.process.wait()

    async def keep_log(self) -> None:
        assert self.process.stderr
        async for data in self.process.stderr:
            self.log += data.decode("utf-8", "replace")
            said, self._said = self._said, anyio.Event()
            said.set()

    async def logged(self, words: str) -> str:
        """Wait until stderr contains these words; return all of stderr. Stderr may arrive later than a response."""
        with anyio.move_on_after(DEADLINE_S):
            while words not in self.log:
                await self._said.wait()
        assert words in self.log, f"{words!r} is not in the log:\n{self.log}"
        return self.log


SERVE = (sys.executable, "-m", "agent_ls", "serve", "--stdio")


@asynccontextmanager
async def server_process(
    command: tuple[str, ...] = SERVE, *, env: dict[str, str] | None = None, cwd: str | Path | None = None
) -> AsyncIterator[ServerProcess]:
    """Start a server and read its output; kill it at the end if it still runs."""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(env or {})}
    async with await anyio.open_process(command, env=environ, cwd=cwd) as process:
        server = ServerProcess(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.run)
            tasks.start_soon(server.keep_log)
            try:
                yield server
            except BaseException:
                sys.stderr.write(f"--- the server's log\n{server.log}")
                raise
            finally:
                if process.returncode is None:
                    process.kill()
                with anyio.CancelScope(shield=True):
                    await process.wait()
                tasks.cancel_scope.cancel()
