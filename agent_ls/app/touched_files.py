"""The files that a session has read or changed, watched by what was touched: what others change in them is noticed.

Looked at before each model call, and between turns when the editor tells of a change: never more than the files touched
last, and of those only what has another stamp is read. The ledger takes up what is on disk now; the model is told once
of each file that is not any more as it knows it, until it reads it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio.to_thread

from agent_ls.app.change_events import relative_name
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.stamps import Documents, stamps
from agent_ls.environments.base import ExecutionEnvironment, sha256
from agent_ls.environments.errors import EnvError, PathNotFoundError

MAX_FILES = 500
MAX_READ_BYTES = 8 * 1024 * 1024
"""A larger file counts as changed when its stamp has."""

NAMED_FILES = 20

NO_FILE = ""
"""In place of the digest of a file that is not there."""


class FileWatch(Protocol):
    """Somebody who can tell of changed files at once (an editor)."""

    def watch_files(self, paths: Sequence[str]) -> None:
        """The files of a session, those touched last first; again and again the same, mostly. Must not raise."""
        ...


class NoWatch:
    def watch_files(self, paths: Sequence[str]) -> None:
        return None


@dataclass(slots=True)
class _Touched:
    """`digest` is of what the model knows; None: it was told of a change, and knows what stands at the next look.

    `stamp` is as at the last look, None: not looked at since.
    """

    digest: str | None
    stamp: object = None
    is_told: bool = False


class TouchedFiles:
    """Of one session. `known` are the digests that the model of a resumed one knows of, by path; `record` is told of
    each that it is told of. `documents` are the versions of those that an editor shows. `tell` posts a notice.
    """

    def __init__(
        self,
        files: ExecutionEnvironment,
        desk: ReviewDesk,
        *,
        documents: Documents,
        tell: Callable[[str], None],
        watch: FileWatch,
        known: Mapping[str, str],
        record: Callable[[str, str], None],
    ) -> None:
        self._files = files
        self._desk = desk
        self._documents = documents
        self._tell = tell
        self._watch = watch
        self._record = record
        self._touched: OrderedDict[str, _Touched] = OrderedDict()
        for path, digest in known.items():
            self.shown(path, digest)

    def shown(self, path: str, digest: str) -> None:
        """The model has seen the file with this content."""
        self._touch(path, digest)

    def changed(self, path: str) -> None:
        """The model is told otherwise of what stands in the file now."""
        self._touch(path, None)

    async def look(self) -> None:
        """At a safe boundary."""
        paths = list(self._touched)
        if not paths:
            return
        self._watch.watch_files(paths[::-1])
        found = await anyio.to_thread.run_sync(stamps, paths, self._documents(), abandon_on_cancel=True)
        told: list[str] = []
        for path in paths:
            stamp, touched = found[path], self._touched.get(path)
            if touched is None or touched.stamp == stamp:
                continue
            data = await self._desk.seen_on_disk(path)
            digest = await self._digest(path, stamp, data)
            if self._touched.get(path) is not touched:
                continue  # it was touched again meanwhile: looked at next time
            touched.stamp = stamp
            is_known_by_now = touched.digest is None
            is_news = _is_news(touched, digest)
            if is_known_by_now or is_news:
                self._record(path, digest)
            if is_news:
                gone = " (not there any more)" if digest == NO_FILE else ""
                told.append(f"{relative_name(path, self._files.working_directory())}{gone}")
        if told:
            self._tell(stale_notice(told))

    async def _digest(self, path: str, stamp: object, data: bytes | None) -> str:
        """`data` is what was read of it already."""
        if data is not None:
            return sha256(data) if len(data) <= MAX_READ_BYTES else repr(stamp)
        try:
            return sha256(await self._files.read_bytes(path, MAX_READ_BYTES))
        except PathNotFoundError:
            return NO_FILE
        except EnvError:  # too large, or not to be read now
            return repr(stamp)

    def _touch(self, path: str, digest: str | None) -> None:
        self._touched[path] = _Touched(digest)
        self._touched.move_to_end(path)
        if len(self._touched) > MAX_FILES:
            self._touched.popitem(last=False)


def _is_news(touched: _Touched, digest: str) -> bool:
    """Whether the model is to be told; remembers that it was."""
    if touched.digest is None:
        touched.digest = digest
    elif digest == touched.digest:
        touched.is_told = False  # it is as the model knows it, again
    elif not touched.is_told:
        touched.is_told = True
        return True
    return False


def stale_notice(names: Sequence[str]) -> str:
    """For the model."""
    more = f" and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else ""
    return (
        f"Changed since you last read them, by the user or another program: {', '.join(names[:NAMED_FILES])}{more}. "
        "Read them again before you rely on their text."
    )
