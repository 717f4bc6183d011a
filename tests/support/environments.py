"""Every implementation of ExecutionEnvironment, as the contract suite wants them. A new one is one more entry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.environments.wrappers.logging import LoggingEnvironment
from agent_ls.environments.wrappers.read_only import ReadOnlyEnvironment
from agent_ls.environments.wrappers.sandbox import SandboxedEnvironment
from agent_ls.testing.places import EnvironmentFactory, write_files
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.sandboxes import walls

SHORT_GRACE_MS = 100  # for tests that need no proof of the two seconds


def local(folder: Path, files: Mapping[str, str | bytes], ripgrep: str | None = None) -> LocalEnvironment:
    write_files(folder, files)
    return LocalEnvironment(str(folder), terminate_grace_ms=SHORT_GRACE_MS, ripgrep=ripgrep)


def sandboxed(folder: Path, files: Mapping[str, str | bytes]) -> SandboxedEnvironment:
    """Within real walls, where this machine has them."""
    return SandboxedEnvironment(local(folder, files), walls(folder, folder.parent / "state"), _stay)


async def _stay(command: str, options: CommandOptions, at: str) -> bool:
    return False


LIMITS_MS = (500, 2_000, 8_000, 30_000)


async def ended_at_its_limit(
    environment: ExecutionEnvironment, command: str, begun: str, options: CommandOptions | None = None
) -> ExecResult:
    """What a command gives that is ended at its limit after it has printed `begun`.

    On a slow machine it may not have come that far by then: it is begun anew, with a longer limit.
    """
    first, *longer = (replace(options or CommandOptions(), timeout_ms=limit_ms) for limit_ms in LIMITS_MS)
    result = await environment.exec_command(command, first)
    for given in longer:
        if begun in result.output:
            break
        result = await environment.exec_command(command, given)
    return result


class NoBounds:
    """Everything may be done: the wrapper must then change no answer."""

    def demand_readable(self, path: str) -> str:
        return path if "\0" in path else os.path.realpath(path)

    def demand_opened(self, path: str, real: str, facts: os.stat_result) -> None:
        return None

    def demand_landing(self, real: str, call_id: str) -> None:
        return None

    def demand_writable(self, path: str, call_id: str) -> None:
        return None


def editor(folder: Path, files: Mapping[str, str | bytes]) -> EditorEnvironment:
    """With every file open in the editor that a text editor would open."""
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
    EnvironmentFactory("bounded", lambda folder, files: BoundedEnvironment(local(folder, files), NoBounds())),
    EnvironmentFactory("sandboxed", sandboxed),
    EnvironmentFactory(
        "editor with nothing open",
        lambda folder, files: EditorEnvironment(local(folder, files), FakeEditorHost()),
    ),
    EnvironmentFactory("editor with all files open", editor),
]
