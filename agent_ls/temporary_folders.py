"""Temporary folders of this process, and the removal of those that killed processes have left behind."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
import time
from contextlib import suppress

MIN_AGE_S = 24 * 3600
"""How long nothing was made or removed in a folder that is removed. A new folder is not locked for a moment."""

_locks: dict[str, int] = {}


def make_temporary_folder(prefix: str) -> str:
    """Create a folder, and remove old ones with this prefix whose processes have ended."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    if (lock := _lock(folder)) is not None:
        _locks[folder] = lock
    threading.Thread(
        target=remove_left_folders, args=(prefix,), name=f"remove {prefix}*", daemon=True
    ).start()
    return folder


def remove_temporary_folder(folder: str) -> None:
    """Remove a folder that make_temporary_folder has created."""
    shutil.rmtree(folder, ignore_errors=True)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


def remove_left_folders(prefix: str) -> None:
    """Remove the old temporary folders of this user that no process has locked. Blocks."""
    oldest = time.time() - MIN_AGE_S
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix):
                continue
            with suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                is_old = stat.S_ISDIR(facts.st_mode) and facts.st_mtime < oldest
                if is_old and facts.st_uid == os.getuid() and (lock := _lock(entry.path)) is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


def _lock(folder: str) -> int | None:
    """Lock a folder until the descriptor is closed or this process ends. Return None if another has locked it."""
    try:
        import fcntl
    except ImportError:
        return None  # on Windows nothing is locked, so nothing is removed
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
