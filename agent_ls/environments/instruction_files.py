"""Find and read files with instructions (skills, commands, kinds of subagents, tool definitions), within
limits.

Links to files outside of the searched folder are followed only in the user's own folders. The agent-ls process on a
remote machine uses this module too.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from agent_ls.paths import is_within

MAX_LEVELS = 30
MAX_DEPTH = 5
MAX_FOLDERS = 2_000
MAX_FILES = 300
MAX_BYTES = 64 * 1024
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
PASSED_OVER = frozenset({"node_modules", ".git", "__pycache__", ".venv"})


Signature: TypeAlias = tuple[int, int, int]
"""Modification time, size and inode number of a file."""


class UnreadableFileError(Exception):
    """The file cannot be used. The message is a clause for a sentence to the user ("it is longer than 64 KiB")."""


@dataclass(slots=True)
class ReadBudget:
    """The number of folders and files that a search may still read, in total.

    `left_out` are the files that the search did not read because links lead to them.
    """

    folders: int = MAX_FOLDERS
    files: int = MAX_FILES
    is_spent: bool = field(default=False, init=False)
    left_out: list[str] = field(default_factory=list, init=False)


class InstructionFiles(Protocol):
    """Interface to the instruction files of a machine. All methods block."""

    def levels(self, workspace: str) -> Sequence[str]:
        """Return the folders from the root of the git repository down to `workspace`.

        Without a repository, return only `workspace`.
        """
        ...

    def has_own_folder(self, level: str, folder: str) -> bool:
        """Return whether `folder`, relative to `level`, is a folder and no part of it is a link."""
        ...

    def walk(
        self, base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool]
    ) -> Iterator[str]:
        """Yield the files below `base` whose names end with `suffix`; see `walk_files`."""
        ...

    def signature(self, path: str) -> Signature | None:
        """Return a value that changes whenever the file changes; see `read_signature`."""
        ...

    def real_folder(self, path: str) -> str:
        """Return the folder that contains the file `path`, with links resolved."""
        ...

    def read(self, path: str, base: str) -> tuple[str, Signature]:
        """Return the text of a file below `base`, and its signature; see `read_text`."""
        ...


class LocalInstructionFiles:
    """Implements InstructionFiles for this machine."""

    def levels(self, workspace: str) -> Sequence[str]:
        return find_levels(workspace)

    def has_own_folder(self, level: str, folder: str) -> bool:
        return is_own_folder(level, folder)

    def walk(
        self, base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool]
    ) -> Iterator[str]:
        return walk_files(base, suffix, budget, is_ignored)

    def signature(self, path: str) -> Signature | None:
        return read_signature(path)

    def real_folder(self, path: str) -> str:
        return os.path.dirname(os.path.realpath(path))

    def read(self, path: str, base: str) -> tuple[str, Signature]:
        return read_text(path, base)


class UserInstructionFiles(LocalInstructionFiles):
    """The files in the user's own folders on this machine. Links in them lead wherever the user made them lead, for
    example to a repository with all skills. A file is found once, however many links lead to it.
    """

    def walk(
        self, base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool]
    ) -> Iterator[str]:
        seen: set[str] = set()
        for path in _walk(base, "", suffix, budget, is_ignored, MAX_DEPTH):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path

    def read(self, path: str, base: str) -> tuple[str, Signature]:
        return read_text(path, "")


LOCAL_FILES = LocalInstructionFiles()
USER_FILES = UserInstructionFiles()


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """An instruction file that was found below the searched folder `base`.

    `folder` is the folder that contains the file, with links resolved.
    """

    path: str
    base: str
    folder: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class Listing:
    """The instruction files of a project.

    `levels` are the folders from the root of the git repository down to the workspace. `bases` are the searched
    folders below these levels.
    """

    levels: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    files: tuple[InstructionFile, ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionText:
    """The text of a file. `problem` is the reason why the file cannot be used, or ""."""

    text: str
    problem: str = ""
    signature: Signature = (0, 0, 0)


def list_instructions(workspace: str, folders: Sequence[tuple[str, str]]) -> Listing:
    """Return the instruction files of a project. Blocks.

    `folders` are pairs of a relative folder and a suffix of file names. Each relative folder is searched in
    every folder from the root of the git repository down to `workspace`.
    """
    levels = find_levels(workspace)
    bases: dict[str, None] = {}
    files: dict[str, InstructionFile] = {}
    budget = ReadBudget(files=4 * MAX_FILES)
    for level in levels:
        for folder, suffix in folders:
            if not is_own_folder(level, folder):
                continue
            base = os.path.join(level, folder)
            bases[base] = None
            for path in walk_files(base, suffix, budget, lambda path: False):
                if signature := read_signature(path):
                    real = os.path.dirname(os.path.realpath(path))
                    files[path] = InstructionFile(path, base, real, signature)
    return Listing(tuple(levels), tuple(bases), tuple(files.values()))


def find_levels(workspace: str) -> list[str]:
    """Return the local folders from the root of the git repository down to `workspace`.

    Without a repository, return only `workspace`.
    """
    levels, level = [workspace], workspace
    for _ in range(MAX_LEVELS):
        if os.path.lexists(os.path.join(level, ".git")):
            return levels[::-1]
        level, below = os.path.dirname(level), level
        if level == below:
            break
        levels.append(level)
    return [workspace]


def is_own_folder(level: str, folder: str) -> bool:
    """Return whether no part of `folder`, a path relative to `level`, is a link."""
    return os.path.realpath(os.path.join(level, folder)) == os.path.join(os.path.realpath(level), folder)


def walk_files(
    base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the files below `base` whose names end with `suffix`, in capital or small letters, sorted by name. Blocks.

    A link is followed only if its target is below `base`. `is_ignored` returns whether the user's ignore file
    matches a path. Ends early when `budget` is used up.
    """
    real_base = os.path.realpath(base)
    yield from _walk(base, real_base, suffix, budget, is_ignored, MAX_DEPTH)


