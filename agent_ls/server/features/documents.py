"""Synchronisation of documents and notebooks: pygls stores their texts (lsp/documents.py); the editor host is
notified of each change.
"""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from agent_ls.server.editor.host import LspEditorHost


def register(server: LanguageServer, host: LspEditorHost) -> None:
    """Register the handlers. The handlers are synchronous functions, so that each runs as soon as its message
    is read, in the order of messages.
    """

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        host.handle_open(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        whole = lsp.TextDocumentContentChangeWholeDocument
        is_whole = any(isinstance(change, whole) for change in params.content_changes)
        host.handle_change(params.text_document.uri, is_whole=is_whole)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        host.handle_save(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        host.handle_close(params.text_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_did_open(params: lsp.DidOpenNotebookDocumentParams) -> None:
        host.notebooks.handle_open(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_did_change(params: lsp.DidChangeNotebookDocumentParams) -> None:
        host.notebooks.handle_change(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    def notebook_did_save(params: lsp.DidSaveNotebookDocumentParams) -> None:
        host.notebooks.handle_save(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_did_close(params: lsp.DidCloseNotebookDocumentParams) -> None:
        host.notebooks.handle_close(params.notebook_document.uri)
