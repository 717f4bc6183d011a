"""ENGINE: the folders that a command line may be in, after each `cd` that may have worked or failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class Folders:
    """One state for each subshell. `current`: where the next command may run; `all`: wherever one may have run."""

    def __init__(self, folder: str) -> None:
        self._stack: list[tuple[Mapping[int, int], dict[int, list[str]], dict[int, list[str]], int]] = []
        self._parents: Mapping[int, int] = {}
        self._now: dict[int, list[str]] = {0: [folder]}
        self._before: dict[int, list[str]] = {0: [folder]}
        self._scope = 0
        self.all: list[str] = [folder]

    @property
    def current(self) -> Sequence[str]:
        return self._now[self._scope]

    def enter(self, parents: Mapping[int, int]) -> None:
        """A program inside: `bash -c`, `eval`. It begins where the one around it is."""
        here = list(self.current)
        self._stack.append((self._parents, self._now, self._before, self._scope))
        self._parents, self._now, self._before, self._scope = parents, {0: here}, {0: list(here)}, 0

    def leave(self) -> None:
        """It may have been `eval`, which takes the shell along: what it may have reached counts from here on."""
        reached = self._now[0]
        self._parents, self._now, self._before, self._scope = self._stack.pop()
        self._add(self._now[self._scope], reached)

    def at(self, scope: int) -> None:
        if scope not in self._now:
            self.at(self._parents[scope])
            inherited = list(self.current)
            self._now[scope], self._before[scope] = inherited, list(inherited)
        self._scope = scope

    def change(self, target: Callable[[str], str]) -> None:
        """A `cd`, which holds for what comes directly after it."""
        self._now[self._scope] = list(dict.fromkeys(target(folder) for folder in self.current))
        self._add(self.all, self.current)

    def mark(self, scope: int) -> None:
        """What comes now runs also if a `cd` before it failed."""
        self.at(scope)
        self._add(self._now[scope], self._before[scope])
        self._before[scope] = list(self._now[scope])

    def _add(self, places: list[str], more: Sequence[str]) -> None:
        places.extend(place for place in more if place not in places)
