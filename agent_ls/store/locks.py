"""One owner per session: the process that holds the lock file may write the log (docs/durability.md).

Where the file system supports locks, the kernel's lock decides, and the kernel releases it when the process
ends. On other file systems (some network file systems) the content of the lock file decides: pid, start time
and host. If that process is dead, the next process takes the lock file over.

An owner that does not respond to a hand-over request can be displaced (`seize_lock`): a new lock file replaces the
owner's lock file. The former owner may be suspended at any point. It therefore checks before and after each
write that it still owns the session (`is_ours`). The new owner replaces the log by a copy, so that a late
write of the former owner does not reach the new log.
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
    """A process that owns a session.

    `started` is the start time, which distinguishes two processes with the same pid ("" where the platform
    does not report it). `program` is the name displayed to users, "" if unknown. `is_ending` is True if the
    process is about to release the session.
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
        """Return whether `self` and `other` are the same process."""
        return other is not None and (self.pid, self.started, self.host) == (
            other.pid,
            other.started,
            other.host,
        )


class SessionLock:
    """The lock of a session, held from `acquire_lock` until `release` or the end of the process.

    If `is_firm` is False, the file system has no locks, and only the content of the lock file keeps other
    processes out. `killed` is the owner before, if its process ended without releasing the lock.
    """

    def __init__(
        self, path: Path, descriptor: int, owner: Owner, *, is_firm: bool = True, killed: Owner | None = None
    ) -> None:
        self.is_firm = is_firm
        self.killed = killed
        self.owner = owner
        self._path = path
        self._descriptor = descriptor
        self._is_lost = False
        self._note_file()

    def _note_file(self) -> None:
        facts = os.fstat(self._descriptor)
        self._identity = (facts.st_dev, facts.st_ino)
        self._has_true_links = system.is_on_own_disk(facts)
        """Whether the link count of the open file tells whether the file was replaced."""

    def is_ours(self) -> bool:
        """Return whether this process still holds the lock; False forever after a forced take-over.

        If the lock file was deleted, the lock still counts as held, because no other process owns the
        session.
        """
        if not self._is_lost:
            if self._has_true_links and self._descriptor >= 0:
                if os.fstat(self._descriptor).st_nlink == 1:
                    return True
                self._has_true_links = False  # replaced, deleted, or another program has made a link to it
            try:
                # Open the file instead of calling stat: network file systems answer open from the server, stat from a
                # cache.
                found = os.open(self._path, os.O_RDONLY | OPEN_FLAGS)
            except OSError:
                return True
            try:
                stat = os.fstat(found)
            finally:
                os.close(found)
            self._is_lost = (stat.st_dev, stat.st_ino) != self._identity
        return not self._is_lost

    def restore(self) -> None:
        """Create the lock file again if it was deleted with its folder. Does nothing if it exists.

        Raises:
            OSError: the file cannot be created.
        """
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, FILE_MODE)
        except FileExistsError:
            return
        try:
            if self.is_firm:
                kernel_lock(descriptor)
            _write(descriptor, self.owner)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._note_file()

    def announce_release(self) -> None:
        """Record in the lock file that the session is about to be released, so that other processes wait. The
        lock stays held.
        """
        if self._descriptor >= 0 and not self.owner.is_ending:
            self.owner = replace(self.owner, is_ending=True)
            try:
                _write(self._descriptor, self.owner)
            except OSError:
                return  # for example, the disk is full: other processes then wait for a shorter time

    def release(self) -> None:
        """Release the lock. May be called repeatedly."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def kernel_lock(descriptor: int) -> None:
    """Lock a file descriptor with the kernel's lock.

    Raises:
        OSError: BlockingIOError (PermissionError on some network file systems) if another process holds the lock.
    """
    if sys.platform == "win32":
        # Lock bytes far beyond the end of the file, because other processes cannot read locked bytes
        # (Windows).
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


def acquire_lock(
    path: Path, session_id: str, lock: Callable[[int], None] = kernel_lock, program: str = ""
) -> SessionLock:
    """Acquire the lock of a session. `path` is the lock file; `program` names this process for users.

    `lock` locks a descriptor and raises like `kernel_lock`.

    Raises:
        SessionLockedError: a living process holds the lock.
        OSError: the lock file cannot be created.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, FILE_MODE)
        try:
            is_firm = _is_locked(descriptor, lock)
            if is_firm is None:
                raise SessionLockedError(session_id, str(_read(descriptor) or ""))
            left = _read(descriptor)
            killed = left if left and not is_alive(left) else None
            held = SessionLock(path, descriptor, make_own_owner(program), is_firm=is_firm, killed=killed)
            if held.is_ours():  # False if the lock file was replaced after it was opened
                os.ftruncate(descriptor, 0)
                _write(descriptor, held.owner)
                return held
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def seize_lock(
    path: Path,
    session_id: str,
    asked: Owner | None,
    lock: Callable[[int], None] = kernel_lock,
    program: str = "",
) -> SessionLock:
    """Displace the owner `asked`, which did not hand the session over, and return this process's lock.

    After this, the caller must replace the log by a copy (`log.detach`).

    Raises:
        SessionLockedError: `asked` is None or no longer the owner, another process displaces the owner at the
            same time, or open files cannot be replaced (Windows).
        OSError: the file cannot be created.
    """
    with _serialize(path.with_name(f"{path.name}.force"), session_id, lock):
        found = recorded_owner(path)
        if sys.platform == "win32" or asked is None or not asked.is_same(found):
            raise SessionLockedError(session_id, str(found or ""))
        new = path.with_name(f"{path.name}.{os.getpid()}.part")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, FILE_MODE)
        try:
            is_firm = bool(_is_locked(descriptor, lock))
            held = SessionLock(path, descriptor, make_own_owner(program), is_firm=is_firm)
            _write(descriptor, held.owner)
            new.replace(path)
        except BaseException:
            os.close(descriptor)
            raise
        return held


