"""What of a folder may be mentioned (`@cart`): its files and folders, listed in a thread and kept for a while."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import anyio
import anyio.to_thread

from agent_ls.app.fuzzy import best
from agent_ls.app.ignore_file import IgnoreFile
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.seams import Clock

MAX_FILES = 50_000
FRESH_MS = 3_000  # while somebody types; a file that was just made is offered soon
MORE = 20
FIRST_WAIT_S = 2.0
"""For the first list of a folder. What takes longer is there for a later letter."""

ListFiles = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class _Folder:
    """`paths` are relative; those of folders end with `/`. `listed_ms` is when the list was begun."""

    paths: Sequence[str] = ()
    listed_ms: int = -FRESH_MS - 1
    is_listing: bool = False
    is_there: anyio.Event = field(default_factory=anyio.Event)


async def list_files(folder: str, limit: int) -> Sequence[str]:
    return await LocalEnvironment(folder, environ={}).list_files(limit)


class Mentions:
    """`start` runs a short task beside everything else."""

    def __init__(
        self,
        start: Callable[[Callable[[], Awaitable[None]]], None],
        clock: Clock,
        files: ListFiles = list_files,
    ) -> None:
        self._start = start
        self._clock = clock
        self._files = files
        self._folders: dict[str, _Folder] = {}

    async def find(self, folder: str, query: str, limit: int, first: Sequence[str] = ()) -> Sequence[str]:
        """Paths relative to `folder` that fit `query`, the best first; `first` go before others that fit as well.

        Ignore files are respected, but for `first`; what `.agent-ls-ignore` names is found in no case.
        A path that ends with `/` is a folder.
        """
        known = self._folders.setdefault(folder, _Folder())
        if not known.is_listing and self._clock.monotonic_ms() - known.listed_ms > FRESH_MS:
            known.is_listing = True
            self._start(lambda: self._list(folder, known))
        with anyio.move_on_after(FIRST_WAIT_S):
            await known.is_there.wait()
        paths = dict.fromkeys((*first, *known.paths))
        find = partial(_best, IgnoreFile((folder,)), folder, query, paths, limit, first)
        return await anyio.to_thread.run_sync(find, abandon_on_cancel=True)

    async def _list(self, folder: str, known: _Folder) -> None:
        known.listed_ms = self._clock.monotonic_ms()
        try:
            files = await self._files(folder, MAX_FILES)
            known.paths = await anyio.to_thread.run_sync(_with_folders, files)
        except EnvError:
            known.paths = ()  # it is gone, or cannot be looked at
        finally:
            known.is_listing = False
            known.is_there.set()


def _best(
    is_ignored: IgnoreFile, folder: str, query: str, paths: Iterable[str], limit: int, first: Sequence[str]
) -> Sequence[str]:
    """As `best`; of what is found, what the ignore file names is left out and others take its place."""
    if not is_ignored.is_there():
        return best(query, paths, limit, first)
    found = best(query, paths, MORE * limit, first)  # to look at all of them takes too long for a letter
    allowed = (path for path in found if not is_ignored(posixpath.join(folder, path.rstrip("/"))))
    return list(islice(allowed, limit))


def _with_folders(files: Sequence[str]) -> Sequence[str]:
    folders: set[str] = set()
    for file in files:
        above = posixpath.dirname(file)
        while above and above not in folders:
            folders.add(above)
            above = posixpath.dirname(above)
    return (*files, *(f"{folder}/" for folder in folders))
