"""The language server process: event loop, connection, and the one task group that owns all running work.

jsonrpc.py and io.py harden the pygls base; a `Backend` implements the `agent/*` messages. The server ends on `exit`,
when the editor's pipe ends or breaks, when the editor's process is gone, or on SIGINT, SIGTERM and SIGHUP. In
each case running work is cancelled and gets time to clean up. The exit code says whether the end was orderly.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from agent_ls._version import __version__
from agent_ls.server.editor.host import LspEditorHost, Sleep
from agent_ls.server.features import documents
from agent_ls.server.transport.framing import FrameParser
from agent_ls.server.transport.io import ThreadWriter
from agent_ls.server.transport.jsonrpc import AgentProtocol, Receivers, plain_converter
from agent_ls.server.transport.large_messages import LargeMessage
from agent_ls.server.transport.reading import start_reading
from agent_ls.system import handle_termination_signals, is_alive, use_pidfd_watcher

log = logging.getLogger(__name__)

PARENT_POLL_S = 2.0
SHUTDOWN_S = 6.0
"""Time for running work to end when the server ends: commands get SIGTERM, and SIGKILL two seconds later.
Work that takes longer is abandoned.
"""


@dataclass(frozen=True, slots=True)
class ClientStreams:
    """Two file descriptors, and the data read from them before the server was ready.

    `first` are whole messages, `parser` holds the rest. `is_answered`: the response to the first message was
    already sent.
    """

    reader: int
    writer: int
    parser: FrameParser
    first: Sequence[bytes] = ()
    is_answered: bool = False


class Backend(Protocol):
    """Interface of the implementation of the `agent/*` messages."""

    async def run(self, server: AgentServer) -> None:
        """Run while the server runs, and own all sessions. When cancelled, end all sessions in an orderly
        way.
        """
        ...

    async def call(self, method: str, params: Any) -> Any:
        """Answer a request or handle a notification. An exception becomes an error response."""
        ...


class AgentServer(LanguageServer):
    """The pygls server of one editor connection."""

    protocol: AgentProtocol
    writer: ThreadWriter

    def __init__(
        self,
        backend: Backend,
        *,
        on_finish: Callable[[int], None] = lambda code: None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        """`on_finish` is called with the exit code when the server begins to end, before running work has
        ended.
        """
        super().__init__(
            "agent-ls", __version__, protocol_cls=AgentProtocol, converter_factory=plain_converter
        )
        self._backend = backend
        self._code = 0
        self._on_finish = on_finish
        self._done = anyio.Event()
        self.initialized = anyio.Event()
        self.host = LspEditorHost(self.protocol, sleep)
        self.protocol.receivers = Receivers(self.finish, backend.call, self.host.unread, self.initialized.set)
        self._backend_scope = anyio.CancelScope()
        # Some editors leave only a second between `shutdown` and the end of the process, so running work is
        # ended at `shutdown`.
        self.feature(lsp.SHUTDOWN)(lambda *_: self._backend_scope.cancel())
        documents.register(self, self.host)

    def report_server_error(self, error: Exception, source: Any) -> None:
        # pygls would show a pop-up to the user, who cannot fix the error. So the error is only logged.
        log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=error)

    def finish(self, code: int) -> None:
        """Begin to end the server. The first call decides the exit code."""
        if not self._done.is_set():
            self._code = code
            self._done.set()
            self._on_finish(code)

    async def serve(self, connection: ClientStreams) -> int:
        """Serve one connection until its end. Returns the exit code of the process."""
        self.writer = ThreadWriter(connection.writer, lambda: self.finish(1))
        self.protocol.set_writer(self.writer)
        with handle_termination_signals(lambda: self.finish(0)):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run_backend)
                tasks.start_soon(self._watch_parent)
                messages = _Messages(self, connection.parser)
                for index, body in enumerate(connection.first):
                    messages.handle_message(body, is_answered=connection.is_answered and index == 0)
                with closing(start_reading(connection.reader, messages)):
                    await self._done.wait()
                # Fail the requests that wait for the editor, which no longer answers. A shielded wait for an
                # edit would otherwise last longer than SHUTDOWN_S.
                self.protocol.cancel_requests()
                tasks.cancel_scope.cancel()
        self.writer.close()
        return self._code

    async def _run_backend(self) -> None:
        try:
            with self._backend_scope:
                await self._backend.run(self)
        except Exception:  # last resort: a server without its backend can still report errors
            log.exception("the agent could not be started")

    async def _watch_parent(self) -> None:
        """Stop when the editor's process has ended. If the editor crashed, another process may still hold its
        pipe open.
        """
        await self.initialized.wait()
        pid = self.protocol.client.process_id
        if pid is None or not _is_alive(pid, is_parent=False):
            return  # no process id was sent, or it belongs to another machine or container
        # On Windows the parent process id never changes, even if the parent is gone.
        is_parent = os.name == "posix" and os.getppid() == pid
        while _is_alive(pid, is_parent=is_parent):  # noqa: ASYNC110  # the end of a foreign process is not reported
            await anyio.sleep(PARENT_POLL_S)
        self.finish(1)


def run(backend: Backend, connection: ClientStreams) -> int:
    """Run the whole process until its end. Returns the exit code, even if some work does not end."""

    def leave_behind(code: int) -> None:
        timer = threading.Timer(SHUTDOWN_S, os._exit, (code,))
        timer.daemon = True
        timer.start()

    async def serve() -> int:
        return await AgentServer(backend, on_finish=leave_behind).serve(connection)

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("pygls", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # pygls logs whole messages: prompts, texts, keys
    use_pidfd_watcher()
    return anyio.run(serve)


class _Messages:
    """Pass the messages in the bytes read to the protocol."""

    def __init__(self, server: AgentServer, parser: FrameParser) -> None:
        self._server = server
        self._parser = parser
        parser.on_large = self._handle_large
        parser.on_bad_header = server.protocol.on_bad_header

    def handle_data(self, data: bytes) -> None:
        for body in self._parser.feed(data):
            self.handle_message(body)

    def handle_message(self, body: bytes, *, is_answered: bool = False) -> None:
        try:
            self._server.protocol.on_wire(body, is_answered=is_answered)
        except Exception as error:  # last resort: a failing message must not end the server
            self._server.report_server_error(error, "a message failed")

    def _handle_large(self, message: LargeMessage) -> None:
        try:
            self._server.protocol.on_large_message(message)
        except Exception as error:  # last resort: a failing message must not end the server
            self._server.report_server_error(error, "a message failed")

    def must_wait(self) -> bool:
        return self._server.writer.is_full

    def handle_end(self, problem: str) -> None:
        if problem:
            log.error("the connection to the editor was lost: %s", problem)
        self._server.finish(0 if self._server.protocol.is_shut_down else 1)


def _is_alive(pid: int, *, is_parent: bool) -> bool:
    if is_parent:
        return os.getppid() == pid  # also detects a zombie that nobody has reaped yet
    return is_alive(pid)
