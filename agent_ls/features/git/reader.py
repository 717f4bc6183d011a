"""Read diffs and commits with git, without running a program that the repository's settings name.

External diffs, text converters, hooks and file system monitors are off. A clean or smudge filter cannot be
switched off, so callers refuse a repository with a filter in its settings (services/permissions/git_look.py).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.features.git.reason import git_reason
from agent_ls.profiles.git_snapshot import GIT_ENVIRONMENT, HARDENED_GIT
from agent_ls.services.errors import AppError

TIMEOUT_MS = 30_000
MAX_OMITTED_FILES = 200
"""Maximum number of files that a git command can exclude by name."""

PLAIN = (
    "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=all", "--relative",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_USAGE = 129
_NAMES = ("--no-renames", "--name-only", "-z")
_GIT = (*HARDENED_GIT.split(), "-c", "core.quotePath=false", "-c", "core.bigFileThreshold=1m")
_VARIABLES: Mapping[str, str] = {**GIT_ENVIRONMENT, "GIT_LITERAL_PATHSPECS": "0"}


class GitFailedError(AppError):
    """git could not read the changes."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"git could not read the changes: {reason}", "check whether `git diff` works in this folder"
        )


@dataclass(frozen=True, slots=True)
class GitReader:
    """Reads the repository of a trusted folder. All names are relative to the folder. Methods raise GitFailedError."""

    environment: ExecutionEnvironment
    folder: str

    async def changed_names(self, *command: str) -> Sequence[str]:
        """Return the names of the files that `git diff` or `git show` lists; for a moved file, the old and the
        new name.

        `command` is `diff` or `show` with its arguments.
        """
        return _names(await self.output(command[0], *PLAIN, *_NAMES, *command[1:]))

    async def new_names(self) -> Sequence[str]:
        """Return the names of the files that git neither tracks nor ignores."""
        return _names(await self.output("ls-files", "--others", "--exclude-standard", "-z"))

    async def patch(self, *command: str, omitted: Sequence[str]) -> str:
        """Return the output of `git diff` or `git show` without the files `omitted`.

        `command` is `diff` or `show` with its arguments.
        """
        excluded = [".", *(f":(exclude,literal){name}" for name in omitted)] if omitted else []
        return await self.output(command[0], *PLAIN, "--find-renames", *command[1:], "--", *excluded)

    async def lines(self, *command: str) -> Sequence[str]:
        """Return the lines that a git command prints; none if it fails, as `git log` does before the first commit."""
        try:
            return [line for line in (await self.output(*command)).split("\n") if line]
        except GitFailedError:
            return ()

    async def output(self, *command: str) -> str:
        """Run a read-only git command, and return what it prints."""
        result = await self._run(*command)
        if result.exit_code == _USAGE:  # outside of a repository that it accepts, `git diff` prints its usage
            result = await self._run("rev-parse", "--git-dir")
        if result.exit_code:
            raise GitFailedError(git_reason(result.stderr))
        return result.stdout

    async def _run(self, *command: str) -> ExecResult:
        argv = (*_GIT, *command)
        options = CommandOptions(TIMEOUT_MS, self.folder, _VARIABLES, argv=argv, is_own_program=True)
        try:
            result = await self.environment.exec_command(shlex.join(argv), options)
        except EnvError as error:
            raise GitFailedError(str(error)) from error
        if result.timed_out:
            raise GitFailedError(f"git took longer than {TIMEOUT_MS // 1000} seconds")
        return result


def _names(found: str) -> Sequence[str]:
    """Split the output of a git command with `-z` into names, and remove the line break after a commit's
    header.
    """
    return tuple(name for part in found.split("\0") if (name := part.removeprefix("\n")))
