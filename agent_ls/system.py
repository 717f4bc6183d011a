"""Differences between operating systems: files, processes, termination signals, output encoding, process memory."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_INVALID_PARAMETER = 87  # the error of Windows for a pid without process
_STILL_ACTIVE = 259

TERMINATION_SIGNALS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if sys.platform != "win32" else ()))
"""Signals that ask the process to end. SIGHUP means that the terminal or the SSH connection was closed."""


def file_signature(facts: os.stat_result) -> tuple[int, int, int]:
    """Return a value that differs after each change of a file, and for another file with the same name."""
    return facts.st_ino, facts.st_mtime_ns, facts.st_size


WANTED_FILES = 4096
"""The limit of open files that agent-ls sets for its process. Some systems start programs with a limit of 256."""

SPARE_FOR_CALLS, SPARE_FOR_SESSIONS = 12, 24
"""Numbers of files that can still be opened: the minimum before a tool call is checked or a session is opened.

Without a free descriptor, the check of a command could not read files, and a deleted log could not be created
again.
"""


def replace_file(path: Path, data: bytes, *, is_synced: bool = False) -> None:
    """Write a file with mode 0600: after a crash it has the old or the new content, never a part of it. Blocks.

    `is_synced`: also after a power failure.

    Raises:
        OSError: the file is unchanged.
    """
    import tempfile  # imported only when needed

    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}."
    )  # has mode 0600 from its creation
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    if is_synced and sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def is_out_of_files(error: OSError) -> bool:
    """Return whether the process, or the machine, has reached its limit of open files."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def require_spare_files(count: int) -> None:
    """Check that this process may open `count` more files. Windows has no such limit.

    Raises:
        OSError: the process may not open so many files (errno EMFILE).
    """
    if sys.platform != "win32" and _files_limit() - len(os.listdir("/dev/fd")) < count:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def raise_files_limit() -> None:
    """Raise the soft limit of open files of this process to WANTED_FILES, or to the hard limit if that is lower."""
    if sys.platform == "win32":
        return
    import resource  # this module does not exist on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _files_limit() -> int:
    import resource  # this module does not exist on Windows

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def describe_out_of_files() -> tuple[str, str]:
    """Return the error message for too many open files, and a hint about what to do next."""
    limit = "" if sys.platform == "win32" else f" ({_files_limit()})"
    return (
        f"agent-ls has reached its limit of open files{limit}",
        "close sessions that you do not need, or raise the limit (ulimit -n) and start the editor again",
    )


def is_on_own_disk(facts: os.stat_result) -> bool:
    """Return whether a file is on a disk of this machine, which answers at once.

    Such a disk has a device of its own. Network file systems, and some others, have none (major number 0).
    """
    return sys.platform == "linux" and os.major(facts.st_dev) != 0


def is_folder_on_own_disk(folder: str) -> bool:
    """Return whether a folder exists and is on a disk of this machine. Blocks."""
    try:
        return is_on_own_disk(os.stat(folder))
    except (OSError, ValueError):
        return False


def is_alive(pid: int) -> bool:
    """Return whether the process with this id exists; True if this cannot be determined.

    On POSIX systems, a process that has ended exists until its parent has waited for it.
    """
    if pid <= 0:
        return True
    if sys.platform == "win32":  # os.kill(pid, 0) would send Ctrl-C there
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _is_alive_on_windows(pid: int) -> bool:
    import pywintypes
    import win32api
    import win32con
    import win32process

    try:
        process = win32api.OpenProcess(win32con.PROCESS_QUERY_LIMITED_INFORMATION, False, pid)
    except pywintypes.error as error:
        return bool(error.winerror != _INVALID_PARAMETER)
    except OverflowError:
        return False
    try:
        return bool(win32process.GetExitCodeProcess(process) == _STILL_ACTIVE)
    finally:
        process.Close()


INTERRUPTED = 130
"""Exit code of an agent-ls command that ended because of a termination signal."""


def exit_on_termination() -> None:
    """Make SIGTERM and SIGHUP end this process with exit code INTERRUPTED, after its `finally` blocks have run.

    A signal that the process was started to ignore (`nohup`) stays ignored.
    """

    def leave(number: int, frame: object) -> None:
        raise SystemExit(INTERRUPTED)

    for number in TERMINATION_SIGNALS:
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)


