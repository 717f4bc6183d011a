"""The connection to one relay (agent_ls/relay), which runs commands one at a time.

A thread reads the messages of the relay and handles them on the event loop. An asyncio task cannot do this,
because the relay outlives the tool call that started a command in it. While the event loop is busy, the relay
and its command wait.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from agent_ls.confinement.wanted import Confinement
from agent_ls.environments.errors import ProcessStartError
from agent_ls.relay.frames import (
    CLOSED,
    EXIT,
    FAILED,
    INPUT,
    OUTPUT,
    RUN,
    SIZE,
    STARTED,
    WAITS,
    FrameDecoder,
    decode_words,
    encode_frame,
    encode_words,
)

CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class CommandLaunch:
    """A command to start. `mark` is part of an environment variable by which the command's descendants are
    found.

    `confinement` is enforced before the command starts. If that fails, the command is not started. `group` is
    the path of a file, "" if there is no control group. The new process writes "0" to this file to join the
    control group of the command. `is_own_program`: as in CommandOptions; such a program leaves no processes running.
    """

    command: str
    argv: Sequence[str]
    folder: str
    environ: Mapping[str, str]
    mark: str
    confinement: Confinement | None = None
    group: str = ""
    is_own_program: bool = False


class TerminalDecoder:
    """Decodes a terminal's output, and undoes the terminal's conversion of LF to CR LF."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""

    def decode(self, data: bytes, *, final: bool = False) -> str:
        data = self._held + data
        self._held = b"\r" if data.endswith(b"\r") and not final else b""
        return self._decoder.decode(data[: len(data) - len(self._held)].replace(b"\r\n", b"\n"), final)


