"""An ACP client for tests that can also send invalid lines. Messages in both directions are checked against the
schema.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio.abc import Process, TaskGroup

from tests.acp.order import OrderCheck
from tests.acp.schema import problems
from tests.support.commands import command, environment, provider_variables
from tests.support.loopback import LoopbackProvider

DEADLINE_S = 240
NO_ANSWER = object()
"""A handler returns this to leave a request without an answer."""

Message: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Message], Awaitable[Any]]


class AcpError(Exception):
    def __init__(self, error: Message) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]
        self.message: str = error["message"]
        data = error.get("data")
        self.details = str(data.get("details", "")) if isinstance(data, dict) else ""


class Refusal(Exception):
    """Raised by a handler: the request is answered with this error object."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


@dataclass(eq=False)
class AcpClient:
    """An ACP client. `on`: handlers of the agent's requests, by method.

    `permission`: the kind of option that the client chooses when the agent requests a permission.
    """

    process: Process
    group: TaskGroup
    cwd: Path
    permission: str = "allow_once"
    on: dict[str, Handler] = field(default_factory=dict)
    updates: list[Message] = field(default_factory=list)
    requests: list[Message] = field(default_factory=list)
    wire: list[tuple[str, Message]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    order: OrderCheck = field(default_factory=OrderCheck)
    is_schema_checked: bool = True
    stderr: bytes = b""
    _ids: int = 0
    _asked: dict[int, tuple[str, anyio.Event, list[Message]]] = field(default_factory=dict)
    _news: anyio.Event = field(default_factory=anyio.Event)
    _methods: dict[Any, str] = field(default_factory=dict)

    # --- what is sent

    async def send_line(self, line: bytes) -> None:
        assert self.process.stdin
        await self.process.stdin.send(line + b"\n")

    async def send(self, message: Message) -> None:
        self.wire.append((">", message))
        self.order.sent(message)
        self._check(message, is_ours=True)
        await self.send_line(json.dumps(message).encode())

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def start(self, method: str, params: Message) -> int:
        """Send a request and return its number, with which `answer()` waits for the answer."""
        self._ids += 1
        number = self._ids
        self._asked[number] = (method, anyio.Event(), [])
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    async def answer(self, number: int) -> Any:
        _, event, answers = self._asked[number]
        with anyio.fail_after(DEADLINE_S):
            await event.wait()
        message = answers[0]
        if "error" in message:
            raise AcpError(message["error"])
        return message["result"]

    async def request(self, method: str, **params: Any) -> Any:
        return await self.answer(await self.start(method, params))

    async def refused(self, method: str, **params: Any) -> AcpError:
        """Send a request that must fail, and return its error."""
        try:
            result = await self.request(method, **params)
        except AcpError as error:
            return error
        raise AssertionError(f"{method} was answered: {result}")

    # --- the usual

    async def initialize(self, name: str = "", capabilities: Message | None = None, **more: Any) -> Message:
        params: Message = {"protocolVersion": 1, "clientCapabilities": capabilities or {}, **more}
        if name:
            params["clientInfo"] = {"name": name, "version": "1"}
        result: Message = await self.request("initialize", **params)
        return result

    async def new_session(self, **more: Any) -> str:
        result = await self.request("session/new", **{"cwd": str(self.cwd), "mcpServers": [], **more})
        return str(result["sessionId"])

    async def start_prompt(self, session_id: str, text: str | Sequence[Message] = "go") -> int:
        blocks = [{"type": "text", "text": text}] if isinstance(text, str) else list(text)
        return await self.start("session/prompt", {"sessionId": session_id, "prompt": blocks})

    async def prompt(self, session_id: str, text: str | Sequence[Message] = "go") -> str:
        return str((await self.answer(await self.start_prompt(session_id, text)))["stopReason"])

    async def cancel(self, session_id: str) -> None:
        await self.notify("session/cancel", sessionId=session_id)

    # --- what was received

    def of_kind(self, kind: str) -> list[Message]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of_kind(kind))

    def call(self, title: str) -> Message:
        """Return the latest value of each field of the call with this title."""
        started = next(it for it in self.of_kind("tool_call") if title in it["title"])
        merged = dict(started)
        for update in self.of_kind("tool_call_update"):
            if update["toolCallId"] == started["toolCallId"]:
                merged |= update
        return merged

    def asked(self, method: str) -> list[Message]:
        return [it["params"] for it in self.requests if it["method"] == method]

    async def wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait until `condition` is true; it is checked after each message."""
        with anyio.fail_after(DEADLINE_S):
            while not condition():
                self._news = anyio.Event()
                await self._news.wait()

    async def end(self) -> int:
        """Close the agent's input, as a quitting client does; return the exit code."""
        assert self.process.stdin
        await self.process.stdin.aclose()
        with anyio.fail_after(DEADLINE_S):
            return await self.process.wait()

    # --- inside

    async def read(self) -> None:
        assert self.process.stdout
        rest = b""
        async for data in self.process.stdout:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                await self._take(line)
        self._tell()

    async def read_errors(self) -> None:
        assert self.process.stderr
        async for data in self.process.stderr:
            self.stderr += data

    async def _take(self, line: bytes) -> None:
        message = json.loads(line)
        self.wire.append(("<", message))
        self.order.received(message)
        self._check(message, is_ours=False)
        if "method" not in message:
            if asked := self._asked.get(message.get("id")):
                asked[2].append(message)
                asked[1].set()
        elif "id" in message:
            self.requests.append(message)
            self.group.start_soon(self._handle, message)
        elif message["method"] == "session/update":
            self.updates.append(message["params"]["update"])
        self._tell()

    def _tell(self) -> None:
        self._news.set()

    async def _handle(self, message: Message) -> None:
        handler = self.on.get(message["method"]) or self._usual(message["method"])
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = await handler(message["params"])
        except Refusal as refusal:
            answer["error"] = refusal.error
        else:
            if result is NO_ANSWER:
                return
            answer["result"] = result
        try:
            await self.send(answer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    def _usual(self, method: str) -> Handler:
        if method == "session/request_permission":
            return self.choose
        raise AssertionError(f"the agent asked for {method}, which this client did not announce")

    async def choose(self, params: Message) -> Message:
        option = next((it for it in params["options"] if it["kind"] == self.permission), None)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    def _check(self, message: Message, *, is_ours: bool) -> None:
        if not self.is_schema_checked:
            return
        method, side = message.get("method"), ">" if is_ours else "<"
        other = "<" if is_ours else ">"
        if method is not None:
            kind = "request" if "id" in message else "notice"
            if kind == "request":
                self._methods[side, message["id"]] = method
            found = problems(method, kind, message.get("params"))
        elif "result" in message:
            found = problems(self._methods.get((other, message["id"]), "_"), "result", message["result"])
        else:
            error = message.get("error")
            fits = (
                isinstance(error, dict)
                and type(error.get("code")) is int
                and isinstance(error["message"], str)
            )
            found = [] if fits else [f"an error that is none: {message}"]
        self.problems += found


def unsaved(texts: Mapping[str, str]) -> Handler:
    """Return a file handler that serves these buffers by path, and all other files from disk."""

    def read_now(path: Path) -> Message:
        if not path.is_file():
            raise Refusal(-32002, "no such file")
        return {"content": path.read_text()}

    async def read(params: Message) -> Message:
        if (text := texts.get(params["path"])) is not None:
            return {"content": text}
        return read_now(Path(params["path"]))

    return read


async def write_to_disk(params: Message) -> Message:
    """Answer a write request of the agent by writing the file to disk at once."""
    await anyio.Path(params["path"]).write_text(params["content"])
    return {}


def process_environment(home: Path, provider: LoopbackProvider | None, **variables: str) -> dict[str, str]:
    found = environment(home, **(provider_variables(provider) if provider else {}))
    return found | variables


@asynccontextmanager
async def acp_client(
    cwd: Path,
    provider: LoopbackProvider | None = None,
    *,
    home: Path | None = None,
    arguments: Sequence[str] = (),
    is_schema_checked: bool = True,
    is_silent: bool = True,
    **variables: str,
) -> AsyncIterator[AcpClient]:
    """Run the agent as a process. Fail at the end if a message was invalid.

    `is_silent`: also fail if stderr has any output, because some clients display each line as an error.
    """
    environ = process_environment(home or cwd.parent / "home", provider, **variables)
    process = await anyio.open_process(
        command("acp", *arguments), cwd=cwd, env=environ, start_new_session=True
    )
    try:
        async with anyio.create_task_group() as group:
            client = AcpClient(process, group, cwd, is_schema_checked=is_schema_checked)
            group.start_soon(client.read)
            group.start_soon(client.read_errors)
            yield client
            if process.returncode is None:
                await client.end()
            group.cancel_scope.cancel()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    assert not client.problems, "\n".join(client.problems)
    assert not client.order.problems, "\n".join(client.order.problems)
    assert not is_silent or client.stderr == b"", client.stderr.decode()


@asynccontextmanager
async def acp_ready(
    cwd: Path,
    provider: LoopbackProvider | None = None,
    name: str = "",
    *,
    permission: str = "allow_once",
    is_schema_checked: bool = True,
    **more: Any,
) -> AsyncIterator[AcpClient]:
    """Run the agent as `acp_client` does, and initialize it."""
    async with acp_client(cwd, provider, is_schema_checked=is_schema_checked) as client:
        client.permission = permission
        await client.initialize(name, **more)
        yield client


@asynccontextmanager
async def acp_session(
    cwd: Path, provider: LoopbackProvider | None = None, **more: Any
) -> AsyncIterator[tuple[AcpClient, str]]:
    """Run the agent as `acp_ready` does, with a new session."""
    async with acp_ready(cwd, provider, **more) as client:
        yield client, await client.new_session()
