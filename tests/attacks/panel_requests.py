"""Generate requests to the panel as bytes, and messages of its WebSocket."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

_METHODS = ("GET", "POST", "HEAD", "get", "OPTIONS", "CONNECT", "PUT", "G\tET", "")
_PATHS = (
    "/", "/index.html", "/panel.js", "/socket", "/open", "/open?token=x", "/open?token={token}", "/open?token=%00",
    "/open?token=x&token={token}", "/Open?token={token}", "//open?token={token}", "/open/?token={token}",
    "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/serve.py", "/page/panel.js", "file:///etc/passwd",
    "http://localhost/panel.js", "http://evil.example/panel.js", "//evil.example/", "/panel.js#x", "/panel.js?x",
    "/panel.js%00", "/[", "http://[/", "*", "/\x00", "/" + "a" * 9000, "/socket?x", "/;/panel.js",
)  # fmt: skip
_HOSTS = (
    "localhost", "localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST", "evil.example",
    "evil.example:{port}",
    "localhost@evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0x7f.1", "",
    "localhost, evil.example",
    "localhost/", "127.1", "0.0.0.0", "localhost:99999999",
)  # fmt: skip
_ORIGINS = (
    "http://localhost", "http://localhost:{port}", "http://127.0.0.1:{port}", "https://localhost", "null", "",
    "http://evil.example", "http://localhost@evil.example", "file://", "http://localhost:{port}/",
)  # fmt: skip
_COOKIES = (
    "", "{name}={cookie}", "{name}={cookie}", "{name}=x", "{name}=", "{name}", "x={cookie}", "a=b; {name}={cookie}",
    "{name}={cookie}x", "{NAME}={cookie}", "{name}=\"{cookie}\"", "{name}=\u00e9", "agent-ls-panel-1={cookie}",
)  # fmt: skip
_OTHERS = (
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    "Content-Length: 5", "Transfer-Encoding: chunked", "X-Forwarded-Host: localhost", "X-HTTP-Method-Override: POST",
    "Host: localhost", "Cookie: {name}={cookie}", " folded", "Bad", "Sec-WebSocket-Extensions: permessage-deflate",
)  # fmt: skip
_UPGRADE = _OTHERS[:4]


def requests(seed: int, count: int) -> Iterator[bytes]:
    """Yield requests with the names `{port}`, `{token}`, `{name}`, `{NAME}` and `{cookie}` in them."""
    chance = random.Random(seed)

    def choose(usual: Sequence[str], unusual: Sequence[str]) -> str:
        return chance.choice(usual if chance.random() < 0.8 else unusual)

    for _ in range(count):
        host = choose(_HOSTS[:4], _HOSTS)
        rows = [f"Host: {host}"]
        if chance.random() < 0.9:
            rows.append(f"Cookie: {choose(_COOKIES[1:2], _COOKIES)}")
        if chance.random() < 0.5:
            rows.append(f"Origin: {choose((f'http://{host}',), _ORIGINS)}")
        if chance.random() < 0.5:
            rows += _UPGRADE
        rows += chance.choices(_OTHERS, k=chance.choice((0, 0, 0, 1, 2)))
        chance.shuffle(rows)
        if chance.random() < 0.05:
            rows = rows[1:]
        version = choose(("HTTP/1.1",), ("HTTP/1.0", "HTTP/2", "HTTP/0.9", ""))
        line = f"{choose(('GET',), _METHODS)} {choose(_PATHS[:4], _PATHS)} {version}"
        end = choose(("\r\n",), ("\n", "\r\n"))
        yield (end.join((line, *rows, "", ""))).encode("latin-1", "replace")


_JSON: tuple[Any, ...] = (
    None, True, 0, -1, 1e400, "", "x", "..", "../../etc", "/etc/passwd", "*", "\x00", [], {}, [[]],
    {"path": "/etc/passwd"}, {"sessionId": "../.."}, "a" * 300, "\ud800",
)  # fmt: skip
METHODS = (
    "agent/subscribe", "agent/unsubscribe", "agent/takeOver", "panel/sessions", "agent/prompt", "agent/nothing",
    "shutdown", "exit", "initialize", "workspace/executeCommand", "textDocument/didOpen", "$/cancelRequest", "",
)  # fmt: skip


def messages(seed: int, count: int) -> Iterator[bytes]:
    """Yield messages of a page. No session exists that they could be about."""
    chance = random.Random(seed)
    for _ in range(count):
        message: Any = {
            "jsonrpc": "2.0",
            "id": chance.choice((1, "x", *_JSON)),
            "method": chance.choice((*METHODS, *METHODS, *_JSON)),
            "session": chance.choice(_JSON),
            "params": chance.choice(_JSON),
        }
        for key in chance.sample(sorted(message), k=chance.choice((0, 0, 0, 1))):
            del message[key]
        if chance.random() < 0.1:
            message = chance.choice((*_JSON, [message]))
        data = json.dumps(message).encode()
        yield data[: chance.randrange(len(data))] if chance.random() < 0.1 else data
