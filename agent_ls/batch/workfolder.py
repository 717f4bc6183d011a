"""Create the folder in which an attempt works, and create a patch from the changes made in it.

Attempts never work in the user's own folder. For a repository, the work folder is a git worktree at the
task's revision; a plain folder is copied. Git runs without hooks. The git index is outside the work folder, so
that the agent cannot change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from agent_ls.batch.machine import BatchMachine
from agent_ls.batch.manifest import Task
from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.environments.remote.place import path_of
from agent_ls.features.worktrees.git import SAFE, VARIABLES, GitError
from agent_ls.services.errors import AppError

_SAFE = (*SAFE, "-c", "core.autocrlf=false")
_NO_SUCH_REVISION = 1
_DIFF = ("diff", "--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The work folder of an attempt. `git_folder`, `index` and `patch` are paths outside of the folder. `base`
    is the git tree or commit from which the patch is computed.
    """

    path: str
    git_folder: str
    index: str
    patch: str
    base: str


class WorkFolders:
    """Creates and removes work folders on a machine."""

    def __init__(self, machine: BatchMachine) -> None:
        self._machine = machine
        self._locks: dict[str, anyio.Lock] = {}

    async def check_revisions(self, tasks: Sequence[Task]) -> None:
        """Check for each task with `repo` that `repo` is a git repository and contains the revision `commit`.

        Raises:
            AppError: a repository or revision does not exist; the message names the task.
        """
        checked = set()
        for task in tasks:
            if task.repo and (task.repo, task.commit) not in checked:
                checked.add((task.repo, task.commit))
                try:
                    await self._commit_of(task)
                except EnvironmentLostError as error:
                    raise AppError(error.sentence, error.hint) from error
                except AppError as error:
                    raise AppError(f"task {task.id}: {error}", error.hint) from error

    async def make(self, task: Task) -> WorkFolder:
        """Create the work folder of a task.

        Raises:
            AppError: git failed, or a file cannot be copied.
            EnvironmentLostError: the connection to the machine was lost.
        """
        source = path_of(task.source)
        place, path = await self._machine.make_folder(task.id, source)
        index, patch = f"{place}/.index", f"{place}/.patch"
        if task.repo:
            async with self._locks.setdefault(task.repo, anyio.Lock()):
                commit = await self._commit_of(task)
                await self._git(["worktree", "add", "--detach", "--force", path, commit], source)
                git_folder = await self._git(["rev-parse", "--absolute-git-dir"], path)
            work = WorkFolder(path, git_folder, index, patch, commit)
            await self._git(["read-tree", commit], path, work)
            return work
        await self._machine.copy(source, path)
        git_folder_of_copy = f"{place}/.git-of-copy"
        await self._git(["init", "-q", "--bare", git_folder_of_copy], place)
        work = WorkFolder(path, git_folder_of_copy, index, patch, "")
        await self._git(["add", "--all"], path, work)
        tree = await self._git(["write-tree"], path, work)
        return WorkFolder(path, git_folder_of_copy, index, patch, tree)

    async def patch(self, work: WorkFolder) -> bytes:
        """Return the changes in a work folder as a git patch. It includes new files, but not files that git
        ignores.

        Raises:
            AppError: git failed, or the patch cannot be read.
            EnvironmentLostError: the connection to the machine was lost.
        """
        await self._git(["add", "--all"], work.path, work)
        arguments = [*_DIFF, "--src-prefix=a/", "--dst-prefix=b/", f"--output={work.patch}", work.base]
        await self._git(arguments, work.path, work)
        return await self._machine.read(work.patch)

    async def remove(self, task: Task) -> None:
        """Remove the work folder of a task if it exists, even if its creation was interrupted.

        Raises:
            AppError: git failed.
            EnvironmentLostError: the connection to the machine was lost.
        """
        if await self._machine.remove(task.id) and task.repo:
            async with self._locks.setdefault(task.repo, anyio.Lock()):
                await self._git(["worktree", "prune"], path_of(task.repo))

    async def _commit_of(self, task: Task) -> str:
        try:
            return await self._git(
                ["rev-parse", "--verify", "--quiet", f"{task.commit}^{{commit}}"], path_of(task.repo)
            )
        except GitError as error:
            if error.exit_code != _NO_SUCH_REVISION:
                raise AppError(
                    f"{task.repo} is not a git repository that can be used: {error.reason}",
                    "name a git repository with 'repo', or use 'folder'",
                ) from None
            raise AppError(
                f"{task.repo} has no revision {task.commit!r}",
                "check 'commit', or fetch that revision into the repository",
            ) from None

    async def _git(self, arguments: list[str], folder: str, work: WorkFolder | None = None) -> str:
        variables = dict(VARIABLES)
        if work:
            variables |= {
                "GIT_DIR": work.git_folder,
                "GIT_WORK_TREE": work.path,
                "GIT_INDEX_FILE": work.index,
            }
        done = await self._machine.git([*_SAFE, *arguments], folder, variables)
        if done.exit_code:
            raise GitError(arguments[0], self._machine.name, done.exit_code, done.error)
        return done.stdout.removesuffix("\n")
