"""Does another editor hold this file with unsaved changes? Reads the traces that editors leave beside it.

For files that no editor syncs to us (PROTOCOL, Edits, Applying). Only traces that tell of unsaved changes count,
and only while their process may be alive: a left-over lock must not block a file for ever.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import struct
from pathlib import Path

from agent_ls.system import is_alive

# Block 0 of a Vim swap file: id "b0", version[10], page size, mtime, inode, pid (4 bytes each, little endian),
# user[40], host[40], file name[900], whose last byte is the "modified" flag.
_VIM_HEAD_BYTES = 1008
_VIM_PID = slice(24, 28)
_VIM_HOST = slice(68, 108)
_VIM_MODIFIED = 0x55

_EMACS_OWNER = re.compile(r"(?P<user>.+)@(?P<host>.+)\.(?P<pid>\d+)(:\d+)?\Z")


def held_elsewhere(path: str) -> str:
    """Which editor holds unsaved changes of this file, as an end of a sentence; "" when none does."""
    folder, name = Path(path).parent, Path(path).name
    for suffix in ("swp", "swo", "swn"):
        if _vim_has_changes(folder / f".{name}.{suffix}"):
            return "Vim has unsaved changes of it (swap file)"
    if _emacs_has_changes(folder / f".#{name}"):
        return "Emacs has unsaved changes of it (lock file)"
    if (folder / f".~lock.{name}#").exists():
        return "an office program has it open (lock file)"
    return ""


def _vim_has_changes(swap: Path) -> bool:
    head = _head(swap)
    if len(head) < _VIM_HEAD_BYTES or not head.startswith(b"b0"):
        return False
    if head[_VIM_HEAD_BYTES - 1] != _VIM_MODIFIED:
        return False
    host = head[_VIM_HOST].split(b"\0", 1)[0].decode("utf-8", "replace")
    (pid,) = struct.unpack("<I", head[_VIM_PID])
    return _may_be_alive(host, pid)


def _emacs_has_changes(lock: Path) -> bool:
    """Emacs makes the lock, a link to a file that does not exist, at the first change and removes it at the save."""
    try:
        owner = str(lock.readlink())
    except OSError:
        owner = _head(lock).decode("utf-8", "replace")
    found = _EMACS_OWNER.match(owner)
    return bool(found) and _may_be_alive(found["host"], int(found["pid"])) if found else False


def _head(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def _may_be_alive(host: str, pid: int) -> bool:
    """A process of another host may live."""
    return host != socket.gethostname() or is_alive(pid)
