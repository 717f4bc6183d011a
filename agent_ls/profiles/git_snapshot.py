"""Read the git state that a model gets at the start of a session. Read-only, and safe in untrusted
repositories.

Two depths:
    without git   root, branch, HEAD and an unfinished operation, from the files of the repository
    with git      counts of changed files and the last commits, by two hardened read-only commands

git runs only in a trusted workspace, and only if the repository's config names no program that these commands
would start.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
import shlex
from dataclasses import dataclass
from types import ModuleType

from anyio import create_task_group

from agent_ls.environments.base import CommandOptions, ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.patterns import regex
from agent_ls.profiles.document_lookup import NO_LOOKUP, Lookup

RECENT_COMMITS = 8  # enough to show the style of commit messages
SUBJECT_MAX_CHARS = 100
GIT_FILE_MAX_BYTES = 4 * 1024 * 1024  # large enough for packed-refs of a large repository
TIMEOUT_MS = 5_000

HARDENED_GIT = (
    "git --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.pager=cat "
    "-c log.showSignature=false -c submodule.recurse=false -c status.submoduleSummary=false"
)
STATUS_COMMAND = f"{HARDENED_GIT} status --porcelain=v1 --untracked-files=normal --ignore-submodules=all"
LOG_COMMAND = (
    f"{HARDENED_GIT} log --no-show-signature --no-ext-diff --no-textconv --no-color --no-decorate "
    f"--oneline -n {RECENT_COMMITS}"
)
HEAD_COMMAND = f"{HARDENED_GIT} rev-parse HEAD --abbrev-ref HEAD"
GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # otherwise status refreshes the index on disk
    "GIT_NO_LAZY_FETCH": "1",  # otherwise a partial clone starts its remote helper
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

# Settings in a repository's config that make the two commands start a program. An include may add such a setting. The
# whole text is searched, including comments, because a false alarm does little harm.
_CONFIG_WITH_PROGRAMS = regex(r"fsmonitor|\[\s*(filter|include)", re.IGNORECASE)
_STORED_ELSEWHERE = "refs/heads/.invalid"
"""What the file HEAD contains if the references are not files (reftable)."""
_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "MERGE_HEAD": "merge",
    "BISECT_LOG": "bisect",
}
"""Files in the folder of git that are there while an operation is unfinished, and its name."""
_OBJECT_NAME = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE = regex(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
"""The form of a reference. A file with another text is not of git: it may be a link to any file."""


@dataclass(frozen=True, slots=True)
class GitSnapshot:
    """The git state. `root` "" means that there is no repository; the other fields are empty then.

    `branch` is "" if HEAD is detached. `head` is the full commit id, "" before the first commit. `changed`
    and `untracked` are None, and `commits` is empty, if git was not run. `operation` is what was begun and is not
    finished, such as "rebase of topic".
    """

    root: str = ""
    branch: str = ""
    head: str = ""
    changed: int | None = None
    untracked: int | None = None
    commits: tuple[str, ...] = ()
    operation: str = ""


async def take_git_snapshot(
    environment: ExecutionEnvironment, *, trusted: bool, lookup: Lookup = NO_LOOKUP
) -> GitSnapshot:
    """Take the snapshot. Never raises: for a damaged or unreadable repository, more fields are empty."""
    root = await find_git_root(environment, lookup)
    if not root:
        return GitSnapshot()
    files = await _RepositoryFiles.find(environment, root)
    branch, head = await files.head()
    operation = await files.operation(lookup)
    if not trusted or await files.config_names_programs():
        return GitSnapshot(root, branch, head, operation=operation)
    if not branch and not head:
        head, branch = await _ask_head(environment, root)
    status, log = await _git(environment, root, STATUS_COMMAND, LOG_COMMAND)
    untracked = sum(line.startswith("??") for line in status) if status is not None else None
    changed = len(status) - untracked if status is not None and untracked is not None else None
    commits = tuple(line[:SUBJECT_MAX_CHARS] for line in log or ())
    return GitSnapshot(root, branch, head, changed, untracked, commits, operation)


async def _ask_head(environment: ExecutionEnvironment, root: str) -> tuple[str, str]:
    """Return the commit and the branch of HEAD as git names them, each "" if there is none."""
    lines = (await run_git(environment, root, HEAD_COMMAND) or "").splitlines()
    commit, branch = lines if len(lines) == 2 else ("", "")
    return commit, "" if branch == "HEAD" else branch


async def names_no_programs(environment: ExecutionEnvironment, root: str) -> bool:
    """Return True if the repository's config names no program that a hardened git command would start."""
    return not await (await _RepositoryFiles.find(environment, root)).config_names_programs()


