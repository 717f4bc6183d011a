"""The git worktree of one session, and its changes that were not yet applied to the user's folder.

The worktree is created at the user's HEAD, optionally with the uncommitted changes of the user's folder. The
agent can change the git index of the worktree. A second index, which the agent cannot change, records the
content that the user's folder already has: the initial content, and later all content that was applied to that
folder. The differences between the second index and the worktree can be applied to the user's folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.environments.local.git_index import tracked_files
from agent_ls.features.worktrees.git import GitError, LocalGit
from agent_ls.services.errors import BadChoiceError
from agent_ls.store.log import make_private_folder
from agent_ls.store.worktrees import (
    INDEX,
    StoredWorktree,
    mark_unapplied,
    read_note,
    worktree_path,
    write_note,
)

Start: TypeAlias = Literal["current", "head"]
"""The first content of a worktree: the user's folder with its uncommitted changes, or its last commit."""

Read: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Returns the content of a file in the user's folder, including unsaved text.

None: the file does not exist or is too large.
"""

BASE_REF = "refs/worktree/agent-ls/base"
"""A ref of one worktree that prevents `git gc` from deleting the objects of the second index."""

ADDING_TRIES = 5
_HALF_ADDED = "/commondir"
"""Part of what git writes about a worktree that another process has not yet added completely."""

MAX_COPIED_BYTES = 1 << 30
"""Maximum size of all uncommitted files, which are copied: a home folder that is a repository has far more."""

PORTION = 200
"""Maximum number of files in one command line of git."""

_LINK, _SUBMODULE = "120000", "160000"
_ORDINARY, _EXECUTABLE = "100644", "100755"
_ABSENT = "000000"


@dataclass(frozen=True, slots=True)
class WorktreeChange:
    """A change of the worktree that the user's folder does not have. Paths are relative to the worktree.

    `old_path` is the former path of a moved file, else `path`. Object names and modes are those of git.
    """

    path: str
    old_path: str
    old_mode: str
    mode: str
    old_object: str
    object_name: str

    @property
    def is_move(self) -> bool:
        return self.path != self.old_path

    @property
    def is_deletion(self) -> bool:
        return self.mode == _ABSENT

    @property
    def is_new(self) -> bool:
        return self.old_mode == _ABSENT

    @property
    def is_executable(self) -> bool:
        return self.mode == _EXECUTABLE

    @property
    def is_mode_only(self) -> bool:
        return self.old_object == self.object_name and not self.is_move

    @property
    def is_special(self) -> bool:
        """Whether the path is a symbolic link or another repository, before or after the change."""
        return bool({self.old_mode, self.mode} & {_LINK, _SUBMODULE})


class Worktree:
    """The worktree of one session. `place` is its folder below the state folder.

    `left_out` lists files, submodules and other repositories of the user that were not copied into a new worktree.
    """

    def __init__(
        self, git: LocalGit, place: Path, paths: StoredWorktree, left_out: Sequence[str] = ()
    ) -> None:
        self.left_out = left_out
        self._git = git
        self._place = place
        self.paths = paths
        self.root = os.path.realpath(paths.tree)
        """The top of the worktree, with symbolic links resolved."""

    @property
    def folder(self) -> str:
        """The folder in the worktree that corresponds to the user's folder."""
        return os.path.join(self.root, self.paths.prefix) if self.paths.prefix else self.root

    def own_path(self, name: str) -> str:
        """Convert a path in a `WorktreeChange` to the absolute path in the worktree."""
        return os.path.join(self.root, name)

    def name_of(self, own_path: str) -> str:
        """Convert an absolute path in the worktree to the name that git uses."""
        return os.path.relpath(own_path, self.root).replace(os.sep, "/")

    def user_path(self, name: str) -> str:
        """Convert a path in a `WorktreeChange` to the absolute path in the user's folder."""
        return os.path.join(self.paths.top, name)

    def own_path_of(self, path: str) -> str:
        """Return the path in the worktree of a file of the user's repository; "" for other files."""
        name = os.path.relpath(path, self.paths.top)
        is_own = path.startswith(self.root + os.sep)  # the worktree may be below the repository
        return "" if is_own or name.startswith(os.pardir) else self.own_path(name)

    def is_in_folder(self, name: str) -> bool:
        """Return whether a path in a `WorktreeChange` is below the folder that the session works in."""
        return not self.paths.prefix or name.startswith(self.paths.prefix + "/")

    async def mark_unapplied(self, *, is_unapplied: bool) -> None:
        """Store whether the worktree may have changes that the user's folder does not have. Does not raise."""
        mark = partial(mark_unapplied, self._place, is_unapplied=is_unapplied)
        await anyio.to_thread.run_sync(mark)

    async def check(self) -> None:
        """Raise BadChoiceError if the worktree no longer exists, for example after `git worktree remove`."""
        places = (self.paths.tree, self.paths.git_folder)
        has_tree, is_known = [await anyio.Path(place).is_dir() for place in places]
        if not (has_tree and is_known):
            raise _gone(self.paths if has_tree else None)

    async def changes(self) -> list[WorktreeChange]:
        """Return the changes that the user's folder does not have, sorted by path. Ignored files are left out.

        Raises:
            BadChoiceError: the worktree no longer exists. AppError: git failed.
        """
        await self.check()
        await anyio.to_thread.run_sync(self._copy_index)
        await self._in_tree(["add", "--all", "--sparse"], self._now)
        tree = await self._in_tree(["write-tree"], self._now)
        base = await self._in_tree(["write-tree"], self._index)
        arguments = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--find-renames", base, tree]
        return _parse_changes(await self._in_tree(arguments, self._now))

    async def texts(self, change: WorktreeChange) -> tuple[bytes | None, bytes | None]:
        """Return two contents of a changed file: the content that the user's folder already has, and the one in
        the worktree.

        None: the file does not exist there.

        Raises:
            AppError: git failed.
        """
        old = None if change.is_new else await self._text(change.old_path, change.old_object)
        new = None if change.is_deletion else await self._text(change.path, change.object_name)
        return old, new

    async def record_applied(self, left: Sequence[WorktreeChange]) -> None:
        """Record that the user's folder now has the changes of the worktree, except the changes in `left`.

        "The changes" are those that the last call of `changes` returned.

        Raises:
            AppError: git failed.
        """
        added = [it.path for it in left if it.is_new or it.is_move]
        for some in _in_portions(added):
            await self._in_tree(["update-index", "--force-remove", "--", *some], self._now)
        old = [f"{it.old_mode},{it.old_object},{it.old_path}" for it in left if not it.is_new]
        for some in _in_portions(old):
            options = [word for entry in some for word in ("--cacheinfo", entry)]
            await self._in_tree(["update-index", "--add", *options], self._now)
        tree = await self._in_tree(["write-tree"], self._now)
        await self._in_tree(["update-ref", BASE_REF, tree], self._now)
        await anyio.to_thread.run_sync(os.replace, self._now, self._index)

    async def applied_text(self, name: str) -> bytes | None:
        """Return the content of one file that the user's folder already has, None if it has no such file.

        Raises:
            AppError: git failed.
        """
        entry = await self._applied_entry(name)
        return await self._text(name, entry[1]) if entry else None

    async def record_text(self, name: str, content: bytes | None) -> None:
        """Record that the user's folder now has this content of one file, None for no file.

        Raises:
            AppError: git failed. OSError.
        """
        if content is None:
            await self._in_tree(["update-index", "--force-remove", "--", name], self._index)
        else:
            entry = await self._applied_entry(name)
            mode = entry[0] if entry else await anyio.to_thread.run_sync(_mode_of, self.own_path(name))
            object_name = await self._store_text(name, content)
            cached = f"{mode},{object_name},{name}"
            await self._in_tree(["update-index", "--add", "--cacheinfo", cached], self._index)
        tree = await self._in_tree(["write-tree"], self._index)
        await self._in_tree(["update-ref", BASE_REF, tree], self._index)

    async def _applied_entry(self, name: str) -> tuple[str, str] | None:
        """Return the mode and the object name of a file in the second index, None if it has no such file."""
        listed = await self._in_tree(
            ["ls-files", "--stage", "-z", "--", f":(literal,top){name}"], self._index
        )
        mode, object_name, *_ = [*listed.split(" "), ""]
        return (mode, object_name) if object_name else None

    async def _store_text(self, name: str, content: bytes) -> str:
        """Store a file's content in the repository, as git's filters change it, and return the object's name."""
        copy = self._place / f"{INDEX}.text"
        try:
            await anyio.to_thread.run_sync(copy.write_bytes, content)
            return await self._in_tree(["hash-object", "-w", f"--path={name}", "--", str(copy)], self._index)
        finally:
            await anyio.to_thread.run_sync(partial(copy.unlink, missing_ok=True))

    @property
    def _index(self) -> str:
        return str(self._place / INDEX)

    @property
    def _now(self) -> str:
        return f"{self._index}.now"

    def _copy_index(self) -> None:
        """Copy the second index to a temporary index, and delete lock files that a killed git process has left.
        Blocks.
        """
        for lock in (f"{self._index}.lock", f"{self._now}.lock"):
            with suppress(FileNotFoundError):
                os.unlink(lock)
        copy_index(self._index, self._now)

    async def _text(self, path: str, object_name: str) -> bytes:
        arguments = ["cat-file", "--filters", f"--path={path}", object_name]
        return await self._git.data(arguments, self.root, self._variables(self._index))

    async def _in_tree(self, arguments: Sequence[str], index: str) -> str:
        return await self._git.text(arguments, self.root, self._variables(index))

    def _variables(self, index: str) -> Mapping[str, str]:
        """Return the environment variables that make git use this worktree even if its `.git` file was changed."""
        return {"GIT_DIR": self.paths.git_folder, "GIT_WORK_TREE": self.root, "GIT_INDEX_FILE": index}


