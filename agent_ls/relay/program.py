"""The relay's event loop: one server, one terminal, one command at a time. The loop blocks only in poll.

The relay runs only commands that its server sends, and exits when the connection to the server is closed.
Processes that a command left running may still print: their output is displayed, but not sent to the server.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

from agent_ls.relay import command as commands
from agent_ls.relay.command import adopt_orphans
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
    FrameDecoder,
    decode_words,
    encode_frame,
    encode_words,
)
from agent_ls.relay.input_wait import InputWaitDetector
from agent_ls.relay.screen import Screen, format_end, format_title

DRAIN_SECONDS = 0.3
"""Time to wait for output after a command's end if another process still has the terminal open."""

GRACE_SECONDS = 1.5
"""Time between SIGTERM and SIGKILL after the terminal was closed. Editors kill the relay after two seconds."""

QUIET_SECONDS = 0.25
"""Interval of the checks whether the command waits for input. Also the time without output before the first
check.
"""

FULL_BYTES = 1024 * 1024
"""While at least this many bytes wait to be sent to the server, the command's output is not read."""

MAX_LEFT_OPEN = 8

LATE = "agent-ls no longer waits for this terminal; it can be closed.\n"


class Relay:
    def __init__(self, server: socket.socket, screen: Screen, wake: int) -> None:
        self._server = server
        self._screen = screen
        self._wake = wake
        self._frames = FrameDecoder()
        self._to_server = bytearray()
        self._to_command = bytearray()
        self._command: commands.RelayedCommand | None = None
        self._begun = self._quiet_since = self._checked = 0.0
        self._deadline = 0.0
        self._kill_at = 0.0
        self._waits = False
        self._waiting = InputWaitDetector()
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
            self._check_command()
            commands.reap_adopted(self._command.pid if self._command else 0)
        self._screen.restore()

    # --- waiting

    def _ready(self) -> list[tuple[int, int]]:
        poll = select.poll()
        if self._server_is_there:
            poll.register(self._server, select.POLLIN | (select.POLLOUT if self._to_server else 0))
        poll.register(self._wake, select.POLLIN)
        if self._screen.is_open:
            poll.register(0, select.POLLIN)
            if self._screen.is_holding:
                poll.register(1, select.POLLOUT)
        command = self._command
        if command and not command.is_silent:
            wanted = (select.POLLIN if self._can_take_output() else 0) | (
                select.POLLOUT if self._to_command else 0
            )
            if wanted:
                poll.register(command.terminal, wanted)
        for terminal in self._left_open:
            poll.register(terminal, select.POLLIN)
        return poll.poll(self._timeout_ms())

    def _can_take_output(self) -> bool:
        """Return whether server and screen can take more output."""
        return len(self._to_server) < FULL_BYTES and not self._screen.is_full

    def _timeout_ms(self) -> int | None:
        if not self._command:
            return None
        now = time.monotonic()
        if self._command.code is not None:
            next_at = self._deadline
        elif self._screen.is_holding:
            next_at = now + QUIET_SECONDS
        else:
            next_at = max(self._quiet_since, self._checked) + QUIET_SECONDS
        if self._kill_at and self._command.code is None:
            next_at = min(next_at, self._kill_at)
        return max(int((next_at - now) * 1000) + 1, 0)

    # --- events

    def _handle(self, descriptor: int, events: int) -> None:
        if descriptor == self._server.fileno():
            self._handle_server(events)
        elif descriptor == self._wake:
            self._handle_signals(os.read(self._wake, 64))
        elif descriptor == 1:
            self._screen.flush()
        elif descriptor == 0:
            self._handle_keys(self._screen.keys())
        elif self._command and descriptor == self._command.terminal:
            self._handle_command(self._command, events)
        elif descriptor in self._left_open:
            self._forward_leftover_output(descriptor)

    def _handle_server(self, events: int) -> None:
        try:
            if events & select.POLLOUT:
                del self._to_server[: self._server.send(self._to_server)]
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self._server.recv(65536)
                for kind, payload in self._frames.feed(data):
                    self._handle_frame(kind, payload)
                if not data:
                    self._server_is_gone()
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._server_is_gone()

    def _server_is_gone(self) -> None:
        self._server_is_there = False
        # nobody reads these bytes any more, and the command's final output must not wait for them
        self._to_server.clear()
        self._end_command()

    def _handle_frame(self, kind: bytes, payload: bytes) -> None:
        if kind == RUN:
            self._start(decode_words(payload))
        elif kind == INPUT and payload:
            self._handle_keys(payload)
        elif kind == SIZE:
            rows, columns = decode_words(payload)
            self._asked_size = (int(rows), int(columns))
            self._resize_command()

    def _handle_signals(self, numbers: bytes) -> None:
        for number in set(numbers):
            if number == signal.SIGWINCH:
                self._resize_command()
            elif number != signal.SIGCHLD:  # the terminal was closed, or a signal asks the relay to end
                self._handle_close()

    def _handle_close(self) -> None:
        self._screen.close()
        if self._command and not self._kill_at:
            self.tell(encode_frame(CLOSED))
        self._end_command()

    def _end_command(self) -> None:
        """End the command by SIGTERM, or by SIGKILL after GRACE_SECONDS, and then the relay.

        If no command runs, end the relay at once.
        """
        if not self._command:
            self._send_remaining()  # for example the EXIT frame of the last command
        elif not self._kill_at:
            self._kill_at = time.monotonic() + GRACE_SECONDS
            self._command.send(signal.SIGTERM)

    def _resize_command(self) -> None:
        if self._command:
            self._command.resize(*self._size())

    def _size(self) -> tuple[int, int]:
        """Return rows and columns of the editor's terminal if it is open, otherwise those that the server sent."""
        return self._screen.size() if self._screen.is_open else self._asked_size or self._screen.size()

    def _handle_keys(self, data: bytes) -> None:
        if not data:
            return self._handle_close()
        if self._command and self._command.code is None:
            self._to_command += self._command.prepare_input(data)
            self._waiting.note_typing()
            self._reset_quiet()

    # --- the command

    def _start(self, said: list[str]) -> None:
        folder, title, confinement, group, count, *rest = said
        argv, variables = rest[: int(count)], rest[int(count) :]
        environ = dict(variable.split("=", 1) for variable in variables if "=" in variable)
        self._screen.show(format_title(title))
        try:
            self._command = commands.start_command(argv, folder, environ, self._size(), confinement, group)
        except OSError as error:
            self._screen.show(f"{error.strerror}\r\n".encode())
            return self.tell(encode_words(FAILED, error.errno or 0, error.strerror or str(error)))
        os.set_blocking(self._command.terminal, False)
        self._begun = self._quiet_since = time.monotonic()
        self._waiting = InputWaitDetector()
        self.tell(encode_words(STARTED, self._command.pid))

    def _handle_command(self, command: commands.RelayedCommand, events: int) -> None:
        if events & select.POLLOUT and self._to_command:
            try:
                del self._to_command[: os.write(command.terminal, self._to_command)]
            except OSError:
                self._to_command.clear()
        if not events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        if data := command.read():
            self._waiting.note_output(time.monotonic() - self._quiet_since)
            self._reset_quiet()
            self._screen.show(data)
            self.tell(encode_frame(OUTPUT, data))
        elif events & (select.POLLHUP | select.POLLERR):
            command.is_silent = True

    def _check_command(self) -> None:
        command = self._command
        if not command:
            return
        now = time.monotonic()
        if command.code is None:
            pid, status = os.waitpid(command.pid, os.WNOHANG)
            if pid:
                command.code = os.waitstatus_to_exitcode(status)
                self._deadline = now + DRAIN_SECONDS
                # the command may have opened the terminal again for its final output
                command.is_silent = False
            elif self._kill_at and now >= self._kill_at:
                command.send(signal.SIGKILL)
                self._kill_at = now + GRACE_SECONDS
            elif now - max(self._quiet_since, self._checked) >= QUIET_SECONDS:
                self._checked = now
                command.is_silent = False  # one of its processes may have opened the terminal again
                quiet_s = now - self._quiet_since
                self._report_waiting(
                    self._waiting.is_waiting(
                        command.terminal, command.device, open_line=command.open_line, quiet_s=quiet_s
                    )
                )
        elif command.is_silent:
            self._finish_command(command, is_held=False)
        elif not self._can_take_output():
            # restart the time limit, because server or screen cannot take the command's final output yet
            self._deadline = now + DRAIN_SECONDS
        elif now >= self._deadline:
            self._drain(command)
            self._finish_command(command, is_held=not command.is_silent)

    def _drain(self, command: commands.RelayedCommand) -> None:
        """Read the output that is left in the terminal: reads may have been paused until the command's time limit.

        Stop at a limit, because the output may be endless.
        """
        poll = select.poll()
        poll.register(command.terminal, select.POLLIN)
        for _ in range(FULL_BYTES // commands.CHUNK_BYTES):
            found = poll.poll(0)
            if not found or command.is_silent:
                return
            self._handle_command(command, found[0][1])

    def _reset_quiet(self) -> None:
        self._quiet_since = time.monotonic()
        self._report_waiting(False)

    def _report_waiting(self, waits: bool) -> None:
        if waits != self._waits:
            self._waits = waits
            self.tell(encode_words(WAITS, int(waits)))

    def _finish_command(self, command: commands.RelayedCommand, *, is_held: bool) -> None:
        code = command.code if command.code is not None else 0
        self._report_waiting(False)
        self._screen.reset_modes()
        self._screen.show(format_end(code, time.monotonic() - self._begun, open_line=command.open_line))
        self.tell(encode_words(EXIT, code, int(is_held)))
        self._command = None
        self._to_command.clear()
        if is_held:
            self._left_open.append(command.terminal)
            if len(self._left_open) > MAX_LEFT_OPEN:
                os.close(self._left_open.pop(0))
        else:
            os.close(command.terminal)
        if self._kill_at:
            self._send_remaining()

    def _forward_leftover_output(self, terminal: int) -> None:
        try:
            data = os.read(terminal, commands.CHUNK_BYTES)
        except OSError:
            data = b""
        if data:
            return self._screen.show(data)
        self._left_open.remove(terminal)
        os.close(terminal)

    def _send_remaining(self) -> None:
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
        server, token = _connect(argv[1])
    except (OSError, ValueError):
        sys.stdout.write(LATE)
        return 0
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _ignore_signal)
    adopt_orphans()
    relay = Relay(server, Screen(), reading)
    relay.tell(encode_words(HELLO, token, os.getpid()))
    relay.run()
    return 0


def _connect(path: str) -> tuple[socket.socket, str]:
    """Connect to the server named in the token file.

    Raises:
        OSError, ValueError: the server no longer waits for this terminal.
    """
    with open(path, encoding="utf-8") as file:
        address, token = file.read().split("\n")
    os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.connect(address)
    server.setblocking(False)
    return server, token


def _ignore_signal(number: int, _frame: object) -> None:
    """Do nothing. The event loop gets the number of the signal from the wake-up pipe."""
