"""A LanguageHost that returns given answers and records the requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, get_args

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

T = TypeVar("T")
ALL: frozenset[LanguageQuery] = frozenset(get_args(LanguageQuery))


@dataclass
class KnownCode:
    """A LanguageHost with given answers. A query whose answer is None raises NoAnswerError.

    Each rename query calls the next function of `renames`; the last function is used repeatedly.
    """

    places: Sequence[FoundLocation] | None = ()
    symbols: Sequence[Symbol] | None = ()
    renames: list[Callable[[], Sequence[FileChanges]]] = field(default_factory=list)
    files: Sequence[FileProblems] | None = ()
    offers: frozenset[LanguageQuery] = ALL
    is_cut: bool = False
    asked: list[object] = field(default_factory=list)

    def supported_queries(self) -> frozenset[LanguageQuery]:
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
        rename = self._recorded((spot, new_name), self.renames[0] if self.renames else None)
        if len(self.renames) > 1:
            del self.renames[0]
        return rename()

    async def problems(self, path: str) -> Sequence[FileProblems]:
        return self._recorded(path, self.files)

    def _found(self, spot: SourcePosition) -> FoundLocations:
        return FoundLocations(tuple(self._recorded(spot, self.places)), self.is_cut)

    def _symbols(self, asked: str) -> FoundSymbols:
        return FoundSymbols(tuple(self._recorded(asked, self.symbols)), self.is_cut)

    def _recorded(self, asked: object, answer: T | None) -> T:
        self.asked.append(asked)
        if answer is None:
            raise NoAnswerError(
                "The editor's language tools could not answer: the editor did not answer within 15 s."
            )
        return answer