def _in_portions(entries: Sequence[str]) -> list[Sequence[str]]:
    return [entries[start : start + PORTION] for start in range(0, len(entries), PORTION)]


def _mode_of(path: str) -> str:
    """Return git's mode of an ordinary file. Blocks."""
    with suppress(FileNotFoundError):
        if os.stat(path).st_mode & stat.S_IXUSR:
            return _EXECUTABLE
    return _ORDINARY


def _parse_changes(raw: str) -> list[WorktreeChange]:
    """Parse `git diff-tree -z --raw`."""
    fields = iter(raw.split("\0"))
    found = []
    for facts in fields:
        if not facts.startswith(":"):
            continue
        old_mode, mode, old_object, object_name, status = facts[1:].split(" ")
        old_path = path = next(fields)
        if status.startswith(("R", "C")):
            path = next(fields)
        found.append(WorktreeChange(path, old_path, old_mode, mode, old_object, object_name))
    return sorted(found, key=lambda change: change.path)


def _gone(paths: StoredWorktree | None) -> BadChoiceError:
    """Return the error of a worktree that the repository no longer knows, or of one without a folder (None)."""
    if paths:
        return BadChoiceError(
            f"the repository no longer knows the git worktree of this session: {paths.git_folder} does not exist",
            f"copy the files that you need from {paths.tree}, then delete the session",
        )
    return BadChoiceError(
        "the git worktree of this session no longer exists",
        "begin a new session; this one can still be read or deleted, and what came to your folder remains there",
    )


