"""A LanguageHost that returns given answers and records the requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from agent_ls.environments.errors import NoAnswerError
from agent_ls.environments.language_host import (
    ActionChanges,
    CallDirection,
    FileChanges,
    FileProblems,
    FoundCall,
    FoundCalls,
    FoundLocation,
    FoundLocations,
    FoundSymbols,
    LanguageQuery,
    OfferedAction,
    SourcePosition,
    SourceSpan,
    Symbol,
)

T = TypeVar("T")
ALL: frozenset[LanguageQuery] = frozenset(get_args(LanguageQuery))


@dataclass
class KnownCode:
    """A LanguageHost with given answers. A query whose answer is None raises NoAnswerError.

    Each rename query calls the next function of `renames`, each query for an action's changes the next of `edits`;
    the last function is used repeatedly.
    """

    places: Sequence[FoundLocation] | None = ()
    symbols: Sequence[Symbol] | None = ()
    renames: list[Callable[[], Sequence[FileChanges]]] = field(default_factory=list)
    files: Sequence[FileProblems] | None = ()
    offers: frozenset[LanguageQuery] = ALL
    is_cut: bool = False
    texts: Sequence[str] | None = ()
    called: Sequence[FoundCall] | None = ()
    offered: Sequence[OfferedAction] | None = ()
    edits: list[Callable[[], ActionChanges]] = field(default_factory=list)
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

    async def hover(self, spot: SourcePosition) -> Sequence[str]:
        return self._recorded(spot, self.texts)

    async def implementations(self, spot: SourcePosition) -> FoundLocations:
        return self._found(spot)

    async def calls(self, spot: SourcePosition, direction: CallDirection) -> FoundCalls:
        return FoundCalls(tuple(self._recorded((spot, direction), self.called)), self.is_cut)

    async def actions(self, span: SourceSpan) -> Sequence[OfferedAction]:
        return self._recorded(span, self.offered)

    async def action_changes(self, span: SourceSpan, title: str) -> ActionChanges:
        edit = self._recorded((span, title), self.edits[0] if self.edits else None)
        if len(self.edits) > 1:
            del self.edits[0]
        return edit()

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
