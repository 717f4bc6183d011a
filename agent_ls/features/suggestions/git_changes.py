"""Read the changes that a commit would contain, without the content of files that must not be sent
to a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.features.git.reader import MAX_OMITTED_FILES, GitReader
from agent_ls.patterns import regex
from agent_ls.profiles.git_snapshot import RECENT_COMMITS, find_git_root
from agent_ls.services.errors import AppError

DIFF_CHARS = 40_000
"""Maximum number of characters of the diff that the model gets.

The longest files are shortened first.
"""

MAX_NEW_FILES = 50
_CUT = "\n[the rest of this file's change is not shown]\n"
_SECTION = regex(r"^(?=diff --git )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GitChanges:
    """The changes of a repository below one folder.

    `staged`: only the staged changes, not all of the work tree. `new_files` are untracked files. `omitted` are
    changed files whose content must not be sent. Both are paths relative to the folder. `subjects` are the
    lines of `git log --oneline` for the last commits.
    """

    diff: str
    staged: bool
    new_files: Sequence[str] = ()
    omitted: Sequence[str] = ()
    subjects: Sequence[str] = ()


async def read_changes(
    environment: ExecutionEnvironment, folder: str, may_be_sent: Callable[[str], bool]
) -> GitChanges | None:
    """Return the changes below `folder`, the working directory of `environment`; None if there are
    none.

    `may_be_sent` returns whether the content of a file may be sent; its argument is relative to
    `folder`.

    Raises:
        AppError: the changes cannot be read.
    """
    if not await find_git_root(environment):
        raise AppError(f"{folder} is in no git repository", "Open a folder of a repository, then ask again")
    git = GitReader(environment, folder)
    names = await git.changed_names("diff", "--cached")
    staged = bool(names)
    new_files: Sequence[str] = ()
    if not staged:
        names = await git.changed_names("diff")
        new_files = await git.new_names()
    if not names and not new_files:
        return None
    omitted = [name for name in names if not may_be_sent(name)]
    if len(omitted) > MAX_OMITTED_FILES:
        raise AppError(
            f"{len(omitted)} of the changed files must not be sent to a model, and only {MAX_OMITTED_FILES} "
            "can be left out",
            "stage only the files of this commit, then ask again",
        )
    diff = ""
    if len(omitted) < len(names):
        diff = await git.patch("diff", *(("--cached",) if staged else ()), omitted=omitted)
    subjects = await git.lines(
        "log", "--no-show-signature", "--no-decorate", "--oneline", "-n", str(RECENT_COMMITS)
    )
    return GitChanges(diff, staged, new_files[:MAX_NEW_FILES], omitted, subjects)


def shorten_diff(diff: str, limit: int = DIFF_CHARS) -> str:
    """Return the diff with about `limit` characters at most.

    The longest files are cut to the same length.
    """
    sections = [it for it in _SECTION.split(diff) if it]
    room = _room(sections, limit)
    return "".join(it if len(it) <= room else f"{it[:room]}{_CUT}" for it in sections)


def _room(sections: Sequence[str], limit: int) -> int:
    """Return the maximum length per section at which all sections have at most `limit` characters in total."""
    left = limit
    sizes = sorted(map(len, sections))
    for at, size in enumerate(sizes):
        room = left // (len(sizes) - at)
        if size > room:
            return room
        left -= size
    return limit
