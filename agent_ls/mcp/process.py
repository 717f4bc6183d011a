"""The process of an MCP server over stdin and stdout: started without API keys in its environment, and ended
together with all its descendants.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import EventLoopToken, current_token

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local.environ import EnvRules
from agent_ls.environments.local.processes.children import Children
from agent_ls.environments.local.processes.pipes import CHUNK_BYTES, Pipe, drain, new_pipe
from agent_ls.environments.local.processes.thread_pipes import CAN_WAIT_FOR_PIPES, new_input
from agent_ls.environments.local.trees.base import Child
from agent_ls.mcp.config import ServerSandboxLimits, StdioTarget
from agent_ls.patterns import regex
from agent_ls.text import decode

MAX_LINE_BYTES = 16 * 1024 * 1024
INTERNAL_ERROR = -32603
MAX_BRACES = 4
"""How many braces in a line are tried as the beginning of its message."""
STDERR_CHARS = 64 * 1024
CLOSE_SECONDS = 2.0
"""Seconds that a server may take to exit after its input was closed."""
LAST_WORDS_S = 0.5
_KEPT_BYTES = 4096
"""How many bytes of the begin and the end of a line that is too long are searched for the id of its message."""
_ID = rb'"id"\s*:\s*("[^"\\]{1,100}"|[0-9]{1,18})\s*'
_FIRST_ID = regex(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb",")
_LAST_ID = regex(rb",\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
TOO_LONG = f"the server sent a message larger than {MAX_LINE_BYTES // 1024 // 1024} MiB"
_HEADER = regex(rb"content-length:[ \t]*([0-9]{1,9})[ \t\r]*\Z", re.IGNORECASE)

GIVEN = EnvRules(
    "none", kept=("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR")
)
if os.name == "nt":
    GIVEN = EnvRules("minimal")


Confine: TypeAlias = Callable[
    [ServerSandboxLimits, str, CommandOptions, str], Awaitable[tuple[str, CommandOptions]]
]
"""Returns the command and options that run a command in a sandbox. Raises EnvError if the sandbox is
unavailable.
"""


class EndedError(Exception):
    """The server's process has ended, or closed its output; `str()` is for the user."""


@dataclass(slots=True)
class _Stderr:
    """Stores the last STDERR_CHARS characters of a server's standard error. A thread adds new output, and sets
    `ended` when all output was read.
    """

    text: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: anyio.Event = field(default_factory=anyio.Event)
    loop: EventLoopToken = field(default_factory=current_token)

    def add(self, text: str) -> None:
        with self.lock:
            self.text = (self.text + text)[-STDERR_CHARS:]

    def end(self) -> None:
        with suppress(RuntimeError, anyio.RunFinishedError):  # the event loop has ended
            anyio.from_thread.run_sync(self.ended.set, token=self.loop)


