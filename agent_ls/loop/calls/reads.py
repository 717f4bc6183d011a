"""Record of the file contents that the model has seen in this session. Implements ReadHistory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

MAX_CONTENT_BYTES = 1024 * 1024  # limit per file: for a larger file only the digest is stored
MAX_TOTAL_BYTES = 16 * 1024 * 1024  # limit for all files: the least recently read contents are dropped first


class ReadFiles:
    """Digests and contents of the files that the model has seen, by path.

    `known` contains the digests that earlier processes of the session stored. `record` is called with each new
    digest to store it. Contents are held in memory only: a resumed session can detect that a file has changed,
    but not how.
    """

    def __init__(
        self,
        known: Mapping[str, str] | None = None,
        record: Callable[[str, str], None] = lambda path, digest: None,
    ) -> None:
        self._digests = dict(known or {})
        self._record = record
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._total_bytes = 0

    def digest_of(self, path: str) -> str | None:
        return self._digests.get(path)

    def record(self, path: str, digest: str, content: bytes | None = None) -> None:
        if self._digests.get(path) != digest:
            self._digests[path] = digest
            self._record(path, digest)
        self._total_bytes -= len(self._contents.pop(path, b""))
        if content is None or len(content) > MAX_CONTENT_BYTES:
            return
        self._contents[path] = content
        self._total_bytes += len(content)
        while self._total_bytes > MAX_TOTAL_BYTES:
            _, dropped = self._contents.popitem(last=False)
            self._total_bytes -= len(dropped)

    def content_of(self, path: str) -> bytes | None:
        return self._contents.get(path)
