"""A client's answers to code queries: locations, symbols, changes. Lines and characters from 0, UTF-16."""

from __future__ import annotations

from pydantic import Field

from agent_ls.server.protocol.base import Wire
from agent_ls.server.protocol.editor import Diagnostics

MAX_PLACES = 5_000
MAX_DOCUMENTS = 1_000
MAX_TEXTS = 100
MAX_ACTIONS = 1_000
MAX_EDITS = 10_000  # per document
MAX_CHARACTER = 2**31 - 1


class CodeRange(Wire):
    start_line: int = Field(ge=0, le=MAX_CHARACTER)
    start_character: int = Field(default=0, ge=0, le=MAX_CHARACTER)
    end_line: int = Field(ge=0, le=MAX_CHARACTER)
    end_character: int = Field(default=0, ge=0, le=MAX_CHARACTER)


class CodeLocation(CodeRange):
    uri: str = Field(min_length=1)


class CodeLocations(Wire):
    """The client's answer to `definition` and `references`. `truncated`: there are more locations."""

    locations: tuple[CodeLocation, ...] = Field(max_length=MAX_PLACES)
    truncated: bool = False


class CodeSymbol(CodeLocation):
    """`kind` as in LSP (12 is a function); `depth` is the number of enclosing symbols."""

    name: str
    kind: int = Field(ge=0, le=1000)
    container: str | None = None
    depth: int = Field(default=0, ge=0, le=1000)


class CodeSymbols(Wire):
    """The client's answer to `symbols`. `truncated`: there are more symbols."""

    symbols: tuple[CodeSymbol, ...] = Field(max_length=MAX_PLACES)
    truncated: bool = False


class CodeEdit(CodeRange):
    new_text: str


class DocumentEdits(Wire):
    """Edits of one document. They were computed for document version `version`, null if the client does not
    have the document open.
    """

    uri: str = Field(min_length=1)
    version: int | None = None
    edits: tuple[CodeEdit, ...] = Field(max_length=MAX_EDITS)


class RenameEdits(Wire):
    """The client's answer to `rename`: the edits, which the client has not applied. `file_operations`
    describes files that the rename would also move or create.
    """

    documents: tuple[DocumentEdits, ...] = Field(max_length=MAX_DOCUMENTS)
    file_operations: tuple[str, ...] = Field(default=(), max_length=MAX_DOCUMENTS)


class HoverTexts(Wire):
    """The client's answer to `hover`: Markdown texts, without empty ones."""

    texts: tuple[str, ...] = Field(max_length=MAX_TEXTS)


class FunctionCalls(CodeSymbol):
    """A function that calls another or is called. `lines` has the lines of the calls in the calling file."""

    lines: tuple[int, ...] = Field(default=(), max_length=MAX_PLACES)


class CodeCalls(Wire):
    """The client's answer to `calls`. `truncated`: there are more functions."""

    calls: tuple[FunctionCalls, ...] = Field(max_length=MAX_PLACES)
    truncated: bool = False


class CodeActionInfo(Wire):
    """`disabled` is the reason why the action cannot be applied, null if it can."""

    title: str = Field(min_length=1)
    kind: str = ""
    preferred: bool = False
    disabled: str | None = None


class CodeActions(Wire):
    """The client's answer to `actions`."""

    actions: tuple[CodeActionInfo, ...] = Field(max_length=MAX_ACTIONS)


class ActionEdits(RenameEdits):
    """The client's answer to `actionEdits`: the edits of one code action, which the client has not applied.
    `command` is the title of a command that belongs to the action and was not run.
    """

    command: str = ""


class DiagnosedFiles(Wire):
    """The client's answer to `diagnostics`: the problems of each file."""

    files: tuple[Diagnostics, ...] = Field(max_length=MAX_DOCUMENTS)
