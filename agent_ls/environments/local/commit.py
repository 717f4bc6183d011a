"""Writes several files or none (SEMANTICS 8.2 to 8.5). It blocks: called in a thread, and never abandoned there.

New contents are first written beside their targets; then each target is looked at once more and replaced by a
rename. Deletions come last. Every step that did something leaves its undoing on a stack.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
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

_UNLIMITED_BYTES = 1 << 62
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line endings

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
        """A rename would part the file from its other names, or needs a folder that we may not write."""
        if self.facts is None:
            return False
        return self.facts.st_nlink > 1 or not os.access(os.path.dirname(self.real), os.W_OK)


def commit(writes: Sequence[FileWrite], resolve: Callable[[str], str]) -> list[FileState]:
    """As ExecutionEnvironment.commit; `resolve` makes a path absolute."""
    with _ONE_AT_A_TIME:
        targets = [_look(write, resolve) for write in writes]
        _refuse_repeats(targets)
        _Transaction().run([target for target in targets if target.changes])
    return [FileState(target.path, target.write.base, target.write.content) for target in targets]


def sweep(folders: Collection[str], pid: int) -> None:
    """Removes what a process that was killed in a commit left beside the files of these folders. Does not raise."""
    if os.name == "nt" or _is_alive(pid):
        return
    for folder in folders:
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(_temporary(pid)):
                    _unlink_if_there(os.path.join(folder, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


# --- looking --------------------------------------------------------------------------------------------------


def _look(write: FileWrite, resolve: Callable[[str], str]) -> _Target:
    path = resolve(write.path)
    try:
        facts = _facts(path)
        if write.mode_from:
            mode: int | None = _permissions(os.stat(resolve(write.mode_from)))
        else:
            mode = _permissions(facts) if facts else None
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
    def __init__(self) -> None:
        self._undo: list[tuple[str, Callable[[], object]]] = []
        self._staged: dict[str, str] = {}
        self._set_aside: list[str] = []

    def run(self, targets: Sequence[_Target]) -> None:
        writes = [target for target in targets if not target.is_deletion]
        for step, some in (
            (self._stage, writes),
            (self._put, writes),
            (self._take_away, [target for target in targets if target.is_deletion]),
        ):
            for target in some:
                self._try(step, target)
        for path in self._set_aside:
            with suppress(OSError):
                os.unlink(path)
        for folder in {os.path.dirname(target.real) for target in targets}:
            _sync_folder(folder)

    def _try(self, step: Callable[[_Target], None], target: _Target) -> None:
        try:
            step(target)
        except (OSError, ValueError, EnvError) as error:
            unrestored = self._roll_back()
            if unrestored:
                raise CommitError(target.write.path, _reason(error), unrestored) from error
            raise _as_env_error(target.write.path, error) from error

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
        temporary = self._staged[target.real] = _name_beside(target.real)
        self._undo.append((temporary, partial(_unlink_if_there, temporary)))
        _write_new(temporary, _content(target), target.mode, target.real if target.facts else None)

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
            self._undo.append((path, partial(_remove_if_empty, path)))

    def _put(self, target: _Target) -> None:
        _demand_base(target)
        before = target.write.base or b""
        if target.facts is None:
            _rename_to_new(self._staged[target.real], target)
            self._undo.append((target.path, partial(os.unlink, target.real)))
        elif target.is_in_place:
            self._undo.append((target.path, partial(_restore_in_place, target.real, before, target.facts)))
            _overwrite(target.real, _content(target))
            if target.mode is not None and target.mode != _permissions(target.facts):
                os.chmod(target.real, target.mode)
        else:
            os.replace(self._staged[target.real], target.real)
            self._undo.append((target.path, partial(_restore, target.real, before, target.facts)))

    def _take_away(self, target: _Target) -> None:
        """Renames it first, so that a later failure can bring back the very same file."""
        _demand_base(target)
        aside = _name_beside(target.real)
        os.rename(target.real, aside)
        self._set_aside.append(aside)
        self._undo.append((target.path, partial(os.rename, aside, target.real)))


def _content(target: _Target) -> bytes:
    assert target.write.content is not None, "deletions are not written"
    return target.write.content


def _name_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f"{_temporary(os.getpid())}{secrets.token_hex(8)}.tmp")


def _temporary(pid: int) -> str:
    """How the names of files begin that this process puts beside others for a moment."""
    return f".agent-ls-{pid}-"


def _write_new(path: str, content: bytes, mode: int | None, like: str | None) -> None:
    """A file that must not exist yet, on disk when this returns; owner and attributes as of the file `like`."""
    created_mode = 0o666 if mode is None else 0o600  # private until it has the bits that it is to have
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, created_mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if like:
            _copy_attributes(like, path)
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(file.fileno())


def _copy_attributes(source: str, path: str) -> None:
    """Owner, ACL and extended attributes as far as the system lets us (SEMANTICS 9.4), but not the times."""
    facts = os.stat(source)
    with suppress(OSError, AttributeError):
        os.chown(path, facts.st_uid, facts.st_gid)
    with suppress(OSError):
        shutil.copystat(source, path)
    os.utime(path)


def _rename_to_new(temporary: str, target: _Target) -> None:
    """Gives the temporary file its name, unless somebody took the name just now."""
    try:
        os.link(temporary, target.real, follow_symlinks=False)  # a rename would overwrite
    except FileExistsError as error:
        raise StaleFileError(target.write.path, "it exists already") from error
    except OSError:  # a file system without hard links
        os.rename(temporary, target.real)
    else:
        os.unlink(temporary)


def _overwrite(path: str, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | _BINARY), "wb") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _restore(path: str, content: bytes, facts: os.stat_result) -> None:
    temporary = _name_beside(path)
    try:
        _write_new(temporary, content, _permissions(facts), like=path)
        os.utime(temporary, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        os.replace(temporary, path)
    except OSError:
        _unlink_if_there(temporary)
        raise


def _restore_in_place(path: str, content: bytes, facts: os.stat_result) -> None:
    _overwrite(path, content)
    with suppress(OSError):  # only the owner may do this, and he need not be the one who may write
        os.chmod(path, _permissions(facts))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _unlink_if_there(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _remove_if_empty(folder: str) -> None:
    if not os.listdir(folder):
        os.rmdir(folder)


def _sync_folder(folder: str) -> None:
    """So that the renames survive a loss of power; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
