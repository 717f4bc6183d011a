"""Run one command as a child of the relay, in a pseudo-terminal and session of its own."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

CHUNK_BYTES = 64 * 1024
LINE_BYTES = 4_000
"""Limit for a typed line: the kernel drops all bytes after the first 4,095."""

RESET = (
    signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP,
    signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip

_PROC = "/proc"
_SET_CHILD_SUBREAPER = 36


class RelayedCommand:
    """A running command in its own pseudo-terminal.

    `code` None: the exit status of the command has not been read. `open_line`: the output does not end with a
    newline. `is_silent`: at the last check, no process had the terminal open.
    """

    def __init__(self, pid: int, terminal: int, device: int) -> None:
        self.pid = pid
        self.terminal = terminal
        self.device = device
        self.code: int | None = None
        self.open_line = False
        self.is_silent = False

    def read(self) -> bytes:
        """Return the output that is available now; b"" if there is none, or no process has the terminal open."""
        try:
            data = os.read(self.terminal, CHUNK_BYTES)
        except BlockingIOError:
            return b""
        except OSError:  # EIO, by which Linux reports the end of a pseudo-terminal
            return b""
        if data:
            self.open_line = not data.endswith((b"\n", b"\r"))
        return data

    def resize(self, rows: int, columns: int) -> None:
        set_size(self.terminal, rows, columns)

    def prepare_input(self, data: bytes) -> bytes:
        """Return `data` in the form to write to the terminal.

        A line longer than LINE_BYTES is split by end-of-file characters, because the kernel would truncate it.
        """
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
        """Send a signal to all processes of the command's POSIX session; without /proc, to its process group."""
        for pid in session_members(self.pid) or [-self.pid]:
            try:
                os.kill(pid, number)
                if number != signal.SIGKILL:
                    os.kill(pid, signal.SIGCONT)  # a stopped process would not handle the signal
            except OSError:  # the process has ended, or belongs to another user
                continue


def start_command(
    argv: list[str],
    folder: str,
    environ: dict[str, str],
    size: tuple[int, int],
    confinement: str = "",
    group: str = "",
) -> RelayedCommand:
    """Start a command.

    `confinement` is the Confinement of the command as JSON, "" for none. `group` is the `cgroup.procs` file of
    a control group, "" for none. The command joins the group before the command can start other processes.

    Raises:
        OSError: the command cannot be started.
    """
    ours, theirs = os.openpty()
    try:
        set_size(ours, *size)
        device = os.fstat(theirs).st_rdev
        confine = _build_confiner(confinement) if confinement else None

        def prepare() -> None:
            if group:
                _join(group)
            if confine:
                confine(os.ttyname(0))

        pid = _fork_command(theirs, argv, folder, environ, prepare)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return RelayedCommand(pid, ours, device)


def _build_confiner(confinement: str) -> Callable[[str], None]:
    """Return a function that confines the current process; its argument is the process's terminal."""
    from agent_ls.confinement.confine import confine  # imported late, because most terminals do not need it
    from agent_ls.confinement.wanted import Confinement

    wanted = Confinement(*json.loads(confinement))
    return lambda terminal: confine(wanted, terminal=terminal)


def _join(group: str) -> None:
    # ignore errors: without a group, processes of the command are found by their environment and parents
    with suppress(OSError):
        descriptor = os.open(group, os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, b"0")
        os.close(descriptor)


def _fork_command(
    terminal: int,
    argv: list[str],
    folder: str,
    environ: dict[str, str],
    prepare: Callable[[], None],
) -> int:
    reading, writing = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _exec_command(terminal, writing, argv, folder, environ, prepare)
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


def _exec_command(
    terminal: int,
    failure: int,
    argv: list[str],
    folder: str,
    environ: dict[str, str],
    prepare: Callable[[], None],
) -> None:
    """Run `prepare` and then the command in the child process, whose terminal is already set. Never returns."""
    try:
        os.login_tty(terminal)
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        # When a session leader ends, the kernel sends SIGHUP to its background processes (`server &`). Ignore the
        # signal, because they continue without a terminal too. They are terminated later; a variable in their
        # environment identifies them.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.chdir(folder)
        prepare()
        os.execvpe(argv[0], argv, environ)
    except OSError as error:
        os.write(failure, str(error.errno or 1).encode())
    finally:
        os._exit(127)


def adopt_orphans() -> None:
    """Make the relay the parent of orphaned processes, if the system supports it (Linux)."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_adopted(command: int) -> None:
    """Read the exit status of each adopted process that has ended. `command` is the pid to leave out."""
    with suppress(OSError):  # there are no children
        while (
            found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        ) and found.si_pid != command:
            os.waitpid(found.si_pid, os.WNOHANG)


def set_size(terminal: int, rows: int, columns: int) -> None:
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    except OSError:  # the terminal is closed
        return


def session_members(session: int) -> list[int]:
    """Return the pids of the processes of a POSIX session; empty if the system has no /proc."""
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
