"""An environment that logs each operation, its duration and its result.

Log lines contain paths and commands, but no file contents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agent_ls.argument_types import typed
from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import EnvError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class LoggingEnvironment(ForwardingEnvironment):
    """Calls `say` with one line for each read and write of a file, each command and each process operation."""

    @typed
    def __init__(self, inner: ExecutionEnvironment, say: Callable[[str], object]) -> None:
        super().__init__(inner)
        self._say = say

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        with self._log_action(f"read {path}"):
            return await self.inner.read_bytes(path, max_bytes)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        with self._log_action(" ".join(("write", *(write.path for write in writes)))):
            return await self.inner.commit(writes, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        with self._log_action(f"run {command!r}") as said:
            result = await self.inner.exec_command(command, options, on_output)
            said.append("timed out" if result.timed_out else f"exit {result.exit_code}")
            return result

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        with self._log_action(f"start {command!r}") as said:
            started = await self.inner.start_process(command, options)
            said.append(started.id)
            return started

    async def kill_process(self, process_id: str) -> ProcessInfo:
        with self._log_action(f"kill {process_id}"):
            return await self.inner.kill_process(process_id)

    @contextmanager
    def _log_action(self, act: str) -> Iterator[list[str]]:
        begun, how = time.monotonic(), list[str]()
        try:
            yield how
        except EnvError as error:
            how.append(error.kind)
            raise
        except BaseException:
            how.append("cancelled")
            raise
        finally:
            self._say(f"{act}: {how[0] if how else 'done'}, {(time.monotonic() - begun) * 1000:.0f} ms")