def _walk(
    folder: str, base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool], depth: int
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
        if is_ignored(entry.path):
            continue
        if base and entry.is_symlink() and not is_within(os.path.realpath(entry.path), base):
            budget.left_out += _files_behind(entry.path, suffix)
            continue
        if _is_folder(entry):
            if entry.name not in PASSED_OVER and depth > 1:
                folders.append(entry.path)
        elif entry.name.lower().endswith(suffix.lower()):
            if budget.files <= 0:
                budget.is_spent = True
                return
            budget.files -= 1
            yield entry.path
    for inner in folders:
        yield from _walk(inner, base, suffix, budget, is_ignored, depth - 1)


def _files_behind(link: str, suffix: str) -> Iterator[str]:
    """Yield the file to which a link leads, or the one with the name `suffix` in the folder to which it leads."""
    is_named = link.lower().endswith(suffix.lower())
    path = link if is_named else os.path.join(link, suffix)
    if os.path.isfile(path):
        yield path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: reading it tells the user
        return False


def read_signature(path: str) -> Signature | None:
    """Return a value that changes whenever a file changes; None if the file cannot be read. Blocks."""
    try:
        return _signature(os.stat(path))
    except OSError:
        return None


def _signature(facts: os.stat_result) -> Signature:
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def read_text(path: str, base: str) -> tuple[str, Signature]:
    """Return the text of a file below `base` ("": anywhere), and its signature. Blocks.

    Raises:
        UnreadableFileError
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableFileError("this is not a regular file")
            if base and not is_within(os.path.realpath(path), os.path.realpath(base)):
                raise UnreadableFileError("this is a symbolic link to a file outside its folder")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFileError(f"the file cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableFileError(f"the file is longer than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig"), _signature(facts)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"the file is not UTF-8 (byte {error.start})") from error


def list_other_files(path: str, limit: int, files: InstructionFiles = LOCAL_FILES) -> list[str]:
    """Return at most `limit` other files in and below the folder that contains a skill's file `path`. Blocks.

    The returned paths are relative to this folder.
    """
    folder = os.path.dirname(path)
    if files is USER_FILES:
        files = LOCAL_FILES  # links in the folder of a skill are no files of the skill
    budget = ReadBudget(folders=200, files=limit + 1)
    names = (os.path.relpath(name, folder) for name in files.walk(folder, "", budget, lambda path: False))
    return [name.replace(os.sep, "/") for name in names if name != os.path.basename(path)][:limit]


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe must not make the reader wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
