"""Serve editors over TCP, on this machine only. Each connection has its own server process.

So connections share no state, and a failing connection affects no other connection. Sessions come from the
shared store, where each session has one owner at a time. The first message must have the token. The
connection is not encrypted, so it is limited to loopback; use a tunnel such as ssh for other machines.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from agent_ls.environments.local.processes.ending import kill_and_wait, terminate
from agent_ls.system import handle_termination_signals

MAX_CONNECTIONS = 16
TOKEN_BYTES = 32

SHUTDOWN_S = 8.0
"""Time for a server process to end after SIGTERM. It takes at most six seconds and abandons slower work."""


class ListenError(Exception):
    """The server cannot listen: its address, its token file or an option is wrong. `str()` tells the user why."""


def parse_address(given: str) -> tuple[str, int]:
    """Parse `PORT` or `HOST:PORT`.

    Raises:
        ListenError: `given` is not an address, or is an address of another machine.
    """
    host, colon, port = given.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not colon and given.isdigit():
        port = given
    if not port.isdigit() or int(port) > 65_535:
        raise ListenError(
            f"{given!r} is not an address: give a port, or 127.0.0.1:PORT; port 0 chooses a free port"
        )
    if host != "localhost" and not _is_loopback(host):
        raise ListenError(
            f"{host} is not this machine: listen on 127.0.0.1, and use a tunnel to connect from other machines"
        )
    return "127.0.0.1" if host == "localhost" else host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """Return the token in the file. A missing file is created with a new token, readable by its owner only.

    Raises:
        ListenError: the file cannot be read or created, other users may read it, or the token is too short.
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
        raise ListenError(f"other users may read the token file: run chmod 600 {path}")
    if len(token) < TOKEN_BYTES:
        raise ListenError(
            f"the token in {path} is shorter than {TOKEN_BYTES} characters; delete the file to get a new token"
        )
    return token


def has_token(body: bytes, token: str) -> bool:
    """Return whether the message is an `initialize` with the token in `initializationOptions.agentLs.token`."""
    try:
        message: Any = json.loads(body)
        given = message["params"]["initializationOptions"]["agentLs"]["token"]
        is_first = message["method"] == "initialize"
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return is_first and isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def refusal(body: bytes) -> bytes:
    """Return the error response to a first message without the token."""
    try:
        message: Any = json.loads(body)
        message_id = message.get("id")
    except (ValueError, AttributeError, RecursionError):
        message_id = None
    words = "the token is missing or wrong: send the token as initializationOptions.agentLs.token"
    error = {"code": -32600, "message": words}
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error}).encode()


async def listen(address: tuple[str, int], token_file: Path) -> int:
    """Serve until a signal. Returns the exit code of the process."""
    host, port = address
    command = [sys.executable, "-P", "-m", "agent_ls", "serve", "--stdio", "--token-file", str(token_file)]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    running = 0

    async def serve(connection: socket.socket) -> None:
        # The socket becomes the server's stdin and stdout; this process never reads from it.
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
                finally:  # also if this process is ending, which cancels the wait
                    with anyio.CancelScope(shield=True):
                        await _end_process(process)
        finally:
            running -= 1

    with socket.create_server((host, port), family=family) as listener:
        listener.setblocking(False)
        notice = f"listening on {host}:{listener.getsockname()[1]}, the token is in {token_file}"
        sys.stderr.write(f"agent-ls: {notice}\n")
        sys.stderr.flush()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_signal, tasks.cancel_scope)
            while True:
                await anyio.wait_readable(listener)
                try:
                    connection, _ = listener.accept()
                except OSError:
                    continue  # the client disconnected before the accept
                if running < MAX_CONNECTIONS:
                    tasks.start_soon(serve, connection)
                else:
                    sys.stderr.write(f"agent-ls: more than {MAX_CONNECTIONS} connections; one was closed\n")
                    connection.close()
    return 0


async def _end_process(process: Process) -> None:
    """Terminate the server and wait for an orderly end; kill it if that takes too long."""
    if process.returncode is None:
        terminate(process)
        with anyio.move_on_after(SHUTDOWN_S):
            await process.wait()
        await kill_and_wait(process)


async def until_signal(scope: anyio.CancelScope) -> None:
    """Cancel the scope on a termination signal."""
    with handle_termination_signals(scope.cancel):
        await anyio.sleep_forever()
