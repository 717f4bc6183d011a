"""Keep copies of files, so that a change of a file can be reviewed and undone.

All copies are in one file without a name, on the disk of the workspace: another program cannot open it by a path, and
it disappears with the process. The kernel copies: on a file system with copy-on-write (Btrfs, XFS, APFS) it shares
the blocks. Hard links would be no copies, because programs also change files in place.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from agent_ls.services.changes.stamps import DiskStamp, stamp_of_file

UNUSED_BYTES = 16 * 1024 * 1024
"""Above this size, unused parts of the file with the copies are freed by copying the rest."""

_TRIES = 3
_CHUNK_BYTES = 1024 * 1024


@dataclass(slots=True, weakref_slot=True)
class KeptFiles:
    """Copies of files of `folder`, each for one stamp. `size` is the number of bytes of all copies."""

    folder: str
    size: int = 0
    _copies: dict[str, tuple[DiskStamp, int]] = field(default_factory=dict)
    _store: BinaryIO | None = None
    _end: int = 0

    def close(self) -> None:
        """Delete all copies."""
        if self._store:
            self._store.close()
        self._copies, self._store, self._end, self.size = {}, None, 0, 0

    def has(self, path: str, stamp: DiskStamp) -> bool:
        """Return whether the content that the file had with this stamp is kept."""
        return (known := self._copies.get(path)) is not None and known[0] == stamp

    def content(self, path: str, stamp: DiskStamp) -> bytes | None:
        """Return the content that the file had with this stamp; None if it is not kept."""
        if not self.has(path, stamp) or self._store is None:
            return None
        return _read(self._store, self._copies[path][1], stamp[0])

    def keep(self, path: str) -> DiskStamp | None:
        """Copy a file in place of its earlier copy. Return the stamp of the copy; None if it could not be made.

        If the file changes while it is copied, it is copied again.
        """
        self.forget(path)
        for _ in range(_TRIES):
            stamp, start = stamp_of_file(path), self._end
            if stamp is None:
                return None
            try:
                is_whole = self._copy(path, stamp[0])
            except (OSError, ValueError):  # the disk is full, or the file cannot be read
                return None
            if is_whole and stamp_of_file(path) == stamp:
                self._copies[path] = stamp, start
                self.size += stamp[0]
                return stamp
        return None

    def forget(self, path: str) -> None:
        if known := self._copies.pop(path, None):
            self.size -= known[0][0]

    def retain(self, paths: set[str]) -> None:
        """Forget the copies of all other files, and free their space."""
        for path in self._copies.keys() - paths:
            self.forget(path)
        if self._end > 2 * self.size + UNUSED_BYTES:
            self._free()

    def _copy(self, path: str, size: int) -> bool:
        """Append the first `size` bytes of a file to the store. Return whether the file has them."""
        store = self._store or self._open()
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb", buffering=0) as source:
            copied = 0
            with suppress(OSError, AttributeError):  # not on every system, nor between all file systems
                while copied < size and (
                    count := os.copy_file_range(
                        source.fileno(), store.fileno(), size - copied, copied, self._end + copied
                    )
                ):
                    copied += count
            source.seek(copied)
            store.seek(self._end + copied)
            while copied < size and (data := source.read(min(size - copied, _CHUNK_BYTES))):
                store.write(data)
                copied += len(data)
        if copied == size:
            self._end += size
        return copied == size

    def _open(self) -> BinaryIO:
        with suppress(OSError, AttributeError):
            self._store = open(os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o600), "w+b")
        if self._store is None:
            self._store = tempfile.TemporaryFile()
        weakref.finalize(self, self._store.close)
        return self._store

    def _free(self) -> None:
        """Copy the copies that are left to a new store."""
        copies, old = self._copies, self._store
        self._copies, self._store, self._end, self.size = {}, None, 0, 0
        if old is None:
            return
        with old, suppress(OSError):
            for path, (stamp, start) in copies.items():
                store = self._store or self._open()
                store.seek(self._end)
                store.write(_read(old, start, stamp[0]))
                self._copies[path] = stamp, self._end
                self._end += stamp[0]
                self.size += stamp[0]


def _read(store: BinaryIO, start: int, size: int) -> bytes:
    store.seek(start)
    return store.read(size)
