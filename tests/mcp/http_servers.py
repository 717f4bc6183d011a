"""MCP servers over HTTP on loopback: real ones with the server side of the SDK, and one with fixed answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import uvicorn
from mcp.server import MCPServer

from tests.support.web_server import serving


def counting_server() -> MCPServer:
    server = MCPServer("counting")

    @server.tool()
    def count(words: str) -> str:
        """Count words."""
        return f"{len(words.split())} words"

    return server


@contextmanager
def served(server: MCPServer, authorization: str = "") -> Iterator[str]:
    """Run a server with streamable HTTP, in both protocol eras; yield its address. With `authorization`, requests
    without this header are refused.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and authorization and given != authorization:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    runner = uvicorn.Server(uvicorn.Config(guarded, log_level="critical"))
    thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        runner.should_exit = True
        thread.join()


@contextmanager
def answering(
    status: int, headers: Mapping[str, str], seen: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Run a server that answers every request with this status and these headers; yield its address. `seen` collects
    the requests.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            seen.append((self.path, dict(self.headers)))
            self.send_response(status if self.path == "/mcp" else 404)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing; tests read `seen`."""

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}/mcp"
