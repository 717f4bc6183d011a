"""One owner for each session: who holds the lock file may write its log (PROTOCOL, Rules).

Where the file system locks, the kernel's lock decides, and it ends with its process. Where it does not (some
network file systems), what the file says decides: pid, start time and host; the file of a dead process is taken
over.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent_ls.store.errors import SessionLockedError
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Owner:
    """`started` tells two processes with one pid apart ("" where the platform does not say)."""

    pid: int
    started: str
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class SessionLock:
    """Held from `take` until `release`, or the end of the process.

    `is_firm` False: this file system has no locks, and only what the file says keeps others out.
    """

    def __init__(self, path: Path, descriptor: int, *, is_firm: bool = True) -> None:
        self.is_firm = is_firm
        self._path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """May be called again."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def kernel_lock(descriptor: int) -> None:
    """
    Raises:
        OSError: BlockingIOError (on Windows PermissionError) when another holds it.
    """
    if sys.platform == "win32":
        # A region far behind the content: a locked one could not be read by others.
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def take(path: Path, session_id: str, lock: Callable[[int], None] = kernel_lock) -> SessionLock:
    """`lock` locks a descriptor as `kernel_lock` does.

    Raises:
        SessionLockedError: a living process has it. OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, FILE_MODE)
    try:
        is_firm = _is_locked(descriptor, lock)
        if is_firm is None:
            raise SessionLockedError(session_id, str(_read(descriptor) or ""))
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, json.dumps(asdict(this_process())).encode())
    except BaseException:
        os.close(descriptor)
        raise
    return SessionLock(path, descriptor, is_firm=is_firm)


@contextmanager
def held(path: Path, session_id: str) -> Iterator[None]:
    """As `take`, for as long as the block lasts."""
    lock = take(path, session_id)
    try:
        yield
    finally:
        lock.release()


def this_process() -> Owner:
    return Owner(os.getpid(), _start_time(os.getpid()), socket.gethostname())


def is_alive(owner: Owner) -> bool:
    """Of another host it cannot be known, so it counts as alive; nor on Windows, where signal 0 is Ctrl-C."""
    if owner.host != socket.gethostname() or sys.platform == "win32":
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return not owner.started or owner.started == _start_time(owner.pid)


def _is_locked(descriptor: int, lock: Callable[[int], None]) -> bool | None:
    """None: another has it. False: it is ours by what the file says, for there are no locks here."""
    try:
        lock(descriptor)
        return True
    except (BlockingIOError, PermissionError):
        return None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    owner = _read(descriptor)
    return False if owner is None or not is_alive(owner) else None


def _read(descriptor: int) -> Owner | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        raw: dict[str, Any] = json.loads(os.read(descriptor, 4096))
        return Owner(int(raw["pid"]), str(raw["started"]), str(raw["host"]))
    except (ValueError, KeyError, TypeError):
        return None


def _start_time(pid: int) -> str:
    """Linux tells it in clock ticks since boot; elsewhere the pid alone has to do."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The second field, the command in brackets, may hold blanks and brackets of its own.
    return stat.rpartition(b")")[2].split()[19].decode("ascii", "replace")
