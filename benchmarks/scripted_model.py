"""A program: a model server that plays prepared Anthropic streams and records the times of requests and answers.

    python -m benchmarks.scripted_model

The program first prints its port. Then it reads JSON commands from stdin, one per line, and replies to each with one
line on stdout. `{"play": [ANSWER, ...]}` sets the answers to the next requests; the reply is `{}`. `{"take": true}`
returns a list with the times of the requests since the last `take`. Requests are not parsed, so that a long history
takes no time in this program. Times are in nanoseconds of the monotonic clock, which all processes of a machine share.

ANSWER is an object. `tool` and `arguments` give a tool call; `{n}` in an argument is replaced by the number of the
request. `text` gives a text. `deltas` gives a numbered text in that many pieces, with `pause_ms` milliseconds before
each piece. `hold` leaves the stream open after the text. `times` repeats the answer.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, TypedDict

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
PIECE = "{:07d} "
"""One piece of a text in many deltas: its number and a space. All pieces have the same length."""

MESSAGE: dict[str, Any] = {
    "id": "msg", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip


class Exchange(TypedDict):
    """The times of one request and its answer.

    `asked_ns`: the request was complete. `first_ns`, `last_ns`: just before the first and the last bytes of the answer
    were sent. `deltas_ns`: just before each delta was sent.
    """

    asked_ns: int
    first_ns: int
    last_ns: int
    deltas_ns: list[int]


class Model:
    def __init__(self) -> None:
        self._answers: deque[dict[str, Any]] = deque()
        self._noted: list[Exchange] = []
        self._count = 0

    def command(self, asked: dict[str, Any]) -> Any:
        if "play" in asked:
            self._count = 0
            self._answers = deque(answer for answer in asked["play"] for _ in range(answer.get("times", 1)))
            return {}
        noted, self._noted = self._noted, []
        return noted

    def serve(self, listening: socket.socket) -> None:
        while True:
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            try:
                while _read_request(connection):
                    asked_ns = time.monotonic_ns()
                    self._answer(connection, asked_ns)
            except OSError:
                return  # the client has closed the connection

    def _answer(self, connection: socket.socket, asked_ns: int) -> None:
        answer = self._answers.popleft()
        self._count += 1
        exchange: Exchange = {"asked_ns": asked_ns, "first_ns": 0, "last_ns": 0, "deltas_ns": []}
        self._noted.append(exchange)
        opening, pieces, closing = _frames(answer, self._count)
        if not pieces and not answer.get("hold"):
            exchange["first_ns"] = exchange["last_ns"] = time.monotonic_ns()
            connection.sendall(HEAD + opening + closing + LAST_CHUNK)
            return
        exchange["first_ns"] = time.monotonic_ns()
        connection.sendall(HEAD + opening)
        pause_s = answer.get("pause_ms", 0) / 1000
        for piece in pieces:
            if pause_s:
                time.sleep(pause_s)
            exchange["deltas_ns"].append(time.monotonic_ns())
            connection.sendall(piece)
        if answer.get("hold"):
            connection.recv(1)  # waits until the client closes the connection
            return
        exchange["last_ns"] = time.monotonic_ns()
        connection.sendall(closing + LAST_CHUNK)


def _read_request(connection: socket.socket) -> bool:
    """Read one complete request. Returns False if the connection has ended."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        more = connection.recv(1 << 16)
        if not more:
            return False
        data += more
    lines = data[:end].lower().split(b"\r\n")
    length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    missing = end + 4 + length - len(data)
    while missing > 0:
        missing -= len(connection.recv(min(missing, 1 << 20)))
    return True


def _frames(answer: dict[str, Any], number: int) -> tuple[bytes, list[bytes], bytes]:
    """Return the answer in three parts: the bytes before the deltas, the deltas, and the bytes after the deltas.

    A tool call and a short text have no deltas.
    """
    opening = _event("message_start", message=MESSAGE)
    if "tool" in answer:
        arguments = json.dumps(answer["arguments"]).replace("{n}", str(number))
        block = {
            "type": "tool_use",
            "id": f"call_{number}_{time.monotonic_ns()}",
            "name": answer["tool"],
            "input": {},
        }
        opening += _event("content_block_start", index=0, content_block=block)
        opening += _delta("input_json_delta", "partial_json", arguments)
        return opening, [], _closing("tool_use")
    opening += _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    if count := answer.get("deltas", 0):
        return opening, list(_pieces(count)), _closing("end_turn")
    return opening + _delta("text_delta", "text", answer["text"]), [], _closing("end_turn")


def _pieces(count: int) -> Iterator[bytes]:
    for index in range(count):
        yield _delta("text_delta", "text", PIECE.format(index))


def _delta(kind: str, key: str, text: str) -> bytes:
    return _event("content_block_delta", index=0, delta={"type": kind, key: text})


def _closing(stop_reason: str) -> bytes:
    return (
        _event("content_block_stop", index=0)
        + _event("message_delta", delta={"stop_reason": stop_reason}, usage={"output_tokens": 1})
        + _event("message_stop")
    )


def _event(kind: str, **fields: Any) -> bytes:
    """Return one server-sent event as one chunk of an HTTP body with chunked transfer encoding."""
    data = f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    model = Model()
    threading.Thread(target=model.serve, args=(listening,), daemon=True).start()
    print(json.dumps(listening.getsockname()[1]), flush=True)
    for line in sys.stdin:
        print(json.dumps(model.command(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
