"""Serves editors that connect by TCP, on this machine only: each connection has a server process of its own.

So each has a state of its own, none can take another's place, and one that fails takes nobody with it. The sessions are
those of the store, where each has one owner at a time. The first message must carry the token; what is not encrypted
does not leave the machine (a tunnel, such as ssh's, carries it further).
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from agent_ls.system import on_ending_signals

MAX_CONNECTIONS = 16
TOKEN_BYTES = 32

SETTLE_S = 8.0
"""A server that is told to end takes six seconds at most, and leaves behind what takes longer."""


class ListenError(Exception):
    """`str()` is one sentence for the user."""


def parse_address(given: str) -> tuple[str, int]:
    """
    Raises:
        ListenError: no address, or one of another machine.
    """
    host, colon, port = given.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not colon and given.isdigit():
        port = given
    if not port.isdigit() or int(port) > 65_535:
        raise ListenError(f"{given!r} is no address: give a port, or 127.0.0.1:PORT; port 0 is a free one")
    if host != "localhost" and not _is_loopback(host):
        raise ListenError(
            f"{host} is not this machine: listen on 127.0.0.1, and carry it further by a tunnel"
        )
    return "127.0.0.1" if host == "localhost" else host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """The token in the file; a file that is not there is made, with a new one, for its owner only.

    Raises:
        ListenError: it cannot be read or made, others may read it, or it is too short to be one.
    """
    try:
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        mode = path.stat().st_mode
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ListenError(f"the token file {path} cannot be used: {error.strerror or error}") from None
    if os.name == "posix" and mode & 0o077:
        raise ListenError(f"others may read the token file: chmod 600 {path}")
    if len(token) < TOKEN_BYTES:
        raise ListenError(
            f"the token in {path} is shorter than {TOKEN_BYTES} characters; remove it for a new one"
        )
    return token


def has_token(body: bytes, token: str) -> bool:
    """Whether this message is an `initialize` with the token in `initializationOptions.agentLs.token`."""
    try:
        message: Any = json.loads(body)
        given = message["params"]["initializationOptions"]["agentLs"]["token"]
        is_first = message["method"] == "initialize"
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return is_first and isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def refusal(body: bytes) -> bytes:
    """The answer to a first message without the token."""
    try:
        message: Any = json.loads(body)
        message_id = message.get("id")
    except (ValueError, AttributeError, RecursionError):
        message_id = None
    words = "the token is missing or wrong: give it as initializationOptions.agentLs.token"
    error = {"code": -32600, "message": words}
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error}).encode()


async def listen(address: tuple[str, int], token_file: Path) -> int:
    """Serves until a signal; returns the exit code of the process."""
    host, port = address
    command = [sys.executable, "-m", "agent_ls", "serve", "--stdio", "--token-file", str(token_file)]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    running = 0

    async def serve(connection: socket.socket) -> None:
        # The socket itself becomes the server's stdin and stdout: nothing of it is ever read here.
        nonlocal running
        running += 1
        try:
            with connection:
                connection.setblocking(True)
                process = await anyio.open_process(
                    command, stdin=connection.fileno(), stdout=connection.fileno(), stderr=None
                )
            async with process:
                try:
                    await process.wait()
                finally:  # it may be we who are told to end
                    with anyio.CancelScope(shield=True):
                        await _settled(process)
        finally:
            running -= 1

    with socket.create_server((host, port), family=family) as listener:
        listener.setblocking(False)
        told = f"listening on {host}:{listener.getsockname()[1]}, the token is in {token_file}"
        sys.stderr.write(f"agent-ls: {told}\n")
        sys.stderr.flush()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_signal, tasks.cancel_scope)
            while True:
                await anyio.wait_readable(listener)
                try:
                    connection, _ = listener.accept()
                except OSError:
                    continue  # gone before it was taken
                if running < MAX_CONNECTIONS:
                    tasks.start_soon(serve, connection)
                else:
                    sys.stderr.write(f"agent-ls: more than {MAX_CONNECTIONS} connections; one was closed\n")
                    connection.close()
    return 0


async def _settled(process: Process) -> None:
    """Its sessions end in good order. What does not is killed by whoever leaves the process's block."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        with anyio.move_on_after(SETTLE_S):
            await process.wait()


async def until_signal(scope: anyio.CancelScope) -> None:
    """Cancels it at SIGINT and SIGTERM."""
    with on_ending_signals(scope.cancel):
        await anyio.sleep_forever()