@contextmanager
def _serialize(path: Path, session_id: str, lock: Callable[[int], None]) -> Iterator[None]:
    """Hold the lock on `path` during a `with` block, so that only one process at a time displaces the owner.

    Raises:
        SessionLockedError: another process holds this lock.
    """
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
    """Return the owner in the lock file if that process may be alive, else None.

    Use the result only for messages, because the owner may change at any time. Only `acquire_lock` decides who gets
    the lock.
    """
    owner = recorded_owner(path)
    return owner if owner and is_alive(owner) else None


def recorded_owner(path: Path) -> Owner | None:
    """Return the owner that the lock file names; None if it names no owner."""
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
def hold_lock(path: Path, session_id: str) -> Iterator[None]:
    """Hold the lock of a session during a `with` block."""
    lock = acquire_lock(path, session_id)
    try:
        yield
    finally:
        lock.release()


def make_own_owner(program: str = "") -> Owner:
    return process_with_id(os.getpid(), program)


def process_with_id(pid: int, program: str = "") -> Owner:
    """Return the identity of a process of this machine in the form that lock files use."""
    return Owner(pid, _start_time(pid), socket.gethostname(), program)


def is_alive(owner: Owner) -> bool:
    """Return whether the owner is alive. A process on another host counts as alive, because it cannot be
    checked.
    """
    if owner.host != socket.gethostname():
        return True
    if not system.is_alive(owner.pid):
        return False
    # If the start time is "", it is not readable (e.g. /proc is mounted with hidepid), and only the pid is
    # compared.
    return not owner.started or _start_time(owner.pid) in (owner.started, "")


def _is_locked(descriptor: int, lock: Callable[[int], None]) -> bool | None:
    """Try to lock the lock file. Return None if another process holds the lock.

    Otherwise return whether the kernel's lock is held. It is not held on a file system without locks, where
    the lock is free if the content of the file names no living owner.
    """
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
    """Write the owner to the lock file in one call.

    A text that is shorter than the old text is padded with blanks, so that readers never see the end of the
    old text.
    """
    data = json.dumps(asdict(owner)).encode()
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data.ljust(os.fstat(descriptor).st_size))


def _start_time(pid: int) -> str:
    """Return the start time of a process: on Linux in clock ticks since boot, elsewhere ""."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The second field, the command in parentheses, may contain blanks and parentheses.
    return stat.rpartition(b")")[2].split()[19].decode("ascii", "replace")