@dataclass(eq=False, slots=True)
class RelayedProcess:
    """A command in a terminal. `returncode` None: the command runs, or its exit code is unknown (`is_lost`).

    `is_held`: when the command ended, another process still had the terminal open. `is_waiting`: the command
    waits for input. `is_closed`: the user closed the terminal. When one of these fields changes, the event
    `changed` is set and replaced by a new event.
    """

    link: RelayLink
    on_output: Callable[[str], None]
    on_waiting: Callable[[bool], None]
    pid: int = 0
    returncode: int | None = None
    is_held: bool = False
    is_waiting: bool = False
    is_closed: bool = False
    is_lost: bool = False
    failure: str = ""
    changed: anyio.Event = field(default_factory=anyio.Event)
    _decoder: TerminalDecoder = field(default_factory=TerminalDecoder)

    @property
    def is_over(self) -> bool:
        return self.returncode is not None or self.is_lost

    async def wait(self) -> int:
        """Wait until the command has ended, and return its exit code.

        If the exit code is unknown, return the code of a process that was killed by SIGKILL.
        """
        while not self.is_over:
            await self.changed.wait()
        return -signal.SIGKILL if self.returncode is None else self.returncode

    async def write(self, data: str) -> None:
        await self.link.send(self, encode_frame(INPUT, _bytes(data)))

    async def resize(self, columns: int, rows: int) -> None:
        await self.link.send(self, encode_words(SIZE, rows, columns))

    # -- messages of the relay

    def take(self, kind: bytes, payload: bytes) -> None:
        if kind == OUTPUT:
            self._print(self._decoder.decode(payload))
            return
        said = decode_words(payload)
        if kind == STARTED:
            self.pid = int(said[0])
        elif kind == FAILED:
            self.failure = reason_of(int(said[0]), said[1])
        elif kind == WAITS:
            self.is_waiting = said[0] == "1"
            self.on_waiting(self.is_waiting)
        elif kind == CLOSED:
            self.is_closed = True
        elif kind == EXIT:
            self._print(self._decoder.decode(b"", final=True))
            self.returncode, self.is_held = int(said[0]), said[1] == "1"
        self.tell_change()

    def lose(self) -> None:
        """Record that the terminal was closed before the command's end was reported."""
        if not self.is_over:
            self.is_lost = True
            self._print(self._decoder.decode(b"", final=True))
            self.tell_change()

    def tell_change(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def _print(self, text: str) -> None:
        if text:
            self.on_output(text)


class RelayLink:
    """The connection to a relay. `terminal_id` identifies its terminal in messages to the editor."""

    def __init__(self, connection: socket.socket, frames: FrameDecoder, terminal_id: str) -> None:
        self.terminal_id = terminal_id
        self._connection = connection
        self._frames = frames
        self._current: RelayedProcess | None = None
        self._is_open = True
        self._is_reserved = False
        self._unsent: deque[bytes] = deque()
        self._sending = threading.Lock()
        self._loop = anyio.lowlevel.current_token()
        peer = _peer(connection)
        self.relay_pid = peer[0] if peer else 0
        """Process id of the relay, or 0 if the system does not provide it."""
        connection.setblocking(True)
        self._reader = threading.Thread(target=self._read, daemon=True, name="agent-ls-relay")
        self._reader.start()

    @property
    def adopts_orphans(self) -> bool:
        """Whether orphaned processes become children of the relay."""
        return sys.platform == "linux" and self.relay_pid > 0

    @property
    def is_gone(self) -> bool:
        return not self._is_open

    @property
    def is_idle(self) -> bool:
        return self._is_open and self._current is None and not self._is_reserved

    def reserve(self) -> None:
        """Reserve the terminal for the next command."""
        self._is_reserved = True

    def release(self) -> None:
        """Cancel the reservation, because the command is not started."""
        self._is_reserved = False

    async def start(
        self, launch: CommandLaunch, on_output: Callable[[str], None], on_waiting: Callable[[bool], None]
    ) -> RelayedProcess:
        """Start a command in the terminal.

        Raises:
            ProcessStartError.
        """
        self.release()
        run = _run_frame(launch)
        if not self._is_open:
            raise _not_started("the terminal of the command was closed")
        process = self._current = RelayedProcess(self, on_output, on_waiting)
        with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody ends
            await self.send(process, run)
            while not (process.pid or process.failure or process.is_lost):
                await process.changed.wait()
        if process.pid:
            return process
        self._current = None
        raise _not_started(process.failure or "the terminal of the command was closed")

    async def send(self, process: RelayedProcess, data: bytes) -> None:
        """Send a frame for the running command; do nothing after the command has ended.

        Frames arrive complete and in the order of the calls, even if a call is cancelled.
        """
        if self._is_open and self._current is process:
            self._unsent.append(data)
            with suppress(OSError):
                await anyio.to_thread.run_sync(
                    self._send_all, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True
                )

    def _send_all(self) -> None:
        # Only one thread sends at a time, so that parts of two frames are not interleaved.
        with self._sending:
            while self._unsent:
                self._connection.sendall(self._unsent.popleft())

    def close(self) -> None:
        """Close the connection, which ends the relay and its command."""
        if self._is_open:
            self._is_open = False
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    async def close_and_wait(self) -> None:
        """Close the connection and wait for its reader thread."""
        self.close()
        await anyio.to_thread.run_sync(self._reader.join, limiter=anyio.CapacityLimiter(1))

    def _read(self) -> None:
        try:
            while data := self._connection.recv(CHUNK_BYTES):
                if found := self._frames.feed(data):
                    anyio.from_thread.run_sync(self._take, found, token=self._loop)
        except (OSError, ValueError, RuntimeError):
            pass  # connection reset, invalid data, or the event loop has ended
        finally:
            self._connection.close()
            with suppress(RuntimeError):
                anyio.from_thread.run_sync(self._handle_loss, token=self._loop)

    def _take(self, found: Sequence[tuple[bytes, bytes]]) -> None:
        for kind, payload in found:
            if process := self._current:
                if kind == EXIT:
                    self._current = None
                process.take(kind, payload)

    def _handle_loss(self) -> None:
        self._is_open = False
        if process := self._current:
            self._current = None
            process.lose()


def _not_started(reason: str) -> ProcessStartError:
    return ProcessStartError(f"The command could not be started: {reason}.")


def reason_of(number: int, words: str) -> str:
    """Return an error message for a command that could not be started.

    `number` is the errno, `words` its text.
    """
    if number == errno.E2BIG:
        return f"{words}: write the long text into a file with an editing tool, and let the command read that file"
    return words


def _run_frame(launch: CommandLaunch) -> bytes:
    """Encode the message that starts a command.

    Raises:
        ProcessStartError: the arguments cannot be passed to a program.
    """
    variables = (f"{name}={value}" for name, value in launch.environ.items())
    try:
        confinement = json.dumps(launch.confinement) if launch.confinement else ""
        count = len(launch.argv)
        said = launch.folder, launch.command, confinement, launch.group
        return encode_words(RUN, *said, count, *launch.argv, *variables)
    except UnicodeEncodeError as error:
        raise ProcessStartError(f"The command could not be started: {error}.") from error


def _bytes(typed: str) -> bytes:
    try:
        return typed.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # the editor has sent half a surrogate pair
        return typed.encode("utf-8", "replace")


def is_of_our_user(connection: socket.socket, pid: int) -> bool:
    """Return whether the peer of the connection is process `pid` of this user, in the same pid namespace.

    A terminal in another container has its own pids, so its processes could not be ended by this process. The
    result is True if the system does not report the peer.
    """
    # If the peer is unknown, trust it: only this user can access the folder of the socket.
    return (peer := _peer(connection)) is None or peer == (pid, os.getuid())


def _peer(connection: socket.socket) -> tuple[int, int] | None:
    """Return process id and user id of the peer; None on systems other than Linux."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    data = connection.getsockopt(socket.SOL_SOCKET, option, 12)
    peer, user = (int.from_bytes(data[at : at + 4], "little", signed=True) for at in (0, 4))
    return peer, user
