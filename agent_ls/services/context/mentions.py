"""Search for files and folders that a user can mention (`@cart`), in lists cached for a few seconds."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import anyio
import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.seams import Clock
from agent_ls.services.context.fuzzy import find_best_matches
from agent_ls.services.permissions.ignore_file import IgnoreFile

MAX_FILES = 300_000
FRESH_MS = 3_000  # a list of files is used this long before the folder is listed again
LISTING_SHARE = 10
"""If listing a folder took N ms, the next listing starts at least LISTING_SHARE * N ms after it, because
large folders are slow to list.
"""
MORE = 20
FIRST_WAIT_S = 2.0
"""How long to wait for the first list of a folder. If listing takes longer, a later request gets the list."""

ListFiles = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class _Folder:
    """A listed folder. `paths` are relative; folders end with `/`. The listing is repeated after `due_ms`."""

    paths: Sequence[str] = ()
    due_ms: int = 0
    is_listing: bool = False
    is_there: anyio.Event = field(default_factory=anyio.Event)


async def list_files(folder: str, limit: int) -> Sequence[str]:
    return await LocalEnvironment(folder, environ={}).list_files(limit)


class Mentions:
    """Searches paths to mention. `start` runs a short task in the background."""

    def __init__(
        self,
        start: TaskStarter,
        clock: Clock,
        files: ListFiles = list_files,
    ) -> None:
        self._start = start
        self._clock = clock
        self._files = files
        self._folders: dict[str, _Folder] = {}

    async def find(self, folder: str, query: str, limit: int, first: Sequence[str] = ()) -> Sequence[str]:
        """Return paths relative to `folder` that match `query`, best first; of equal matches, those in `first`
        come first.

        Ignored files are left out, except those in `first`. Files that `.agent-ls-ignore` names are always left
        out. A path that ends with `/` is a folder.
        """
        known = self._folders.setdefault(folder, _Folder())
        if not known.is_listing and self._clock.monotonic_ms() >= known.due_ms:
            known.is_listing = True
            self._start(lambda: self._list(folder, known))
        with anyio.move_on_after(FIRST_WAIT_S):
            await known.is_there.wait()
        named = frozenset(first)
        paths = chain(first, (path for path in known.paths if path not in named))
        find = partial(_find_best_allowed, IgnoreFile((folder,)), folder, query, paths, limit, first)
        return await anyio.to_thread.run_sync(find, abandon_on_cancel=True)

    async def _list(self, folder: str, known: _Folder) -> None:
        began_ms = self._clock.monotonic_ms()
        try:
            files = await self._files(folder, MAX_FILES)
            known.paths = await anyio.to_thread.run_sync(_with_folders, files)
        except EnvError:
            known.paths = ()  # the folder was deleted, or cannot be read
        finally:
            took_ms = self._clock.monotonic_ms() - began_ms
            known.due_ms = began_ms + max(FRESH_MS, LISTING_SHARE * took_ms)
            known.is_listing = False
            known.is_there.set()


def _find_best_allowed(
    is_ignored: IgnoreFile, folder: str, query: str, paths: Iterable[str], limit: int, first: Sequence[str]
) -> Sequence[str]:
    """Return at most `limit` of the best matches, without the paths that the ignore file names."""
    if not is_ignored.is_there():
        return find_best_matches(query, paths, limit, first)
    # Check only the best matches against the ignore file: checking every match at each typed letter would take
    # too long.
    found = find_best_matches(query, paths, MORE * limit, first)
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
