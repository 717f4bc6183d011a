"""ADAPTER: the folders that one session works in: its own, and those open beside it that the user trusts.

They are as they were at the start of an input. What is named without a folder lies in the session's own; the others are
named by their absolute paths, which are told to the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from os.path import join, normpath

import anyio.to_thread

from agent_ls.app.bounds import PathBounds, places_of
from agent_ls.app.trust import WorkspaceTrust
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.events import RecordedEvent, Warning

Listing = Callable[[int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class SessionRoots:
    """`beside` tells the folders of the workspace at this moment, the session's `own` among them or not.

    One that is not trusted is no root: what is done there is asked about like anything outside.
    """

    own: str
    beside: Callable[[], Sequence[str]]
    trust: WorkspaceTrust
    bounds: PathBounds
    emit: Callable[[RecordedEvent], object]
    others: tuple[str, ...] = ()
    _told: set[str] = field(default_factory=set)

    async def settle(self, *, tell: bool = True) -> None:
        """At the start of an input, and when the session is opened: then there is nobody to `tell` yet."""
        wanted = self._wanted()
        if not wanted and not self.others:
            return
        trusted = await anyio.to_thread.run_sync(self._trusted, wanted)
        for folder in wanted if tell else ():
            if not (folder in trusted or folder in self._told or self.bounds.places.is_inside(folder)):
                self._told.add(folder)
                self.emit(Warning(_not_trusted(folder), "folder_not_trusted"))
        if trusted != self.others:
            self.bounds.places = await anyio.to_thread.run_sync(places_of, self.own, *trusted)
            self.others = trusted

    def _wanted(self) -> Sequence[str]:
        own = normpath(self.own)
        return [folder for folder in dict.fromkeys(map(normpath, self.beside())) if folder != own]

    def _trusted(self, folders: Sequence[str]) -> tuple[str, ...]:
        return tuple(folder for folder in folders if self.trust.standing(folder) == "trusted")

    def listing(self, own: Listing) -> Listing:
        """Lists the files of all roots: those of the own one as `own` does, those of the others by absolute path."""

        async def listed(limit: int) -> Sequence[str]:
            found = list(await own(limit))
            for folder in self.others:
                try:
                    names = await LocalEnvironment(folder).list_files(limit - len(found))
                except EnvError:
                    continue  # it is gone
                found += [join(folder, name) for name in names]
            return found

        return listed


def _not_trusted(folder: str) -> str:
    return (
        f"{folder} is open beside this session's folder and is not trusted: it counts as outside, and whatever is done "
        "there is asked about. `agent-ls trust add` in it trusts it."
    )
