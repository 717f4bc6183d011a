"""Find the changes that a command made to the files of a folder, by size, times and content.

Before a command, the files that are not ignored are listed, and uncommitted work is kept: files that git does not hold
as they are, ignored files with secrets, and small ignored files. Files that git holds are read from its objects when a
command has changed them. A changed file whose text is not known is reported without its old text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import anyio
import anyio.to_thread

from agent_ls.environments.base import FileState
from agent_ls.environments.errors import EnvError
from agent_ls.policy.places import is_secret_name
from agent_ls.program_lookup import find_program
from agent_ls.services.changes.beside_text import BesideText, LinkFinder, Links, link_changes, mode_change
from agent_ls.services.changes.committed import Committed, GitObject, read_objects
from agent_ls.services.changes.ignored import IgnoredFiles
from agent_ls.services.changes.kept_files import KeptFiles
from agent_ls.services.changes.stamps import DiskStamp, disk_stamp, stamp_of_file
from agent_ls.text import looks_binary

MAX_FILES = 500_000
MAX_FILE_BYTES = 1024 * 1024
"""Maximum size of a text whose changes are reviewed in parts. A larger or binary file comes back as a whole."""

KEPT_BYTES = 64 * 1024 * 1024
"""Limit for the copies of uncommitted work, per session."""

COMMITTED_BYTES = 16 * 1024 * 1024
"""Limit for the copies of committed files. They are needed only where git cannot be run."""

LISTING_S = 20.0
"""Time limit in seconds for listing the files. The files that git holds are not read, so this is seldom reached."""

MAX_CHANGED = 200
"""Maximum number of changed files that one check records, because a checkout can change thousands. Uncommitted work
that a command destroyed does not count.
"""

DERIVED = (".pyc", ".pyo")
"""Endings of files that Python writes whenever it runs: nobody's work, also where no ignore file names them."""

_KIND = stat.S_IFMT(0xFFFF)

ListFiles: TypeAlias = Callable[[int], Awaitable[Sequence[str]]]
Stamps: TypeAlias = dict[str, DiskStamp]


@dataclass(frozen=True, slots=True)
class Unkept:
    """Files with uncommitted work that were not copied: too large, too many, or unreadable. `size` is in bytes."""

    paths: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """State of the files at the time of a check.

    `stamps` None: there were too many files, or listing took too long. `scope`: the folders that were searched.
    `ignored`: stamps of ignored files. `committed`: what git held at that time. `work`: files that git does not hold.
    `unlisted`: tracked files that are also ignored. `unkept`: what could not be kept. `links`: targets of symbolic
    links.
    """

    stamps: Mapping[str, DiskStamp] | None
    scope: object = None
    ignored: Mapping[str, DiskStamp] = field(default_factory=dict)
    committed: Committed = field(default_factory=Committed)
    work: frozenset[str] = frozenset()
    unlisted: tuple[str, ...] = ()
    unkept: Unkept = Unkept()
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundChanges:
    """Result of a comparison.

    `states` are changes with the old and new content. `whole` are changes of files that are binary, large, ignored or
    secret: they can be rolled back, but not reviewed in parts. `unknown` are changed files without a known old content.
    `beside_text` are changes of permission bits and symbolic links, which are only shown.
    """

    states: tuple[FileState, ...] = ()
    unknown: tuple[str, ...] = ()
    note: str = ""
    whole: tuple[FileState, ...] = ()
    beside_text: tuple[BesideText, ...] = ()


