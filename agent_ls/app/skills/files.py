"""Finds and reads the files of skills and commands, within limits, and never through a link that leaves a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_DEPTH = 5
MAX_FOLDERS = 2_000
MAX_FILES = 300
MAX_BYTES = 64 * 1024
PASSED_OVER = frozenset({"node_modules", ".git", "__pycache__", ".venv"})


Signature: TypeAlias = tuple[int, int, int]
"""When a file was changed, its size and its number on the disk."""


class UnreadableFileError(Exception):
    """The file cannot be used. The message is half a sentence for the user ("it is longer than 64 KiB")."""


@dataclass(slots=True)
class Budget:
    """How many folders and files may still be looked at, over all places of one look."""

    folders: int = MAX_FOLDERS
    files: int = MAX_FILES
    is_spent: bool = field(default=False, init=False)


def walk_files(base: str, suffix: str, budget: Budget, is_ignored: Callable[[str], bool]) -> Iterator[str]:
    """Yield the files below `base` whose names end with `suffix`, in the order of their names. Blocks.

    A link is followed only if it leads to a place below `base`. `is_ignored` tells paths that the user's ignore file
    names. Ends early when `budget` is used up.
    """
    real_base = os.path.realpath(base)
    yield from _walk(base, real_base, suffix, budget, is_ignored, MAX_DEPTH)


def _walk(
    folder: str, base: str, suffix: str, budget: Budget, is_ignored: Callable[[str], bool], depth: int
) -> Iterator[str]:
    if budget.folders <= 0 or budget.files <= 0:
        budget.is_spent = True
        return
    budget.folders -= 1
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    folders = []
    for entry in entries:
        if entry.is_symlink() and not _is_below(os.path.realpath(entry.path), base):
            continue
        if is_ignored(entry.path):
            continue
        if entry.is_dir():
            if entry.name not in PASSED_OVER and depth > 1:
                folders.append(entry.path)
        elif entry.name.endswith(suffix):
            if budget.files <= 0:
                budget.is_spent = True
                return
            budget.files -= 1
            yield entry.path
    for inner in folders:
        yield from _walk(inner, base, suffix, budget, is_ignored, depth - 1)


def read_signature(path: str) -> Signature | None:
    """Return a value that changes whenever a file does; None if it cannot be read. Blocks."""
    try:
        return _signature(os.stat(path))
    except OSError:
        return None


def _signature(facts: os.stat_result) -> Signature:
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def read_text(path: str, base: str) -> tuple[str, Signature]:
    """Return the text of a file below `base`, and its signature. Blocks.

    Raises:
        UnreadableFileError
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableFileError("it is not a regular file")
            if not _is_below(os.path.realpath(path), os.path.realpath(base)):
                raise UnreadableFileError("it is a link to a place outside its folder")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFileError(f"it cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"it is longer than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8"), _signature(facts)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"it is not UTF-8 (byte {error.start})") from error


def list_other_files(path: str, limit: int) -> list[str]:
    """Return the files next to and below a skill's file, relative to its folder, at most `limit`. Blocks."""
    folder = os.path.dirname(path)
    budget = Budget(folders=200, files=limit + 1)
    names = (os.path.relpath(name, folder) for name in walk_files(folder, "", budget, lambda path: False))
    return [name.replace(os.sep, "/") for name in names if name != os.path.basename(path)][:limit]


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe must not make the reader wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
