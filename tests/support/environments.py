"""Factories of all implementations of ExecutionEnvironment, for the tests that all of them must pass. Add new
implementations to FACTORIES."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.basic import BasicEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.mapped import CanonicalPaths, MappedEnvironment, PathMap
from agent_ls.environments.remote.place import Place
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.environments.wrappers.logging import LoggingEnvironment
from agent_ls.environments.wrappers.read_only import ReadOnlyEnvironment
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.testing.environment_factory import EnvironmentFactory, write_files
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.sandboxes import make_sandbox

SHORT_GRACE_MS = 100  # instead of the default of two seconds, for tests that do not depend on it
AMPLE_GRACE_MS = 60_000  # for commands that SIGTERM ends, however busy the machine is


def local(folder: Path, files: Mapping[str, str | bytes], ripgrep: str | None = None) -> LocalEnvironment:
    write_files(folder, files)
    return LocalEnvironment(
        str(folder), ripgrep=ripgrep, limits=LocalLimits(terminate_grace_ms=AMPLE_GRACE_MS)
    )


@asynccontextmanager
async def opened_local(folder: Path, **options: Any) -> AsyncIterator[LocalEnvironment]:
    """Open a local environment that gives commands little time to end by themselves."""
    limits = LocalLimits(terminate_grace_ms=options.pop("grace_ms", SHORT_GRACE_MS))
    environment = LocalEnvironment(str(folder), limits=limits, **options)
    await environment.initialize()
    try:
        yield environment
    finally:
        await environment.cleanup()


BARE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable
"""A Python without the packages of the tests, as on a machine where agent-ls is not installed."""

HERE = RemoteHost(Place("command", command=(BARE_PYTHON,)), lambda: os.environ)
"""A remote host: BARE_PYTHON at the other end of a pipe, like Python over ssh. All tests of a process share it."""

atexit.register(lambda: anyio.run(HERE.close))


def remote(folder: Path, files: Mapping[str, str | bytes]) -> RemoteEnvironment:
    write_files(folder, files)
    return RemoteEnvironment(HERE, lambda: EndConfig(str(folder), grace_ms=AMPLE_GRACE_MS))


def mapped(folder: Path, files: Mapping[str, str | bytes]) -> MappedEnvironment:
    """Return a remote environment whose folder has another path at the remote end, and does not exist on this side."""
    there = folder.with_name("there")
    names = PathMap(((str(folder), str(there)),))
    return MappedEnvironment(remote(there, files), str(folder), names)


def canonical(folder: Path, files: Mapping[str, str | bytes]) -> CanonicalPaths:
    """Return an environment that accepts paths of the remote end, and converts them to those of the editor."""
    return CanonicalPaths(
        remote(folder, files), str(folder), PathMap(((str(folder), str(folder.with_name("there"))),))
    )


def sandboxed(folder: Path, files: Mapping[str, str | bytes]) -> SandboxedEnvironment:
    """Return an environment whose commands run in a sandbox. Usable only if this machine supports the sandbox."""
    return SandboxedEnvironment(local(folder, files), make_sandbox(folder, folder.parent / "state"), _stay)


async def _stay(command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
    return False


class Dictionary(BasicEnvironment):
    """The smallest environment that can be written: a dictionary, newest file first."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes]) -> None:
        super().__init__(str(folder))
        contents = {name: it.encode() if isinstance(it, str) else it for name, it in files.items()}
        self._files = dict(reversed(contents.items()))

    async def files(self) -> Mapping[str, bytes]:
        return self._files

    async def save(self, changes: Mapping[str, bytes | None]) -> None:
        kept = {name: content for name, content in self._files.items() if name not in changes}
        self._files = {name: it for name, it in changes.items() if it is not None} | kept


LIMITS_MS = (500, 2_000, 8_000, 30_000)


async def ended_at_its_limit(
    environment: ExecutionEnvironment, command: str, begun: str, options: CommandOptions | None = None
) -> ExecResult:
    """Return the result of a command that is ended at its time limit after it has printed `begun`.

    If the command has not printed `begun` in time, as on a slow machine, it runs again with a longer limit.
    """
    first, *longer = (replace(options or CommandOptions(), timeout_ms=limit_ms) for limit_ms in LIMITS_MS)
    result = await environment.exec_command(command, first)
    for given in longer:
        if begun in result.output:
            break
        result = await environment.exec_command(command, given)
    return result


class NoBounds:
    """A path policy that allows everything: the wrapper must not change any result."""

    def ignored(self, paths: Collection[str]) -> Collection[str]:
        return ()

    def check_readable(self, path: str) -> str:
        return path if "\0" in path else os.path.realpath(path)

    def at_once(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        return nullcontext()

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def check_opened(self, path: str, real: str, facts: os.stat_result) -> None:
        return None

    def check_target(self, real: str, call_id: str) -> None:
        return None

    def check_writable(self, path: str, call_id: str) -> None:
        return None


def editor(folder: Path, files: Mapping[str, str | bytes]) -> EditorEnvironment:
    """Return an editor environment with every file open that a text editor would open."""
    inner = local(folder, files)
    texts = {
        name: content.encode() if isinstance(content, str) else content for name, content in files.items()
    }
    opened = {str(folder / name): data.decode() for name, data in texts.items() if _is_editable(data)}
    return EditorEnvironment(inner, FakeEditorHost(opened, on_disk=True))


def _is_editable(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


FACTORIES = [
    EnvironmentFactory("basic with save", Dictionary, runs_commands=False),
    EnvironmentFactory(
        "memory",
        lambda folder, files: MemoryEnvironment(files, working_directory=str(folder)),
        runs_commands=False,
    ),
    EnvironmentFactory("local", local),
    EnvironmentFactory("local without ripgrep", lambda folder, files: local(folder, files, ripgrep="")),
    EnvironmentFactory("forwarding", lambda folder, files: ForwardingEnvironment(local(folder, files))),
    EnvironmentFactory(
        "read-only", lambda folder, files: ReadOnlyEnvironment(local(folder, files)), writes=False
    ),
    EnvironmentFactory(
        "logging", lambda folder, files: LoggingEnvironment(local(folder, files), lambda line: None)
    ),
    EnvironmentFactory(
        "bounded", lambda folder, files: BoundedEnvironment(local(folder, files), NoBounds(), opens_here=True)
    ),
    EnvironmentFactory("sandboxed", sandboxed),
    EnvironmentFactory("remote", remote),
    EnvironmentFactory("remote under another name", mapped),
    EnvironmentFactory("remote with its own names", canonical),
    EnvironmentFactory(
        "editor with nothing open",
        lambda folder, files: EditorEnvironment(local(folder, files), FakeEditorHost()),
    ),
    EnvironmentFactory("editor with all files open", editor),
]
