"""Notebook synchronisation: pygls stores the cells (lsp/documents.py); editor/notebooks.py is notified of each
change.
"""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from agent_ls.server.editor.notebooks import OpenNotebooks


def register(server: LanguageServer, notebooks: OpenNotebooks) -> None:
    """Register the handlers. The handlers are synchronous functions, so that each runs as soon as its message
    is read, in the order of messages.
    """

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenNotebookDocumentParams) -> None:
        notebooks.handle_open(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeNotebookDocumentParams) -> None:
        notebooks.handle_change(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: lsp.DidSaveNotebookDocumentParams) -> None:
        notebooks.handle_save(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseNotebookDocumentParams) -> None:
        notebooks.handle_close(params.notebook_document.uri)
