"""What the contract suite wants to know of an environment, and how it opens one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio

from agent_ls.environments.base import ExecutionEnvironment

LIMIT_SECONDS = 30
POLL_SECONDS = 0.01

Make: TypeAlias = Callable[[Path, Mapping[str, str | bytes]], ExecutionEnvironment]


@dataclass(frozen=True)
class EnvironmentFactory:
    """`make` gets a folder to work in, which need not exist yet, and the files to be there: relative path -> content,
    oldest first.
    """

    name: str
    make: Make
    writes: bool = True
    runs_commands: bool = True

    def __str__(self) -> str:
        return self.name


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Files of a disk, each newer than the one before it."""
    folder.mkdir(exist_ok=True)
    for age, (name, content) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (1_700_000_000 + age,) * 2)


@asynccontextmanager
async def opened(
    factory: EnvironmentFactory, folder: Path, files: Mapping[str, str | bytes]
) -> AsyncIterator[ExecutionEnvironment]:
    environment = factory.make(folder, files)
    await environment.initialize()
    try:
        yield environment
    finally:
        await environment.cleanup()


async def printed(env: ExecutionEnvironment, process_id: str, text: str) -> None:
    """Until a background process has printed `text`."""
    with anyio.fail_after(LIMIT_SECONDS):
        while text not in (await env.read_process(process_id))[0]:  # noqa: ASYNC110  # a process tells nobody
            await anyio.sleep(POLL_SECONDS)
