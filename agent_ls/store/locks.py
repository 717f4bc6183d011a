"""One owner for each session: who holds the lock file may write its log (PROTOCOL, Rules).

Where the file system locks, the kernel's lock decides, and it ends with its process. Where it does not (some
network file systems), what the file says decides: pid, start time and host; the file of a dead process is taken
over.

An owner that does not answer can be put out of its right (`seize`): another file takes the place of the one it holds.
It may be standing still at any point, so it looks again before and after each line that it writes (`is_ours`), and its
log is replaced by a copy, so that not even a write that was under way gets into what the new owner reads and writes.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agent_ls import system
from agent_ls.store.errors import SessionLockedError
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS

if sys.platform == "win32":
    import msvcrt

    import pywintypes
    import win32con
    import win32file
    import winerror
else:
    import fcntl

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Owner:
    """`started` tells two processes with one pid apart ("" where the platform does not say).

    `program` is what the user knows it by, "" when that was not told. `is_ending`: it is about to let go.
    """

    pid: int
    started: str
    host: str
    program: str = ""
    is_ending: bool = False

    def __str__(self) -> str:
        where = f"process {self.pid} on {self.host}"
        return f"{self.program}, {where}" if self.program else where

    def is_same(self, other: Owner | None) -> bool:
        """Whether both are one process, whatever it does."""
        return other is not None and (self.pid, self.started, self.host) == (
            other.pid,
            other.started,
            other.host,
        )


class SessionLock:
    """Held from `take` until `release`, or the end of the process.

    `is_firm` False: this file system has no locks, and only what the file says keeps others out.
    """

    def __init__(self, path: Path, descriptor: int, owner: Owner, *, is_firm: bool = True) -> None:
        self.is_firm = is_firm
        self.owner = owner
        self._path = path
        self._descriptor = descriptor
        stat = os.fstat(descriptor)
        self._identity = (stat.st_dev, stat.st_ino)
        self._is_lost = False

    def is_ours(self) -> bool:
        """False for good once another has put us out of our right. A file that is gone is nobody else's."""
        if not self._is_lost:
            try:
                # Opened, not only looked at: network file systems answer an open from the disk, a look from memory.
                found = os.open(self._path, os.O_RDONLY | OPEN_FLAGS)
            except OSError:
                return True
            try:
                stat = os.fstat(found)
            finally:
                os.close(found)
            self._is_lost = (stat.st_dev, stat.st_ino) != self._identity
        return not self._is_lost

    def tell_ending(self) -> None:
        """From now on who wants the session waits for it. For those who look, not for who decides."""
        if self._descriptor >= 0 and not self.owner.is_ending:
            self.owner = replace(self.owner, is_ending=True)
            try:
                _write(self._descriptor, self.owner)
            except OSError:
                return  # a full disk: they wait a little less long

    def release(self) -> None:
        """May be called again."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def kernel_lock(descriptor: int) -> None:
    """
    Raises:
        OSError: BlockingIOError (PermissionError on some network file systems) when another holds it.
    """
    if sys.platform == "win32":
        # A region far behind the content: a locked one could not be read by others.
        place = pywintypes.OVERLAPPED()
        place.Offset = 1 << 30
        flags = win32con.LOCKFILE_EXCLUSIVE_LOCK | win32con.LOCKFILE_FAIL_IMMEDIATELY
        try:
            win32file.LockFileEx(msvcrt.get_osfhandle(descriptor), flags, 1, 0, place)
        except pywintypes.error as error:
            if error.winerror in (winerror.ERROR_LOCK_VIOLATION, winerror.ERROR_IO_PENDING):
                raise BlockingIOError(errno.EAGAIN, error.strerror) from error
            raise OSError(errno.ENOTSUP, error.strerror) from error
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def take(
    path: Path, session_id: str, lock: Callable[[int], None] = kernel_lock, program: str = ""
) -> SessionLock:
    """`lock` locks a descriptor as `kernel_lock` does; `program` is what the user knows this process by.

    Raises:
        SessionLockedError: a living process has it. OSError: the file cannot be made.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, FILE_MODE)
        try:
            is_firm = _is_locked(descriptor, lock)
            if is_firm is None:
                raise SessionLockedError(session_id, str(_read(descriptor) or ""))
            held = SessionLock(path, descriptor, this_process(program), is_firm=is_firm)
            if held.is_ours():  # else another file took its place while we looked
                os.ftruncate(descriptor, 0)
                _write(descriptor, held.owner)
                return held
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def seize(
    path: Path,
    session_id: str,
    asked: Owner | None,
    lock: Callable[[int], None] = kernel_lock,
    program: str = "",
) -> SessionLock:
    """Puts the owner that was `asked` in vain out of its right. Its log is to be replaced next (`log.detach`).

    Raises:
        SessionLockedError: it is not the owner any more, another process does the same now, or (Windows) files that
            are open cannot be replaced. OSError.
    """
    with _alone(path.with_name(f"{path.name}.force"), session_id, lock):
        found = recorded_owner(path)
        if sys.platform == "win32" or asked is None or not asked.is_same(found):
            raise SessionLockedError(session_id, str(found or ""))
        new = path.with_name(f"{path.name}.{os.getpid()}.part")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, FILE_MODE)
        try:
            is_firm = bool(_is_locked(descriptor, lock))
            held = SessionLock(path, descriptor, this_process(program), is_firm=is_firm)
            _write(descriptor, held.owner)
            new.replace(path)
        except BaseException:
            os.close(descriptor)
            raise
        return held


@contextmanager
def _alone(path: Path, session_id: str, lock: Callable[[int], None]) -> Iterator[None]:
    """Of several that put an owner out of its right at once, the first does; the others find another owner then."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, FILE_MODE)
    try:
        try:
            lock(descriptor)
        except (BlockingIOError, PermissionError):
            raise SessionLockedError(session_id, str(owner_of(path.with_suffix("")) or "")) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)


def owner_of(path: Path) -> Owner | None:
    """Its owner, if that may be alive. It decides nothing: only `take` does."""
    owner = recorded_owner(path)
    return owner if owner and is_alive(owner) else None


def recorded_owner(path: Path) -> Owner | None:
    """What the lock file says."""
    try:
        descriptor = os.open(path, os.O_RDONLY | OPEN_FLAGS)
    except OSError:
        return None
    try:
        return _read(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


@contextmanager
def held(path: Path, session_id: str) -> Iterator[None]:
    """As `take`, for as long as the block lasts."""
    lock = take(path, session_id)
    try:
        yield
    finally:
        lock.release()


def this_process(program: str = "") -> Owner:
    return Owner(os.getpid(), _start_time(os.getpid()), socket.gethostname(), program)


def is_alive(owner: Owner) -> bool:
    """Of another host it cannot be known, so it counts as alive."""
    if owner.host != socket.gethostname():
        return True
    if not system.is_alive(owner.pid):
        return False
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
        owner = Owner(int(raw["pid"]), str(raw["started"]), str(raw["host"]))
        return replace(owner, program=str(raw.get("program", "")), is_ending=raw.get("is_ending") is True)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(descriptor: int, owner: Owner) -> None:
    """One write, over what stands there: a shorter text is made as long by blanks, so that nobody reads half of it."""
    data = json.dumps(asdict(owner)).encode()
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data.ljust(os.fstat(descriptor).st_size))


def _start_time(pid: int) -> str:
    """Linux tells it in clock ticks since boot; elsewhere the pid alone has to do."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The second field, the command in brackets, may hold blanks and brackets of its own.
    return stat.rpartition(b")")[2].split()[19].decode("ascii", "replace")