class ServerProcess:
    """A running server. `noise` counts the lines of the server's standard output that are not messages.

    `closed` is set when no more messages come; `why_closed` is for the user.
    """

    def __init__(self, child: Child, reading: int, writing: int, stderr: _Stderr) -> None:
        self._child = child
        self._reading = reading
        self._input = new_input(writing)
        self._stderr = stderr
        self.noise = 0
        self._printed = ""
        self.closed = anyio.Event()
        self.why_closed = "the server closed its output"

    @property
    def stderr(self) -> str:
        """The last lines that the server wrote to standard error."""
        with self._stderr.lock:
            return self._stderr.text

    async def send(self, message: str) -> None:
        """
        Send a message.

        Raises:
            EndedError: the process no longer reads its input.
        """
        try:
            await self._input.write(message.encode("utf-8", "replace") + b"\n", close=False)
        except (BrokenPipeError, OSError):
            raise EndedError("the server no longer reads its input") from None

    async def messages(self) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the JSON objects that the server writes, until it closes its output: one on each line, or with the
        headers of LSP, where no line end follows an object. In place of an answer that is too long, yield an error.

        Raises:
            EndedError: a message is too long that is no answer.
        """
        try:
            async for message in self._messages():
                yield message
        except EndedError as error:
            self.why_closed = str(error)
            raise
        finally:
            self.closed.set()

    async def _messages(self) -> AsyncIterator[Mapping[str, Any]]:
        kept: list[bytes] = []
        spread = _SpreadMessage()
        size = framed = 0
        behind = b""
        while data := behind or await self._read():
            behind = b""
            *lines, rest = data.split(b"\n")
            for line in lines:
                kept.append(line)
                whole = b"".join(kept)
                if header := _HEADER.search(whole):
                    framed = int(header[1])
                message = _object(whole)
                kept, size = [], 0
                if message is None:
                    message = spread.add(whole)
                if message is None:
                    self._add_noise(whole)
                elif message:
                    yield message
            kept.append(rest)
            size += len(rest)
            if 0 < framed <= size and (message := _object(b"".join(kept))):
                kept, size, framed = [], 0, 0
                yield message
            if size > MAX_LINE_BYTES:
                message, behind = await self._skip_line(b"".join(kept), is_framed=framed > 0)
                kept, size = [], 0
                yield message

    async def _skip_line(self, begin: bytes, *, is_framed: bool) -> tuple[Mapping[str, Any], bytes]:
        """Read the rest of a line that is too long. Return the error for its request, and what follows the line."""
        end = begin[-_KEPT_BYTES:]
        while not is_framed and (data := await self._read()):
            line, has_ended, rest = data.partition(b"\n")
            end = (end + line)[-_KEPT_BYTES:]
            if not has_ended:
                continue
            if not (found := _FIRST_ID.match(begin[:_KEPT_BYTES]) or _LAST_ID.search(end)):
                break
            error = {"code": INTERNAL_ERROR, "message": TOO_LONG}
            return {"jsonrpc": "2.0", "id": json.loads(found[1]), "error": error}, rest
        raise EndedError(TOO_LONG)

    def _add_noise(self, line: bytes) -> None:
        self.noise += 1
        self._printed = (self._printed + decode(line).text + "\n")[-STDERR_CHARS:]

    async def _read(self) -> bytes:
        if not CAN_WAIT_FOR_PIPES:
            return await anyio.to_thread.run_sync(
                os.read, self._reading, CHUNK_BYTES, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        await anyio.wait_readable(self._reading)
        return os.read(self._reading, CHUNK_BYTES)

    def close_input(self) -> None:
        self._input.close()

    async def wait_for_end(self) -> int:
        return await self._child.process.wait()

    async def read_last_words(self) -> str:
        """Return the last lines of standard error of a server that has ended or is about to end; without any, the
        lines of its standard output that are not messages, such as its usage.

        The process may end before its output was read, so this method waits for the rest of the output, at most
        LAST_WORDS_S.
        """
        with anyio.move_on_after(LAST_WORDS_S):
            await self.wait_for_end()
            await self._stderr.ended.wait()
        return self.stderr.strip() or self._printed


class ServerProcesses:
    """All server processes of one session. `environ` contains no API key of a provider. `confine` None: no sandbox."""

    def __init__(self, environ: Mapping[str, str], folder: str, confine: Confine | None = None) -> None:
        self._confine = confine
        self._children = Children(environ, GIVEN, CLOSE_SECONDS, None)
        self._folder = folder
        self._is_ready = False

    @asynccontextmanager
    async def run_server(self, target: StdioTarget) -> AsyncIterator[ServerProcess]:
        """Start a server. When the `with` block ends, the server and its descendants are ended.

        First the server's input is closed. If it still runs after 2 s, it gets SIGTERM, and after 2 s more
        SIGKILL.

        Raises:
            EnvError: the program or folder does not exist, or the program cannot be started.
        """
        if not self._is_ready:
            self._is_ready = True
            await self._children.initialize()
        folder = os.path.join(self._folder, target.cwd) if target.cwd else self._folder
        options = CommandOptions(
            working_dir=target.cwd, env_vars=dict(target.env), argv=(target.command, *target.args)
        )
        command = target.command
        if target.sandbox:
            if self._confine is None:
                raise ProcessStartError(
                    "The settings require a sandbox for this server, which is not available here."
                )
            command = shlex.join((command, *target.args))
            command, options = await self._confine(target.sandbox, command, options, folder)
        launch = await self._children.prepare_launch(command, folder, options)
        stderr = _Stderr()
        with new_pipe() as out, new_pipe() as err, new_pipe() as stdin:
            child = await self._children.by_pipes(launch, out, err, stdin)
            drain(err.give_reading(), stderr.add, stderr.end)
            _unblock(out)
            process = ServerProcess(child, out.reading, stdin.give_writing(), stderr)
            try:
                yield process
            finally:
                with anyio.CancelScope(shield=True):
                    process.close_input()
                    with anyio.move_on_after(CLOSE_SECONDS):
                        await process.wait_for_end()
                    await self._children.end(child)
                    self._children.forget(child)

    async def end_all(self) -> None:
        """End the processes that servers started and left running."""
        if self._is_ready:
            with anyio.CancelScope(shield=True):
                await self._children.end_all()


def _unblock(pipe: Pipe) -> None:
    if CAN_WAIT_FOR_PIPES:
        os.set_blocking(pipe.reading, False)


class _SpreadMessage:
    """Collects a message that a server writes on several lines: from a line with only `{` to one with only `}`."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes) -> Mapping[str, Any] | None:
        """Add a line that is no message. Return the message that ends with it; {} within a message, None outside."""
        bare = line.rstrip()
        if bare == b"{":
            self._lines, self._size = [], 0
        elif not self._lines:
            return None
        self._lines.append(line)
        self._size += len(line)
        if self._size > MAX_LINE_BYTES:
            self._lines = []
        elif bare == b"}":
            found, self._lines = _object(b"\n".join(self._lines)), []
            return found if found and "jsonrpc" in found else None
        return {}


def _object(line: bytes) -> Mapping[str, Any] | None:
    """Parse a line as a JSON object; {} if it is empty, None if it is invalid."""
    if not line.strip():
        return {}
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        return found if isinstance(found, dict) else None
    return _message_in(decode(line).text)


def _message_in(text: str) -> Mapping[str, Any] | None:
    """Return the message in a line of another encoding, or with other words before or after the message."""
    at = text.find("{")
    for _ in range(MAX_BRACES):
        with suppress(ValueError, RecursionError):
            found, _ = json.JSONDecoder().raw_decode(text, at)
            if isinstance(found, dict) and "jsonrpc" in found:
                return found
        at = text.find("{", at + 1)
        if at < 0:
            break
    return None
