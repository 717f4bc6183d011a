"""Grep and glob on this machine with ripgrep or, if it is missing, with the functions of `environments.search`."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar, TypeVarTuple

from anyio import from_thread, to_thread

from agent_ls.environments import globs, search, timed_search
from agent_ls.environments.base import GrepLine, GrepOptions, GrepResult
from agent_ls.environments.errors import (
    EnvError,
    InvalidPatternError,
    NotAFolderError,
    PathNotFoundError,
    SearchLimitError,
)
from agent_ls.environments.instruction_files import find_levels
from agent_ls.environments.local import ripgrep
from agent_ls.environments.local.files import check_regular_file, read_file
from agent_ls.environments.local.git_index import tracked_files, tracked_paths
from agent_ls.environments.local.processes.ending import run_process
from agent_ls.environments.local.spelling import existing_spelling
from agent_ls.environments.local.user_rules import find_user_rules
from agent_ls.environments.search import not_excluded
from agent_ls.paths import is_within
from agent_ls.patterns import regex
from agent_ls.text import decode, has_lone_cr

COUNTED_FILES, COUNTED_BYTES = 200, 16 * 1024 * 1024
"""In so many files with results, lines are counted as read_file counts them."""

_WITH_RULES = regex(r"\0((?:[^\0]*/)?)\.gitignore(?=\0)")
"""The folders with a .gitignore, in a listing."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class LocalSearch:
    """Searches on this machine. Paths are absolute; `asked` is the path as the caller wrote it."""

    def __init__(
        self, root: str, program: str | None = None, *, limit_s: float = timed_search.SEARCH_LIMIT_S
    ) -> None:
        """Create the search. `root` is the working directory.

        `program` is the path of ripgrep, "" to search without ripgrep, None to search for the program. `limit_s` is how
        long one grep may compute.
        """
        self._root = slashed(root)
        self._program = program
        self._limit_s = limit_s

    async def grep(self, pattern: str, path: str, asked: str, options: GrepOptions) -> GrepResult:
        search.check_pattern_text(pattern)
        path, rules = await _in_thread(_find_path, path, asked)
        command = await self._ripgrep(path)
        if not command:
            return await self._grep_without(pattern, path, options, rules)
        try:
            return await self._grep_with(command, pattern, path, options, rules)
        except InvalidPatternError:
            if not search.looks_around(pattern, options):
                raise
        return await self._grep_without(pattern, path, options, rules)

    async def _grep_without(self, pattern: str, path: str, options: GrepOptions, rules: str) -> GrepResult:
        regex = search.compile_pattern(pattern, options)
        where = (self._root, path, options, self._limit_s, rules)
        return await timed_search.run_timed(
            pattern, options, _grep_without, regex, *where, limit_s=self._limit_s
        )

    async def _grep_with(
        self, command: Sequence[str], pattern: str, path: str, options: GrepOptions, rules: str
    ) -> GrepResult:
        hidden = await self._list_hidden(command, path, rules)
        is_hidden: Callable[[str], bool] | None = await _in_thread(self._marked_rules, path, path, *hidden)
        arguments = [
            *command,
            *ripgrep.rules_arguments(rules),
            *ripgrep.grep_arguments(pattern, path, options),
            *hidden,
        ]
        findings = await self._grep(arguments, pattern, path, options, is_hidden)
        if not findings.lines and await self._is_all_ignored(command, path, rules):
            arguments[1:1] = ripgrep.NO_GIT_RULES
            is_hidden = None
            findings = await self._grep(arguments, pattern, path, options, is_hidden)
        if findings.is_full:
            # ripgrep has found more matches than the limit, in random order. So search again, sorted by path.
            # Sorting makes ripgrep single-threaded, but the search ends as soon as it has found enough matches.
            arguments.insert(1, "--sort=path")
            result = (await self._grep(arguments, pattern, path, options, is_hidden)).result()
        else:
            result = search.merge_lines(findings.lines, options, is_full=False)
        return await self._count_again(result, pattern, options)

    async def _count_again(self, result: GrepResult, pattern: str, options: GrepOptions) -> GrepResult:
        """Return the result with the lines and numbers of read_file, where a CR alone ends a line too, and a NUL none.

        For ripgrep it is the other way round.
        """
        if not (texts := await _in_thread(self._texts_to_count, result.lines)):
            return result
        lines = [line for line in result.lines if line.path not in dict(texts)]
        try:
            regex = search.compile_pattern(pattern, options)
            for found in await timed_search.run_timed(
                pattern, options, timed_search.grep_texts, texts, regex, options, limit_s=self._limit_s
            ):
                lines += found
        except (InvalidPatternError, SearchLimitError):  # valid and quick for ripgrep only
            return result
        return search.merge_lines(lines, options, is_full=result.truncated)

    def _texts_to_count(self, lines: Sequence[GrepLine]) -> list[tuple[str, bytes]]:
        found: list[tuple[str, bytes]] = []
        rest = COUNTED_BYTES
        for name in islice(dict.fromkeys(line.path for line in lines), COUNTED_FILES):
            data = _DiskTree().bytes(os.path.join(self._root, name))
            if (rest := rest - len(data)) < 0:
                break
            if b"\0" in data or (b"\r" in data and has_lone_cr(decode(data).text)):
                found.append((name, data))
        return found

    async def _grep(
        self,
        arguments: Sequence[str],
        pattern: str,
        path: str,
        options: GrepOptions,
        is_hidden: Callable[[str], bool] | None,
    ) -> search.ResultLines:
        findings, passes = search.ResultLines(options), globs.file_filter(options)
        parser = ripgrep.JsonParser(self._root)
        limited = ripgrep.limit_computing(arguments, math.ceil(self._limit_s))
        async with run_process(limited, self._root) as process:
            assert process.stdout
            async for chunk in process.stdout:
                found = []
                for lines in parser.feed(chunk):
                    shown = lines[0].path
                    if passes(shown, search.shown_path(os.path.join(self._root, shown), path)):
                        found.append(lines)
                if found and is_hidden:
                    found = await _in_thread(self._visible, found, is_hidden)
                if not all(map(findings.add, chain(*found))):
                    return findings
            await ripgrep.check_pattern_errors(process, pattern)
            await process.wait()
            if ripgrep.is_ended_at_limit(process):
                raise SearchLimitError(pattern, self._limit_s)
        return findings

    def _visible(self, found: list[list[GrepLine]], is_hidden: Callable[[str], bool]) -> list[list[GrepLine]]:
        return [lines for lines in found if not is_hidden(os.path.join(self._root, lines[0].path))]

    async def glob(self, pattern: str, path: str, asked: str) -> Sequence[str]:
        plan, rules = await _in_thread(_plan, pattern, path, asked)
        if plan is None:
            return []
        command = await self._ripgrep(plan.folder)
        if command:
            files = await self._list(command, rules, plan.folder, plan.name)
            if not files and await self._is_all_ignored(command, plan.folder, rules):
                files = await self._list(command, rules, plan.folder, plan.name, *ripgrep.NO_GIT_RULES)
        else:
            files = await _in_thread(_files_to_search, plan.folder, self._root, rules)
        return await _in_thread(self._filter_matching, files, plan)

    async def _is_all_ignored(self, command: Sequence[str], path: str, rules: str) -> bool:
        """Return whether `path` is a folder below the working directory whose files are all ignored by git's rules. Who
        names such a folder wants to search it.
        """
        is_inside = path != self._root and await _in_thread(os.path.isdir, path)
        return is_inside and not await self._list(command, rules, path)

    async def _list(
        self, command: Sequence[str], rules: str, folder: str, name: str = "", *more: str
    ) -> set[str]:
        arguments = [*command, *ripgrep.rules_arguments(rules), *more, *ripgrep.list_arguments(folder, name)]
        async with run_process(arguments, self._root) as process:
            listing = await ripgrep.read_all(process.stdout)
        return await _in_thread(self._read_listing, listing, folder)

    def _read_listing(self, listing: bytes, folder: str) -> set[str]:
        is_hidden = self._marked_rules(folder)
        return {file for file in map(os.fsdecode, listing.split(b"\0")[:-1]) if not is_hidden(file)}

    def _marked_rules(self, searched: str, *shown: str) -> Callable[[str], bool]:
        """Return whether a rule that ripgrep misreads hides a file, but none of `shown`. Both block."""
        top = _top_of_rules(self._root, searched)
        rules, never = search.MisreadRules(_DiskTree(), top, searched), frozenset(shown)
        return lambda file: file not in never and rules.is_hidden(file)

    async def _list_hidden(self, command: Sequence[str], path: str, rules: str) -> Sequence[str]:
        """Return the files below the folder `path` that git tracks although they are ignored."""
        if not await _in_thread(_has_tracked_files, path):
            return ()
        listed = await self._list(command, rules, path)
        return await _in_thread(tracked_besides, listed, path, self._root)

    async def files(self, limit: int) -> Sequence[str]:
        """Return at most `limit` files of the working directory as relative paths, unordered, without ignored
        files.
        """
        rules = await _in_thread(_check_root, self._root)
        command = await self._ripgrep(self._root)
        if command:
            return await self._first_listed(command, rules, limit)
        found = await _in_thread(self._first_walked, rules, limit)
        return found if len(found) >= limit else [*found, *await self._hidden_below_root(found)][:limit]

    async def _hidden_below_root(self, shown: Iterable[str]) -> Sequence[str]:
        above = self._root.rstrip("/") + "/"
        listed = {above + name for name in shown}
        hidden = await _in_thread(tracked_besides, listed, self._root, self._root)
        return [file.removeprefix(above) for file in hidden]

    async def _first_listed(self, command: Sequence[str], rules: str, limit: int) -> Sequence[str]:
        arguments = [*command, *ripgrep.rules_arguments(rules), *ripgrep.list_arguments(self._root, "")]
        chunks: list[bytes] = []
        count = 0
        async with run_process(arguments, self._root) as process:
            assert process.stdout
            async for chunk in process.stdout:
                chunks.append(chunk)
                count += chunk.count(b"\0")
                if count >= limit:
                    break
        found = (await _in_thread(self._split_listing, b"".join(chunks)))[:limit]
        return found if count >= limit else [*found, *await self._hidden_below_root(found)][:limit]

    def _split_listing(self, listing: bytes) -> list[str]:
        """Return the relative paths in a listing whose paths end with NUL.

        The text is converted as a whole, because one call per path takes most of the time in a large project.
        """
        text = listing.decode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
        above = self._root.rstrip("/") + "/"
        text = f"\0{text}".replace(f"\0{above}", "\0")
        names = text.split("\0")[1:-1]
        rules = search.MisreadRules(_DiskTree(), _top_of_rules(self._root, self._root), self._root)
        if not rules.has_any(
            [self._root, *(f"{above}{folder}".rstrip("/") for folder in _WITH_RULES.findall(text))]
        ):
            return names
        return [name for name in names if not rules.is_hidden(above + name)]

    def _first_walked(self, rules: str, limit: int) -> Sequence[str]:
        above = self._root.rstrip("/") + "/"
        names: list[str] = []
        for file in islice(_files_below(self._root, self._root, rules), limit):
            from_thread.check_cancelled()
            names.append(file.removeprefix(above))
        return names

    def _filter_matching(self, files: set[str], plan: globs.GlobPlan) -> Sequence[str]:
        every = files | tracked_paths(plan.folder)
        by_name = {search.shown_path(file, plan.folder): file for file in every}
        selected = [by_name[name] for name in plan.select(by_name)]
        top = _top_of_rules(self._root, plan.folder)
        hidden = existing((file for file in selected if file not in files), top)
        found = [*(file for file in selected if file in files), *hidden]
        newest_first = sorted((-_mtime_ns(file), search.path_order(file), file) for file in found)
        return [search.shown_path(file, self._root) for _, _, file in newest_first]

    async def _ripgrep(self, path: str) -> Sequence[str]:
        """Return the begin of a command line that searches `path`; () to search without ripgrep."""
        if self._program is None:
            self._program = await _in_thread(_find_ripgrep)
        scope = await _in_thread(_scope, self._root, path) if self._program else None
        return () if scope is None else (self._program, *scope)


