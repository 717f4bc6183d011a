"""What git can tell a model at the start of a session, only read, and without a program where that is not safe.

Two depths (000 sections 6.3 and 6.4, REQUIREMENTS O4):

    without git   root, branch and HEAD, from the files of the repository
    with git      counts of changed files and the last commits, by two hardened read-only commands

The second is taken only in a trusted workspace whose own config names no program that these commands would start.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from dataclasses import dataclass
from types import ModuleType

from agent_ls.environments.base import CommandOptions, ExecutionEnvironment
from agent_ls.environments.errors import EnvError

RECENT_COMMITS = 8  # 000 section 6.4 wants the last five to ten
SUBJECT_MAX_CHARS = 100
GIT_FILE_MAX_BYTES = 4 * 1024 * 1024  # packed-refs of a large repository
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
GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # status would refresh the index on disk
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone would start its remote helper
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

# Through these a repository's own config can make the two commands start a program; an include can bring any of
# them. Looked for anywhere, comments too: a key may stand on its section's line, and a false alarm costs little.
_CONFIG_WITH_PROGRAMS = re.compile(r"fsmonitor|\[\s*(filter|include)", re.IGNORECASE)
_OBJECT_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class GitSnapshot:
    """`root` "" is "no repository here"; the other fields are empty then.

    `branch` is "" when HEAD is detached. `head` is the commit's full name, "" before the first commit.
    `changed` and `untracked` are None, and `commits` is empty, where git was not run.
    """

    root: str = ""
    branch: str = ""
    head: str = ""
    changed: int | None = None
    untracked: int | None = None
    commits: tuple[str, ...] = ()


async def git_snapshot(environment: ExecutionEnvironment, *, trusted: bool) -> GitSnapshot:
    """Never raises for a repository that is damaged or cannot be read: then less is told."""
    root = await git_root(environment)
    if not root:
        return GitSnapshot()
    files = await _RepositoryFiles.find(environment, root)
    branch, head = await files.head()
    if not trusted or await files.config_names_programs():
        return GitSnapshot(root, branch, head)
    status = await _git(environment, STATUS_COMMAND, root)
    log = await _git(environment, LOG_COMMAND, root)
    untracked = sum(line.startswith("??") for line in status) if status is not None else None
    changed = len(status) - untracked if status is not None and untracked is not None else None
    return GitSnapshot(
        root, branch, head, changed, untracked, tuple(line[:SUBJECT_MAX_CHARS] for line in log or ())
    )


async def git_root(environment: ExecutionEnvironment) -> str:
    """The nearest folder, from the working directory up, that holds `.git`; "" when there is none."""
    rules = _path_rules(environment)
    folder = environment.working_directory()
    while True:
        if await environment.file_exists(rules.join(folder, ".git")):
            return folder
        parent = str(rules.dirname(folder))
        if parent == folder:
            return ""
        folder = parent


@dataclass(frozen=True, slots=True)
class _RepositoryFiles:
    """The files of a repository. In a linked worktree `git_dir` is its own folder, `common_dir` the main one."""

    environment: ExecutionEnvironment
    git_dir: str
    common_dir: str

    @staticmethod
    async def find(environment: ExecutionEnvironment, root: str) -> _RepositoryFiles:
        rules = _path_rules(environment)
        git_dir = rules.join(root, ".git")
        pointer = await _text(environment, git_dir)  # a file in worktrees and submodules, else a folder: ""
        if pointer.startswith("gitdir:"):
            git_dir = rules.normpath(rules.join(root, pointer.removeprefix("gitdir:").strip()))
        common = (await _text(environment, rules.join(git_dir, "commondir"))).strip()
        return _RepositoryFiles(
            environment, git_dir, rules.normpath(rules.join(git_dir, common)) if common else git_dir
        )

    async def head(self) -> tuple[str, str]:
        """Branch and commit, each "" when there is none."""
        head = (await self._read(self.git_dir, "HEAD")).strip()
        if not head.startswith("ref:"):
            return "", head if _OBJECT_NAME.fullmatch(head) else ""
        ref = head.removeprefix("ref:").strip()
        branch = ref.removeprefix("refs/heads/")
        if not ref.startswith("refs/") or ".." in ref:
            return branch, ""
        return branch, await self._commit_of(ref)

    async def config_names_programs(self) -> bool:
        """True as well for a config that is there and cannot be read."""
        rules = _path_rules(self.environment)
        for path in (rules.join(self.common_dir, "config"), rules.join(self.git_dir, "config.worktree")):
            config = await _text(self.environment, path)
            if _CONFIG_WITH_PROGRAMS.search(config) or (
                not config and await self.environment.file_exists(path)
            ):
                return True
        return False

    async def _commit_of(self, ref: str) -> str:
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


async def _git(environment: ExecutionEnvironment, command: str, root: str) -> list[str] | None:
    """Lines of output, None when the command could not be run or failed."""
    try:
        result = await environment.exec_command(command, CommandOptions(TIMEOUT_MS, root, GIT_ENVIRONMENT))
    except EnvError:
        return None
    if result.timed_out or result.exit_code != 0:
        return None
    return result.stdout.splitlines()
