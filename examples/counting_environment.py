"""A wrapper that counts what the agent does: python examples/counting_environment.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence

import agent_ls
from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    OutputSink,
)


class CountingEnvironment(agent_ls.ForwardingEnvironment):
    """Passes everything on to `inner`, and counts reads, changed files and commands."""

    def __init__(self, inner: ExecutionEnvironment) -> None:
        super().__init__(inner)
        self.counts = Counter[str]()

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        self.counts["reads"] += 1
        return await super().read_bytes(path, max_bytes)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        self.counts["changed files"] += len(writes)
        return await super().commit(writes, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        self.counts["commands"] += 1
        return await super().exec_command(command, options, on_output)


async def main(folder: str, task: str, provider: str = "") -> None:
    place = CountingEnvironment(agent_ls.LocalEnvironment(folder))
    async with agent_ls.open_session(
        environment=place, provider=provider, mode="edits", trusted=True
    ) as session:
        print(await session.ask(task))
    print(", ".join(f"{count} {name}" for name, count in sorted(place.counts.items())))


asyncio.run(main(*sys.argv[1:]))
