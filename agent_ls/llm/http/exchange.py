"""The interface of connection pools, which `direct` and `proxied` implement and the transport uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

KEEPALIVE_S = 60.0  # tools usually take less time, so that the next model call needs no new TLS handshake


@dataclass(frozen=True, slots=True)
class Exchange:
    """A response whose body has not been read yet. Header names are in lower case; `chunks` are decompressed."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class Connections(Protocol):
    """A pool of connections to one base URL."""

    @property
    def host(self) -> str:
        """Host and port for messages, without user name and password of the URL."""
        ...

    def open(
        self, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> AbstractAsyncContextManager[Exchange]:
        """Send a request to the base URL and `path`, and yield the response when its headers have arrived.

        Leaving the block closes the connection, unless the body was read to its end.

        Raises:
            LlmError: one of `failures`; also raised inside the block if reading the body fails.
        """
        ...

    async def close(self) -> None: ...
