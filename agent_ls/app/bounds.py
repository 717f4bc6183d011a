"""ADAPTER Bounds: what a session's tools may touch at this moment, links followed (X6).

Below the roots everything but credentials may be read, outside of them what a person allowed. A change may land only
where it led when it was judged: a folder that has become a link since, or names another file by now, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from agent_ls.environments.effects import CommandEffect, Effect, ReadEffect, WriteEffect
from agent_ls.environments.errors import AccessDeniedError, OutsideBoundsError, PathNotFoundError
from agent_ls.policy.places import Places


class PathBounds:
    """`allowed` is told what may be done, before it is done. Only real paths are remembered."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._readable: set[str] = set()
        self._turn_id = ""
        self._landings: dict[str, Mapping[str, str]] = {}

    def allowed(self, effect: Effect, resolved: Mapping[str, str], *, call_id: str, turn_id: str) -> None:
        """`resolved` has the real path of each path of the effect, as it was when the effect was judged."""
        if turn_id != self._turn_id:
            self._turn_id, self._landings = turn_id, {}
        # Also for a change: to be made, it is computed once more from what is there.
        self._readable.update(real for real in resolved.values() if not self.places.is_inside(real))
        if isinstance(effect, WriteEffect):
            self._landings[call_id] = resolved

    def demand_readable(self, path: str) -> None:
        real = os.path.realpath(path)
        if self.places.is_denied(path) or self.places.is_denied(real):
            raise AccessDeniedError(path, "it holds credentials; agent-ls never reads it")
        if self.places.is_inside(real) or real in self._readable:
            return
        if not os.path.lexists(real):
            raise PathNotFoundError(path)  # nothing is given away, and a new file may still be asked for
        raise OutsideBoundsError(path, real)

    def demand_writable(self, path: str, call_id: str) -> None:
        judged = self._landings.get(call_id, {}).get(path)
        if judged is None:
            raise AccessDeniedError(path, "nobody was asked about this change")
        real = os.path.realpath(path)
        if real != judged:
            raise AccessDeniedError(path, f"it leads to {real} now, and led to {judged} when it was allowed")


def places_of(root: str) -> Places:
    """The places of a session that works in the folder `root`. Follows links, so it blocks."""
    given = os.path.abspath(root)
    # Models write paths below the folder as it was opened; that may be a link.
    roots = dict.fromkeys((os.path.realpath(given), given))
    return Places(tuple(roots), os.path.realpath(os.path.expanduser("~")))


def real_paths(effect: Effect) -> dict[str, str]:
    """Where each path of an effect leads at this moment. Follows links, so it blocks."""
    return {path: os.path.realpath(path) for path in _paths(effect)}


def _paths(effect: Effect) -> Sequence[str]:
    match effect:
        case ReadEffect(paths):
            return paths
        case WriteEffect(files):
            return [file.path for file in files]
        case CommandEffect():
            return [effect.working_dir]
        case _:
            return []
