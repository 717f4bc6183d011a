"""A small language server that runs in the editor next to agent-ls: python -m tests.neovim.toy_language_server.

A symbol of its language is a word, defined by a line `def WORD`. The server knows all files `*.toy` of its folder,
open or on disk, and reports the word `bad` as a problem. It uses the first position encoding that the client lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

_WORD = re.compile(r"\w+")
_DEFINED = re.compile(r"def (\w+)")

server = LanguageServer("toy", "1")


def texts() -> Iterator[tuple[str, list[str]]]:
    """Yield each file with its lines, ordered by name."""
    root = Path(server.workspace.root_path or ".")
    for path in sorted(root.rglob("*.toy")):
        document = server.workspace.get_text_document(path.as_uri())
        yield document.uri, document.source.splitlines()


def matches(pattern: re.Pattern[str], word: str = "") -> Iterator[lsp.Location]:
    """Yield the locations of the pattern's word (its group, else the whole match), limited to `word` if given."""
    for uri, lines in texts():
        for number, line in enumerate(lines):
            for found in pattern.finditer(line):
                group = found.re.groups
                if word in ("", found[group]):
                    yield lsp.Location(uri, span(lines, number, *found.span(group)))


def span(lines: list[str], number: int, start: int, end: int) -> lsp.Range:
    codec = server.workspace.position_codec
    return codec.range_to_client_units(
        lines, lsp.Range(lsp.Position(number, start), lsp.Position(number, end))
    )


def word_at(document_uri: str, position: lsp.Position) -> str:
    lines = server.workspace.get_text_document(document_uri).source.splitlines()
    place = server.workspace.position_codec.position_from_client_units(lines, position)
    line = lines[place.line]
    return next((m[0] for m in _WORD.finditer(line) if m.start() <= place.character < m.end()), "")


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
    return list(matches(_DEFINED, word_at(params.text_document.uri, params.position)))


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    return list(matches(_WORD, word_at(params.text_document.uri, params.position)))


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    lines = server.workspace.get_text_document(params.text_document.uri).source.splitlines()
    found = [(number, one) for number, line in enumerate(lines) if (one := _DEFINED.match(line))]
    places = [(one[1], span(lines, number, *one.span(1))) for number, one in found]
    return [lsp.DocumentSymbol(name, lsp.SymbolKind.Function, place, place) for name, place in places]


@server.feature(lsp.WORKSPACE_SYMBOL)
def symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
    found = []
    for location in matches(_DEFINED):
        document = server.workspace.get_text_document(location.uri)
        word = document.source.splitlines()[location.range.start.line].split()[1]
        if params.query in word:
            found.append(lsp.SymbolInformation(location, word, lsp.SymbolKind.Function))
    return found


@server.feature(lsp.TEXT_DOCUMENT_RENAME)
def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    changes: dict[str, list[lsp.TextEdit]] = {}
    for location in matches(_WORD, word_at(params.text_document.uri, params.position)):
        changes.setdefault(location.uri, []).append(lsp.TextEdit(location.range, params.new_name))
    return lsp.WorkspaceEdit(changes=changes)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(params: lsp.HoverParams) -> lsp.Hover:
    word = word_at(params.text_document.uri, params.position)
    return lsp.Hover([lsp.MarkedStringWithLanguage("toy", f"def {word}"), f"The word {word}."])


@server.feature(lsp.TEXT_DOCUMENT_IMPLEMENTATION)
def implementation(params: lsp.ImplementationParams) -> list[lsp.LocationLink]:
    found = matches(_DEFINED, word_at(params.text_document.uri, params.position))
    return [lsp.LocationLink(one.uri, one.range, one.range) for one in found]


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
def prepare_calls(params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem]:
    word = word_at(params.text_document.uri, params.position)
    kind = lsp.SymbolKind.Function
    return [lsp.CallHierarchyItem(word, kind, it.uri, it.range, it.range) for it in matches(_DEFINED, word)]


@server.feature(lsp.CALL_HIERARCHY_INCOMING_CALLS)
def incoming(params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
    """Return each file that has the word, apart from its definition, as a caller."""
    item, ranges = params.item, dict[str, list[lsp.Range]]()
    for found in matches(_WORD, item.name):
        if (found.uri, found.range) != (item.uri, item.range):
            ranges.setdefault(found.uri, []).append(found.range)
    top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return [
        lsp.CallHierarchyIncomingCall(
            lsp.CallHierarchyItem("file", lsp.SymbolKind.File, uri, top, top), places
        )
        for uri, places in ranges.items()
    ]


@server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(resolve_provider=True))
def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Offer a fix for each problem that the editor names. The fix has its edit only when it is resolved."""
    return [
        lsp.CodeAction(
            "Correct it",
            lsp.CodeActionKind.QuickFix,
            diagnostics=[problem],
            data={"uri": params.text_document.uri, "line": problem.range.start.line},
        )
        for problem in params.context.diagnostics
    ]


@server.feature(lsp.CODE_ACTION_RESOLVE)
def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
    assert isinstance(action.data, dict) and action.diagnostics
    edit = lsp.TextEdit(action.diagnostics[0].range, "good")
    return lsp.CodeAction(
        action.title, action.kind, edit=lsp.WorkspaceEdit(changes={action.data["uri"]: [edit]})
    )


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def opened(params: lsp.DidOpenTextDocumentParams) -> None:
    _check(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def changed(params: lsp.DidChangeTextDocumentParams) -> None:
    _check(params.text_document.uri)


def _check(uri: str) -> None:
    problems = [
        lsp.Diagnostic(location.range, "this is bad", severity=lsp.DiagnosticSeverity.Error, source="toy")
        for location in matches(_WORD, "bad")
        if to_fs_path(location.uri) == to_fs_path(uri)
    ]
    document = server.workspace.get_text_document(uri)
    server.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(uri, problems, version=document.version)
    )


if __name__ == "__main__":
    server.start_io()
