"""A fake editor with terminals. Each terminal is a real pseudo-terminal, whose output is read in a thread."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import termios
import threading
from contextlib import suppress

from agent_ls.environments.base import CommandTerminal
from agent_ls.environments.terminal_host import NewTerminal
from tests.support.processes import eventually

DEADLINE_S = 240.0


class ShownTerminal:
    def __init__(self, terminal: NewTerminal, *, is_read: bool = True) -> None:
        self.id = terminal.id
        self.title = terminal.title
        self.argv = terminal.argv
        self._ours, theirs = pty.openpty()
        self._screen = bytearray()
        self.process = subprocess.Popen(
            terminal.argv,
            cwd=terminal.cwd,
            # The environment of an editor's terminal may have API keys, which the command must not get.
            env={**os.environ, "ADA_API_KEY": "of-the-editor", "EDITOR_SECRET": "of-the-editor"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        if is_read:
            self._reader.start()

    @property
    def screen(self) -> str:
        return bytes(self._screen).decode("utf-8", "replace").replace("\r\n", "\n")

    async def until(self, text: str) -> None:
        try:
            await eventually(lambda: text in self.screen)
        except TimeoutError:
            raise AssertionError(f"not shown: {text!r}\n{self.screen}") from None

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._ours, (rows, columns))
        self.process.send_signal(signal.SIGWINCH)

    def close(self) -> None:
        """Close the terminal as a user does: its program gets SIGHUP."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGHUP)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(DEADLINE_S)
        if self._reader.ident:
            self._reader.join(DEADLINE_S)
        os.close(self._ours)

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._ours, 65536):
                self._screen += data


class FakeTerminalHost:
    """A TerminalHost. `opens` False: it announces the capability, but does not open terminals.

    `is_read` False: the output of the terminals is not read, so commands block once the buffer is full.
    """

    def __init__(self, *, opens: bool = True, is_read: bool = True) -> None:
        self.is_read = is_read
        self.opens = opens
        self.asked: list[NewTerminal] = []
        self.terminals: list[ShownTerminal] = []
        self.runs: list[tuple[str, str]] = []

    @property
    def has_terminals(self) -> bool:
        return True

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        self.asked.append(terminal)
        if self.opens:
            self.terminals.append(ShownTerminal(terminal, is_read=self.is_read))
        return self.opens

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        self.runs.append((terminal_id, call_id))

    def end(self) -> None:
        for terminal in self.terminals:
            terminal.end()


class Watch:
    """Records a command's terminal, and each report whether the command waits for input."""

    def __init__(self) -> None:
        self.terminal: CommandTerminal | None = None
        self.reports: list[bool] = []
        self._seen = 0

    def report_terminal(self, terminal: CommandTerminal) -> None:
        self.terminal = terminal

    def report_waiting(self, waiting: bool) -> None:
        self.reports.append(waiting)

    async def until_waits(self) -> None:
        await eventually(lambda: bool(self.reports) and self.reports[-1])
        self._seen = len(self.reports)

    async def until_goes_on(self) -> None:
        """Wait until the command has read the typed input, even if it waits for more already."""
        await eventually(lambda: False in self.reports[self._seen :])
