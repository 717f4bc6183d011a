"""The base class of wrappers: an environment that forwards all operations to another environment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from agent_ls.argument_types import typed
from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import FileTooLargeError


class ForwardingEnvironment:
    """Forwards all operations; subclasses override some."""

    @typed
    def __init__(self, inner: ExecutionEnvironment) -> None:
        self.inner = inner

    async def initialize(self) -> None:
        await self.inner.initialize()

    async def cleanup(self) -> None:
        await self.inner.cleanup()

    def working_directory(self) -> str:
        return self.inner.working_directory()

    def platform(self) -> str:
        return self.inner.platform()

    def os_version(self) -> str:
        return self.inner.os_version()

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        return await self.inner.read_bytes(path, max_bytes)

    async def file_exists(self, path: str) -> bool:
        return await self.inner.file_exists(path)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        return await self.inner.list_directory(path, depth)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        return await self.inner.commit(writes, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        return await self.inner.exec_command(command, options, on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        return await self.inner.start_process(command, options)

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return await self.inner.list_processes()

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        return await self.inner.read_process(process_id, offset)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return await self.inner.wait_process(process_id)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        return await self.inner.write_process(process_id, text, close=close)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return await self.inner.kill_process(process_id)

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        return await self.inner.grep(pattern, path, options)

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        return await self.inner.glob(pattern, path)


class FrontingEnvironment(ForwardingEnvironment):
    """Base class of environments that read a file from the program that has it open, for example the editor, and
    other files from `inner`.
    """

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
