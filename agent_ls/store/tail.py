"""Reads along in a log that another process writes: what is new costs what is new, however long the log is. Blocks.

Only whole lines count: a torn last one waits for its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

CHUNK_BYTES = 1024 * 1024


class LogTail:
    """`place` is where the next line begins, the length of all that was read so far. `bytes_read` counts for tests."""

    def __init__(self, path: Path) -> None:
        self.place = 0
        self.bytes_read = 0
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> Sequence[bytes]:
        """The lines that were written since the last call. Nothing is opened while the file is as it was.

        Raises:
            OSError.
        """
        stat = self._path.stat()
        seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if seen == self._seen:
            return ()
        lines: list[bytes] = []
        with self._path.open("rb") as file:
            file.seek(self.place)
            rest = b""
            while data := file.read(CHUNK_BYTES):
                self.bytes_read += len(data)
                *whole, rest = (rest + data).split(b"\n")
                lines += whole
                self.place += sum(len(line) + 1 for line in whole)
        self._seen = seen
        return lines
