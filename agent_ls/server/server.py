"""The language server's process: event loop, connection, and the one task group that owns all that runs.

The hardened pygls base is jsonrpc.py and io.py; what the `agent/*` messages do stands behind `Backend`. Ends when
the editor says `exit`, when its pipe ends or breaks, when its process is gone, or by SIGINT and SIGTERM; in each
case what runs is cancelled and given time to settle, and the exit code says whether it was orderly.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from agent_ls._version import __version__
from agent_ls.server.editor_host import LspEditorHost, Sleep
from agent_ls.server.features import documents, notebooks
from agent_ls.server.framing import FrameParser
from agent_ls.server.io import ByteCount, ThreadWriter, read_in_thread
from agent_ls.server.jsonrpc import AgentProtocol, plain_converter
from agent_ls.system import is_alive, on_ending_signals

log = logging.getLogger(__name__)

PARENT_POLL_S = 2.0
UNHANDLED_BYTES = 64 * 1024 * 1024
"""Of messages that were read and are not handled yet: above this no more are read."""

SETTLE_S = 6.0
"""After the end was decided: commands get TERM, two seconds, KILL. What takes longer is left behind."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Two descriptors, and what was read of them before the server was there.

    `first` are whole messages, `parser` holds the rest. `is_answered`: the first of them has got its response.
    """

    reader: int
    writer: int
    parser: FrameParser
    first: Sequence[bytes] = ()
    is_answered: bool = False


class Backend(Protocol):
    """What answers the `agent/*` messages."""

    async def run(self, server: AgentServer) -> None:
        """Started with the server; owns all sessions. Cancelled = everything ends, in good order."""
        ...

    async def call(self, method: str, params: Any) -> Any:
        """Answers one request or takes one notification. What it raises becomes an error answer."""
        ...


class AgentServer(LanguageServer):
    protocol: AgentProtocol
    writer: ThreadWriter

    def __init__(
        self,
        backend: Backend,
        *,
        on_finish: Callable[[int], None] = lambda code: None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        """`on_finish` is told the exit code when the end begins: what runs then has still to settle."""
        super().__init__(
            "agent-ls", __version__, protocol_cls=AgentProtocol, converter_factory=plain_converter
        )
        self._backend = backend
        self._code = 0
        self._on_finish = on_finish
        self._done = anyio.Event()
        self.initialized = anyio.Event()
        self.host = LspEditorHost(self.protocol, sleep)
        self.protocol.on_exit = self.finish
        self.protocol.on_agent = backend.call
        self.protocol.on_unread = self.host.unread
        self.protocol.on_initialize = self.initialized.set
        self._backend_scope = anyio.CancelScope()
        # An editor may leave us a second between `shutdown` and the end, so all begins to settle at the former.
        self.feature(lsp.SHUTDOWN)(lambda *_: self._backend_scope.cancel())
        documents.register(self, self.host)
        notebooks.register(self, self.host.notebooks)

    def report_server_error(self, error: Exception, source: Any) -> None:
        # pygls would show it to the user as a pop-up; who can do something about it reads the log.
        log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=error)

    def finish(self, code: int) -> None:
        """The first who says so decides the exit code."""
        if not self._done.is_set():
            self._code = code
            self._done.set()
            self._on_finish(code)

    async def serve(self, connection: Connection) -> int:
        """Serves one connection until its end, and returns the process's exit code."""
        self.writer = ThreadWriter(connection.writer, lambda: self.finish(1))
        self.protocol.set_writer(self.writer)
        with on_ending_signals(lambda: self.finish(0)):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run_backend)
                tasks.start_soon(self._watch_parent)
                reading = _Reading(self, asyncio.get_running_loop())
                for index, body in enumerate(connection.first):
                    reading.on_message(body, is_answered=connection.is_answered and index == 0)
                read_in_thread(connection.reader, connection.parser, reading)
                await self._done.wait()
                # Nobody answers any more, and who waits shielded for an edit would outlast the time to settle.
                self.protocol.let_go()
                tasks.cancel_scope.cancel()
        self.writer.close()
        return self._code

    async def _run_backend(self) -> None:
        try:
            with self._backend_scope:
                await self._backend.run(self)
        except Exception:  # the edge: without its back end the server can still say what is wrong
            log.exception("the agent could not be started")

    async def _watch_parent(self) -> None:
        """An editor that crashed may leave its pipe open in another process, but its id is gone."""
        await self.initialized.wait()
        pid = self.protocol.client.process_id
        if pid is None or not _is_alive(pid, is_parent=False):
            return  # not told, or a number of another machine or container
        # On Windows a process keeps the number of its parent, whatever becomes of that.
        is_parent = os.name == "posix" and os.getppid() == pid
        while _is_alive(pid, is_parent=is_parent):  # noqa: ASYNC110  # the end of a foreign process is no event
            await anyio.sleep(PARENT_POLL_S)
        self.finish(1)


def run(backend: Backend, connection: Connection) -> int:
    """The whole process: serves until the end, and returns the exit code even when something does not settle."""

    def leave_behind(code: int) -> None:
        timer = threading.Timer(SETTLE_S, os._exit, (code,))
        timer.daemon = True
        timer.start()

    async def serve() -> int:
        return await AgentServer(backend, on_finish=leave_behind).serve(connection)

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("pygls", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # pygls logs whole messages: prompts, texts, keys
    return anyio.run(serve)


class _Reading:
    """Carries what the reading thread gets over to the event loop.

    It is worked on in the server's context, not in the empty one of the thread: where the package sniffio is installed,
    anyio reads there what runs the loop, and a callback without that could start no task.
    """

    def __init__(self, server: AgentServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._context = contextvars.copy_context()
        self._unhandled = ByteCount(UNHANDLED_BYTES)

    def message(self, body: bytes) -> None:
        self._unhandled.add(len(body))
        with contextlib.suppress(RuntimeError):  # the loop is closed: we are ending
            self._loop.call_soon_threadsafe(self._handle, body, context=self._context.copy())

    def wait_until_ready(self) -> None:
        self._unhandled.wait_for_room()
        self._server.writer.wait_until_not_full()

    def _handle(self, body: bytes) -> None:
        self._unhandled.take(len(body))
        self.on_message(body)

    def ended(self, problem: str) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_end, problem, context=self._context.copy())

    def on_message(self, body: bytes, *, is_answered: bool = False) -> None:
        try:
            self._server.protocol.on_wire(body, is_answered=is_answered)
        except Exception as error:  # the edge: one message must not end the server (R5)
            self._server.report_server_error(error, "a message failed")

    def _on_end(self, problem: str) -> None:
        if problem:
            log.error("the connection to the editor broke: %s", problem)
        self._server.finish(0 if self._server.protocol.is_shut_down else 1)


def _is_alive(pid: int, *, is_parent: bool) -> bool:
    if is_parent:
        return os.getppid() == pid  # also tells of a dead one that nobody has reaped yet
    return is_alive(pid)