@dataclass(slots=True)
class ChangeFinder:
    """Finds changes of files.

    `files` lists the names of files below `folder`, without ignored files. Its argument is the maximum number
    of names to list. `scope` returns the searched folders. If they change between two checks, no changes are
    reported, because the files of a folder that was just opened are not new.
    """

    folder: str
    files: ListFiles
    scope: Callable[[], object] = lambda: None
    _kept: KeptFiles = field(init=False)
    _ignored: IgnoredFiles = field(init=False)
    _links: LinkFinder = field(init=False)
    _last: FileSnapshot = field(init=False, default=FileSnapshot(None))

    def __post_init__(self) -> None:
        self._kept = KeptFiles(self.folder)
        self._ignored = IgnoredFiles(self.folder)
        self._links = LinkFinder(self.folder)

    @property
    def kept_bytes(self) -> int:
        """The size of all copies."""
        return self._kept.size

    def close(self) -> None:
        """Delete all copies. Changes of files that were copied are then reported without their old text."""
        self._kept.close()

    async def take_snapshot(self) -> FileSnapshot:
        """Return the state of the files before a command, and keep uncommitted work."""
        scope = self.scope()
        listed = await self._list()
        if listed is None:
            return FileSnapshot(None, scope)
        return await anyio.to_thread.run_sync(self._keep_work, *listed, scope, False)

    async def find_changes(self, before: FileSnapshot) -> tuple[FoundChanges, FileSnapshot]:
        """Return the changes since `before`, and the new state."""
        if before.stamps is None:
            return FoundChanges(
                note="agent-ls did not look for files that the command changed, because the folder has too many "
                "files. See `git status`."
            ), before
        if before.scope != (scope := self.scope()):
            return FoundChanges(), await self.take_snapshot()
        listed = await self._list()
        if listed is None:
            return FoundChanges(
                note=f"agent-ls did not look for files that the command changed, because {self._describe_unlisted()}."
            ), before
        return await anyio.to_thread.run_sync(self._compare_and_keep, before, *listed, scope)

    async def changes(self, before: FileSnapshot) -> FoundChanges:
        """Return the changes since `before`."""
        return (await self.find_changes(before))[0]

    async def _list(self) -> tuple[Stamps, Links] | None:
        with anyio.move_on_after(LISTING_S):
            try:
                listed = await self.files(MAX_FILES + 1)
            except EnvError:
                return None  # the folder was deleted
            if len(listed) > MAX_FILES:
                return None
            return await anyio.to_thread.run_sync(self._stamped, listed, abandon_on_cancel=True)
        return None

    def _describe_unlisted(self) -> str:
        return (
            "listing the files took too long" if os.path.isdir(self.folder) else "the folder no longer exists"
        )

    # -- in a thread

    def _compare_and_keep(
        self, before: FileSnapshot, stamps: Stamps, links: Links, scope: object
    ) -> tuple[FoundChanges, FileSnapshot]:
        found = self._compare_states(before, stamps)
        more = link_changes(before.links, links, self.folder)[:MAX_CHANGED]
        found = replace(found, beside_text=(*found.beside_text, *more))
        return found, self._keep_work(stamps, links, scope, True)

    def _stamped(self, listed: Sequence[str]) -> tuple[Stamps, Links]:
        found: Stamps = {}
        lstat, is_windows = os.lstat, os.name == "nt"
        above = os.path.join(self.folder, "")
        for name in listed:  # with few calls in this loop, because a project may have many files
            if name[-4:] in DERIVED:
                continue
            path = name if name[:1] == "/" or (is_windows and os.path.isabs(name)) else above + name
            try:
                facts = lstat(path)
            except (OSError, ValueError):
                continue
            if facts.st_mode & _KIND == stat.S_IFREG:
                found[path] = disk_stamp(facts)
        return found, self._links.find(found)

    def _keep_work(self, stamps: Stamps, links: Links, scope: object, as_listed: bool) -> FileSnapshot:
        """Copy the files that git does not hold. Update `stamps` with those of the copies.

        `as_listed`: do not copy a file that has changed since it was listed; the next check then finds the change.
        """
        last = self._last
        committed = last.committed.renewed()
        is_same = last.stamps is not None and committed.is_same(last.committed)
        unlisted = last.unlisted if is_same else committed.list_tracked(self.folder)
        more = {path: stamp for path in unlisted if path not in stamps and (stamp := stamp_of_file(path))}
        stamps.update(more)
        if is_same and last.stamps is not None:
            changed = {path: stamp for path, stamp in stamps.items() if last.stamps.get(path) != stamp}
            work = {path for path in last.work if path in stamps and path not in changed}
            work.update(committed.find_work(changed))
        else:
            work = {*committed.find_work(stamps)}
        names = last.ignored if as_listed else self._ignored.find(stamps.keys())
        ignored = {path: stamp for path in names if path not in stamps and (stamp := stamp_of_file(path))}
        small = [path for path, stamp in ignored.items() if is_secret(path) or stamp[0] <= MAX_FILE_BYTES]
        others = [*stamps.keys() - work] if len(work) < len(stamps) and not find_program("git") else []
        self._kept.retain({*work, *small, *others})
        secrets = [path for path in small if is_secret(path)]
        keep = partial(self._keep_all, stamps, ignored, as_listed)
        unkept = keep([*_smallest_first(work, stamps), *secrets], KEPT_BYTES)
        keep(small, KEPT_BYTES)
        keep(_smallest_first(others, stamps), COMMITTED_BYTES)
        self._last = FileSnapshot(
            stamps, scope, ignored, committed, frozenset(work), tuple(more), unkept, links
        )
        return self._last

    def _keep_all(
        self, stamps: Stamps, ignored: Stamps, as_listed: bool, paths: Sequence[str], limit: int
    ) -> Unkept:
        left: list[str] = []
        size = 0
        for path in paths:
            known = stamps if path in stamps else ignored
            stamp = known[path]
            if self._kept.has(path, stamp):
                continue
            now = self._kept.keep(path) if self._kept.size + stamp[0] <= limit else None
            if now is None and stamp_of_file(path):
                left.append(path)
                size += stamp[0]
            elif as_listed and now != stamp:
                self._kept.forget(path)
            elif now is None:
                del known[path]
            else:
                known[path] = now
        return Unkept(tuple(left), size)

    def _compare_states(self, before: FileSnapshot, after: Stamps) -> FoundChanges:
        """Compare two states. Update `after` with the stamps of the files that were read."""
        assert before.stamps is not None
        differs = [path for path, stamp in after.items() if before.stamps.get(path) != stamp]
        changed = sorted((*differs, *(before.stamps.keys() - after.keys())))
        work = [path for path in changed if (was := before.stamps.get(path)) and self._kept.has(path, was)]
        others = [path for path in changed if path not in {*work}]
        held = self._read_committed(before, others[:MAX_CHANGED])
        found = _Comparison(self._kept, before.stamps, after, held)
        for path in sorted((*work, *others[:MAX_CHANGED])):
            found.add(path)
        for path, was in before.ignored.items():
            found.add_ignored(path, was)
        more = len(others) - MAX_CHANGED
        note = f"{more} more files were changed; they are not listed for review." if more > 0 else ""
        whole, beside = tuple(found.whole), tuple(found.beside_text)
        return FoundChanges(tuple(found.states), tuple(found.unknown), note, whole, beside)

    def _read_committed(self, before: FileSnapshot, paths: Sequence[str]) -> Mapping[str, bytes]:
        assert before.stamps is not None
        wanted: dict[str, GitObject] = {}
        for path in paths:
            was = before.stamps.get(path)
            if was and was[0] <= MAX_FILE_BYTES and (held := before.committed.find_object(path, was)):
                wanted[path] = held
        return read_objects(wanted) if wanted else {}


