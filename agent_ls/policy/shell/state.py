"""Pure: the possible working directories of a shell between two commands of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """The state of a shell. `folders` lists its possible working directories.

    `earlier`: those that it has left. `has_left`: it certainly has left one, so that `cd -` returns to one of them.
    """

    folders: tuple[str, ...]
    earlier: tuple[str, ...] = ()
    has_left: bool = False

    def or_else(self, other: State) -> State:
        """Return a state with the folders of both states, because it is unknown which state applies."""
        if other == self:
            return self
        return State(
            tuple(dict.fromkeys((*self.folders, *other.folders))),
            tuple(dict.fromkeys((*self.earlier, *other.earlier))),
            self.has_left and other.has_left,
        )

    def entered(self, folders: Sequence[str]) -> State:
        """Return the state after a change to one of these folders."""
        return State(tuple(folders), tuple(dict.fromkeys((*self.earlier, *self.folders))), has_left=True)


@dataclass(frozen=True, slots=True)
class After:
    """The states after a command: `success` if the command succeeds, `failure` if it fails."""

    success: State
    failure: State

    @property
    def either(self) -> State:
        return self.success.or_else(self.failure)
