"""A LanguageHost with given answers; it records the requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from agent_ls.environments.errors import NoAnswerError
from agent_ls.environments.language_host import (
    FileChanges,
    FileProblems,
    FoundLocation,
    FoundLocations,
    FoundSymbols,
    LanguageQuery,
    SourcePosition,
    Symbol,
)

ALL: frozenset[LanguageQuery] = frozenset(get_args(LanguageQuery))


@dataclass
class KnownCode:
    """Answers of None are never sent. `renames` are called in turn; the last one is repeated."""

    places: Sequence[FoundLocation] | None = ()
    symbols: Sequence[Symbol] | None = ()
    renames: list[Callable[[], Sequence[FileChanges]]] = field(default_factory=list)
    files: Sequence[FileProblems] | None = ()
    offers: frozenset[LanguageQuery] = ALL
    is_cut: bool = False
    asked: list[object] = field(default_factory=list)

    def answers(self) -> frozenset[LanguageQuery]:
        return self.offers

    async def definition(self, spot: SourcePosition) -> FoundLocations:
        return self._found(spot)

    async def references(self, spot: SourcePosition) -> FoundLocations:
        return self._found(spot)

    async def symbols_of(self, path: str) -> FoundSymbols:
        return self._symbols(path)

    async def symbols_named(self, query: str) -> FoundSymbols:
        return self._symbols(query)

    async def rename(self, spot: SourcePosition, new_name: str) -> Sequence[FileChanges]:
        self.asked.append((spot, new_name))
        if not self.renames:
            raise NoAnswerError("The editor's language tools could not answer: no answer within 15 s.")
        rename = self.renames.pop(0) if len(self.renames) > 1 else self.renames[0]
        return rename()

    async def problems(self, path: str) -> Sequence[FileProblems]:
        self.asked.append(path)
        if self.files is None:
            raise NoAnswerError("The editor's language tools could not answer: gone.")
        return self.files

    def _found(self, spot: SourcePosition) -> FoundLocations:
        self.asked.append(spot)
        if self.places is None:
            raise NoAnswerError("The editor's language tools could not answer: no answer within 15 s.")
        return FoundLocations(tuple(self.places), self.is_cut)

    def _symbols(self, asked: str) -> FoundSymbols:
        self.asked.append(asked)
        if self.symbols is None:
            raise NoAnswerError("The editor's language tools could not answer: no answer within 15 s.")
        return FoundSymbols(tuple(self.symbols), self.is_cut)
