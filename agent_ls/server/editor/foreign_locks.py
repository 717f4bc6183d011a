"""Detect unsaved changes of a file in another editor, from the lock and swap files that editors create for it.

Used for files that the connected client does not sync. A lock or swap file counts only if it shows unsaved
changes and its process may still be running, so that a left-over lock does not block a file for ever. The
lock file of an office program always counts.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path

from agent_ls.patterns import regex
from agent_ls.system import is_alive

# Block 0 of a Vim swap file: id "b0", version[10], page size, mtime, inode, pid (4 bytes each, little endian),
# user[40], host[40], file name[900], whose last byte is the "modified" flag.
_VIM_HEAD_BYTES = 1008
_VIM_PID = slice(24, 28)
_VIM_HOST = slice(68, 108)
_VIM_MODIFIED = 0x55
_SWAP_SUFFIXES = ("swp", "swo", "swn")

_EMACS_OWNER = regex(r"(?P<user>.+)@(?P<host>.+)\.(?P<pid>\d+)(:\d+)?\Z")


def find_other_editor(path: str) -> str:
    """Return a clause that names another program with unsaved changes of this file, for example "Emacs has
    unsaved changes of this file (lock file)"; "" for none.
    """
    folder, name = Path(path).parent, Path(path).name
    swap_files = (f"{stem}.{suffix}" for stem in _swap_stems(path) for suffix in _SWAP_SUFFIXES)
    if any(_vim_has_changes(Path(swap)) for swap in swap_files):
        return "another Vim or Neovim has unsaved changes of this file (swap file)"
    if _emacs_has_changes(folder / f".#{name}"):
        return "Emacs has unsaved changes of this file (lock file)"
    if (folder / f".~lock.{name}#").exists():
        return "an office program has this file open (lock file)"
    return ""


def _swap_stems(path: str) -> tuple[str, str]:
    """Return the two paths that a swap file of `path` can have, without their suffix: next to the file (Vim),
    or in Neovim's state folder, where the file name has `%` for each separator.
    """
    folder, name = os.path.split(path)
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    mangled = os.path.realpath(path).replace(os.sep, "%")
    neovim = os.path.join(state, os.environ.get("NVIM_APPNAME") or "nvim", "swap", mangled)
    return os.path.join(folder, f".{name}"), neovim


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
    """Return whether Emacs has unsaved changes.

    Emacs creates the lock, a dangling symbolic link, at the first change and removes it when the file is
    saved.
    """
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
    """Return whether a process may be running. Always true for a process on another host, which cannot be
    checked.
    """
    return host != socket.gethostname() or is_alive(pid)