async def run_git(environment: ExecutionEnvironment, folder: str, command: str) -> str | None:
    """Run a read-only command that begins with HARDENED_GIT. Return its output, None if it failed or did not run.

    Call this only for a trusted folder for which `names_no_programs` returns True.
    """
    options = CommandOptions(
        TIMEOUT_MS, folder, GIT_ENVIRONMENT, argv=tuple(shlex.split(command)), is_own_program=True
    )
    try:
        result = await environment.exec_command(command, options)
    except EnvError:
        return None
    return result.stdout if not result.timed_out and result.exit_code == 0 else None


async def find_git_root(environment: ExecutionEnvironment, lookup: Lookup = NO_LOOKUP) -> str:
    """Return the nearest folder, from the working directory up, that contains `.git`; "" if there is none."""
    rules = _path_rules(environment)
    folders = [environment.working_directory()]
    while (parent := str(rules.dirname(folders[-1]))) != folders[-1]:
        folders.append(parent)
    places = {folder: rules.join(folder, ".git") for folder in folders}
    missing = await lookup.missing(list(places.values()))
    for folder, place in places.items():
        if place not in missing and await environment.file_exists(place):
            return folder
    return ""


@dataclass(frozen=True, slots=True)
class _RepositoryFiles:
    """The files of a git repository.

    In a linked worktree, `git_dir` is the folder of the worktree's own git files, and `common_dir` is the git folder
    of the main worktree.
    """

    environment: ExecutionEnvironment
    git_dir: str
    common_dir: str

    @staticmethod
    async def find(environment: ExecutionEnvironment, root: str) -> _RepositoryFiles:
        rules = _path_rules(environment)
        git_dir = rules.join(root, ".git")
        pointer = await _text(
            environment, git_dir
        )  # `.git` is a file in worktrees and submodules; if it is a folder, this is ""
        if pointer.startswith("gitdir:"):
            git_dir = rules.normpath(rules.join(root, pointer.removeprefix("gitdir:").strip()))
        common = (await _text(environment, rules.join(git_dir, "commondir"))).strip()
        return _RepositoryFiles(
            environment, git_dir, rules.normpath(rules.join(git_dir, common)) if common else git_dir
        )

    async def head(self) -> tuple[str, str]:
        """Return the branch and the commit of HEAD, each "" if there is none."""
        head = (await self._read(self.git_dir, "HEAD")).strip()
        if not head.startswith("ref:"):
            return "", head if _OBJECT_NAME.fullmatch(head) else ""
        ref = head.removeprefix("ref:").strip()
        if ref == _STORED_ELSEWHERE:
            return "", ""
        if not _REFERENCE.fullmatch(ref) or ".." in ref:
            return "", ""
        return ref.removeprefix("refs/heads/"), await self._read_commit(ref)

    async def operation(self, lookup: Lookup) -> str:
        """Return the operation that is not finished, "" if there is none."""
        rules = _path_rules(self.environment)
        places = {rules.join(self.git_dir, name): name for name in _OPERATIONS}
        missing = await lookup.missing(list(places))
        for place, name in places.items():
            if place not in missing and await self.environment.file_exists(place):
                head = (await self._read(place, "head-name")).strip()
                of = f" of {head.removeprefix('refs/heads/')}" if _REFERENCE.fullmatch(head) else ""
                return f"{_OPERATIONS[name]}{of}"
        return ""

    async def config_names_programs(self) -> bool:
        """Return whether the config names programs. A config that cannot be read counts as naming programs."""
        rules = _path_rules(self.environment)
        for path in (rules.join(self.common_dir, "config"), rules.join(self.git_dir, "config.worktree")):
            config = await _text(self.environment, path)
            if _CONFIG_WITH_PROGRAMS.search(config) or (
                not config and await self.environment.file_exists(path)
            ):
                return True
        return False

    async def _read_commit(self, ref: str) -> str:
        for folder in (self.git_dir, self.common_dir):
            commit = (await self._read(folder, ref)).strip()
            if _OBJECT_NAME.fullmatch(commit):
                return commit
        for line in (await self._read(self.common_dir, "packed-refs")).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _OBJECT_NAME.fullmatch(commit):
                return commit
        return ""

    async def _read(self, folder: str, name: str) -> str:
        return await _text(self.environment, _path_rules(self.environment).join(folder, name))


def _path_rules(environment: ExecutionEnvironment) -> ModuleType:
    return ntpath if environment.platform() == "windows" else posixpath


async def _text(environment: ExecutionEnvironment, path: str) -> str:
    try:
        return (await environment.read_bytes(path, GIT_FILE_MAX_BYTES)).decode("utf-8", "replace")
    except EnvError:
        return ""


async def _git(environment: ExecutionEnvironment, root: str, *commands: str) -> list[list[str] | None]:
    """Run the commands in parallel. Return the output lines of each command, None if it failed or did not run."""
    found: list[list[str] | None] = [None] * len(commands)

    async def run(place: int, command: str) -> None:
        output = await run_git(environment, root, command)
        found[place] = output.splitlines() if output is not None else None

    async with create_task_group() as tasks:
        for place, command in enumerate(commands):
            tasks.start_soon(run, place, command)
    return found
