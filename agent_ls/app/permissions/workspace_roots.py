"""The folders that one session works in: its own, and the other open workspace folders that are trusted.

They are determined at the start of each input. Relative paths refer to the session's own folder; the others
are used by their absolute paths, which are sent to the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from os.path import join, normpath

import anyio.to_thread

from agent_ls.app.permissions.paths import PathBounds, places_of
from agent_ls.app.permissions.trust import WorkspaceTrust
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.events.types import RecordedEvent, Warning
from agent_ls.policy.places import Places

Listing = Callable[[int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class SessionRoots:
    """The session's folders.

    `beside` returns the workspace folders that are open now, with or without the session's `own`. A folder that
    is not trusted counts as outside, so actions there need approval. `find_places` computes the places of
    folders.
    """

    own: str
    beside: Callable[[], Sequence[str]]
    trust: WorkspaceTrust
    bounds: PathBounds
    emit: Callable[[RecordedEvent], object]
    find_places: Callable[..., Places] = places_of
    others: tuple[str, ...] = ()
    _told: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """The name of the session's own folder; a place's whole name if it is on another machine."""
        return self.own

    async def settle(self, *, tell: bool = True) -> None:
        """Update the folders at the start of an input.

        `tell`: warn about untrusted folders (False before the first input).
        """
        wanted = self._wanted()
        if not wanted and not self.others:
            return
        trusted = await anyio.to_thread.run_sync(self._trusted, wanted)
        for folder in wanted if tell else ():
            if not (folder in trusted or folder in self._told or self.bounds.places.is_inside(folder)):
                self._told.add(folder)
                self.emit(Warning(_not_trusted(folder), "folder_not_trusted"))
        if trusted != self.others:
            self.bounds.places = await anyio.to_thread.run_sync(self.find_places, self.own, *trusted)
            self.others = trusted

    def _wanted(self) -> Sequence[str]:
        own = normpath(self.own)
        return [folder for folder in dict.fromkeys(map(normpath, self.beside())) if folder != own]

    def _trusted(self, folders: Sequence[str]) -> tuple[str, ...]:
        return tuple(folder for folder in folders if self.trust.get_trust(folder) == "trusted")

    def listing(self, own: Listing) -> Listing:
        """Return a function that lists the files of all folders.

        `own` lists the session's own folder with relative paths; files of the others are listed by absolute
        path.
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


def _not_trusted(folder: str) -> str:
    return (
        f"{folder} is an additional folder that you have not trusted: every access to it needs your approval. "
        "`agent-ls trust add` in that folder trusts it."
    )
