"""Implement LanguageHost with requests to the client, which the editor's language servers answer.

The responses come from other programs. So a response of the wrong type is rejected; positions and versions are
checked before use.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agent_ls.environments.errors import NoAnswerError, StaleFileError
from agent_ls.environments.language_host import (
    ActionChanges,
    CallDirection,
    CodeProblem,
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
    TextChange,
)
from agent_ls.server.editor.client_requests import NotDoneError
from agent_ls.server.editor.diagnostics import SEVERITIES, EditorDiagnostics, FindDocument
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.from_lsp import is_path, maybe_path

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agent_ls.server import protocol as wire

DEADLINE_MS = 15_000  # long, because a language server that was just started reads the project first
MAX_REASON_CHARS = 300

# Names of the LSP SymbolKinds by number. LSP counts from 1; index 0 is for unknown numbers.
KINDS = (
    "symbol file module namespace package class method property field constructor enum interface function variable "
    "constant string number boolean array object key null enum-member struct event operator type-parameter"
).split()

_BASIC: frozenset[LanguageQuery] = frozenset(("definition", "references", "symbols", "rename", "diagnostics"))
_DETAILS: frozenset[LanguageQuery] = frozenset(("hover", "implementations", "calls", "actions"))
_PUSHED: frozenset[LanguageQuery] = frozenset(("diagnostics",))

M = TypeVar("M", bound="BaseModel")


class ClientRequestSender(Protocol):
    """Interface that sends requests to the client (client_requests.py)."""

    async def ask(self, what: str, params: dict[str, Any], deadline_ms: int | None = None) -> dict[str, Any]:
        """Send a request to the client and return its result.

        Raises:
            NotDoneError: the client answered with an error, or did not answer in time.
        """
        ...


class EditorLanguage:
    """A LanguageHost that sends language queries to the client. `document` returns the synced document of a
    path; `known` contains the diagnostics that the client pushes.
    """

    def __init__(
        self, client: Callable[[], ClientAbilities], document: FindDocument, known: EditorDiagnostics
    ) -> None:
        self._client = client
        self._document = document
        self._known = known
        self._sender: ClientRequestSender | None = None

    def set_sender(self, sender: ClientRequestSender) -> None:
        self._sender = sender

    def diagnostics_request(self) -> Callable[[Sequence[str]], Awaitable[None]] | None:
        """Return the function that requests the problems of files; None if the client pushes them."""
        pulls = self._sender and self._client().language and not self._client().diagnostics
        return self._pull if pulls else None

    def supported_queries(self) -> frozenset[LanguageQuery]:
        client = self._client()
        if client.language:
            return _BASIC | _DETAILS if client.details else _BASIC
        return _PUSHED if client.diagnostics else frozenset()

    async def definition(self, position: SourcePosition) -> FoundLocations:
        return await self._find_locations("definition", position)

    async def references(self, position: SourcePosition) -> FoundLocations:
        return await self._find_locations("references", position)

    async def symbols_of(self, path: str) -> FoundSymbols:
        return await self._symbols({"uri": to_lsp.uri(path)})

    async def symbols_named(self, query: str) -> FoundSymbols:
        return await self._symbols({"query": query})

    async def rename(self, position: SourcePosition, new_name: str) -> Sequence[FileChanges]:
        from agent_ls.server import protocol as wire

        answer = await self._ask("rename", wire.RenameEdits, {**_position(position), "newName": new_name})
        return self._all_changes(answer)

    async def hover(self, position: SourcePosition) -> Sequence[str]:
        from agent_ls.server import protocol as wire

        return (await self._ask("hover", wire.HoverTexts, _position(position))).texts

    async def implementations(self, position: SourcePosition) -> FoundLocations:
        return await self._find_locations("implementations", position)

    async def calls(self, position: SourcePosition, direction: CallDirection) -> FoundCalls:
        from agent_ls.server import protocol as wire

        answer = await self._ask("calls", wire.CodeCalls, {**_position(position), "direction": direction})
        found = tuple(FoundCall(_symbol(one), tuple(sorted(set(one.lines)))) for one in answer.calls)
        return FoundCalls(found, answer.truncated)

    async def actions(self, span: SourceSpan) -> Sequence[OfferedAction]:
        from agent_ls.server import protocol as wire

        answer = await self._ask("actions", wire.CodeActions, _span(span))
        return [
            OfferedAction(
                one.title,
                one.kind,
                one.preferred,
                "" if one.disabled is None else one.disabled or "no reason",
            )
            for one in answer.actions
        ]

    async def action_changes(self, span: SourceSpan, title: str) -> ActionChanges:
        from agent_ls.server import protocol as wire

        answer = await self._ask("actionEdits", wire.ActionEdits, {**_span(span), "title": title})
        return ActionChanges(tuple(self._all_changes(answer)), answer.command)

    def _all_changes(self, answer: wire.RenameEdits) -> list[FileChanges]:
        """Return the changes of all files.

        Raises:
            NoAnswerError: the answer has changes that are not supported. StaleFileError: a document has changed.
        """
        if answer.file_operations:
            first = _cut(answer.file_operations[0])
            raise NoAnswerError(
                f"The editor would also rename or create files for this change ({first}), which is not "
                "supported: rename the files with a command, and change the names in the files with edits."
            )
        # A file may be listed several times; all edits refer to the same text.
        found: dict[str, FileChanges] = {}
        for file in (self._changes(document) for document in answer.documents if document.edits):
            if known := found.get(file.path):
                text = known.document if file.document is None else file.document
                file = replace(known, changes=known.changes + file.changes, document=text)
            found[file.path] = file
        return [*found.values()]

    async def problems(self, path: str) -> Sequence[FileProblems]:
        if self._client().language:
            try:
                await self._pull([path] if path else [])
            except NoAnswerError:
                if not self._client().diagnostics:
                    raise  # otherwise use the diagnostics that the client pushed
        return [
            FileProblems(
                name,
                tuple(
                    CodeProblem(
                        one.line,
                        SEVERITIES[one.severity],
                        one.message,
                        " ".join(filter(None, (one.source, one.code))),
                    )
                    for one in problems
                ),
                is_settled,
            )
            for name, problems, is_settled in self._known.all_of(path)
        ]

    # -- internals

    async def _pull(self, paths: Sequence[str]) -> None:
        """Request the problems of these files, or of all files if `paths` is empty, and store them like
        pushed diagnostics.
        """
        from agent_ls.server import protocol as wire

        for params in [{"uri": to_lsp.uri(path)} for path in paths] or [{}]:
            answer = await self._ask("diagnostics", wire.DiagnosedFiles, params)
            if not params:
                self._known.clear()
            for file in answer.files:
                self._known.publish(file.uri, file.version, file.items, settled=file.settled)

    async def _find_locations(self, what: str, position: SourcePosition) -> FoundLocations:
        from agent_ls.server import protocol as wire

        answer = await self._ask(what, wire.CodeLocations, _position(position))
        return FoundLocations(tuple(map(_to_location, answer.locations)), answer.truncated)

    async def _symbols(self, params: dict[str, Any]) -> FoundSymbols:
        from agent_ls.server import protocol as wire

        answer = await self._ask("symbols", wire.CodeSymbols, params)
        return FoundSymbols(tuple(map(_symbol, answer.symbols)), answer.truncated)

    def _changes(self, document: wire.DocumentEdits) -> FileChanges:
        path = maybe_path(document.uri)
        if path is None:
            raise NoAnswerError(f"The editor would change {_cut(document.uri)}, which is not a file.")
        changes = tuple(
            TextChange(one.start_line, one.start_character, one.end_line, one.end_character, one.new_text)
            for one in document.edits
        )
        opened = self._document(path)
        if opened is None:
            return FileChanges(path, changes)
        # The client sends a document's changes before responses about it, so an equal version means an equal
        # text.
        if document.version not in (None, opened.version):
            raise StaleFileError(path, "the user changed the file at the same time")
        return FileChanges(opened.path, changes, opened.text if document.version is not None else None)

    async def _ask(self, what: str, answer: type[M], params: dict[str, Any]) -> M:
        from pydantic import ValidationError

        if self._sender is None or not self._client().language:
            raise NoAnswerError("No editor that could answer is connected.")
        try:
            return answer.model_validate(await self._sender.ask(what, params, DEADLINE_MS))
        except NotDoneError as error:
            raise NoAnswerError(
                f"The editor's language tools could not answer: {_cut(str(error))}."
            ) from None
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
            raise NoAnswerError(f"The editor's answer is malformed (at {_cut(where)}).") from None


def _position(position: SourcePosition) -> dict[str, Any]:
    return {"uri": to_lsp.uri(position.path), "line": position.line, "character": position.character}


def _span(span: SourceSpan) -> dict[str, Any]:
    return {
        "uri": to_lsp.uri(span.path),
        "startLine": span.start_line,
        "startCharacter": span.start_character,
        "endLine": span.end_line,
        "endCharacter": span.end_character,
    }


def _to_location(location: wire.CodeLocation) -> FoundLocation:
    uri = location.uri  # some language servers name a file by its path
    path = os.path.normpath(uri) if is_path(uri) and os.path.isabs(uri) else maybe_path(uri)
    return FoundLocation(
        path or location.uri, location.start_line, location.start_character, path is not None
    )


def _symbol(symbol: wire.CodeSymbol) -> Symbol:
    kind = KINDS[symbol.kind] if symbol.kind < len(KINDS) else KINDS[0]
    return Symbol(
        symbol.name, kind, _to_location(symbol), symbol.end_line, symbol.container or "", symbol.depth
    )


def _cut(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_REASON_CHARS else words[: MAX_REASON_CHARS - 1] + "…"
