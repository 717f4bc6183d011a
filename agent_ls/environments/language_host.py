"""Interface LanguageHost: queries to an editor's language tools, without LSP types or file URIs.

Lines and characters count from 0; characters are UTF-16 units, as in editors. `code_points` converts
a character position to code points, and `utf16_units` converts it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

_FIRST_HALVES = frozenset(map(chr, range(0xD800, 0xDC00)))

LanguageQuery: TypeAlias = Literal[
    "definition",
    "references",
    "symbols",
    "rename",
    "diagnostics",
    "hover",
    "implementations",
    "calls",
    "actions",
]
CallDirection: TypeAlias = Literal["incoming", "outgoing"]


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A position for a query. `path` is absolute."""

    path: str
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class FoundLocation:
    """A location in a result.

    `name` is an absolute path or, if `is_file` is False, a URI that does not name a file.
    """

    name: str
    line: int
    character: int = 0
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of the source code.

    `kind` is a word such as `function`. `end_line` is the last line of the symbol, `depth` its nesting level.
    """

    name: str
    kind: str
    place: FoundLocation
    end_line: int
    container: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replaces the text from start to end with `text`."""

    start_line: int
    start_character: int
    end_line: int
    end_character: int
    text: str


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Changes of one file, as the editor reported them.

    If the file is open, `document` is the text that the changes apply to. If `document` is None, they apply
    to the file on disk as the language tools last read it.
    """

    path: str
    changes: tuple[TextChange, ...]
    document: str | None = None


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """A diagnostic.

    `severity` is error, warning, information or hint. `by` is the source (tool) and the code of the diagnostic,
    or "".
    """

    line: int
    severity: str
    message: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class FileProblems:
    """Diagnostics of a file. `is_settled` False: the language tools are still checking the file."""

    path: str
    problems: tuple[CodeProblem, ...]
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class FoundLocations:
    """The result of a query for locations.

    `is_cut`: the editor truncated the result.
    """

    places: tuple[FoundLocation, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class FoundSymbols:
    symbols: tuple[Symbol, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A function that calls the function of a query, or is called by it. `lines` are those of the calls: lines of
    the calling function's file.
    """

    function: Symbol
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundCalls:
    calls: tuple[FoundCall, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A part of a file for which code actions are requested. `path` is absolute."""

    path: str
    start_line: int
    start_character: int
    end_line: int
    end_character: int


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """A change that the editor offers for a span, identified by its title. `disabled` is the reason why it cannot be
    made, "" if it can.
    """

    title: str
    kind: str = ""
    is_preferred: bool = False
    disabled: str = ""


@dataclass(frozen=True, slots=True)
class ActionChanges:
    """The changes of a code action. `command` names the command that the editor would run afterwards, or ""."""

    files: tuple[FileChanges, ...]
    command: str = ""


class LanguageHost(Protocol):
    """Interface to language tools. Queries change nothing; each may raise NoAnswerError."""

    def supported_queries(self) -> frozenset[LanguageQuery]:
        """Return the kinds of queries that the language tools support."""
        ...

    async def definition(self, position: SourcePosition) -> FoundLocations: ...

    async def references(self, position: SourcePosition) -> FoundLocations:
        """Return references, including the definition."""
        ...

    async def symbols_of(self, path: str) -> FoundSymbols:
        """Return the symbols of one file, in the order of their positions."""
        ...

    async def symbols_named(self, query: str) -> FoundSymbols:
        """Return symbols of the whole workspace with names similar to the query."""
        ...

    async def rename(self, position: SourcePosition, new_name: str) -> Sequence[FileChanges]:
        """Return the changes for a rename. The editor only computes the changes and does not apply them.

        Raises:
            StaleFileError: the document changed while the editor computed the changes. The caller may try
            again.
        """
        ...

    async def hover(self, position: SourcePosition) -> Sequence[str]:
        """Return what the language tools say of a symbol: types and documentation, as Markdown."""
        ...

    async def implementations(self, position: SourcePosition) -> FoundLocations: ...

    async def calls(self, position: SourcePosition, direction: CallDirection) -> FoundCalls: ...

    async def actions(self, span: SourceSpan) -> Sequence[OfferedAction]: ...

    async def action_changes(self, span: SourceSpan, title: str) -> ActionChanges:
        """Return the changes of the code action with this title. The editor does not make them.

        Raises:
            StaleFileError: as `rename`.
        """
        ...

    async def problems(self, path: str) -> Sequence[FileProblems]:
        """Return diagnostics of one file, or of all files if `path` is ""."""
        ...


def utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def code_points(content: str, character: int) -> int:
    """Return the number of code points of a line before `character`, a position in UTF-16 units.

    A position after the line's end counts as the end. A position inside a surrogate pair counts as the position
    before the pair.
    """
    if content.isascii():
        return min(character, len(content))
    units = content.encode("utf-16-le", "surrogatepass")[: character * 2]
    head = units.decode("utf-16-le", "surrogatepass")
    return len(head) - (head[-1:] in _FIRST_HALVES)
