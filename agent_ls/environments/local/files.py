"""Read and list files of this machine. The functions block: call them in a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from agent_ls.environments.base import DirEntry
from agent_ls.environments.errors import (
    AccessDeniedError,
    EnvError,
    FileTooLargeError,
    NotAFileError,
    NotAFolderError,
    PathNotFoundError,
)
from agent_ls.environments.opened import check_opened, real_path, run_path_check

CHUNK_BYTES = 1 << 20
# O_NONBLOCK: if a named pipe replaces the file after the check, opening the pipe must not wait for a writer.
_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_file(path: str, asked: str, max_bytes: int) -> bytes:
    """Return the content of a regular file. `asked` is the path as the caller wrote it, for error messages."""
    run_path_check()
    try:
        check_regular_file(
            os.stat(path), asked
        )  # check before opening, because opening a device can already have an effect
        descriptor = os.open(path, _OPEN_FLAGS)
        try:
            facts = os.fstat(descriptor)
            check_regular_file(facts, asked)
            check_opened(descriptor, facts)
            return _read(descriptor, asked, facts.st_size, max_bytes)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise env_error(asked, error) from error


def _read(descriptor: int, asked: str, size_bytes: int, max_bytes: int) -> bytes:
    if size_bytes > max_bytes:
        raise FileTooLargeError(asked, size_bytes, max_bytes)
    # The size is only a hint: a file may grow, and files in /proc have size 0. If the size is right, one read
    # returns everything and nothing is copied.
    chunks = []
    length = 0
    wanted = size_bytes or CHUNK_BYTES
    while chunk := os.read(descriptor, wanted):
        chunks.append(chunk)
        length += len(chunk)
        if length > max_bytes:
            raise FileTooLargeError(asked, length, max_bytes)
        wanted = CHUNK_BYTES
    return b"".join(chunks)


def check_regular_file(facts: os.stat_result, asked: str) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise NotAFileError(
            asked, next((what for is_kind, what in _KINDS if is_kind(facts.st_mode)), "special")
        )


def list_folder(path: str, asked: str, depth: int) -> list[DirEntry]:
    run_path_check()
    try:
        with _opened_folder(path) as folder:
            return _list_folder(folder, "", depth)
    except NotADirectoryError as error:
        raise (NotAFolderError if os.path.exists(path) else PathNotFoundError)(asked) from error
    except (OSError, ValueError) as error:
        if os.path.isfile(path):  # Windows reports a file in place of a folder in several ways
            raise NotAFolderError(asked) from error
        raise env_error(asked, error) from error


@contextmanager
def _opened_folder(path: str) -> Iterator[str]:
    """Open and check a folder; yield a path that leads to this folder even if another folder replaces it."""
    if not hasattr(os, "O_DIRECTORY"):
        yield path
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        check_opened(descriptor, os.fstat(descriptor))
        yield f"/proc/self/fd/{descriptor}" if real_path(descriptor) else path
    finally:
        os.close(descriptor)


def _list_folder(folder: str, prefix: str, depth: int) -> list[DirEntry]:
    with os.scandir(folder) as entries:
        by_name = sorted(entries, key=lambda entry: entry.name)
    found: list[DirEntry] = []
    for entry in by_name:
        is_dir = entry.is_dir(follow_symlinks=False)
        found.append(DirEntry(prefix + entry.name, is_dir, None if is_dir else _size(entry)))
        if is_dir and depth > 1:
            try:
                found += _list_folder(entry.path, f"{prefix}{entry.name}/", depth - 1)
            except OSError:
                continue  # this subfolder cannot be read, or was just removed: list only its name
    return found


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0  # the file was removed after it was listed


def env_error(asked: str, error: OSError | ValueError) -> EnvError:
    """Convert a system error about a path to an EnvError. ValueError: the file name contains NUL."""
    match error:
        case ValueError() | FileNotFoundError() | NotADirectoryError():
            return PathNotFoundError(asked)
        case IsADirectoryError():
            return NotAFileError(asked)
        case _:
            return AccessDeniedError(asked, (error.strerror or str(error)).lower())
