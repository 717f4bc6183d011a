"""Pure: the folders that a shell may be in between two commands of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """The state of a shell. `folders` are all folders that it may be in."""

    folders: tuple[str, ...]

    def or_else(self, other: State) -> State:
        """Return the state after either of two commands has run: the folders of both."""
        return self if self is other else State(tuple(dict.fromkeys((*self.folders, *other.folders))))


@dataclass(frozen=True, slots=True)
class After:
    """The states after a command that succeeded, and after one that failed."""

    success: State
    failure: State

    @property
    def either(self) -> State:
        return self.success.or_else(self.failure)
