"""Write all of several files or none (docs/editing.md, All or nothing). The functions block: call them in a
thread and wait.

New contents are first written to temporary files next to their targets; then each target is checked again and
replaced by a rename. Deletions come last. Each completed step pushes its undo action on a stack. An undo
action does not overwrite changes that other programs have made in between. Files to delete are first renamed,
and removed after all other steps have succeeded.

The writing process may lose its right to write at any point, for example while it is suspended. So this
process checks the right before each step, and the process that takes over the right removes the temporary
files (`sweep`). A later rename then finds no temporary file and fails. Steps completed before the loss
remain; no more steps and no undo actions follow.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from agent_ls.environments.base import FileState, FileWrite
from agent_ls.environments.errors import (
    AccessDeniedError,
    CommitError,
    EnvError,
    NotAFolderError,
    PathNotFoundError,
    StaleFileError,
)
from agent_ls.environments.local.files import read_file
from agent_ls.environments.local.steps import (
    bring_back,
    content_of,
    name_beside,
    opened_in_place,
    overwrite,
    remove_if_empty,
    restore,
    restore_in_place,
    sync_folder,
    temporary_prefix,
    unlink_if_there,
    unlink_own,
    write_new,
)
from agent_ls.environments.opened import check_opened, real_path, run_path_check
from agent_ls.system import is_alive

_UNLIMITED_BYTES = 1 << 62

# Prevents two sessions of one server from both finding a file unchanged and then both writing it.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Target:
    """A write and the file that it changes.

    `path` is absolute. `real` is `path` with symbolic links resolved; the last component of a deletion is not
    resolved. `facts` is None if the file does not exist. `mode` are the permission bits that the file gets;
    None means the system's default for a new file.
    """

    write: FileWrite
    path: str
    real: str
    facts: os.stat_result | None
    mode: int | None

    @property
    def is_deletion(self) -> bool:
        return self.write.content is None

    @property
    def has_changes(self) -> bool:
        return self.write.content != self.write.base

    @property
    def is_in_place(self) -> bool:
        return self.facts is not None and _is_in_place(self.real, self.facts)


class DeletedModes:
    """Stores the permission bits of deleted files, so that undoing a deletion can restore the bits."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, int]] = {}

    def store_mode(self, target: _Target) -> None:
        if target.is_deletion and target.mode is not None:
            self._known[target.path] = _digest(target.write.base), target.mode

    def find_mode(self, path: str, content: bytes | None) -> int | None:
        digest, mode = self._known.get(path, (b"", None))
        return mode if digest == _digest(content) else None


def _digest(content: bytes | None) -> bytes:
    return hashlib.sha256(content or b"").digest()


def is_written_in_place(path: str) -> bool:
    """Return whether a commit overwrites the file in place instead of renaming a new file. Never raises."""
    try:
        real = os.path.realpath(path)
        return _is_in_place(real, os.stat(real))
    except (OSError, ValueError):
        return False


def _is_in_place(real: str, facts: os.stat_result) -> bool:
    """Return whether the file must be overwritten in place.

    A rename would break hard links, and is impossible if the folder is not writable.
    """
    return facts.st_nlink > 1 or not os.access(os.path.dirname(real), os.W_OK)


def allow_any_process() -> None:
    """Do nothing: the default for `check_right`, which allows every process to write."""


def commit(
    writes: Sequence[FileWrite],
    resolve: Callable[[str], str],
    deleted: DeletedModes,
    check_right: Callable[[], None] = allow_any_process,
) -> list[FileState]:
    """Implement ExecutionEnvironment.commit; `resolve` makes a path absolute.

    `check_right` raises an error if this process may no longer write. The commit then stops with this error.
    """
    run_path_check()
    with _ONE_AT_A_TIME:
        targets = [_inspect_target(write, resolve, deleted, is_only=len(writes) == 1) for write in writes]
        _refuse_repeats(targets)
        _Transaction(check_right).run([target for target in targets if target.has_changes])
        for target in targets:
            deleted.store_mode(target)
    return [_make_state(target) for target in targets]


def _make_state(target: _Target) -> FileState:
    mode = target.mode if target.is_deletion else None
    return FileState(target.path, target.write.base, target.write.content, mode=mode)


def sweep(folders: Collection[str], pid: int, *, is_put_out: bool = False) -> None:
    """Remove temporary files that the process `pid` left in these folders when it was killed during a commit.
    Never raises.

    Nothing is removed while the process is alive, unless `is_put_out` says that it has lost its right to
    write. Then all its temporary files are removed, including those of other sessions in the same process.
    Their commits then fail. This is acceptable because the process was suspended.
    """
    if is_alive(pid) and not is_put_out:
        return
    for folder in folders:
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(temporary_prefix(pid)):
                    with suppress(OSError):
                        unlink_if_there(os.path.join(folder, name))


