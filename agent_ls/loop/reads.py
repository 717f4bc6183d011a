"""What the model has been shown of each file in this session (X9); implements ReadHistory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

MAX_CONTENT_BYTES = 1024 * 1024  # of one file: what is larger is known by its digest only
MAX_TOTAL_BYTES = 16 * 1024 * 1024  # of all: the longest unread ones go first


class ShownFiles:
    """`known` are digests by path, of a resumed session; `record` is told each new one, for the next.

    Contents are in memory only: a resumed session knows whether a file has changed, not how.
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

    def shown(self, path: str) -> str | None:
        return self._digests.get(path)

    def show(self, path: str, digest: str, content: bytes | None = None) -> None:
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

    def remembered(self, path: str) -> bytes | None:
        return self._contents.get(path)
