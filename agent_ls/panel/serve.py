"""Serve the page and its WebSocket on this machine, until a signal arrives (docs/panel.md)."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import anyio
from anyio.abc import SocketAttribute, SocketStream
from websockets.datastructures import Headers
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from agent_ls.addresses import split_address
from agent_ls.panel.access import Access, is_loopback_host, is_own_origin
from agent_ls.panel.home import HomeServer, HomeStartError, start_home
from agent_ls.panel.link import Message
from agent_ls.panel.page import HEADERS, File, message_page
from agent_ls.panel.routing import PageRouter
from agent_ls.server.transport.tcp import until_signal
from agent_ls.server.transport.websocket import HANDSHAKE_S, KeepAlive, WebSocket, watch_keep_alive

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
MAX_SILENT = 32
"""Maximum number of connections that have not sent a request. If there are more, the oldest one is closed."""
OPEN_PATH, SOCKET_PATH = "/open", "/socket"
USED = (
    "This link does not work, or was used before. Press Enter in the terminal where <code>agent-ls panel</code> runs "
    "to get another one. If you did not open this link before, end that program."
)
NO_COOKIE = "Open the link that <code>agent-ls panel</code> has printed."


@dataclass(frozen=True, slots=True)
class Panel:
    """Answers the HTTP requests to a panel process."""

    access: Access
    files: Mapping[str, File]

    def respond(self, protocol: ServerProtocol, request: Request) -> Response:
        """Return the response to a request: the handshake for the page's WebSocket, a file, or an error."""
        headers, url = request.headers, split_address(request.path)
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or not is_loopback_host(hosts[0]):
            return _response(
                HTTPStatus.MISDIRECTED_REQUEST,
                message_page("The panel cannot be opened with this host name."),
            )
        # older versions of websockets accept no other method, and do not store it
        if getattr(request, "method", "GET") != "GET":
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, message_page("The panel answers only GET."))
        if url.path == OPEN_PATH:
            return self._open_page(parse_qs(url.query).get("token", [""])[0])
        if not any(map(self.access.has_cookie, headers.get_all("Cookie"))):
            return _response(HTTPStatus.UNAUTHORIZED, message_page(NO_COOKIE))
        if url.path == SOCKET_PATH:
            if not is_own_origin(headers):
                return _response(
                    HTTPStatus.FORBIDDEN, message_page("Other web pages may not connect to the panel.")
                )
            return protocol.accept(request)
        if file := self.files.get(url.path):
            return _response(HTTPStatus.OK, file)
        return _response(HTTPStatus.NOT_FOUND, message_page("The page does not exist."))

    def _open_page(self, token: str) -> Response:
        cookie = self.access.redeem(token)
        if cookie is None:
            return _response(HTTPStatus.UNAUTHORIZED, message_page(USED))
        response = _response(HTTPStatus.OK, message_page("Opening the panel …", leads_on=True))
        response.headers["Set-Cookie"] = self.access.set_cookie(cookie)
        return response


def _response(status: HTTPStatus, file: File) -> Response:
    headers = Headers(HEADERS)
    headers["Content-Type"] = file.content_type
    headers["Content-Length"] = str(len(file.body))
    headers["Connection"] = "close"
    return Response(status.value, status.phrase, headers, file.body)


async def run_panel(
    address: tuple[str, int],
    files: Mapping[str, File],
    folder: Path,
    announce: Callable[[Callable[[], str]], Coroutine[Any, Any, None]],
) -> int:
    """Serve until a signal. Returns the exit code of the process.

    New sessions work in `folder`. `announce` gets a function that returns a new link each time; `announce`
    may run until it is cancelled.

    Raises:
        OSError: the address cannot be used, or the panel's server cannot be started.
        HomeStartError.
    """
    host, port = address
    async with await anyio.create_tcp_listener(local_host=host, local_port=port) as listener:
        shown = f"[{host}]" if ":" in host else host
        place = f"http://{shown}:{listener.extra(SocketAttribute.local_port)}"
        panel = Panel(Access(listener.extra(SocketAttribute.local_port)), files)
        home = await start_home(folder)
        failed: HomeStartError | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(until_signal, tasks.cancel_scope)
                try:
                    await home.wait_until_ready()
                except HomeStartError as error:
                    failed = error
                    tasks.cancel_scope.cancel()
                else:
                    tasks.start_soon(_end_with, home, tasks.cancel_scope)
                    tasks.start_soon(announce, lambda: f"{place}{OPEN_PATH}?token={panel.access.new_token()}")
                    await listener.serve(partial(_serve, panel, home, _Count()), tasks)
        finally:
            with anyio.CancelScope(shield=True):
                await home.end()
    if failed:  # raised here, because the task group would wrap it in an ExceptionGroup
        raise failed
    return 0


async def _end_with(home: HomeServer, scope: anyio.CancelScope) -> None:
    await home.discard_output()
    sys.stderr.write("agent-ls: the server of the panel has ended; start the panel again\n")
    scope.cancel()


@dataclass(slots=True)
class _Count:
    running: int = 0
    silent: list[anyio.CancelScope] = field(default_factory=list)


async def _serve(panel: Panel, home: HomeServer, count: _Count, stream: SocketStream) -> None:
    try:
        async with stream:
            await _serve_connection(panel, home, count, stream)
    except Exception:  # last resort: a request must not end the panel
        log.exception("a connection failed")


async def _serve_connection(panel: Panel, home: HomeServer, count: _Count, stream: SocketStream) -> None:
    socket = WebSocket(stream, None)
    with anyio.move_on_after(HANDSHAKE_S) as scope:
        count.silent.append(scope)
        if len(count.silent) > MAX_SILENT:
            count.silent[0].cancel()
        try:
            await socket.do_handshake(panel.respond)
        finally:
            count.silent.remove(scope)
    if socket.is_open and count.running < MAX_CONNECTIONS:
        count.running += 1
        try:
            await _serve_page(socket, home)
        finally:
            count.running -= 1
    await socket.close(CloseCode.GOING_AWAY)


async def _serve_page(socket: WebSocket, home: HomeServer) -> None:
    """Connect one page with the servers until the page is closed. Turns started in the page continue in the
    servers afterwards.
    """
    async with anyio.create_task_group() as tasks:
        put, get = anyio.create_memory_object_stream[Message](float("inf"))

        async def send_all() -> None:
            async for message in get:
                await socket.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

        async def watch() -> None:
            await watch_keep_alive(socket, KeepAlive())
            tasks.cancel_scope.cancel()

        router = PageRouter(put.send_nowait, home, tasks)
        tasks.start_soon(send_all)
        tasks.start_soon(watch)
        async for body in socket.messages():
            tasks.start_soon(router.take, body)
        tasks.cancel_scope.cancel()
