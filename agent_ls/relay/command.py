"""One command in a pseudo-terminal and session of its own, as a child of the relay."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios

CHUNK_BYTES = 64 * 1024
LINE_BYTES = 4_000
"""Of a line that is typed: of more than 4,095 the system drops the rest."""

RESET = (
    signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP,
    signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip

_PROC = "/proc"


class Command:
    """`code` None: it has not been waited for. `open_line`: the last that it printed is no whole line.

    `is_silent`: nobody had the terminal open any more when we last looked.
    """

    def __init__(self, pid: int, terminal: int, device: int) -> None:
        self.pid = pid
        self.terminal = terminal
        self.device = device
        self.code: int | None = None
        self.open_line = False
        self.is_silent = False

    def read(self) -> bytes:
        """b"" when nobody has the terminal open any more."""
        try:
            data = os.read(self.terminal, CHUNK_BYTES)
        except BlockingIOError:
            return b""
        except OSError:  # EIO, which is how Linux tells the end
            return b""
        if data:
            self.open_line = not data.endswith((b"\n", b"\r"))
        return data

    def resize(self, rows: int, columns: int) -> None:
        set_size(self.terminal, rows, columns)

    def typed(self, data: bytes) -> bytes:
        """As it is to be written: a line that is too long is handed on in pieces, which its reader joins."""
        try:
            modes = termios.tcgetattr(self.terminal)
        except termios.error:
            return data
        if len(data) <= LINE_BYTES or not modes[3] & termios.ICANON:
            return data
        hand_on = modes[6][termios.VEOF]
        return b"".join(
            hand_on.join(line[at : at + LINE_BYTES] for at in range(0, len(line), LINE_BYTES))
            for line in data.splitlines(keepends=True)
        )

    def send(self, number: signal.Signals) -> None:
        """To all of its session; without /proc to its process group."""
        for pid in session_members(self.pid) or [-self.pid]:
            try:
                os.kill(pid, number)
                if number != signal.SIGKILL:
                    os.kill(pid, signal.SIGCONT)  # a stopped process would not see it
            except OSError:  # it has ended, or is another user's
                continue


def start(argv: list[str], folder: str, environ: dict[str, str], size: tuple[int, int]) -> Command:
    """
    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = os.openpty()
    try:
        set_size(ours, *size)
        device = os.fstat(theirs).st_rdev
        pid = _forked(theirs, argv, folder, environ)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return Command(pid, ours, device)


def _forked(terminal: int, argv: list[str], folder: str, environ: dict[str, str]) -> int:
    reading, writing = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _become(terminal, writing, argv, folder, environ)
        os.close(writing)
        writing = -1
        failed = os.read(reading, 32)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    if failed:
        os.waitpid(pid, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return pid


def _become(terminal: int, failure: int, argv: list[str], folder: str, environ: dict[str, str]) -> None:
    """The child's part; never returns."""
    try:
        os.login_tty(terminal)
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        # When the leader of a terminal's session ends, the system hangs up on what it left in the background
        # (`server &`). That is to go on, as it does without a terminal; it is ended by its mark in the end.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.chdir(folder)
        os.execvpe(argv[0], argv, environ)
    except OSError as error:
        os.write(failure, str(error.errno or 1).encode())
    finally:
        os._exit(127)


def set_size(terminal: int, rows: int, columns: int) -> None:
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    except OSError:  # it is gone
        return


def session_members(session: int) -> list[int]:
    """The processes of a session; empty where /proc does not tell."""
    try:
        names = os.listdir(_PROC)
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and _session_of(name) == session]


def _session_of(pid: str) -> int:
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[3])
    except (OSError, ValueError, IndexError):
        return -1
