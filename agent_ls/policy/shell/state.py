"""Pure: the possible working directories of a shell between two commands of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """The state of a shell. `folders` lists its possible working directories."""

    folders: tuple[str, ...]

    def or_else(self, other: State) -> State:
        """Return a state with the folders of both states, because it is unknown which state applies."""
        if set(other.folders) <= set(self.folders):
            return self
        return State(tuple(dict.fromkeys((*self.folders, *other.folders))))


@dataclass(frozen=True, slots=True)
class After:
    """The states after a command: `success` if the command succeeds, `failure` if it fails."""

    success: State
    failure: State

    @property
    def either(self) -> State:
        return self.success.or_else(self.failure)