@contextmanager
def handle_termination_signals(call: Callable[[], None]) -> Iterator[None]:
    """Within the `with` block, make a termination signal call `call` on the event loop, not end the process.

    A signal that the process was started to ignore (`nohup`) stays ignored. Outside the main thread, the
    block has no effect, because Python handles signals only in the main thread.
    """
    import asyncio  # not needed by commands such as --version

    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}  # the type of signal.signal's result
    with suppress(ValueError):  # not the main thread
        for number in TERMINATION_SIGNALS:
            if signal.getsignal(number) is signal.SIG_IGN:
                continue
            if sys.platform == "win32":
                before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
            else:
                loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if sys.platform != "win32":
            with suppress(ValueError):
                for number in TERMINATION_SIGNALS:
                    loop.remove_signal_handler(number)


def use_pidfd_watcher() -> None:
    """Make asyncio wait for child processes by process descriptors (pidfd) instead of one thread per process (Linux).

    With threads, the scheduler would decide which code gets the exit code of a child first. Call this before
    the event loop starts. With this watcher, event loops in all threads can start processes. Python 3.12 uses
    pidfd by default.
    """
    if sys.platform != "linux" or sys.version_info >= (3, 12):
        return
    import asyncio

    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return  # an old kernel, or a container that forbids it

    class Watcher(asyncio.PidfdChildWatcher):
        """A child watcher that uses the event loop that starts the child process.

        The base class works only for the event loop of the main thread.
        """

        def is_active(self) -> bool:
            return True

        def add_child_handler(self, pid: int, callback: Callable[..., object], *args: object) -> None:
            base = asyncio.PidfdChildWatcher()
            base.attach_loop(asyncio.get_running_loop())
            base.add_child_handler(pid, callback, *args)

    asyncio.get_event_loop_policy().set_child_watcher(Watcher())


def relative_to_folder(path: str, folder: str) -> str:
    """Return `path` relative to `folder`, with slashes; "" if `path` is not below `folder`. Both must be absolute."""
    above = os.path.join(folder, "")
    is_below = os.path.normcase(path).startswith(os.path.normcase(above))
    return path[len(above) :].replace(os.sep, "/") if is_below else ""


def display_path(path: str, folder: str) -> str:
    """Return the path relative to the folder if it is inside, else the path itself."""
    return relative_to_folder(path, folder) or path


def configure_output_encoding(as_json: bool = False) -> None:
    """Make stdout and stderr replace characters that their encoding lacks, and lone surrogates, instead of failing.

    `as_json`: the output is JSON, so use UTF-8.
    """
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(encoding="utf-8" if as_json else None, errors="replace")


def forbid_process_inspection() -> None:
    """Prevent other processes of the user from reading our memory and variables (Linux). Root still can.

    A process that we start becomes readable again when it executes another program.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@contextmanager
def postponed_collection() -> Iterator[None]:
    """Collect no garbage inside the `with` block until `begin_collection` is called.

    For the start of a program: imported objects are never garbage, and looking for it takes a fifth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def begin_collection() -> None:
    """Collect garbage from now on, if it was postponed. Objects that exist by now are left out."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def quick_exit() -> Callable[[int], int]:
    """Let this process end without clearing its modules and objects one by one. Call this before other imports.

    Pass the exit code to the returned function, which returns it, and then end the process as usual: threads are waited
    for, and the functions of `atexit` run. If the function is not called, the interpreter clears everything.
    """
    codes: list[int] = []

    def leave() -> None:  # runs last, because it is registered first
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return  # the interpreter reports it
        if codes:
            os._exit(codes[-1])

    def end(code: int) -> int:
        codes.append(code)
        return code

    atexit.register(leave)
    return end


def return_freed_memory() -> None:
    """Return freed memory to the system, where the C library has a call for it (glibc). Blocks for about 1 ms."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


_PR_SET_DUMPABLE = 4
_ENVIRONMENT_AT = (47, 48)
"""Indexes of two fields of /proc/self/stat, counted after the program's name.

They contain the addresses at which the initial environment variables begin and end.
"""


def erase_environment_variables(names: Collection[str]) -> None:
    """Remove environment variables, also from the initial environment that the system exposes in /proc (Linux)."""
    for name in names:
        os.environ.pop(name, None)
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        begin, end = (int(fields[at]) for at in _ENVIRONMENT_AT)
        environment = ctypes.string_at(begin, end - begin) if begin else b""
        for variable in re.finditer(rb"([^\0=]+)=([^\0]*)", environment):
            if os.fsdecode(variable[1]) in names:
                ctypes.memset(begin + variable.start(2), 0, len(variable[2]))


def claim_stdio() -> tuple[int, int]:
    """Reserve stdin and stdout for the protocol, and return new descriptors for them.

    For all other code of this process, and for its children, stdin is empty and stdout is stderr. Otherwise a single
    `print` would end the connection.
    """
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdout.flush()
    os.dup2(2, 1)
    return reader, writer
