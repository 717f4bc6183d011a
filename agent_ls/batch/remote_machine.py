"""The remote machine of `agent-ls batch --on`, on which the work folders are created."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from anyio import to_thread

from agent_ls.batch.folder import ResultFolder
from agent_ls.batch.machine import copy_error, read_error
from agent_ls.batch.manifest import Task
from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.errors import EnvError, EnvironmentLostError, PathNotFoundError
from agent_ls.environments.local.environ import EnvRules
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place, PlaceNameError, check_place
from agent_ls.features.git.reason import git_reason
from agent_ls.features.worktrees.git import GitOutput, git_error
from agent_ls.services.errors import AppError, BadChoiceError

COMMAND_MS = 3_600_000
"""Time limit of one git command, copy or removal. Large, because a checkout may be large."""
PATCH_BYTES = 512 * 1024 * 1024

_CACHE = 'printf %s "${XDG_CACHE_HOME:-$HOME/.cache}"'
_MAKE = 'umask 077 && mkdir -p -- "$1" && mktemp -d "$1/XXXXXX"'
_ABSENT = 3
_REMOVE = f'test -e "$1" || exit {_ABSENT}; rm -rf -- "$1" 2>/dev/null || {{ chmod -R u+rwX -- "$1"; rm -rf -- "$1"; }}'


class RemoteMachine:
    """The remote machine that `--on` names. Work folders are in the user's cache folder on that machine, in a
    subfolder named by the id of the batch.

    Each attempt gets a new folder, because after a lost connection a command may still run for a moment in
    the earlier folder. `environ` are the environment variables of the local program that connects to the
    machine (such as ssh), without secret keys.
    """

    def __init__(self, place: Place, environ: Mapping[str, str], out: ResultFolder) -> None:
        self.name = place.machine
        self._place = place
        self._out = out
        self._host = RemoteHost(replace(place, path="", map={}), lambda: environ)
        rules = EnvRules(denied=("GIT_*",))
        self._environment = RemoteEnvironment(self._host, lambda: EndConfig("/", rules))
        self._base = ""

    async def start(self) -> None:
        try:
            await self._environment.initialize()
            if not self._base:
                cache = (await self._run(_CACHE)).stdout
                if not cache.startswith("/"):
                    raise AppError(
                        f"{self.name} has no home folder, which batch needs for the files of the tasks",
                        "set HOME or XDG_CACHE_HOME there to a folder that you may write",
                    )
                batch = await to_thread.run_sync(self._out.identity)
                self._base = posixpath.join(cache, "agent-ls", "batch", batch)
        except EnvironmentLostError as error:
            raise AppError(error.sentence, error.hint) from error

    async def close(self) -> None:
        await self._host.close()

    async def git(self, arguments: Sequence[str], folder: str, variables: Mapping[str, str]) -> GitOutput:
        argv = ("git", *arguments)
        options = CommandOptions(
            timeout_ms=COMMAND_MS, working_dir=folder, env_vars=variables, argv=argv, is_own_program=True
        )
        try:
            done = await self._environment.exec_command(shlex.join(argv), options)
        except EnvironmentLostError:
            raise
        except EnvError as error:
            raise git_error(self.name, str(error)) from error
        if done.timed_out:
            raise git_error(self.name, "the git command exceeded its time limit")
        return GitOutput(done.exit_code, done.stdout, git_reason(done.stderr))

    async def read(self, path: str) -> bytes:
        try:
            return await self._environment.read_bytes(path, PATCH_BYTES)
        except EnvironmentLostError:
            raise
        except EnvError as error:
            raise read_error(path, str(error)) from error

    async def locate(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return the tasks with their folders replaced by full names, such as `ssh:HOST:/path`.

        Raises:
            AppError: the folder does not exist, or the machine cannot be used.
        """
        roots: dict[str, str] = {}
        for task in tasks:
            if task.source not in roots:
                roots[task.source] = await self._root(task)
        named = {source: self._place.key(root) for source, root in roots.items()}
        return [
            replace(task, repo=named.get(task.repo, ""), folder=named.get(task.folder, "")) for task in tasks
        ]

    async def _root(self, task: Task) -> str:
        """Return the absolute path of the folder of a task."""
        named = task.source
        wanted = named if named.startswith("~") else posixpath.join(self._place.path or "~", named)
        environment = RemoteEnvironment(self._host, lambda: EndConfig(wanted))
        try:
            check_place(replace(self._place, path=wanted))
            await environment.initialize()
        except EnvironmentLostError as error:
            raise AppError(error.sentence, error.hint) from error
        except (EnvError, PlaceNameError) as error:
            raise BadChoiceError(
                f"task {task.id}: {named} cannot be used at {self.name}: {error}",
                "name a folder that exists at that place; a relative path starts at the folder that --on names",
            ) from error
        finally:
            await environment.cleanup()
        return environment.working_directory()

    def environment(self, folder: str) -> ExecutionEnvironment:
        return RemoteEnvironment(self._host, lambda: EndConfig(folder))

    def arguments(self, folder: str) -> Sequence[str]:
        return ("--on", self._place.key(folder))

    async def leftovers(self) -> Collection[str]:
        try:
            return {entry.name for entry in await self._environment.list_directory(self._base)}
        except PathNotFoundError:
            return ()
        except EnvError as error:
            raise AppError(f"{self.name}: {error}", f"make this folder readable on {self.name}") from error

    async def make_folder(self, task_id: str, source: str) -> tuple[str, str]:
        made = await self._run(_MAKE, posixpath.join(self._base, task_id))
        if made.exit_code:
            raise AppError(
                f"{self.name}: the folder of the task cannot be created: {git_reason(made.stderr)}",
                "make ~/.cache writable there, or set XDG_CACHE_HOME there",
            )
        folder = made.stdout.removesuffix("\n")
        # Replace colons in the folder name, because a colon separates machine and folder in MACHINE:FOLDER.
        name = PurePosixPath(source).name.replace(":", "_") or "root"
        return folder, posixpath.join(folder, name)

    async def copy(self, source: str, target: str) -> None:
        copied = await self._run('cp -R -P -p -- "$1" "$2"', source, target)
        if copied.exit_code:
            raise copy_error(self._place.key(source), git_reason(copied.stderr))

    async def remove(self, task_id: str) -> bool:
        removed = await self._run(_REMOVE, posixpath.join(self._base, task_id))
        return removed.exit_code != _ABSENT

    async def _run(self, script: str, *arguments: str) -> ExecResult:
        argv = ("sh", "-c", script, "sh", *arguments)
        try:
            return await self._environment.exec_command(
                script, CommandOptions(timeout_ms=COMMAND_MS, argv=argv, is_own_program=True)
            )
        except EnvironmentLostError:
            raise
        except EnvError as error:
            raise AppError(
                f"commands cannot be run at {self.name}: {error}",
                f"`agent-ls doctor --on {self.name}` checks the place",
            ) from error