# --- checking -------------------------------------------------------------------------------------------------


def _inspect_target(
    write: FileWrite, resolve: Callable[[str], str], deleted: DeletedModes, *, is_only: bool
) -> _Target:
    path = resolve(write.path)
    try:
        facts = _facts(path)
        if write.mode_from:
            mode: int | None = _permissions(os.stat(resolve(write.mode_from)))
        else:
            stored = deleted.find_mode(path, write.content) if write.mode is None else write.mode
            mode = _permissions(facts) if facts else stored
        target = _Target(write, path, _real(path, write), facts, mode)
    except (OSError, ValueError) as error:
        raise _as_env_error(write.path, error) from error
    # Several files are compared with their base before the first file is written. A single file is compared only
    # once, directly before it is replaced.
    if not (
        is_only and facts and stat.S_ISREG(facts.st_mode) and target.has_changes and not target.is_deletion
    ):
        _check_base(target)
    if facts and target.has_changes and not target.is_deletion:
        _check_writable(target, facts)
    return target


def _real(path: str, write: FileWrite) -> str:
    if write.content is None:  # delete a symbolic link itself, not its target
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return os.path.realpath(path)


def _facts(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _permissions(facts: os.stat_result) -> int:
    return stat.S_IMODE(facts.st_mode)


def _check_base(target: _Target) -> None:
    asked, base = target.write.path, target.write.base
    try:
        current: bytes | None = read_file(target.path, asked, _UNLIMITED_BYTES)
    except PathNotFoundError:
        current = None
    if current == base:
        return
    if base is None:
        raise StaleFileError(asked, "the file exists already")
    if current is None:
        raise StaleFileError(asked, "the file no longer exists")
    raise StaleFileError(asked)


def _check_writable(target: _Target, facts: os.stat_result) -> None:
    """Check the file's own permission bits, which a rename would bypass."""
    if not _permissions(facts) & 0o222:
        raise AccessDeniedError(target.write.path, "the file is read-only")
    if not os.access(target.real, os.W_OK):
        raise AccessDeniedError(target.write.path)


def _refuse_repeats(targets: Sequence[_Target]) -> None:
    seen: set[str] = set()
    for target in targets:
        if target.real in seen:
            raise CommitError(target.write.path, "the same file occurs twice in one set of changes")
        seen.add(target.real)


# --- writing --------------------------------------------------------------------------------------------------


class _Transaction:
    def __init__(self, check_right: Callable[[], None]) -> None:
        self._check_right = check_right
        self._undo: list[tuple[str, Callable[[], object]]] = []
        self._staged: dict[str, str] = {}
        self._set_aside: list[tuple[_Target, str]] = []
        self._held: dict[str, str] = {}
        self._open = ExitStack()

    def run(self, targets: Sequence[_Target]) -> None:
        with self._open:
            self._run(targets)

    def _run(self, targets: Sequence[_Target]) -> None:
        writes = [target for target in targets if not target.is_deletion]
        for step, some in (
            (self._stage, writes),
            (self._write_target, writes),
            (self._take_away, [target for target in targets if target.is_deletion]),
        ):
            for target in some:
                self._run_step(step, target)
        for target, aside in self._set_aside:
            self._run_step(partial(_remove, aside), target)  # the file is restored if the removal fails
        for folder in {os.path.dirname(self._find_stable_path(target)) for target in targets}:
            sync_folder(folder)

    def _find_stable_path(self, target: _Target) -> str:
        """Return a path of the target file that leads to the same folder even if a parent folder is replaced."""
        folder, name = os.path.split(target.real)
        if folder not in self._held:
            self._held[folder] = self._open_folder(folder, target.write.path)
        return os.path.join(self._held[folder], name)

    def _open_folder(self, folder: str, asked: str) -> str:
        """Open the folder and return a path that uses its descriptor (`/proc/self/fd/N`).

        Return `folder` if the system has no such paths. `asked` is the file's path for error messages.
        """
        if not hasattr(os, "O_DIRECTORY"):
            return folder
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._open.callback(os.close, descriptor)
        real = real_path(descriptor)
        if real and real != folder:
            raise StaleFileError(asked, "the folder of the file was replaced by another folder")
        check_opened(descriptor, os.fstat(descriptor))
        return f"/proc/self/fd/{descriptor}" if real else folder

    def _run_step(self, step: Callable[[_Target], None], target: _Target) -> None:
        self._check_right_or_clean_up()
        try:
            step(target)
        except (OSError, ValueError, EnvError) as error:
            # The step may have failed because another process has taken over the right to write and removed
            # temporary files. In that case, do not undo.
            self._check_right_or_clean_up()
            unrestored = self._roll_back()
            if unrestored:
                raise CommitError(target.write.path, _reason(error), unrestored) from error
            raise _as_env_error(target.write.path, error) from error

    def _check_right_or_clean_up(self) -> None:
        try:
            self._check_right()
        except BaseException:
            for temporary in self._staged.values():
                with suppress(OSError):
                    os.unlink(temporary)
            raise

    def _roll_back(self) -> tuple[str, ...]:
        """Run the undo actions, newest first. Return the paths that could not be restored."""
        unrestored: list[str] = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                unrestored.append(path)
        return tuple(dict.fromkeys(unrestored))

    def _stage(self, target: _Target) -> None:
        """Create missing folders, and write the new content to a temporary file in the same folder."""
        self._make_folders(os.path.dirname(target.real))
        if target.is_in_place:
            return
        at = self._find_stable_path(target)
        temporary = self._staged[target.real] = name_beside(at)
        self._undo.append((name_beside(target.real), partial(unlink_if_there, temporary)))
        write_new(temporary, _content(target), target.mode, at if target.facts else None)

    def _make_folders(self, folder: str) -> None:
        missing: list[str] = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            try:
                os.mkdir(path)
            except FileExistsError as error:
                raise NotAFolderError(path) from error
            self._undo.append((path, partial(remove_if_empty, path)))

    def _write_target(self, target: _Target) -> None:
        _check_base(target)
        before = target.write.base or b""
        if target.facts is None:
            self._name_new(self._staged[target.real], target)
        elif target.is_in_place:
            with opened_in_place(self._find_stable_path(target), before, target.write.path) as file:
                undo = partial(restore_in_place, self._find_stable_path(target), before, target.facts)
                self._undo.append((target.path, undo))
                overwrite(file, _content(target))
            if target.mode is not None and target.mode != _permissions(target.facts):
                os.chmod(self._find_stable_path(target), target.mode)
        else:
            os.replace(self._staged[target.real], self._find_stable_path(target))
            undo = partial(restore, self._find_stable_path(target), before, target.facts, _content(target))
            self._undo.append((target.path, undo))

    def _name_new(self, temporary: str, target: _Target) -> None:
        """Give the temporary file its name, unless another program has just created a file with that name."""
        at = self._find_stable_path(target)
        undo = (target.path, partial(unlink_own, at, _content(target)))
        try:
            os.link(temporary, at, follow_symlinks=False)  # a rename would overwrite an existing file
        except FileExistsError as error:
            raise StaleFileError(target.write.path, "the file exists already") from error
        except OSError:  # a file system without hard links
            os.rename(temporary, at)
            self._undo.append(undo)
        else:
            self._undo.append(undo)
            unlink_if_there(temporary)

    def _take_away(self, target: _Target) -> None:
        """Rename a file that is to be deleted, so that it can be restored if a later step fails."""
        _check_base(target)
        at = self._find_stable_path(target)
        aside = name_beside(at)
        link = os.readlink(at) if os.path.islink(at) else ""
        os.rename(at, aside)
        self._set_aside.append((target, aside))
        undo = partial(bring_back, at, aside, target.write.base or b"", target.mode, link)
        self._undo.append((target.path, undo))
        try:
            self._check_right()
        except BaseException:
            # Restore the file. If another process has called `sweep`, it has removed the renamed file, which
            # cannot be restored. If the file cannot be restored, it stays deleted.
            with suppress(OSError):
                os.link(aside, at, follow_symlinks=False)
                os.unlink(aside)
            raise
        if not link and content_of(aside) != target.write.base:
            raise StaleFileError(target.write.path)  # another program has changed the file: restore it


def _remove(path: str, target: _Target) -> None:
    os.unlink(path)


def _content(target: _Target) -> bytes:
    assert target.write.content is not None, "deletions are not written"
    return target.write.content


# --- error messages -------------------------------------------------------------------------------------------


def _as_env_error(asked: str, error: OSError | ValueError | EnvError) -> EnvError:
    match error:
        case EnvError():
            return error
        case PermissionError():
            return AccessDeniedError(asked)
        case _:
            return CommitError(asked, _reason(error))


def _reason(error: OSError | ValueError | EnvError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
