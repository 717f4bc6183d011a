"""The part of an environment that has no background processes."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.environments.base import ProcessInfo
from agent_ls.environments.errors import PathNotFoundError


class NoProcesses:
    """Answers for an environment in which no background process can be started."""

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return ()

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        raise PathNotFoundError(process_id)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        raise PathNotFoundError(process_id)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        raise PathNotFoundError(process_id)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        raise PathNotFoundError(process_id)
