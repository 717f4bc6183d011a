"""Watch the files that a session has read or changed, and tell the model when another program or the user changes them.

Files are checked before each model call, and between turns when the editor reports a change. The first check of a turn
looks at all files, at most the MAX_FILES most recently used; a later one at those used last, at those with hunks, and
at some of the others in turn. Only files with a new stamp are read. The review
ledger is updated to the current text. The model gets one notice for each file whose content differs from the
last version that it was informed of, and no second notice until it has read the file.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment, sha256
from agent_ls.environments.errors import EnvError, PathNotFoundError
from agent_ls.environments.local.files import read_file
from agent_ls.environments.wrappers.bounded import DiskRead
from agent_ls.services.changes.stamps import (
    STEP_NS,
    DiskStamp,
    Documents,
    Stamp,
    disk_stamp,
    stamp_of_read,
    stamps,
    stat_or_none,
)
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.service import ReviewService

MAX_FILES = 500
RECENT_FILES = 16
"""Number of files used last that each check looks at."""

OTHER_FILES = 16
"""Number of other files that a later check of a turn looks at, in turn."""

MAX_READ_BYTES = 8 * 1024 * 1024
"""Files larger than this are not read: they count as changed when their stamp has changed."""

MAX_READS = 32
"""Maximum number of reads from disk that are remembered until the model gets the content."""

NAMED_FILES = 20

NO_FILE = ""
"""Used instead of the digest of a file that does not exist."""


class FileWatch(Protocol):
    """Interface of an editor that can report changed files at once."""

    def watch_files(self, paths: Sequence[str]) -> None:
        """Watch a session's files, most recently used first.

        Callers often repeat the same list of files. Must not raise.
        """
        ...


class NoWatch:
    def watch_files(self, paths: Sequence[str]) -> None:
        return None


@dataclass(slots=True)
class _Touched:
    """A watched file. `digest` is the digest of the content that the model knows.

    `digest` None: the model was informed of a change, so the next check stores the digest of the new content.
    `stamp` is from the last check, or from the last read by the model. None: the next check reads the file.
    `is_reported`: the model got a notice about the current change, and has not read the file since.
    """

    digest: str | None
    stamp: object = None
    is_reported: bool = False


@dataclass(frozen=True, slots=True)
class FileSource:
    """Functions to read watched files. `documents` returns the versions of documents open in an editor.

    `stamps_of` returns the stamps of files, given their paths and these versions; it blocks. `is_near` returns
    whether a file is on a disk that answers at once. `turn_id` returns the id of the running turn, "" between turns.
    `is_here`: `files` are those of this machine, as they are on disk.
    """

    files: ExecutionEnvironment
    documents: Documents
    stamps_of: Callable[[Sequence[str], Mapping[str, int]], Mapping[str, Stamp]] = stamps
    is_near: Callable[[str], bool] = lambda path: False
    turn_id: Callable[[], str] = lambda: ""
    is_here: bool = False


class TouchedFiles:
    """The watched files of one session.

    `known` maps paths to digests of the contents that the model read or was informed of before a resume.
    `record` stores new digests. `tell` posts a notice to the model.
    """

    def __init__(
        self,
        source: FileSource,
        review: ReviewService,
        *,
        tell: Callable[[str], None],
        watch: FileWatch,
        known: Mapping[str, str],
        record: Callable[[str, str], None],
    ) -> None:
        self._source = source
        self._review = review
        self._tell = tell
        self._watch = watch
        self._record = record
        self._touched: OrderedDict[str, _Touched] = OrderedDict()
        self._reads: OrderedDict[str, tuple[str, Stamp]] = OrderedDict()  # digest and stamp of a path
        self._looked_at: dict[str, DiskStamp | None] = {}
        self._turn_id = ""
        self._next_other = 0
        for path, digest in known.items():
            self.record_read(path, digest)

    def was_read(self, read: DiskRead) -> None:
        """Note the stamp of a read from disk, so that the next check need not read the file again."""
        stamp = stamp_of_read(read)
        touched = self._touched.get(read.path)
        if stamp is None or (touched and touched.stamp == stamp) or len(read.data) > MAX_READ_BYTES:
            return
        self._reads[read.path] = sha256(read.data), stamp
        self._reads.move_to_end(read.path)
        if len(self._reads) > MAX_READS:
            self._reads.popitem(last=False)

    def record_read(self, path: str, digest: str) -> None:
        """Note that the model has read the file with this content."""
        self._touch(path, digest)
        of_read, stamp = self._reads.pop(path, ("", None))
        # Files with hunks are always checked, because the check also updates the hunks.
        if of_read == digest and path not in self._review.state.files:
            self._touched[path].stamp = stamp

    def mark_known(self, path: str) -> None:
        """Record that the model was informed of the file's new content, so that it gets no notice about this
        change.
        """
        self._touch(path, None)

    async def check_files(self) -> None:
        """Check the files; called before model calls. Waits first for changes that are being recorded."""
        await self._review.under_way.record_background_changes()
        if not self._touched:
            return
        self._watch.watch_files([*self._touched][::-1])
        paths = self._choose_paths()
        found = await self._stamps(paths)
        changed: list[str] = []
        for path in paths:
            stamp, touched = found[path], self._touched.get(path)
            if touched is None or touched.stamp == stamp:
                continue
            data = await self._review.seen_on_disk(path)
            digest = await self._digest(path, stamp, data)
            if self._touched.get(path) is not touched:
                continue  # the session used the file during this check, so the next check looks at it
            touched.stamp = stamp
            is_known_by_now = touched.digest is None
            is_news = _is_news(touched, digest)
            if is_known_by_now or is_news:
                self._record(path, digest)
            if is_news:
                gone = " (deleted)" if digest == NO_FILE else ""
                changed.append(f"{relative_name(path, self._source.files.working_directory())}{gone}")
        if changed:
            self._tell(stale_notice(changed))

    def look_at(self, paths: Iterable[str]) -> None:
        """Update the hunks in these files at once, where the file was changed on this machine. Blocks.

        Does nothing while a command may be changing files, because its changes are recorded later.
        """
        if not self._source.is_here or self._review.under_way.may_be_changing:
            return
        documents = self._source.documents()
        for path in paths:
            facts = stat_or_none(path)
            stamp = disk_stamp(facts) if facts else None
            if path in documents or (path in self._looked_at and self._looked_at[path] == stamp):
                continue
            try:
                data = read_file(path, path, MAX_READ_BYTES) if facts else None
            except EnvError:
                continue
            self._review.record_disk(path, data)
            self._looked_at.pop(path, None)
            if facts is None or max(facts.st_mtime_ns, facts.st_ctime_ns) + STEP_NS < time.time_ns():
                self._looked_at[path] = stamp  # a later change of the file alters the stamp for sure

    def _choose_paths(self) -> list[str]:
        paths, turn_id = list(self._touched), self._source.turn_id()
        is_later, self._turn_id = turn_id and turn_id == self._turn_id, turn_id
        if not is_later or len(paths) <= RECENT_FILES + OTHER_FILES:
            return paths
        others = paths[:-RECENT_FILES]
        begin = self._next_other % len(others)
        self._next_other = begin + OTHER_FILES
        chosen = {*paths[-RECENT_FILES:], *(others + others)[begin : begin + OTHER_FILES]}
        return [path for path in paths if path in chosen or path in self._review.state.files]

    async def _stamps(self, paths: Sequence[str]) -> Mapping[str, Stamp]:
        documents = self._source.documents()
        count = len(paths) + len(documents)
        if count <= RECENT_FILES + OTHER_FILES and all(map(self._source.is_near, (*paths, *documents))):
            return self._source.stamps_of(paths, documents)  # takes less time than waking a thread
        return await anyio.to_thread.run_sync(
            self._source.stamps_of, paths, documents, abandon_on_cancel=True
        )

    async def _digest(self, path: str, stamp: object, data: bytes | None) -> str:
        """Return the digest of a file. `data` is its content if it was read already."""
        if data is not None:
            return sha256(data) if len(data) <= MAX_READ_BYTES else repr(stamp)
        try:
            return sha256(await self._source.files.read_bytes(path, MAX_READ_BYTES))
        except PathNotFoundError:
            return NO_FILE
        except EnvError:  # the file is too large, or cannot be read now
            return repr(stamp)

    def _touch(self, path: str, digest: str | None) -> None:
        self._touched[path] = _Touched(digest)
        self._touched.move_to_end(path)
        if len(self._touched) > MAX_FILES:
            self._touched.popitem(last=False)


def _is_news(touched: _Touched, digest: str) -> bool:
    """Return whether the model needs a notice about content with this digest. Updates `touched`."""
    if touched.digest is None:
        touched.digest = digest
    elif digest == touched.digest:
        touched.is_reported = False  # the file is back to what the model knows
    elif not touched.is_reported:
        touched.is_reported = True
        return True
    return False


def stale_notice(names: Sequence[str]) -> str:
    """Return the notice that the files `names` have changed since the model read them."""
    more = f" and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else ""
    return (
        f"Changed since you last read them, by the user or another program: {', '.join(names[:NAMED_FILES])}{more}. "
        "Read these files again before you rely on their text."
    )
