"""The changes that a commit would have, as a model may see them: read by git, without files that hold secrets.

No program of the repository runs: neither external diffs, text converters and hooks, nor a filter or monitor of its
own settings, for which the changes are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_ls.app.errors import AppError
from agent_ls.environments.base import CommandOptions, ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.profiles.git_snapshot import GIT_ENVIRONMENT, HARDENED_GIT, LOG_COMMAND, find_git_root

TIMEOUT_MS = 30_000
DIFF_CHARS = 40_000
"""Characters of the changes that a model gets. Large files give way to small ones."""

MAX_NEW_FILES = 50
MAX_OMITTED_FILES = 200
"""More files that must not be sent than this are too many to exclude by name."""

_GIT = tuple(HARDENED_GIT.split())
_DIFF = (
    *_GIT, "-c", "core.quotePath=false", "-c", "core.bigFileThreshold=1m", "diff", "--no-ext-diff", "--no-textconv",
    "--no-color", "--ignore-submodules=all", "--relative", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_NEW_FILES = (*_GIT, "ls-files", "--others", "--exclude-standard", "-z")
_CUT = "\n[the rest of this file's change is not shown]\n"
_SECTION = re.compile(r"^(?=diff --git )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GitChanges:
    """The changes of a repository below one folder. `staged`: those of the index, else all of the work tree.

    `new_files` are untracked files, `omitted` files whose content must not be sent; both are relative paths. `subjects`
    are those of the last commits.
    """

    diff: str
    staged: bool
    new_files: Sequence[str] = ()
    omitted: Sequence[str] = ()
    subjects: Sequence[str] = ()


class GitFailedError(AppError):
    """git could not read the changes."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"git could not read the changes: {reason}", "check whether `git diff` works there")


async def read_changes(
    environment: ExecutionEnvironment, folder: str, may_be_sent: Callable[[str], bool]
) -> GitChanges | None:
    """Return the changes below `folder`, the working directory; None if there are none. `may_be_sent` decides about a
    path relative to it.

    Raises:
        AppError: the changes cannot be read.
    """
    if not await find_git_root(environment):
        raise AppError(f"{folder} is in no git repository", "Open a folder of a repository, then ask again")
    run = _Git(environment, folder)
    names = await run.names(*_DIFF, "--cached", "--name-only", "--no-renames", "-z")
    staged = bool(names)
    new_files: Sequence[str] = ()
    if not staged:
        names = await run.names(*_DIFF, "--name-only", "--no-renames", "-z")
        new_files = await run.names(*_NEW_FILES)
    if not names and not new_files:
        return None
    omitted = [name for name in names if not may_be_sent(name)]
    if len(omitted) > MAX_OMITTED_FILES:
        raise AppError(
            f"{len(omitted)} of the changed files must not be sent to a model",
            "stage the files that belong together, then ask again",
        )
    diff = ""
    if len(omitted) < len(names):
        cached = ("--cached",) if staged else ()
        excluded = [f":(exclude,literal){name}" for name in omitted]
        diff = await run.output(*_DIFF, *cached, "--find-renames", "--", ".", *excluded)
    return GitChanges(diff, staged, new_files[:MAX_NEW_FILES], omitted, await run.lines(*LOG_COMMAND.split()))


def shorten_diff(diff: str, limit: int = DIFF_CHARS) -> str:
    """Return the diff with at most about `limit` characters: the longest files are cut to the same length."""
    sections = [it for it in _SECTION.split(diff) if it]
    room = _room(sections, limit)
    return "".join(it if len(it) <= room else f"{it[:room]}{_CUT}" for it in sections)


def _room(sections: Sequence[str], limit: int) -> int:
    """Return the length to which sections are cut, so that all of them together have at most `limit` characters."""
    left = limit
    sizes = sorted(map(len, sections))
    for at, size in enumerate(sizes):
        room = left // (len(sizes) - at)
        if size > room:
            return room
        left -= size
    return limit


@dataclass(frozen=True, slots=True)
class _Git:
    environment: ExecutionEnvironment
    folder: str

    async def output(self, *argv: str) -> str:
        result = await self._run(argv)
        if isinstance(result, str):
            return result
        raise GitFailedError(result[0])

    async def names(self, *argv: str) -> Sequence[str]:
        return tuple(filter(None, (await self.output(*argv)).split("\0")))

    async def lines(self, *argv: str) -> Sequence[str]:
        """Return the lines of the output; none if the command failed, such as a log before the first commit."""
        result = await self._run(argv)
        return result.splitlines() if isinstance(result, str) else ()

    async def _run(self, argv: Sequence[str]) -> str | tuple[str]:
        """Return the output, or the reason of a failure in a tuple."""
        variables: Mapping[str, str] = {**GIT_ENVIRONMENT, "GIT_LITERAL_PATHSPECS": "0"}
        options = CommandOptions(TIMEOUT_MS, self.folder, variables, argv=tuple(argv))
        try:
            result = await self.environment.exec_command(" ".join(argv), options)
        except EnvError as error:
            return (str(error),)
        if result.timed_out:
            return (f"it took longer than {TIMEOUT_MS // 1000} seconds",)
        if result.exit_code:
            lines = result.stderr.strip().splitlines()
            return (lines[-1] if lines else f"exit code {result.exit_code}",)
        return result.stdout