async def open_worktree(git: LocalGit, place: Path) -> Worktree:
    """Return the worktree that is stored in the folder `place`.

    If the user's repository was moved, the error says which files to copy.

    Raises:
        BadChoiceError: the worktree is missing or incomplete.
    """
    paths = await anyio.to_thread.run_sync(read_note, place)
    if paths is None:
        raise _gone(paths)
    await Worktree(git, place, paths).check()
    return Worktree(await git.without_missing_filters(paths.tree), place, paths)


async def make_worktree(
    git: LocalGit, place: Path, folder: str, start: Start, read: Read, unsaved: Sequence[str]
) -> Worktree:
    """Create a worktree for a session in the user's `folder`. The folder must be trusted, because git may run
    its filters.

    `read` returns the text of a file, saved or not; `unsaved` are absolute paths of documents with unsaved
    text.

    Raises:
        BadChoiceError: the folder has no repository, or none with a commit. AppError: git failed. OSError.
    """
    top, prefix = await _repository(git, folder)
    git = await git.without_missing_filters(top)
    names: list[str] = []
    if start == "current":
        names = await _uncommitted(git, top)
        names += [name for path in unsaved if (name := _name_below(path, top)) and name not in names]
        await anyio.to_thread.run_sync(_check_size, top, names)
    await anyio.to_thread.run_sync(make_private_folder, place)
    tree = str(worktree_path(place, folder))
    await _add_worktree(git, top, tree)
    git_folder = await git.text(["rev-parse", "--absolute-git-dir"], tree)
    left_out = [name for name in names if not await _copy(name, top, tree, read)]
    left_out += await anyio.to_thread.run_sync(_submodules, top)
    index = await git.text(["rev-parse", "--path-format=absolute", "--git-path", "index"], tree)
    await anyio.to_thread.run_sync(copy_index, index, str(place / INDEX))
    paths = StoredWorktree(top, tree, git_folder, prefix)
    worktree = Worktree(git, place, paths, left_out)
    await worktree.changes()
    await worktree.record_applied(())
    await anyio.to_thread.run_sync(write_note, place, paths)
    return worktree


def _submodules(top: str) -> list[str]:
    """Return the submodules that have files in the user's folder; in a new worktree they are empty. Blocks."""
    paths = (it.path for it in tracked_files(top) if it.is_repository)
    return [f"{os.path.relpath(path, top)}/" for path in paths if os.path.lexists(os.path.join(path, ".git"))]


