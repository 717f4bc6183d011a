"""The description of an environment under test, and helper functions of the contract tests."""

from __future__ import annotations

import ntpath
import os
import posixpath
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from agent_ls.environments.base import ExecutionEnvironment

LIMIT_SECONDS = 30
POLL_SECONDS = 0.01

Make: TypeAlias = Callable[[Path, Mapping[str, str | bytes]], ExecutionEnvironment]


@dataclass(frozen=True)
class EnvironmentFactory:
    """A factory for an environment under test.

    `make` gets a working folder, which may not exist yet, and the files to create (relative path -> content). The
    files must get increasing modification times in the order of the mapping. `commands` are the commands of the tests
    in the language of the environment, by default those of the system's shell.
    """

    name: str
    make: Make
    writes: bool = True
    runs_commands: bool = True
    runs_processes: bool = True
    commands: ShellCommands | None = None

    @property
    def starts_processes(self) -> bool:
        return self.runs_commands and self.runs_processes

    def __str__(self) -> str:
        return self.name


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files to disk. Each file gets a later modification time than the previous file."""
    folder.mkdir(exist_ok=True)
    for age, (name, content) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (1_700_000_000 + age,) * 2)


def absolute_path(env: ExecutionEnvironment, name: str) -> str:
    """Return the absolute path of a file below the working directory, in the system's notation."""
    root = env.working_directory()
    return (
        ntpath.normpath(ntpath.join(root, name))
        if env.platform() == "windows"
        else posixpath.join(root, name)
    )


def normalize_newlines(text: str) -> str:
    """Convert CRLF line endings to LF."""
    return text.replace("\r\n", "\n")


@dataclass(frozen=True)
class ShellCommands:
    """The commands of the contract tests in the syntax of one system's shell."""

    three_answers: str  # prints "out", and "err" to stderr; exit code 3
    show_file: str  # prints here.txt
    greet: str  # prints the variable GREETING
    read_all: str  # prints its input
    forever: str
    kill_itself: str = ""  # kills itself with signal 9; "" on systems without signals
    ready_forever: str = ""  # prints "ready" and then runs forever
    talk: str = (
        ""  # prints "got" and the first input line, then all other input, then "end", and keeps running
    )
    ended_code: int = 0  # the exit code after kill_process


_PYTHON = f'"{sys.executable}" -c'

_POSIX = ShellCommands(
    three_answers="echo out; echo err >&2; exit 3",
    show_file="cat here.txt",
    greet="echo $GREETING",
    read_all="cat",
    kill_itself="kill -9 $$",
    forever="sleep 1000 & wait; sleep 1000",
    ready_forever="echo ready; exec sleep 1000",
    talk="read first; echo got $first; cat; echo end; exec sleep 1000",
    ended_code=-15,
)

_WINDOWS = ShellCommands(
    three_answers="echo out& echo err>&2& exit 3",
    show_file="type here.txt",
    greet="echo %GREETING%",
    read_all=f'{_PYTHON} "import sys; sys.stdout.write(sys.stdin.read())"',
    kill_itself="",
    forever="ping -n 1000 127.0.0.1 >nul& ping -n 1000 127.0.0.1",
    ready_forever="echo ready& ping -n 1000 127.0.0.1 >nul",
    talk=f"{_PYTHON} \"import sys; print('got', input(), flush=True); print(sys.stdin.read(), end='', flush=True); "
    "print('end', flush=True)\"& ping -n 1000 127.0.0.1 >nul",
    ended_code=1,
)


def shell_commands(env: ExecutionEnvironment, factory: EnvironmentFactory) -> ShellCommands:
    return factory.commands or (_WINDOWS if env.platform() == "windows" else _POSIX)


_chosen: list[EnvironmentFactory] = []


def choose_factories(factories: Sequence[EnvironmentFactory]) -> None:
    """Set the environments that the suite tests if its file is run itself (option --agent-ls-environment)."""
    _chosen[:] = factories


def chosen_factories() -> Sequence[EnvironmentFactory]:
    if not _chosen:
        raise pytest.UsageError(
            "no environment to test: define FACTORIES in the test file, or pass --agent-ls-environment=MODULE:NAME"
        )
    return _chosen


@asynccontextmanager
async def open_environment(
    factory: EnvironmentFactory, folder: Path, files: Mapping[str, str | bytes]
) -> AsyncIterator[ExecutionEnvironment]:
    environment = factory.make(folder, files)
    await environment.initialize()
    try:
        yield environment
    finally:
        await environment.cleanup()


async def wait_for_output(env: ExecutionEnvironment, process_id: str, text: str) -> None:
    """Wait until a background process has printed `text`. CRLF in its output counts as LF."""
    with anyio.fail_after(LIMIT_SECONDS):
        while text not in normalize_newlines((await env.read_process(process_id))[0]):  # noqa: ASYNC110  # a process tells nobody
            await anyio.sleep(POLL_SECONDS)