def _find_ripgrep() -> str:
    return ripgrep.find_working(ripgrep.candidates())


def _scope(root: str, path: str) -> Sequence[str] | None:
    """Return the options of ripgrep for the ignore files above `path`: those of the repository count, or, without one,
    those from `root` down. None if ripgrep cannot leave out the files above `root` alone, or misreads one. Blocks.

    So rules for all files in the home folder hide no project below it, whether or not the home folder is a repository.
    """
    root = root if is_within(path, root, "/") else path
    top = _root_of_rules(root)
    if _hides_too_much(top, path):
        return None
    above = search.folders_between("/", top)
    if not any(os.path.lexists(os.path.join(folder, search.IGNORE_FILES[0])) for folder in above):
        return ripgrep.ALL_PARENTS
    if os.path.lexists(os.path.join(top, search.NEVER_LISTED)):
        return ripgrep.OF_REPOSITORY
    return ripgrep.NO_PARENTS if path == root else None


def _hides_too_much(top: str, path: str) -> bool:
    """Return whether ripgrep may not find files below `path` because it misreads a rule from `top` down. Blocks."""
    folders = [*search.folders_between(top, path), path]
    texts = (_DiskTree().text(os.path.join(folder, search.IGNORE_FILES[0])) for folder in folders)
    below = [os.path.basename(folder) for folder in folders[1:]]
    return any(search.hides_too_much(text, below[at:]) for at, text in enumerate(texts))