@dataclass(slots=True)
class _Comparison:
    """Sorts changed files by what is known about them. `held` are contents that git holds."""

    kept: KeptFiles
    before: Mapping[str, DiskStamp]
    after: Stamps
    held: Mapping[str, bytes]
    states: list[FileState] = field(default_factory=list)
    whole: list[FileState] = field(default_factory=list)
    beside_text: list[BesideText] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        was = self.before.get(path)
        old = None
        if was is not None:
            old = self.kept.content(path, was)
            old = self.held.get(path) if old is None else old
        new = self._read(path)
        if (was is not None and old is None) or (new is None and os.path.lexists(path)):
            self.unknown.append(
                path
            )  # its old content is unknown, or it is now ignored, too large or no file
        elif old != new:
            self._sort(_make_state(path, was, old, new))
        if change := mode_change(path, was, self.after.get(path)):
            self.beside_text.append(change)

    def add_ignored(self, path: str, was: DiskStamp) -> None:
        """Add an ignored file that a command has destroyed. Other changes are the usual work of builds and tests."""
        now = stamp_of_file(path)
        is_destroyed = now is None or not now[0] or is_secret(path)
        if now == was or path in self.after or not is_destroyed or not was[0]:
            return
        old, new = self.kept.content(path, was), _content(path)
        if old is not None and old != new:
            self.whole.append(_make_state(path, was, old, new))

    def _sort(self, state: FileState) -> None:
        is_large = any(data and len(data) > MAX_FILE_BYTES for data in (state.before, state.after))
        is_binary = any(data and looks_binary(data) for data in (state.before, state.after))
        is_full = len(self.states) >= MAX_CHANGED
        if is_binary or ((is_large or is_full) and state.before is not None):
            self.whole.append(state)
        else:
            self.states.append(state)

    def _read(self, path: str) -> bytes | None:
        """Read a file again and update its stamp, because it may have changed or disappeared since it was listed."""
        stamp, data = stamp_of_file(path), _content(path)
        if stamp and data is not None:
            self.after[path] = stamp
        elif not os.path.lexists(path):
            self.after.pop(path, None)
        return data


def _make_state(path: str, was: DiskStamp | None, old: bytes | None, new: bytes | None) -> FileState:
    return FileState(path, old, new, mode=stat.S_IMODE(was[4]) if was and new is None else None)


def is_secret(path: str) -> bool:
    return is_secret_name(os.path.basename(path))


def _smallest_first(paths: Iterable[str], stamps: Stamps) -> Sequence[str]:
    return sorted(paths, key=lambda path: stamps[path][0])


def _content(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > KEPT_BYTES:
                return None
            return file.read(KEPT_BYTES + 1)
    except (OSError, ValueError):
        return None
