"""SEAM LanguageHost: what an editor's language tools know of the code. No LSP word, and no uri of a file.

Lines and characters count from 0; characters are units of UTF-16, as editors count them: who has the text of a line
turns them into code points (`code_points`), or back (`utf16_units`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

_FIRST_HALVES = frozenset(map(chr, range(0xD800, 0xDC00)))

LanguageQuery: TypeAlias = Literal["definition", "references", "symbols", "rename", "diagnostics"]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place to ask about. `path` is absolute."""

    path: str
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Place:
    """`name` is an absolute path; where `is_file` is false, the uri of what is no file here."""

    name: str
    line: int
    character: int = 0
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class Symbol:
    """`kind` is a word, such as `function`. `end_line` is the last one. `depth` counts the symbols around it."""

    name: str
    kind: str
    place: Place
    end_line: int
    container: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class TextChange:
    """What stands from the start up to the end gives way to `text`."""

    start_line: int
    start_character: int
    end_line: int
    end_character: int
    text: str


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Changes of one file, as the editor told them. `document` is the text that they are of, where it is open there;

    None: they are of the file on disk, as the language tools last read it.
    """

    path: str
    changes: tuple[TextChange, ...]
    document: str | None = None


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """`severity` is a word: error, warning, information, hint. `by` names the tool and its code for it, "" for none."""

    line: int
    severity: str
    message: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class FileProblems:
    """`is_settled` false: the tools are still at work on the file."""

    path: str
    problems: tuple[CodeProblem, ...]
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """`is_cut`: there were more than an editor hands on at once."""

    places: tuple[Place, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class FoundSymbols:
    symbols: tuple[Symbol, ...]
    is_cut: bool = False


class LanguageHost(Protocol):
    """Each query raises NoAnswerError: the editor cannot tell, or did not in time. None changes anything."""

    def answers(self) -> frozenset[LanguageQuery]:
        """What can be asked."""
        ...

    async def definition(self, spot: Spot) -> Found: ...

    async def references(self, spot: Spot) -> Found:
        """With the definition itself."""
        ...

    async def symbols_of(self, path: str) -> FoundSymbols:
        """Of one file, in its order."""
        ...

    async def symbols_named(self, query: str) -> FoundSymbols:
        """Of the whole workspace, those whose names resemble the query."""
        ...

    async def rename(self, spot: Spot, new_name: str) -> Sequence[FileChanges]:
        """What would have to be changed. The editor itself changes nothing.

        Raises:
            StaleFileError: the answer is about another text than the document's by now; ask again.
        """
        ...

    async def problems(self, path: str) -> Sequence[FileProblems]:
        """Of one file, or of all where `path` is ""."""
        ...


def utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def code_points(content: str, character: int) -> int:
    """Code points of a line before `character`. Behind the end is the end; in the middle of a pair, before it."""
    if content.isascii():
        return min(character, len(content))
    units = content.encode("utf-16-le", "surrogatepass")[: character * 2]
    head = units.decode("utf-16-le", "surrogatepass")
    return len(head) - (head[-1:] in _FIRST_HALVES)
