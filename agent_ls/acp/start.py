"""The first milliseconds of `agent-ls acp`: `initialize` is answered before any large module is imported."""

from __future__ import annotations

import gc
import json
import os
import sys

from agent_ls.acp.capabilities import initialize_result
from agent_ls.acp.client import client_facts
from agent_ls.acp.preview import first_wants_preview, preview_initialize, stable_initialize
from agent_ls.system import claim_stdio

READ_BYTES = 1 << 16
MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes of the longest first line that is read; no working client sends a longer one."""


def main(*, has_preview: bool = False) -> int:
    """Serve one client over stdin and stdout. Returns the exit code of the process.

    `has_preview`: a client that asks for version 2 of the protocol gets its preview.
    """
    reader, writer = claim_stdio()
    data, line = b"", b""
    while not line.strip():  # skip empty lines before the first message
        while b"\n" not in data and len(data) <= MAX_LINE_BYTES:
            more = _read(reader)
            if not more:
                return 0
            data += more
        line, _, data = data.partition(b"\n")
    is_preview = has_preview and first_wants_preview(line)
    answer = early_answer(line, is_preview=is_preview)
    if answer and not _write(writer, answer + b"\n"):
        return 0
    # No garbage collection during the imports: it frees nothing, and takes a quarter of the start-up time.
    gc.disable()
    from agent_ls.lean_imports import make_lean

    make_lean(speaks_lsp=False)
    from agent_ls.acp.serving import AcpStreams, serve
    from agent_ls.services.models.key_store import protect_keys

    protect_keys()
    return serve(
        AcpStreams(reader, writer, line, data, is_answered=answer is not None, is_preview=is_preview)
    )


def early_answer(line: bytes, *, is_preview: bool = False) -> bytes | None:
    """Return the response to a well-formed `initialize`; None for any other line, which is answered later.

    `is_preview`: the client speaks the preview of version 2.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") != "initialize":
        return None
    params, id_ = message.get("params"), message.get("id")
    if message.get("jsonrpc", "2.0") != "2.0" or not isinstance(params, dict) or type(id_) not in (int, str):
        return None
    if type(params.get("protocolVersion")) not in (int, str):
        return None
    result = initialize_result(client_facts(stable_initialize(params) if is_preview else params))
    if is_preview:
        result = preview_initialize(result)
    response = {"jsonrpc": "2.0", "id": id_, "result": result}
    return json.dumps(response, separators=(",", ":")).encode()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError as error:
        sys.stderr.write(f"agent-ls: the client's first message cannot be read: {error}\n")
        return b""


def _write(fd: int, data: bytes) -> bool:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        return False  # the client is gone
    return True