def _top_of_rules(root: str, path: str) -> str:
    """Return the highest folder whose ignore files apply in a search of `path` with the working directory `root`."""
    return _root_of_rules(root if is_within(path, root, "/") else path)


def hidden_above(
    folder: str, root: str, entries: Sequence[tuple[str, bool]], tracked: Collection[str]
) -> set[str]:
    """Return those of `entries` in `folder` that an ignore file above the working directory `root`, or the user's own,
    hides. Of files that git tracks (`tracked`), those that an `.ignore` hides. Blocks.
    """
    folder, root = slashed(folder), slashed(root)
    top = _top_of_rules(root, folder)
    inner = root if is_within(folder, root, "/") else folder
    tree = _DiskTree(find_user_rules())
    hidden = search.hidden_above(tree, folder, inner, top, entries)
    paths = {f"{folder.rstrip('/')}/{name}": name for name in tracked} if top != inner else {}
    shown = {paths[path] for path in not_excluded(tree, paths, top)}
    return hidden.difference(tracked) | {*paths.values()} - shown


def _root_of_rules(folder: str) -> str:
    """Return the highest folder whose ignore files apply in `folder`: the root of the repository, or `folder` itself
    without a repository, and in one that hides `folder`. Blocks.
    """
    top = slashed(find_levels(folder)[0])
    return folder if search.is_hidden_folder(_DiskTree(), top, folder) else top


