"""Start the server process: `initialize` is answered before anything heavy is imported.

The editor blocks the user until it has that answer. During the imports that follow, the user can work. The
event loop (server.py) does everything else. This module imports only modules that the answer needs.
"""

from __future__ import annotations

import gc
import json
import os
import select
import sys
from pathlib import Path

from agent_ls.server import start_time  # noqa: F401  the first of ours: it notes when the process began
from agent_ls.server.lsp.capabilities import client_abilities, initialize_result
from agent_ls.server.transport.framing import FrameError, FrameParser, frame
from agent_ls.system import claim_stdio

READ_BYTES = 1 << 16
FIRST_MESSAGE_S = 10.0
"""A connection without a first message after this time is closed."""


def main(token_file: str = "") -> int:
    """Serve the editor over stdin and stdout. Returns the exit code of the process.

    With `token_file`, stdin and stdout are a TCP connection that any program on this machine may have opened,
    so the first message must contain the token (transport/tcp.py).
    """
    reader, writer = claim_stdio()
    parser = FrameParser()
    if not token_file:  # a program that cannot speak the protocol has no token either, and is sent away
        parser.on_bad_header = lambda reason: _write(writer, frame(parse_error(reason)))
    if token_file and not select.select([reader], [], [], FIRST_MESSAGE_S)[0]:
        return 1
    first = read_first(reader, parser)
    if not first or (token_file and not _is_let_in(first[0], writer, token_file)):
        return 1
    answer = early_answer(first[0])
    if answer:
        _write(writer, frame(answer))
    # No garbage collection during the imports: imported objects are never garbage, and the collection takes a
    # quarter of the start time.
    gc.disable()
    from agent_ls.lean_imports import make_lean

    make_lean()
    from agent_ls.server.backend import AgentBackend
    from agent_ls.server.server import ClientStreams, run
    from agent_ls.services.models.key_store import protect_keys

    protect_keys()
    return run(AgentBackend(), ClientStreams(reader, writer, parser, first, is_answered=answer is not None))


def _is_let_in(body: bytes, writer: int, token_file: str) -> bool:
    from agent_ls.server.transport.tcp import has_token, read_token, refusal

    if has_token(body, read_token(Path(token_file))):
        return True
    _write(writer, frame(refusal(body)))
    return False


def read_first(reader: int, parser: FrameParser) -> list[bytes]:
    """Read until the first whole message. Returns this message and the messages that arrived with it; empty
    if the connection ended before a whole message.
    """
    bodies: list[bytes] = []
    while not bodies:
        try:
            data = os.read(reader, READ_BYTES)
            bodies.extend(parser.feed(data))
        except (OSError, FrameError) as problem:
            sys.stderr.write(f"agent-ls: the editor's first message is broken: {problem}\n")
            break
        if not data:
            break
    return bodies


def early_answer(body: bytes) -> bytes | None:
    """Return the response to a well-formed `initialize`; None for any other message, which the server answers later."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(message, dict)
        or message.get("jsonrpc") != "2.0"
        or message.get("method") != "initialize"
    ):
        return None
    message_id, params = message.get("id"), message.get("params")
    if type(message_id) not in (int, str) or not isinstance(params, dict):
        return None
    response = {"jsonrpc": "2.0", "id": message_id, "result": initialize_result(client_abilities(params))}
    return json.dumps(response, separators=(",", ":")).encode()


def parse_error(reason: str) -> bytes:
    """Return the response to a message whose header cannot be read."""
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": reason}}
    return json.dumps(refused).encode()


def _write(writer: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(writer, data) :]
    except OSError:
        return  # the editor has disconnected; the server detects this by itself