async def _add_worktree(git: LocalGit, top: str, tree: str) -> None:
    """Add a worktree at HEAD.

    git fails while it lists a worktree that another process is adding, so this is tried more than once.
    """
    for tries_left in reversed(range(ADDING_TRIES)):
        try:
            await git.text(["worktree", "add", "--detach", "--force", tree, "HEAD"], top)
            return
        except GitError as error:
            if not tries_left or _HALF_ADDED not in error.reason:
                raise


async def _repository(git: LocalGit, folder: str) -> tuple[str, str]:
    """Return the top of the user's working tree, and the path of `folder` relative to it.

    Raises:
        BadChoiceError: the folder has no repository, or none with a commit.
    """
    try:
        if await git.text(["rev-parse", "--is-bare-repository"], folder) == "true":
            raise BadChoiceError(
                f"the git repository of {folder} is bare: it has no files of its own",
                "open one of its worktrees, or begin the session without a worktree",
            )
        inside = await git.text(["rev-parse", "--is-inside-work-tree"], folder)
        top = await git.text(["rev-parse", "--show-toplevel"], folder)
        prefix = (await git.text(["rev-parse", "--show-prefix"], folder)).rstrip("/")
    except GitError as error:
        raise BadChoiceError(
            f"{folder} cannot have a worktree, because it is not in a git repository that git can use: "
            f"{error.reason}",
            "begin the session without a worktree, or run `git init` and make a commit",
        ) from None
    if inside != "true":
        raise BadChoiceError(
            f"{folder} is inside the .git folder of a repository", "open the working tree of the repository"
        )
    try:
        await git.text(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], folder)
    except GitError:
        raise BadChoiceError(
            f"the git repository of {folder} has no commit yet, and a worktree needs one",
            "make a first commit, or begin the session without a worktree",
        ) from None
    return top, prefix


async def _uncommitted(git: LocalGit, top: str) -> list[str]:
    """Return the files with uncommitted changes and the new files that are not ignored, as paths relative to
    `top`.
    """
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"]
    raw = await git.text([*arguments, "--ignore-submodules=all"], top, {"GIT_OPTIONAL_LOCKS": "0"})
    return [entry[3:] for entry in raw.split("\0") if entry]


def _check_size(top: str, names: Sequence[str]) -> None:
    """Raise BadChoiceError if the uncommitted files are too large together to be copied. Blocks."""
    total = 0
    for name in names:
        with suppress(OSError):
            total += os.lstat(os.path.join(top, name)).st_size
    if total > MAX_COPIED_BYTES:
        raise BadChoiceError(
            f"the new and changed files of {top} are too large for a worktree: {total >> 20} MiB",
            "begin the session at the last commit (worktree: head), or list files that are not yours in .gitignore",
        )


def _name_below(path: str, top: str) -> str:
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    return "" if name.startswith("..") else name


async def _copy(name: str, top: str, tree: str, read: Read) -> bool:
    """Copy a file, or its absence, from the user's folder to the worktree. Returns False if the file cannot be
    copied.
    """
    source, target = os.path.join(top, name), os.path.join(tree, name)
    if name.endswith("/"):  # git lists another repository with a slash at the end
        return False
    try:
        facts = await anyio.Path(source).lstat()
    except FileNotFoundError:
        facts = None
    data: bytes | None = None
    if facts is None or stat.S_ISREG(facts.st_mode):
        data = await read(source)
        if facts and data is None:
            return False
    elif not stat.S_ISLNK(facts.st_mode):
        return False
    return await anyio.to_thread.run_sync(_place, source, target, facts, data)


def _place(source: str, target: str, facts: os.stat_result | None, data: bytes | None) -> bool:
    """Write `data` to `target`; without data, copy the link `source`, or delete `target` if it is missing.
    Blocks.

    If `facts` is None, `source` does not exist. Returns False if `target` cannot be changed.
    """
    try:
        if os.path.isdir(target) and not os.path.islink(target):
            return facts is None
        is_there = os.path.lexists(target)
        if data is None or os.path.islink(target):
            with suppress(FileNotFoundError):
                os.unlink(target)
        if data is not None:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)
            if facts and (facts.st_mode & 0o100 or is_there):
                os.chmod(target, stat.S_IMODE(facts.st_mode) | stat.S_IWUSR)
        elif facts is not None:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(source), target)
    except OSError:
        return False
    return True


def copy_index(source: str, target: str) -> None:
    """Copy a git index with its modification time. Blocks.

    Git compares the contents of files whose modification time is not older than that of the index. If the copy
    had a newer time, git would miss a change that was made directly after the index was written and did not
    change the file's size.
    """
    shutil.copy2(source, target)