def _grep_without(
    regex: re.Pattern[str], root: str, path: str, options: GrepOptions, limit_s: float, rules: str
) -> GrepResult:
    """Search without ripgrep, in a thread or a separate process. `rules` is the user's ignore file."""
    end = time.thread_time() + limit_s
    findings = search.ResultLines(options)
    passes = globs.file_filter(options)
    disk = _DiskTree()
    files = _files_to_search(path, root, rules)
    if _has_tracked_files(path):
        files |= {*tracked_besides(files, path, root)}
    for file in sorted(files, key=search.path_order):
        with suppress(RuntimeError):  # raised in a separate process, which cancellation ends anyway
            from_thread.check_cancelled()
        if time.thread_time() > end:
            raise SearchLimitError(regex.pattern, limit_s)
        shown = search.shown_path(file, root)
        if not passes(shown, search.shown_path(file, path)):
            continue
        if not all(map(findings.add, search.grep_text(shown, disk.bytes(file), regex, options))):
            break
    return findings.result()


def slashed(path: str) -> str:
    """Return the path with `/` instead of the `\\` of Windows, as `environments.search` needs it."""
    return path.replace("\\", "/") if os.name == "nt" else path


def _without_drive(pattern: str, folder: str) -> str:
    """Convert a pattern with a drive (`C:/folder/*.py`) to a relative pattern, or to one that starts with a
    slash.

    `environments.search` does not recognise a drive as the start of an absolute pattern.
    """
    if not os.path.splitdrive(pattern)[0]:
        return pattern
    return search.shown_path(pattern, folder) if is_within(pattern, folder, "/") else f"/{pattern}"


