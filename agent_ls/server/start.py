"""The first milliseconds of the process: `initialize` is answered before anything heavy is imported.

The editor's user waits for that answer; what the imports take afterwards, the editor does other things in. All
else is the event loop's affair (server.py). This module imports only what the answer needs.
"""

from __future__ import annotations

import gc
import json
import os
import select
import sys
from pathlib import Path

from agent_ls.server.framing import FrameError, FrameParser, frame
from agent_ls.server.hello import client_abilities, initialize_result

READ_BYTES = 1 << 16
FIRST_MESSAGE_S = 10.0
"""A connection that says nothing for so long is closed."""


def main(token_file: str = "") -> int:
    """Serves the editor over stdin and stdout; returns the exit code of the process.

    With a `token_file` these are a connection that anybody on this machine could have made (listen.py).
    """
    reader, writer = claim_stdio()
    parser = FrameParser()
    if token_file and not select.select([reader], [], [], FIRST_MESSAGE_S)[0]:
        return 1
    first = read_first(reader, parser)
    if not first or (token_file and not _is_let_in(first[0], writer, token_file)):
        return 1
    answer = early_answer(first[0])
    if answer:
        _write(writer, frame(answer))
    # Nothing of what is imported now is ever garbage; looking for some would cost a quarter of the time.
    gc.disable()
    from agent_ls.server.lean_imports import make_lean

    make_lean()
    from agent_ls.server.backend import AgentBackend
    from agent_ls.server.server import Connection, run

    return run(AgentBackend(), Connection(reader, writer, parser, first, is_answered=answer is not None))


def _is_let_in(body: bytes, writer: int, token_file: str) -> bool:
    from agent_ls.server.listen import has_token, read_token, refusal

    if has_token(body, read_token(Path(token_file))):
        return True
    _write(writer, frame(refusal(body)))
    return False


def claim_stdio() -> tuple[int, int]:
    """Takes stdin and stdout for the protocol and returns their descriptors.

    What else reads or prints in this process, and every child, finds an empty stdin and stderr: one stray
    print would otherwise end the connection.
    """
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdout.flush()
    os.dup2(2, 1)
    return reader, writer


def read_first(reader: int, parser: FrameParser) -> list[bytes]:
    """The first message, and those that came with it; empty when the connection ended before."""
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
    """The response to a well-formed `initialize`; None for all else, which the server answers in its own way."""
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


def _write(writer: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(writer, data) :]
    except OSError:
        return  # the editor is gone; the server finds that out by itself
