"""Make the folder that an attempt works in, and the patch of the changes in it.

The user's own folder is never worked in. A repository gets a git work tree at the task's revision; a plain folder is
copied. Git runs without hooks, and with an index outside the work folder, which the agent cannot change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import to_thread

from agent_ls.app.errors import AppError
from agent_ls.batch.manifest import Task
from agent_ls.environments.local.processes.ending import run_program

_SAFE = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.autocrlf=false"),
    *("-c", "core.quotePath=true"),
    *("-c", "submodule.recurse=false"),
    *("-c", "advice.detachedHead=false"),
)


class GitError(AppError):
    """A git command failed; the message has the last line that git wrote."""


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder to work in. `git_folder` and `index` are outside of it; `base` is the tree to compare with."""

    path: Path
    git_folder: Path
    index: Path
    base: str


class WorkFolders:
    """Makes and removes work folders. `environ` are the variables of git, without keys."""

    def __init__(self, environ: Mapping[str, str], out: Path) -> None:
        kept = {name: value for name, value in environ.items() if not name.upper().startswith("GIT_")}
        self._environ = {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._out = out.resolve()
        self._locks: dict[str, anyio.Lock] = {}

    async def make(self, task: Task, place: Path) -> WorkFolder:
        """Make the work folder of a task below `place`, which must not exist.

        Raises:
            AppError: git failed, or a file cannot be copied.
        """
        await to_thread.run_sync(lambda: place.mkdir(parents=True, mode=0o700))
        # The folder has the name of the original: a model sees the path of its folder.
        path, index = place / Path(task.source).name, place / ".index"
        if task.repo:
            async with self._locks.setdefault(task.repo, anyio.Lock()):
                commit = await self._commit_of(task)
                await self._git(
                    ["worktree", "add", "--detach", "--force", str(path), commit], Path(task.repo)
                )
                git_folder = await self._git(["rev-parse", "--absolute-git-dir"], path)
            work = WorkFolder(path, Path(git_folder), index, commit)
            await self._git(["read-tree", commit], path, work)
            return work
        try:
            await to_thread.run_sync(
                lambda: shutil.copytree(task.folder, path, symlinks=True, ignore=self._ignore)
            )
        except (OSError, shutil.Error) as error:
            raise AppError(
                f"{task.folder} cannot be copied: {_first_reason(error)}", "check its files, or use 'repo'"
            ) from None
        git_folder_of_copy = place / ".git-of-copy"
        await self._git(["init", "-q", "--bare", str(git_folder_of_copy)], place)
        work = WorkFolder(path, git_folder_of_copy, index, "")
        await self._git(["add", "--all"], path, work)
        return WorkFolder(path, git_folder_of_copy, index, await self._git(["write-tree"], path, work))

    async def patch(self, work: WorkFolder) -> bytes:
        """Return the changes as a git patch, new files included, ignored files not.

        Raises:
            AppError: git failed.
        """
        await self._git(["add", "--all"], work.path, work)
        arguments = [
            "diff",
            "--cached",
            "--binary",
            "--full-index",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
        ]
        return await self._output(
            [*arguments, "--src-prefix=a/", "--dst-prefix=b/", work.base], work.path, work
        )

    async def remove(self, task: Task, place: Path) -> None:
        """Remove a work folder, if there is one, also one that was only begun."""
        if not await to_thread.run_sync(place.exists):
            return
        await to_thread.run_sync(_remove, place)
        if task.repo:
            async with self._locks.setdefault(task.repo, anyio.Lock()):
                await self._git(["worktree", "prune"], Path(task.repo))

    async def _commit_of(self, task: Task) -> str:
        try:
            return await self._git(
                ["rev-parse", "--verify", "--quiet", f"{task.commit}^{{commit}}"], Path(task.repo)
            )
        except GitError:
            raise AppError(
                f"{task.repo} has no revision {task.commit!r}",
                "check that it is a git repository with that commit",
            ) from None

    async def _git(self, arguments: list[str], folder: Path, work: WorkFolder | None = None) -> str:
        return os.fsdecode(await self._output(arguments, folder, work)).removesuffix("\n")

    async def _output(self, arguments: list[str], folder: Path, work: WorkFolder | None = None) -> bytes:
        places = {}
        if work:
            places = {"GIT_DIR": work.git_folder, "GIT_WORK_TREE": work.path, "GIT_INDEX_FILE": work.index}
        try:
            environ = {**self._environ, **{name: str(value) for name, value in places.items()}}
            done = await run_program(["git", *_SAFE, *arguments], folder, environ)
        except OSError as error:
            raise AppError(
                f"git cannot be started: {error.strerror}", "install git, and put it on PATH"
            ) from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
            raise GitError(
                f"git {arguments[0]} failed: {lines[-1]}", "run it in that folder to see the reason"
            )
        return done.stdout

    def _ignore(self, folder: str, names: list[str]) -> list[str]:
        """Leave the result folder out of a copy that would contain it."""
        return [name for name in names if Path(folder, name).resolve() == self._out]


def _first_reason(error: OSError | shutil.Error) -> str:
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list) and error.args[0]:
        source, _, reason = error.args[0][0]
        return f"{source}: {reason}"
    return error.strerror or str(error)


def _remove(place: Path) -> None:
    """Delete a folder with read-only folders in it."""

    def retry(function: Callable[[str], object], path: str, _: object) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=False) if os.chmod in os.supports_follow_symlinks else None
            function(path)
        except OSError:
            pass  # the next attempt uses another place

    shutil.rmtree(place, onerror=retry)
