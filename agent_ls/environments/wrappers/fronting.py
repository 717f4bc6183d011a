"""Base class of environments that read a file from the program that has it open, and other files from `inner`.

A subclass defines which program has the files open, for example the editor.
"""

from __future__ import annotations

from abc import abstractmethod

from agent_ls.environments.base import READ_LIMIT_BYTES
from agent_ls.environments.errors import FileTooLargeError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class FrontingEnvironment(ForwardingEnvironment):
    @abstractmethod
    def has_open_file(self, path: str) -> bool:
        """Return whether the other program, for example the editor, has the file open.

        An open file counts as existing even if it is not on disk.
        """

    @abstractmethod
    async def read_open_file(self, path: str) -> bytes | None:
        """Return the content of a file that is open in the other program, for example the editor.

        Return None if the other program does not have the file open.
        """

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        data = await self.read_open_file(path)
        if data is None:
            return await self.inner.read_bytes(path, max_bytes)
        if len(data) > max_bytes:
            raise FileTooLargeError(path, len(data), max_bytes)
        return data

    async def file_exists(self, path: str) -> bool:
        return self.has_open_file(path) or await self.inner.file_exists(path)
