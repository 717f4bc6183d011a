"""The folders that one session works in: its own, and the other open workspace folders that are trusted.

The folders are determined at the start of each turn. Relative paths refer to the session's own folder; the model
gets absolute paths of the other folders.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from os.path import join, normpath

import anyio.to_thread

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.events.types import RecordedEvent, Warning
from agent_ls.policy.places import Places
from agent_ls.program_lookup import add_workspace
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.services.permissions.trust import WorkspaceTrust

Listing = Callable[[int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class SessionRoots:
    """The session's folders.

    `beside` returns the open workspace folders, with or without the session's folder `own`. An untrusted folder
    counts as outside the workspace, so actions in it need approval. `find_places` computes the allowed and denied
    paths of folders.
    """

    own: str
    beside: Callable[[], Sequence[str]]
    trust: WorkspaceTrust
    bounds: PathBounds
    emit: Callable[[RecordedEvent], object]
    find_places: Callable[..., Places] = places_of
    others: tuple[str, ...] = ()
    _reported: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """The path of the session's own folder; the full remote name for a folder on another machine."""
        return self.own

    async def refresh(self, *, tell: bool = True) -> None:
        """Update the folders at the start of a turn.

        `tell`: warn about untrusted folders (False before the first turn).
        """
        wanted = self._list_wanted()
        for folder in wanted:
            add_workspace(folder)
        if not wanted and not self.others:
            return
        trusted = await anyio.to_thread.run_sync(self._filter_trusted, wanted)
        for folder in wanted if tell else ():
            if not (folder in trusted or folder in self._reported or self.bounds.places.is_inside(folder)):
                self._reported.add(folder)
                self.emit(Warning(_not_trusted(folder, self.trust.advice), "folder_not_trusted"))
        if trusted != self.others:
            self.bounds.places = await anyio.to_thread.run_sync(self.find_places, self.own, *trusted)
            self.others = trusted

    def _list_wanted(self) -> Sequence[str]:
        own = normpath(self.own)
        return [folder for folder in dict.fromkeys(map(normpath, self.beside())) if folder != own]

    def _filter_trusted(self, folders: Sequence[str]) -> tuple[str, ...]:
        return tuple(folder for folder in folders if self.trust.get_trust(folder) == "trusted")

    def listing(self, own: Listing) -> Listing:
        """Return a function that lists the files of all folders.

        `own` lists the session's own folder with relative paths. Files of other folders get absolute paths.
        """

        async def listed(limit: int) -> Sequence[str]:
            found = list(await own(limit))
            for folder in self.others:
                try:
                    names = await LocalEnvironment(folder).list_files(limit - len(found))
                except EnvError:
                    continue  # the folder was deleted
                found += [join(folder, name) for name in names]
            return found

        return listed


def _not_trusted(folder: str, advice: str) -> str:
    return (
        f"{folder} is an additional folder that you have not trusted: every access to it needs your approval. "
        f"{advice}"
    )
