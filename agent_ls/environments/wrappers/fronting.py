"""An environment with open files in front of another's: they are read as they stand there, the rest by `inner`.

It does not know what has them open.
"""

from __future__ import annotations

from abc import abstractmethod

from agent_ls.environments.base import READ_LIMIT_BYTES
from agent_ls.environments.errors import FileTooLargeError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class FrontingEnvironment(ForwardingEnvironment):
    @abstractmethod
    def is_in_front(self, path: str) -> bool:
        """Whether the file is open, and so exists."""

    @abstractmethod
    async def in_front(self, path: str) -> bytes | None:
        """The file as a reader is to see it; None for one that is not open."""

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        data = await self.in_front(path)
        if data is None:
            return await self.inner.read_bytes(path, max_bytes)
        if len(data) > max_bytes:
            raise FileTooLargeError(path, len(data), max_bytes)
        return data

    async def file_exists(self, path: str) -> bool:
        return self.is_in_front(path) or await self.inner.file_exists(path)
