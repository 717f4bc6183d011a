"""Read the new lines of a log that another process writes. The cost depends only on the new lines, not on the
log's size. Blocks.

An incomplete last line is returned only after it was completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_ls.system import file_signature

CHUNK_BYTES = 1024 * 1024


class LogTail:
    """Reads new lines of a log. `place` is the offset of the next line. `bytes_read` counts the bytes read,
    for tests.
    """

    def __init__(self, path: Path) -> None:
        self.place = 0
        self.bytes_read = 0
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> Sequence[bytes]:
        """Return the lines written since the last call. The file is opened only if it has changed.

        Raises:
            OSError: the file cannot be read.
        """
        stat = self._path.stat()
        seen = file_signature(stat)
        if seen == self._seen:
            return ()
        lines: list[bytes] = []
        with self._path.open("rb") as file:
            file.seek(self.place)
            pieces: list[
                bytes
            ] = []  # of the line whose end was not read yet, joined once: it may be very long
            while data := file.read(CHUNK_BYTES):
                self.bytes_read += len(data)
                *whole, rest = data.split(b"\n")
                if whole:
                    whole[0] = b"".join([*pieces, whole[0]])
                    pieces = []
                pieces.append(rest)
                lines += whole
                self.place += sum(len(line) + 1 for line in whole)
        self._seen = seen
        return lines