@dataclass(frozen=True, slots=True)
class _DiskTree:
    """Implements Tree (environments/search.py) for the disk of this machine. `rules` is the user's ignore file."""

    rules: str = ""

    def user_rules(self) -> str:
        return self.rules

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(folder) as entries:
                return [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
                ]
        except OSError:
            return []

    def text(self, path: str) -> str:
        return self.bytes(path).decode("utf-8", "replace")

    def bytes(self, path: str) -> bytes:
        if not os.path.exists(path):  # quicker than an error: most folders have no ignore file
            return b""
        try:
            return read_file(path, path, search.SEARCH_LIMIT_BYTES)
        except EnvError:
            return b""


def _files_below(path: str, root: str, rules: str) -> Iterable[str]:
    if not os.path.isdir(path):
        return [path]
    return search.walk(_DiskTree(rules), path, _top_of_rules(root, path))


class _TreeOfAll(_DiskTree):
    """A disk on which the rules of git do not count."""

    def text(self, path: str) -> str:
        return "" if path.endswith("/.gitignore") else super().text(path)


def _files_to_search(path: str, root: str, rules: str) -> set[str]:
    """Return the files below `path` that are not ignored; all of them if `path` itself is a folder that is ignored."""
    files = {*_files_below(path, root, rules)}
    if files or path == root or not os.path.isdir(path):
        return files
    return {*search.walk(_TreeOfAll(), path, _top_of_rules(root, path))}


def _has_tracked_files(path: str) -> bool:
    return os.path.isdir(path) and bool(tracked_files(path))


def _mtime_ns(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0  # the file was removed after it was listed


def _plan(pattern: str, path: str, asked: str) -> tuple[globs.GlobPlan | None, str]:
    """Return what to list, and the user's ignore file. The plan is None if the folder before the first wildcard does
    not exist.
    """
    path = slashed(existing_spelling(path))
    plan = globs.plan_glob(_without_drive(slashed(pattern), path), path)
    _check_folder(path, asked)
    plan = replace(plan, folder=slashed(existing_spelling(plan.folder)))
    return (plan if os.path.isdir(plan.folder) else None), find_user_rules()


def _find_path(path: str, asked: str) -> tuple[str, str]:
    """Return the path as it is spelled on the disk, and the user's ignore file."""
    path = slashed(existing_spelling(path))
    if not os.path.exists(path):
        raise PathNotFoundError(asked)
    if not os.path.isdir(path):
        check_regular_file(os.stat(path), asked)  # in a pipe, ripgrep would wait forever for a writer
    return path, find_user_rules()


def _check_root(path: str) -> str:
    """Raise EnvError if the working directory is missing. Return the user's ignore file."""
    _check_folder(path, path)
    return find_user_rules()


def _check_folder(path: str, asked: str) -> None:
    if not os.path.exists(path):
        raise PathNotFoundError(asked)
    if not os.path.isdir(path):
        raise NotAFolderError(asked)


async def _in_thread(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    return await to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


MAX_FILES = 1_000
"""Maximum number of such files: they are arguments of ripgrep."""


def tracked_besides(listed: Collection[str], folder: str, root: str) -> list[str]:
    """Return the tracked files below `folder` that a search reads, and that are not in `listed`. Blocks.

    The paths begin with `folder` as it is given. `root` is the working directory. Files for search programs (`.ignore`)
    apply.
    """
    return existing(sorted(tracked_paths(folder).difference(listed)), _top_of_rules(root, folder))


def existing(files: Iterable[str], top: str) -> list[str]:
    """Return the first MAX_FILES of the files that exist and that no `.ignore` from `top` down excludes. Blocks."""
    there = (file for file in files if os.path.isfile(file) and not os.path.islink(file))
    return [*islice(not_excluded(_DiskTree(), there, top), MAX_FILES)]
