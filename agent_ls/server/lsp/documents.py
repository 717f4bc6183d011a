"""The client's open documents: pygls's workspace with documents whose lines follow LSP.

pygls splits lines with `str.splitlines`, which also splits at form feeds, U+2028 and other characters that editors do
not treat as line ends; positions after these characters would be wrong. pygls also splits and joins the whole
text for each change; here the cost of a change depends only on the size of the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.workspace import TextDocument, Workspace

from agent_ls.server.lsp.capabilities import ClientAbilities, Encoding
from agent_ls.server.lsp.from_lsp import clean, convert_position, document_lines, maybe_path


class SyncedDocument(TextDocument):
    """A document of the client. `version` grows with every change. `lines` include the line endings; joined
    they are `source`.
    """

    def __init__(
        self, uri: str, text: str, version: int, client: ClientAbilities, language_id: str | None = None
    ) -> None:
        super().__init__(uri, source="", version=version, language_id=language_id)
        self._encoding: Encoding = client.encoding
        self._newline_only = client.newline_only
        self._lines: list[str] = []
        self._text: str | None = None
        self._set(clean(text))

    @property
    def source(self) -> str:
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def lines(self) -> Sequence[str]:
        return self._lines

    def apply_change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        text = clean(change.text)
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            self._splice(change.range, text)
        else:
            self._set(text)

    def _set(self, text: str) -> None:
        self._text = text
        self._lines = document_lines(text, newline_only=self._newline_only)

    def _splice(self, where: lsp.Range, text: str) -> None:
        lines = self._lines
        start, end = sorted((self._convert_position(where.start), self._convert_position(where.end)))
        head = lines[start[0]][: start[1]] if start[0] < len(lines) else ""
        tail = lines[end[0]][end[1] :] if end[0] < len(lines) else ""
        first = start[0]
        if first and lines[first - 1].endswith("\r"):
            # A CR that ended a line may now be followed by an LF. Both together then end one line.
            first -= 1
            head = lines[first] + head
        lines[first : end[0] + 1] = document_lines(head + text + tail, newline_only=self._newline_only)
        self._text = None

    def _convert_position(self, position: lsp.Position) -> tuple[int, int]:
        return convert_position(
            self._lines,
            position.line,
            position.character,
            self._encoding,
            newline_only=self._newline_only,
        )


class Documents(Workspace):
    """All open documents. Different URIs of the same path name the same document."""

    def __init__(
        self, client: ClientAbilities, root_uri: str | None, folders: Sequence[lsp.WorkspaceFolder]
    ) -> None:
        super().__init__(root_uri, workspace_folders=folders, position_encoding=client.encoding)
        self.client = client

    def maybe_open(self, uri: str) -> SyncedDocument | None:
        found = self._text_documents.get(_name(uri))
        return found if isinstance(found, SyncedDocument) else None

    def get_text_document(self, doc_uri: str) -> TextDocument:
        return self.maybe_open(doc_uri) or super().get_text_document(doc_uri)

    def put_text_document(self, text_document: lsp.TextDocumentItem, notebook_uri: str | None = None) -> None:
        super().put_text_document(text_document, notebook_uri)
        self._text_documents[_name(text_document.uri)] = self._text_documents.pop(unquote(text_document.uri))

    def update_text_document(
        self, text_doc: lsp.VersionedTextDocumentIdentifier, change: lsp.TextDocumentContentChangeEvent
    ) -> None:
        document = self._text_documents[_name(text_doc.uri)]
        document.apply_change(change)
        document.version = text_doc.version

    def remove_text_document(self, doc_uri: str) -> None:
        self._text_documents.pop(_name(doc_uri), None)
        super().remove_text_document(doc_uri)

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        if source is None:
            return super()._create_text_document(doc_uri, source, version, language_id)
        return SyncedDocument(doc_uri, source, version or 0, self.client, language_id)


@lru_cache(maxsize=8192)  # cached, because each turn reads the paths of all open documents
def _name(uri: str) -> str:
    """Return the key of a document: the path of a file, else the URI (for example of a notebook cell)."""
    path = None if "#" in uri or "?" in uri else maybe_path(uri)
    return unquote(uri) if path is None else path
