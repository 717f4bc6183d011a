"""A legacy MCP server over HTTP whose answers have the oddities of real ones."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.web_server import serving

SESSION = "Mcp-Session-Id"


@dataclass(slots=True)
class Oddities:
    """The points in which a server differs from most.

    `of_get`: the status of GET. `of_notice` and `notice_kind`: status, body and type of an answer to a notification.
    `lost`: the status of one request with the session of the first connection, as after a restart; `{id}` in
    `lost_body` is its number. `form`: how answers are written. `kind`: their content type. `is_cut`: the connection
    ends before the result of a call, which the server sends when asked again, after `cuts` streams that end without an
    event. `of_post`: status, headers and body of the first answers to a method. `hangs`: a method that is not answered
    before `ended`. `gets` counts streams that were asked for, `made` has the method of each request.
    """

    of_get: int = 405
    of_post: dict[str, list[tuple[int, dict[str, str], str]]] = field(default_factory=dict)
    of_notice: tuple[int, bytes] = (202, b"")
    notice_kind: str = "text/plain; charset=utf-8"
    lost: int = 0
    lost_body: bytes = b'{"error": "Session not found"}'
    form: str = "json"
    kind: str = ""
    path: str = "/mcp"
    version: str | None = "2025-06-18"
    supports: tuple[str, ...] = ()
    is_cut: bool = False
    cuts: int = 0
    get_kind: str = "text/plain"
    get_body: str = "{}"
    gets: int = 0
    made: list[str] = field(default_factory=list)
    hangs: str = ""
    is_stateless: bool = False
    accepted: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    calls: list[dict[str, Any]] = field(default_factory=list)
    sessions: int = 0
    held: dict[str, Any] = field(default_factory=dict)


@contextmanager
def odd_server(odd: Oddities) -> Iterator[str]:
    """Run a server with these oddities; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            odd.gets += 1
            if odd.is_cut and self.headers.get("last-event-id") == "e1":
                odd.cuts -= 1
                return self.write(odd.held) if odd.cuts < 0 else self.begin_stream(b": still busy\n\n")
            self.reply(odd.of_get, odd.get_body.encode(), odd.get_kind)

        def do_DELETE(self) -> None:
            odd.made.append(f"DELETE {self.headers.get(SESSION)}")
            self.reply(404, b"", "text/plain")

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            odd.made.append(message.get("method", ""))
            odd.accepted.append(self.headers.get("accept", ""))
            if odd.hangs and odd.hangs == odd.made[-1]:
                odd.ended.wait()
            if first := odd.of_post.get(odd.made[-1]):
                self.say(message, *first.pop(0))
            elif self.path != odd.path:
                self.send_response(307)
                self.send_header("location", odd.path)
                self.send_header("content-length", "0")
                self.end_headers()
            elif "method" not in message:
                self.reply(400, b"Invalid Request", "text/plain")
            elif "id" not in message:
                self.reply(*odd.of_notice, odd.notice_kind)
            elif odd.supports and message["method"] == "initialize" and self.has_other_version(message):
                said = f"Unsupported protocol version (supported versions: {', '.join(odd.supports)})"
                self.reply(400, f"Bad Request: {said}".encode(), "text/plain")
            elif odd.lost and odd.calls and self.headers.get(SESSION) == "s1":
                number = json.dumps(message["id"]).encode()
                self.reply(odd.lost, odd.lost_body.replace(b"{id}", number), "application/json")
            else:
                self.answer(message)

        def has_other_version(self, message: dict[str, Any]) -> bool:
            named = self.headers.get("mcp-protocol-version", odd.supports[0])
            return message["params"]["protocolVersion"] not in odd.supports or named not in odd.supports

        def answer(self, message: dict[str, Any]) -> None:
            match message["method"]:
                case "initialize":
                    odd.sessions += 1
                    result: Any = {
                        **({"protocolVersion": odd.version} if odd.version else {}),
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "odd", "version": "1"},
                    }
                case "tools/list":
                    schema = {"type": "object", "properties": {}}
                    result = {"tools": [{"name": "echo", "inputSchema": schema}]}
                case "tools/call":
                    odd.calls.append(message["params"])
                    result = {"content": [{"type": "text", "text": f"called {len(odd.calls)}"}]}
                case method:
                    error = {"code": -32601, "message": f"Method not found: {method}"}
                    return self.write({"jsonrpc": "2.0", "id": message["id"], "error": error})
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            if odd.is_cut and message["method"] == "tools/call":
                self.cut(answer)
            else:
                self.write(answer)

        def cut(self, message: dict[str, Any]) -> None:
            """Begin a stream, and close the connection before its event with the result."""
            odd.held = message
            self.begin_stream(b"id: e1\nretry: 10\ndata: \n\n")

        def begin_stream(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = True

        def say(self, message: dict[str, Any], status: int, headers: dict[str, str], body: str) -> None:
            """Answer with a text, in which `{id}` is the number of the request."""
            data = body.replace("{id}", json.dumps(message.get("id"))).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def write(self, message: dict[str, Any]) -> None:
            data = json.dumps(message)
            kind = odd.kind or (
                "application/json"
                if odd.form in ("json", "gzip", "bom", "batch", "listed", "nulled")
                else "text/event-stream"
            )
            body = {
                "json": data,
                "gzip": data,
                "bom": f"\ufeff{data}",
                "sse": f"event: message\ndata: {data}\n\n",
                "bare": f"data: {data}\n\n",
                "crlf": f": hello\r\n\r\nevent: message\r\nid: 1\r\ndata: {data}\r\n\r\n",
                "unfinished": f"event: message\ndata: {data}\n",
                "beating": f'data: {{"type":"heartbeat"}}\n\ndata: alive\n\ndata: {data}\n\n',
                "empty": f"event: ping\ndata: \n\ndata:\n\n: ping\n\ndata: {data}\n\n",
                "primed": f"id: s:0\nretry: 1000\ndata: \n\nid: s:1\ndata: {data}\n\n",
                "zero": f"id: 0\n\ndata: {data}\n\n",
                "pinged": f'data: {{"jsonrpc":"2.0","id":"uuid-1","method":"ping"}}\n\ndata: {data}\n\n',
                "batch": f'[{{"jsonrpc":"2.0","method":"notifications/x"}}, {data}]',
                "listed": f"[{json.dumps({**message, 'error': None})}]",
                "nulled": json.dumps({**message, "error": None}),
                "batched": f'data: [{{"jsonrpc":"2.0","method":"notifications/x"}}, {data}]\n\n',
                "noticed": f'data: {{"jsonrpc":"2.0","method":"notifications/x"}}\n\nevent: message\ndata:{data}\n\n',
            }[odd.form]
            self.reply(200, body.encode(), kind)

        def reply(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            if odd.form == "gzip":
                body = gzip.compress(body)
                self.send_header("content-encoding", "gzip")
            if kind != "none":
                self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if status == 200 and not odd.is_stateless:
                self.send_header(SESSION, f"s{odd.sessions}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}/mcp"
