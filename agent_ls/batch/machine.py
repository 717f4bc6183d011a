"""Interface to the machine on which a batch creates its work folders. LocalMachine is for this machine.

`RemoteMachine` (remote_machine.py) implements the interface for the remote machine of `--on`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from agent_ls.batch.folder import ResultFolder
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.features.worktrees.git import GitOutput, LocalGit
from agent_ls.services.errors import AppError


class BatchMachine(Protocol):
    """Creates, copies and removes folders, and runs git and check commands, on one machine.

    `name` names the machine in messages.
    """

    name: str

    async def start(self) -> None:
        """Connect to the machine if necessary. Call this method again to reconnect after a lost connection.

        Raises:
            AppError: the machine cannot be used.
        """
        ...

    async def close(self) -> None: ...

    async def git(self, arguments: Sequence[str], folder: str, variables: Mapping[str, str]) -> GitOutput:
        """Run git in a folder until it has ended. Environment variables by which git finds a repository are
        removed, except those in `variables`.

        Raises:
            AppError: git cannot be started.
            EnvironmentLostError: the connection to the machine was lost.
        """
        ...

    async def read(self, path: str) -> bytes:
        """Return the content of the patch file that git wrote.

        Raises:
            AppError: the file cannot be read.
            EnvironmentLostError: the connection to the machine was lost.
        """
        ...

    def environment(self, folder: str) -> ExecutionEnvironment:
        """Return a new environment that runs a check in `folder`."""
        ...

    def arguments(self, folder: str) -> Sequence[str]:
        """Return the options that make a local `agent-ls exec` work in `folder` on the batch machine."""
        ...

    async def leftovers(self) -> Collection[str]:
        """Return the ids of the tasks whose work folders still exist on this machine."""
        ...

    async def make_folder(self, task_id: str, source: str) -> tuple[str, str]:
        """Create a folder for an attempt. Returns its path, and the path at which the caller must create the
        work folder. The work folder has the same name as `source`, because the model sees its path.

        Raises:
            AppError: the folder cannot be created.
            EnvironmentLostError: the connection to the machine was lost.
        """
        ...

    async def copy(self, source: str, target: str) -> None:
        """Copy a folder with its symbolic links.

        Raises:
            AppError: a file cannot be copied.
            EnvironmentLostError: the connection to the machine was lost.
        """
        ...

    async def remove(self, task_id: str) -> bool:
        """Remove the work folders of all attempts of a task, as far as possible. Returns False if no folder
        existed.

        Raises:
            EnvironmentLostError: the connection to the machine was lost.
        """
        ...


class LocalMachine:
    """The local machine. Work folders are in the result folder. `environ` are the environment variables of
    commands, without secret keys.
    """

    def __init__(self, environ: Mapping[str, str], out: ResultFolder) -> None:
        self.name = "this machine"
        self._environ = environ
        self._out = out
        self._git = LocalGit(environ, self.name)

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def git(self, arguments: Sequence[str], folder: str, variables: Mapping[str, str]) -> GitOutput:
        return await self._git.run(arguments, folder, variables)

    async def read(self, path: str) -> bytes:
        try:
            return await to_thread.run_sync(Path(path).read_bytes)
        except OSError as error:
            raise read_error(path, error.strerror or str(error)) from None

    def environment(self, folder: str) -> ExecutionEnvironment:
        return LocalEnvironment(folder, environ=self._environ)

    def arguments(self, folder: str) -> Sequence[str]:
        return ("--cd", folder)

    async def leftovers(self) -> Collection[str]:
        folder = self._out.work("")
        return await to_thread.run_sync(lambda: os.listdir(folder) if folder.is_dir() else [])

    async def make_folder(self, task_id: str, source: str) -> tuple[str, str]:
        folder = self._out.work(task_id)
        await to_thread.run_sync(lambda: folder.mkdir(parents=True, mode=0o700))
        return str(folder), str(folder / Path(source).name)

    async def copy(self, source: str, target: str) -> None:
        out = self._out.path.resolve()

        def ignore(folder: str, names: list[str]) -> list[str]:
            return [name for name in names if Path(folder, name).resolve() == out]

        try:
            await to_thread.run_sync(lambda: shutil.copytree(source, target, symlinks=True, ignore=ignore))
        except (OSError, shutil.Error) as error:
            raise copy_error(source, _first_reason(error)) from None

    async def remove(self, task_id: str) -> bool:
        folder = self._out.work(task_id)
        if not await to_thread.run_sync(folder.exists):
            return False
        await to_thread.run_sync(_remove, folder)
        return True


def read_error(path: str, reason: str) -> AppError:
    """Return the error to raise for a patch that cannot be read."""
    return AppError(
        f"the patch {path} cannot be read: {reason}",
        "free memory, or divide the task so that it changes fewer files",
    )


def copy_error(source: str, reason: str) -> AppError:
    """Return the error to raise for a folder that cannot be copied."""
    return AppError(
        f"{source} cannot be copied: {reason}",
        "check its files, or give the task 'repo' in place of 'folder'",
    )


def _first_reason(error: OSError | shutil.Error) -> str:
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list) and error.args[0]:
        source, _, reason = error.args[0][0]
        return f"{source}: {reason}"
    return error.strerror or str(error)


def _remove(folder: Path) -> None:
    """Delete a folder even if it contains read-only folders."""

    def retry(function: Callable[[str], object], path: str, _: object) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=False) if os.chmod in os.supports_follow_symlinks else None
            function(path)
        except OSError:
            pass  # ignored, because the next attempt uses another folder

    shutil.rmtree(folder, onerror=retry)
