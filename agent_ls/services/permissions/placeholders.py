"""Create empty folders for absent names while a sandboxed command runs, so that it cannot create these names.

bubblewrap protects only paths that exist. Without a placeholder a command could create `.vscode/settings.json`, which
a running editor reads at once.

Several processes can run commands in one folder. Each process holds a shared lock (flock) of the parent folder
while it needs a placeholder in this folder. The last process removes the placeholder, because bubblewrap fails if a
placeholder vanishes while it starts. The sticky bit distinguishes a placeholder from an empty folder of the user, even
after the process that created the placeholder was killed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

_MODE = 0o1755
_LOCK_TRIES, _LOCK_WAIT_S = 100, 0.01
"""Retries for the shared lock, because a process that removes placeholders briefly locks the parent folder."""

_LOCK = Lock()


@dataclass(slots=True)
class _Parent:
    """A folder in which running commands of this process need placeholders. `descriptor` holds the lock; -1: none."""

    descriptor: int
    commands: int = 0
    names: set[str] = field(default_factory=set)


_PARENTS: dict[str, _Parent] = {}


def is_placeholder(path: str) -> bool:
    """Return whether a path is an empty folder that was created as a placeholder."""
    try:
        mode = os.lstat(path).st_mode
        return stat.S_ISDIR(mode) and bool(mode & stat.S_ISVTX) and not os.listdir(path)
    except OSError:
        return False


class Placeholders:
    """Creates and removes placeholders, which all sessions of the process share. Blocks."""

    @property
    def in_use(self) -> Collection[str]:
        """The placeholders that a running command of this process still needs."""
        with _LOCK:
            return frozenset(name for parent in _PARENTS.values() for name in parent.names)

    def acquire(self, names: Sequence[str]) -> tuple[str, ...]:
        """Create an empty folder for each absent name. Return the placeholders; pass them to `release` later.

        Names without an existing parent folder get no placeholder. A folder of the user is not changed.
        """
        made = []
        with _LOCK:
            for folder in _parents(names):
                if folder not in _PARENTS:
                    _PARENTS[folder] = _Parent(_lock_shared(folder))
                parent = _PARENTS[folder]
                found = [it for it in names if os.path.dirname(it) == folder and _create(it)]
                if found:
                    parent.commands += 1
                    parent.names.update(found)
                    made += found
                elif not parent.commands:
                    _close(_PARENTS.pop(folder).descriptor)
        return tuple(made)

    def release(self, made: Sequence[str]) -> None:
        """Remove the placeholders that no other command of any process needs."""
        with _LOCK:
            for folder in _parents(made):
                parent = _PARENTS[folder]
                parent.commands -= 1
                if parent.commands:
                    continue
                del _PARENTS[folder]
                if _is_last(parent.descriptor):
                    for name in filter(is_placeholder, parent.names):
                        with suppress(OSError):  # the user put a file into the folder or replaced it
                            os.rmdir(name)
                _close(parent.descriptor)


def _parents(names: Sequence[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(map(os.path.dirname, names)))


def _create(name: str) -> bool:
    """Create a placeholder for an absent name. Return whether the name is a placeholder now."""
    try:
        os.mkdir(name)
        os.chmod(name, _MODE)
    except FileExistsError:
        return is_placeholder(name)
    except OSError:
        return False
    return True


def _lock_shared(folder: str) -> int:
    """Return a descriptor that holds a shared lock of the folder; -1 if the folder cannot be locked."""
    import fcntl  # imported late: missing on Windows, where no placeholder is needed

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            time.sleep(_LOCK_WAIT_S)
        except OSError:  # a file system without locks
            break
    os.close(descriptor)
    return -1


def _is_last(descriptor: int) -> bool:
    """Return whether no other process holds the lock; True without a lock."""
    import fcntl

    if descriptor < 0:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)
