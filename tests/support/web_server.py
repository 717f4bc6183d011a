"""A web server on 127.0.0.1 that serves given pages and records the requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DEADLINE_S = 240


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    kind: str = "text/plain"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class WebServer:
    """`pages` has answers by path, including the query; other paths are a 404.

    `asked` has the path and the headers of each request, header names in lower case.
    """

    pages: dict[str, Answer]
    port: int
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    """The bodies of POST requests."""

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Run a server on 127.0.0.1 whose requests `handler` answers; yield its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="web", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(DEADLINE_S)


@contextmanager
def web_server(pages: Mapping[str, Answer]) -> Iterator[WebServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server calls
            made.sent.append(self.rfile.read(int(self.headers.get("content-length", 0))))
            self.do_GET()

        def do_HEAD(self) -> None:  # the name that http.server calls
            self.do_GET()

        def do_GET(self) -> None:  # the name that http.server calls
            made.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            answer = made.pages.get(self.path, Answer(b"no such page", status=404))
            self.send_response(answer.status)
            if answer.kind:
                self.send_header("content-type", answer.kind)
            self.send_header("content-length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(b"" if self.command == "HEAD" else answer.body)
            except OSError:
                self.close_connection = True  # the client has disconnected

        def log_message(self, *_: object) -> None:
            return

    with serving(Handler) as port:
        made = WebServer(dict(pages), port)
        yield made
