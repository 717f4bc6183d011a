"""Writes several files or none (SEMANTICS 8.2 to 8.5). It blocks: called in a thread, and never abandoned there.

New contents are first written beside their targets; then each target is looked at once more and replaced by a
rename. Deletions come last. Every step that did something leaves its undoing on a stack; what somebody else made of a
file meanwhile is not undone. The files that are deleted go last of all, when nothing else can fail any more.

Who writes may lose the right to at any point, and may be standing still there. So it is asked before each step, and who
takes the right away then removes what is staged (`sweep`): a rename after that finds nothing to rename. What was done
until then stands, and nothing more is, no undoing either.
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
from agent_ls.environments.opened import demand_opened, real_path
from agent_ls.system import is_alive

_UNLIMITED_BYTES = 1 << 62

# Two sessions of one server must not both find a file unchanged and then both write it.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Target:
    """One write and the file that it means.

    `real` is `path` without links, but for the last one of a deletion. `facts` None: there is no such file.
    `mode` None: what the system gives a new file.
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
    def changes(self) -> bool:
        return self.write.content != self.write.base

    @property
    def is_in_place(self) -> bool:
        return self.facts is not None and _is_in_place(self.real, self.facts)


class DeletedModes:
    """Permission bits of deleted files: one that comes back as it was, a deletion undone, has them again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, int]] = {}

    def note(self, target: _Target) -> None:
        if target.is_deletion and target.mode is not None:
            self._known[target.path] = _digest(target.write.base), target.mode

    def of(self, path: str, content: bytes | None) -> int | None:
        digest, mode = self._known.get(path, (b"", None))
        return mode if digest == _digest(content) else None


def _digest(content: bytes | None) -> bytes:
    return hashlib.sha256(content or b"").digest()


def is_written_in_place(path: str) -> bool:
    """Whether new contents of this file are not put there by a rename. Does not raise."""
    try:
        real = os.path.realpath(path)
        return _is_in_place(real, os.stat(real))
    except (OSError, ValueError):
        return False


def _is_in_place(real: str, facts: os.stat_result) -> bool:
    """A rename would part the file from its other names, or needs a folder that we may not write."""
    return facts.st_nlink > 1 or not os.access(os.path.dirname(real), os.W_OK)


def anybody() -> None:
    """Nobody takes away the right to write."""


def commit(
    writes: Sequence[FileWrite],
    resolve: Callable[[str], str],
    deleted: DeletedModes,
    demand_right: Callable[[], None] = anybody,
) -> list[FileState]:
    """As ExecutionEnvironment.commit; `resolve` makes a path absolute. `demand_right` raises where nothing may be
    written any more, an error that is none of ours.
    """
    with _ONE_AT_A_TIME:
        targets = [_look(write, resolve, deleted) for write in writes]
        _refuse_repeats(targets)
        _Transaction(demand_right).run([target for target in targets if target.changes])
        for target in targets:
            deleted.note(target)
    return [FileState(target.path, target.write.base, target.write.content) for target in targets]


def sweep(folders: Collection[str], pid: int, *, is_put_out: bool = False) -> None:
    """Removes what a process that was killed in a commit left beside the files of these folders. Does not raise.

    `is_put_out`: it may live, and has lost its right to write. What it has staged there for another session is removed
    too, and fails: it was standing still.
    """
    if is_alive(pid) and not is_put_out:
        return
    for folder in folders:
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(temporary_prefix(pid)):
                    unlink_if_there(os.path.join(folder, name))


# --- looking --------------------------------------------------------------------------------------------------


def _look(write: FileWrite, resolve: Callable[[str], str], deleted: DeletedModes) -> _Target:
    path = resolve(write.path)
    try:
        facts = _facts(path)
        if write.mode_from:
            mode: int | None = _permissions(os.stat(resolve(write.mode_from)))
        else:
            mode = _permissions(facts) if facts else deleted.of(path, write.content)
        target = _Target(write, path, _real(path, write), facts, mode)
    except (OSError, ValueError) as error:
        raise _as_env_error(write.path, error) from error
    _demand_base(target)
    if facts and target.changes and not target.is_deletion:
        _demand_writable(target, facts)
    return target


def _real(path: str, write: FileWrite) -> str:
    if write.content is None:  # deleting a link leaves what it names
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return os.path.realpath(path)


def _facts(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _permissions(facts: os.stat_result) -> int:
    return stat.S_IMODE(facts.st_mode)


def _demand_base(target: _Target) -> None:
    asked, base = target.write.path, target.write.base
    try:
        current: bytes | None = read_file(target.path, asked, _UNLIMITED_BYTES)
    except PathNotFoundError:
        current = None
    if current == base:
        return
    if base is None:
        raise StaleFileError(asked, "it exists already")
    if current is None:
        raise StaleFileError(asked, "it no longer exists")
    raise StaleFileError(asked)


def _demand_writable(target: _Target, facts: os.stat_result) -> None:
    """A rename would get past a file's own permissions, which are somebody's will."""
    if not _permissions(facts) & 0o222:
        raise AccessDeniedError(target.write.path, "the file is read-only")
    if not os.access(target.real, os.W_OK):
        raise AccessDeniedError(target.write.path)


def _refuse_repeats(targets: Sequence[_Target]) -> None:
    seen: set[str] = set()
    for target in targets:
        if target.real in seen:
            raise CommitError(target.write.path, "it is named twice in one commit")
        seen.add(target.real)


# --- writing --------------------------------------------------------------------------------------------------


class _Transaction:
    def __init__(self, demand_right: Callable[[], None]) -> None:
        self._demand_right = demand_right
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
            (self._put, writes),
            (self._take_away, [target for target in targets if target.is_deletion]),
        ):
            for target in some:
                self._try(step, target)
        for target, aside in self._set_aside:
            self._try(partial(_remove, aside), target)  # brought back, where even that fails
        for folder in {os.path.dirname(self._at(target)) for target in targets}:
            sync_folder(folder)

    def _at(self, target: _Target) -> str:
        """The file by a name that leads where it was looked at, whatever becomes of the folders around it meanwhile."""
        folder, name = os.path.split(target.real)
        if folder not in self._held:
            self._held[folder] = self._hold(folder, target.write.path)
        return os.path.join(self._held[folder], name)

    def _hold(self, folder: str, asked: str) -> str:
        """The folder held open, and its name by that; its own name where the system has no such names."""
        if not hasattr(os, "O_DIRECTORY"):
            return folder
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._open.callback(os.close, descriptor)
        real = real_path(descriptor)
        if real and real != folder:
            raise StaleFileError(asked, "its folder has become another")
        demand_opened(descriptor, os.fstat(descriptor))
        return f"/proc/self/fd/{descriptor}" if real else folder

    def _try(self, step: Callable[[_Target], None], target: _Target) -> None:
        self._go_on()
        try:
            step(target)
        except (OSError, ValueError, EnvError) as error:
            self._go_on()  # it may have failed because another has the right now, who found the files as they are
            unrestored = self._roll_back()
            if unrestored:
                raise CommitError(target.write.path, _reason(error), unrestored) from error
            raise _as_env_error(target.write.path, error) from error

    def _go_on(self) -> None:
        try:
            self._demand_right()
        except BaseException:
            for temporary in self._staged.values():
                with suppress(OSError):
                    os.unlink(temporary)
            raise

    def _roll_back(self) -> tuple[str, ...]:
        """Undoes everything, newest first; the paths for which that failed."""
        unrestored: list[str] = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                unrestored.append(path)
        return tuple(dict.fromkeys(unrestored))

    def _stage(self, target: _Target) -> None:
        """Makes the folders, and the new content under another name in the same folder."""
        self._make_folders(os.path.dirname(target.real))
        if target.is_in_place:
            return
        at = self._at(target)
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

    def _put(self, target: _Target) -> None:
        _demand_base(target)
        before = target.write.base or b""
        if target.facts is None:
            self._name_new(self._staged[target.real], target)
        elif target.is_in_place:
            with opened_in_place(self._at(target), before, target.write.path) as file:
                undo = partial(restore_in_place, self._at(target), before, target.facts)
                self._undo.append((target.path, undo))
                overwrite(file, _content(target))
            if target.mode is not None and target.mode != _permissions(target.facts):
                os.chmod(self._at(target), target.mode)
        else:
            os.replace(self._staged[target.real], self._at(target))
            undo = partial(restore, self._at(target), before, target.facts, _content(target))
            self._undo.append((target.path, undo))

    def _name_new(self, temporary: str, target: _Target) -> None:
        """Gives the temporary file its name, unless somebody took the name just now."""
        at = self._at(target)
        undo = (target.path, partial(unlink_own, at, _content(target)))
        try:
            os.link(temporary, at, follow_symlinks=False)  # a rename would overwrite
        except FileExistsError as error:
            raise StaleFileError(target.write.path, "it exists already") from error
        except OSError:  # a file system without hard links
            os.rename(temporary, at)
            self._undo.append(undo)
        else:
            self._undo.append(undo)
            unlink_if_there(temporary)

    def _take_away(self, target: _Target) -> None:
        """Renames it first, so that a later failure can bring back the very same file."""
        _demand_base(target)
        at = self._at(target)
        aside = name_beside(at)
        link = os.readlink(at) if os.path.islink(at) else ""
        os.rename(at, aside)
        self._set_aside.append((target, aside))
        undo = partial(bring_back, at, aside, target.write.base or b"", target.mode, link)
        self._undo.append((target.path, undo))
        try:
            self._demand_right()
        except BaseException:
            # Nothing was staged that could have been taken away. Who swept it aside has seen the file deleted.
            with suppress(OSError):
                os.link(aside, at, follow_symlinks=False)
                os.unlink(aside)
            raise
        if not link and content_of(aside) != target.write.base:
            raise StaleFileError(target.write.path)  # somebody wrote to it just now: it is brought back


def _remove(path: str, target: _Target) -> None:
    os.unlink(path)


def _content(target: _Target) -> bytes:
    assert target.write.content is not None, "deletions are not written"
    return target.write.content


# --- saying what went wrong -----------------------------------------------------------------------------------


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
