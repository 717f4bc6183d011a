"""What the model has been shown of each file in this session (X9); implements ReadHistory."""

from __future__ import annotations

from collections import OrderedDict

MAX_CONTENT_BYTES = 1024 * 1024  # of one file: what is larger is known by its digest only
MAX_TOTAL_BYTES = 16 * 1024 * 1024  # of all: the longest unread ones go first


class ShownFiles:
    """In memory only: a resumed session reads a file again before it overwrites it."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._total_bytes = 0

    def shown(self, path: str) -> str | None:
        return self._digests.get(path)

    def show(self, path: str, digest: str, content: bytes | None = None) -> None:
        self._digests[path] = digest
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
