"""The relay's loop: one server, one terminal, one command at a time, and no wait but in one place.

It runs what its server says and nothing else, and ends with it. What a command left running still prints here; nobody
but the user sees that.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

from agent_ls.relay import command as commands
from agent_ls.relay.frames import (
    CLOSED,
    EXIT,
    FAILED,
    HELLO,
    INPUT,
    OUTPUT,
    RUN,
    SIZE,
    STARTED,
    WAITS,
    Frames,
    frame,
    words,
    words_frame,
)
from agent_ls.relay.screen import Screen, ended, titled
from agent_ls.relay.waiting import Waiting

DRAIN_SECONDS = 0.3
"""How long after its end a command's output is waited for when something else still holds the terminal open."""

GRACE_SECONDS = 1.5
"""Between TERM and KILL when the terminal was closed: editors kill us after two seconds."""

QUIET_SECONDS = 0.25
"""Without output, before it is looked whether the command waits for input; then as often again."""

FULL_BYTES = 1024 * 1024
"""Not yet taken by the server, the command waits before it prints more."""

MAX_LEFT_OPEN = 8

LATE = "agent-ls no longer waits for this terminal; it can be closed.\n"


class Relay:
    def __init__(self, server: socket.socket, screen: Screen, wake: int) -> None:
        self._server = server
        self._screen = screen
        self._wake = wake
        self._frames = Frames()
        self._to_server = bytearray()
        self._to_command = bytearray()
        self._command: commands.Command | None = None
        self._begun = self._quiet_since = self._checked = 0.0
        self._deadline = 0.0
        self._kill_at = 0.0
        self._waits = False
        self._waiting = Waiting()
        self._asked_size: tuple[int, int] | None = None
        self._left_open: list[int] = []
        self._server_is_there = True
        self._is_over = False

    def tell(self, data: bytes) -> None:
        if self._server_is_there:
            self._to_server += data

    def run(self) -> None:
        while not self._is_over:
            for descriptor, events in self._ready():
                self._handle(descriptor, events)
            self._look_at_command()
        self._screen.restore()

    # --- waiting

    def _ready(self) -> list[tuple[int, int]]:
        poll = select.poll()
        if self._server_is_there:
            poll.register(self._server, select.POLLIN | (select.POLLOUT if self._to_server else 0))
        poll.register(self._wake, select.POLLIN)
        if self._screen.is_open:
            poll.register(0, select.POLLIN)
            if self._screen.holds:
                poll.register(1, select.POLLOUT)
        command = self._command
        if command and not command.is_silent:
            wanted = (select.POLLIN if self._takes() else 0) | (select.POLLOUT if self._to_command else 0)
            if wanted:
                poll.register(command.terminal, wanted)
        for terminal in self._left_open:
            poll.register(terminal, select.POLLIN)
        return poll.poll(self._timeout_ms())

    def _takes(self) -> bool:
        """Whether the server and the screen take what the command prints."""
        return len(self._to_server) < FULL_BYTES and not self._screen.is_full

    def _timeout_ms(self) -> int | None:
        if not self._command:
            return None
        now = time.monotonic()
        if self._command.code is not None:
            next_at = self._deadline
        elif self._screen.holds:
            next_at = now + QUIET_SECONDS
        else:
            next_at = max(self._quiet_since, self._checked) + QUIET_SECONDS
        if self._kill_at and self._command.code is None:
            next_at = min(next_at, self._kill_at)
        return max(int((next_at - now) * 1000) + 1, 0)

    # --- what happens

    def _handle(self, descriptor: int, events: int) -> None:
        if descriptor == self._server.fileno():
            self._with_server(events)
        elif descriptor == self._wake:
            self._signalled(os.read(self._wake, 64))
        elif descriptor == 1:
            self._screen.flush()
        elif descriptor == 0:
            self._typed(self._screen.keys())
        elif self._command and descriptor == self._command.terminal:
            self._with_command(self._command, events)
        elif descriptor in self._left_open:
            self._of_left_behind(descriptor)

    def _with_server(self, events: int) -> None:
        try:
            if events & select.POLLOUT:
                del self._to_server[: self._server.send(self._to_server)]
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self._server.recv(65536)
                for kind, payload in self._frames.feed(data):
                    self._told(kind, payload)
                if not data:
                    self._server_is_gone()
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._server_is_gone()

    def _server_is_gone(self) -> None:
        self._server_is_there = False
        self._to_server.clear()  # nobody takes it any more: the command's last words must not wait for that
        self._end_command()

    def _told(self, kind: bytes, payload: bytes) -> None:
        if kind == RUN:
            self._start(words(payload))
        elif kind == INPUT and payload:
            self._typed(payload)
        elif kind == SIZE:
            rows, columns = words(payload)
            self._asked_size = (int(rows), int(columns))
            self._fit()

    def _signalled(self, numbers: bytes) -> None:
        for number in set(numbers):
            if number == signal.SIGWINCH:
                self._fit()
            elif number != signal.SIGCHLD:  # the terminal was closed, or somebody ends us
                self._closed()

    def _closed(self) -> None:
        self._screen.close()
        if self._command and not self._kill_at:
            self.tell(frame(CLOSED))
        self._end_command()

    def _end_command(self) -> None:
        """Politely at first; with the command we end as well."""
        if not self._command:
            self._last_words()  # how a command has ended may not have been taken yet
        elif not self._kill_at:
            self._kill_at = time.monotonic() + GRACE_SECONDS
            self._command.send(signal.SIGTERM)

    def _fit(self) -> None:
        if self._command:
            self._command.resize(*self._size())

    def _size(self) -> tuple[int, int]:
        """A real terminal knows its own; what a view of it has is told."""
        return self._screen.size() if self._screen.is_open else self._asked_size or self._screen.size()

    def _typed(self, data: bytes) -> None:
        if not data:
            return self._closed()
        if self._command and self._command.code is None:
            self._to_command += self._command.typed(data)
            self._waiting.typed()
            self._moves()

    # --- the command

    def _start(self, said: list[str]) -> None:
        folder, title, count, *rest = said
        argv, variables = rest[: int(count)], rest[int(count) :]
        environ = dict(variable.split("=", 1) for variable in variables if "=" in variable)
        self._screen.show(titled(title))
        try:
            self._command = commands.start(argv, folder, environ, self._size())
        except OSError as error:
            self._screen.show(f"{error.strerror}\r\n".encode())
            return self.tell(words_frame(FAILED, error.errno or 0, error.strerror or str(error)))
        os.set_blocking(self._command.terminal, False)
        self._begun = self._quiet_since = time.monotonic()
        self._waiting = Waiting()
        self.tell(words_frame(STARTED, self._command.pid))

    def _with_command(self, command: commands.Command, events: int) -> None:
        if events & select.POLLOUT and self._to_command:
            try:
                del self._to_command[: os.write(command.terminal, self._to_command)]
            except OSError:
                self._to_command.clear()
        if not events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        if data := command.read():
            self._waiting.printed(time.monotonic() - self._quiet_since)
            self._moves()
            self._screen.show(data)
            self.tell(frame(OUTPUT, data))
        elif events & (select.POLLHUP | select.POLLERR):
            command.is_silent = True

    def _look_at_command(self) -> None:
        command = self._command
        if not command:
            return
        now = time.monotonic()
        if command.code is None:
            pid, status = os.waitpid(command.pid, os.WNOHANG)
            if pid:
                command.code = os.waitstatus_to_exitcode(status)
                self._deadline = now + DRAIN_SECONDS
                command.is_silent = False  # it may have opened the terminal anew since, for its last words
            elif self._kill_at and now >= self._kill_at:
                command.send(signal.SIGKILL)
                self._kill_at = now + GRACE_SECONDS
            elif now - max(self._quiet_since, self._checked) >= QUIET_SECONDS:
                self._checked = now
                command.is_silent = False  # one of its processes may have opened the terminal anew
                quiet_s = now - self._quiet_since
                self._set_waits(
                    self._waiting.looks_so(
                        command.terminal, command.device, open_line=command.open_line, quiet_s=quiet_s
                    )
                )
        elif command.is_silent:
            self._ended(command, is_held=False)
        elif not self._takes():
            self._deadline = now + DRAIN_SECONDS  # it counts while its last words can be read
        elif now >= self._deadline:
            self._drain(command)
            self._ended(command, is_held=not command.is_silent)

    def _drain(self, command: commands.Command) -> None:
        """What is there to be read: we may have been kept from it until the deadline. A flood has no end."""
        poll = select.poll()
        poll.register(command.terminal, select.POLLIN)
        for _ in range(FULL_BYTES // commands.CHUNK_BYTES):
            found = poll.poll(0)
            if not found or command.is_silent:
                return
            self._with_command(command, found[0][1])

    def _moves(self) -> None:
        self._quiet_since = time.monotonic()
        self._set_waits(False)

    def _set_waits(self, waits: bool) -> None:
        if waits != self._waits:
            self._waits = waits
            self.tell(words_frame(WAITS, int(waits)))

    def _ended(self, command: commands.Command, *, is_held: bool) -> None:
        code = command.code if command.code is not None else 0
        self._set_waits(False)
        self._screen.calm()
        self._screen.show(ended(code, time.monotonic() - self._begun, open_line=command.open_line))
        self.tell(words_frame(EXIT, code, int(is_held)))
        self._command = None
        self._to_command.clear()
        if is_held:
            self._left_open.append(command.terminal)
            if len(self._left_open) > MAX_LEFT_OPEN:
                os.close(self._left_open.pop(0))
        else:
            os.close(command.terminal)
        if self._kill_at:
            self._last_words()

    def _of_left_behind(self, terminal: int) -> None:
        try:
            data = os.read(terminal, commands.CHUNK_BYTES)
        except OSError:
            data = b""
        if data:
            return self._screen.show(data)
        self._left_open.remove(terminal)
        os.close(terminal)

    def _last_words(self) -> None:
        self._is_over = True
        if self._server_is_there:
            self._server.settimeout(GRACE_SECONDS)
            try:
                self._server.sendall(self._to_server)
            except OSError:
                return


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        sys.stderr.write("This program is started by agent-ls, in a terminal of the editor.\n")
        return 2
    try:
        server, token = _connected(argv[1])
    except (OSError, ValueError):
        sys.stdout.write(LATE)
        return 0
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _noted)
    relay = Relay(server, Screen(), reading)
    relay.tell(words_frame(HELLO, token, os.getpid()))
    relay.run()
    return 0


def _connected(path: str) -> tuple[socket.socket, str]:
    """
    Raises:
        OSError, ValueError: the server no longer waits.
    """
    with open(path, encoding="utf-8") as file:
        address, token = file.read().split("\n")
    os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.connect(address)
    server.setblocking(False)
    return server, token


def _noted(number: int, _frame: object) -> None:
    """The loop sees it by the pipe."""
