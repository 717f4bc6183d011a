"""The terminals of one environment: opened when a command needs one, and reused by later commands.

For each terminal, a socket is created in a new folder that only this user can access. The relay reads the
address of the socket from a file, and removes the file. When the relay has connected, or after OPEN_SECONDS,
this process removes socket, file and folder.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from agent_ls.environments.local.terminals.relay_link import RelayLink, is_of_our_user
from agent_ls.environments.terminal_host import OPEN_SECONDS, NewTerminal, TerminalHost
from agent_ls.relay.frames import HELLO, FrameDecoder, decode_words

log = logging.getLogger(__name__)

RETRY_SECONDS = 60.0
"""After a terminal did not open, no other terminal is opened for this time. Commands then run with pipes.

Otherwise each command would first wait OPEN_SECONDS for an editor that opens no terminals.
"""

_START = Path(__file__).resolve().parents[3] / "relay" / "start.py"


class Relays:
    def __init__(self, host: TerminalHost, folder: str) -> None:
        self._host = host
        self._folder = folder
        self._links: list[RelayLink] = []
        self._not_before = 0.0

    async def reserve_terminal(self, call_id: str) -> RelayLink | None:
        """Reserve an idle terminal for the command of tool call `call_id`, and return it. Open a terminal if
        none is idle.

        Return None if no terminal can be opened.
        """
        if not self._host.has_terminals:
            return None
        self._links = [link for link in self._links if not link.is_gone]
        link = next((link for link in self._links if link.is_idle), None) or await self._open_link()
        if link is None or link.is_gone:  # a terminal may be closed directly after it was opened
            return None
        link.reserve()
        self._host.runs_in(link.terminal_id, call_id)
        return link

    async def close(self) -> None:
        links, self._links = self._links, []
        for link in links:
            link.close()
        for link in links:
            await link.close_and_wait()

    async def _open_link(self) -> RelayLink | None:
        if anyio.current_time() < self._not_before:
            return None
        relay_socket = await anyio.to_thread.run_sync(_create_relay_socket)
        if relay_socket is None:
            self._not_before = anyio.current_time() + RETRY_SECONDS
            return None
        try:
            link = await self._open_terminal(relay_socket)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(relay_socket.end)
        if link is None:
            log.warning("no terminal was opened: commands run without one for %g s", RETRY_SECONDS)
            self._not_before = anyio.current_time() + RETRY_SECONDS
        return link

    async def _open_terminal(self, relay_socket: _RelaySocket) -> RelayLink | None:
        """Open a terminal and wait for its relay to connect.

        As soon as the relay has connected, its link is stored and reserved. So the link is not lost, and no
        other command takes it, even if the caller is cancelled at this moment.
        """
        terminal = NewTerminal(
            f"t-{uuid.uuid4().hex[:12]}",
            (sys.executable, "-I", "-S", str(_START), relay_socket.token_file),
            self._folder,
            "agent-ls",
        )
        link: RelayLink | None = None

        async def ask() -> None:
            if not await self._host.open_terminal(terminal):
                group.cancel_scope.cancel()

        try:
            with anyio.move_on_after(OPEN_SECONDS):
                async with anyio.create_task_group() as group:
                    group.start_soon(ask)
                    link = await relay_socket.wait_for_relay(terminal.id)
                    link.reserve()
                    self._links.append(link)
        except BaseException:
            if link:
                link.release()
            raise
        return link


def _create_relay_socket() -> _RelaySocket | None:
    """Create a socket in the first folder that can hold one.

    XDG_RUNTIME_DIR may belong to another user, or its path may be too long for a socket.
    """
    for base in (os.environ.get("XDG_RUNTIME_DIR") or None, None, "/tmp"):
        with suppress(OSError):
            return _RelaySocket(base)
    return None


class _RelaySocket:
    """A socket that accepts the connection of one relay. The relay must send the token that `token_file` contains."""

    def __init__(self, base: str | None) -> None:
        """Create the socket and the token file.

        Raises:
            OSError: the folder cannot hold a socket.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="agent-ls-", dir=base))
        self._token = secrets.token_hex(32)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            address = self._folder / "s"
            self._listener.bind(str(address))
            self._listener.listen(1)
            self._listener.setblocking(False)
            file = os.open(self.token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(file, "w", encoding="utf-8") as writing:
                writing.write(f"{address}\n{self._token}")
        except OSError:
            self.end()
            raise

    @property
    def token_file(self) -> str:
        return str(self._folder / "t")

    def end(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def wait_for_relay(self, terminal_id: str) -> RelayLink:
        """Wait for the relay. Connections without the right token are closed."""
        while True:
            await anyio.wait_readable(self._listener)
            with suppress(OSError):
                connection, _ = self._listener.accept()
                if frames := await self._verify_token(connection):
                    return RelayLink(connection, frames, terminal_id)
                connection.close()

    async def _verify_token(self, connection: socket.socket) -> FrameDecoder | None:
        connection.setblocking(False)
        frames = FrameDecoder()
        try:
            found: list[tuple[bytes, bytes]] = []
            while not found:
                await anyio.wait_readable(connection)
                data = connection.recv(4096)
                if not data:
                    return None
                found = frames.feed(data)
            kind, payload = found[0]
            said = decode_words(payload)
            is_known = kind == HELLO and secrets.compare_digest(said[0].encode(), self._token.encode())
            return frames if is_known and is_of_our_user(connection, int(said[1])) else None
        except (OSError, ValueError, IndexError):
            return None
        except BaseException:
            connection.close()
            raise
