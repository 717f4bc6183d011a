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
"""How long nothing was made or removed in a folder for commands before it is removed: one may still run."""

UNLOCKED = "new-"
"""Begins the name of a folder that is not locked yet, or cannot be. Such a folder is never removed."""

_locks: dict[str, int] = {}


def make_temporary_folder(
    prefix: str,
    *,
    place: str = "",
    min_age_s: float = MIN_AGE_S,
) -> str:
    """Create a folder in `place`, by default the folder for temporary files, and remove those that are left there.

    The other parameters are those of `remove_left_folders`, which runs in a thread.
    """
    place = os.path.realpath(place or tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=UNLOCKED + prefix, dir=place)
    if (lock := _lock(folder)) is not None:
        unlocked, folder = folder, os.path.join(place, os.path.basename(folder).removeprefix(UNLOCKED))
        os.rename(unlocked, folder)
        _locks[folder] = lock
    threading.Thread(
        target=remove_left_folders,
        args=(prefix, place, min_age_s),
        name=f"remove {prefix}*",
        daemon=True,
    ).start()
    return folder


def remove_temporary_folder(folder: str) -> None:
    """Remove a folder that make_temporary_folder has created."""
    shutil.rmtree(folder, ignore_errors=True)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


def remove_left_folders(
    prefix: str,
    place: str = "",
    min_age_s: float = MIN_AGE_S,
) -> None:
    """Remove the folders of this user in `place` that no process has locked. Blocks.

    The lock decides, not the pid in a name: containers may share the place.
    """
    newest = time.time() - min_age_s
    with suppress(OSError), os.scandir(place or tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix):
                continue
            with suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                is_old = stat.S_ISDIR(facts.st_mode) and (not min_age_s or facts.st_mtime < newest)
                if is_old and facts.st_uid == os.getuid() and (lock := _lock(entry.path)) is not None:
                    try:
                        shutil.rmtree(entry.path, ignore_errors=True)
                    finally:
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
