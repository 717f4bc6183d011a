"""The editor's terminal: keys are read from it, and a command's output is displayed in it.

If the terminal accepts nothing for a second, output is dropped, so that the terminal does not block the
command. If the relay has no terminal, nothing is displayed and no keys are read.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time

FULL_BYTES = 256 * 1024
"""While at least this many bytes wait to be displayed, the command's output is not read.

This applies only to a terminal that still accepts bytes.
"""

STALLED_SECONDS = 1.0
TITLE_CHARS = 1_000
DEFAULT_SIZE = (24, 80)

_ALTERNATE = (b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h")
_NORMAL = (b"\x1b[?1049l", b"\x1b[?1047l", b"\x1b[?47l")
_SWITCH_BYTES = len(_ALTERNATE[0])
_CALM = b"".join(
    (
        b"\x0f\x1b(B\x1b[4l\x1b[?7h",  # normal character set, no insert mode, line wrap on
        b"\x1b7\x1b[r\x1b8",  # scroll the whole screen; this moves the cursor, so it is saved and restored
        b"\x1b[0m\x1b[?25h",
        b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l",  # no mouse, focus or paste reports
        b"\x1b[?1l\x1b>\x1b[>4m\x1b[<u",  # normal key codes
    )
)
_MISSED = b"\r\n\x1b[2m[some output is not shown here]\x1b[0m\r\n"


class Screen:
    def __init__(self) -> None:
        self.is_open = os.isatty(0) and os.isatty(1)
        self._before = None
        self._held = bytearray()
        self._taken_at = time.monotonic()
        self._missed = False
        self._is_alternate = False
        self._last = b""
        if self.is_open:
            self._before = termios.tcgetattr(0)
            _set_raw(0)
            os.set_blocking(1, False)

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    @property
    def is_full(self) -> bool:
        """Whether the relay must wait before it reads more output, because the terminal has not accepted the
        last output.

        False if the terminal has accepted nothing for STALLED_SECONDS: further output is then dropped.
        """
        return len(self._held) >= FULL_BYTES and time.monotonic() - self._taken_at < STALLED_SECONDS

    def size(self) -> tuple[int, int]:
        """Return rows and columns of the editor's terminal; DEFAULT_SIZE if they are not known."""
        if not self.is_open:
            return DEFAULT_SIZE
        try:
            found = os.get_terminal_size(1)
        except OSError:
            return DEFAULT_SIZE
        return (found.lines, found.columns) if found.lines and found.columns else DEFAULT_SIZE

    def show(self, data: bytes) -> None:
        if not self.is_open:
            return
        if len(self._held) >= 2 * FULL_BYTES:
            self._missed = True
            return
        if not self._held:
            self._taken_at = time.monotonic()
        self._held += data
        self._last += data  # the end of the previous piece may be the start of an escape sequence
        on, off = (max(map(self._last.rfind, switches)) for switches in (_ALTERNATE, _NORMAL))
        if on != off:
            self._is_alternate = on > off
        self._last = self._last[1 - _SWITCH_BYTES :]
        self.flush()

    def reset_modes(self) -> None:
        """Reset terminal modes that a program may have changed: alternate screen, hidden cursor, mouse reports,
        colours.
        """
        self.show((_NORMAL[0] if self._is_alternate else b"") + _CALM)
        self._is_alternate = False

    def flush(self) -> None:
        try:
            written = os.write(1, self._held) if self._held else 0
        except BlockingIOError:
            return
        except OSError:
            return self.close()
        if written:
            del self._held[:written]
            self._taken_at = time.monotonic()
        if self._missed and not self._held:
            self._missed = False
            self._held += _MISSED

    def keys(self) -> bytes:
        """Return the keys that the user typed; b"" if the terminal is closed."""
        try:
            return os.read(0, 65536)
        except OSError:
            return b""

    def close(self) -> None:
        self.is_open = False
        self._held.clear()

    def _end(self) -> None:
        """Display the remaining output; stop if the terminal accepts nothing for STALLED_SECONDS."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        before = len(self._held) + 1
        while 0 < len(self._held) < before and poll.poll(int(STALLED_SECONDS * 1000)):
            before = len(self._held)
            self.flush()

    def restore(self) -> None:
        if self.is_open and self._before is not None:
            self._end()
            os.set_blocking(1, True)
            try:
                termios.tcsetattr(0, termios.TCSANOW, self._before)
            except (OSError, termios.error):
                return


def format_title(command: str) -> bytes:
    """Format the line above a command's output. Control characters are replaced, because the model wrote the text."""
    lines = command.strip().splitlines() or [""]
    shown = "".join(char if char.isprintable() else "\ufffd" for char in lines[0][:TITLE_CHARS])
    more = " …" if len(lines) > 1 or len(lines[0]) > TITLE_CHARS else ""
    return f"\x1b[1m$ {shown}{more}\x1b[0m\r\n".encode(sys.getfilesystemencoding(), "replace")


def format_end(code: int, seconds: float, *, open_line: bool) -> bytes:
    how = f"ended by signal {-code}" if code < 0 else f"exit {code}"
    line = "\r\n" if open_line else ""
    return f"{line}\x1b[2m[{how}, {seconds:.1f} s]\x1b[0m\r\n".encode()


def _set_raw(terminal: int) -> None:
    """Set raw mode as tty.setraw does: each key, including Ctrl+C, arrives at once and unchanged."""
    modes = termios.tcgetattr(terminal)
    modes[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
    modes[1] &= ~termios.OPOST
    modes[2] = (modes[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
    modes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, modes)
