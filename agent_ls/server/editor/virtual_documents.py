"""Track which `agent-ls:` documents the client displays, and ask the client to request a document again when
its text changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from lsprotocol import types as lsp

MAX_WATCHED = 50  # limited, because editors do not report that they closed such a document


class VirtualDocuments:
    """The virtual documents that the client has requested.

    At most one refresh per document is unanswered at a time, so that the server does not send a message for
    each typed key.
    """

    def __init__(self, send: Callable[[str, Any], Future[Any]], *, can_refresh: bool) -> None:
        self._send = send
        self._can_refresh = can_refresh
        self._uris: OrderedDict[str, str] = OrderedDict()
        self._unanswered: set[str] = set()
        self._changed_again: set[str] = set()

    def record_request(self, uri: str, path: str) -> None:
        """Record that the client requested the text of `uri`, a virtual document about the file `path`."""
        self._uris[uri] = path
        self._uris.move_to_end(uri)
        if len(self._uris) > MAX_WATCHED:
            self._uris.popitem(last=False)

    def refresh(self, path: str) -> None:
        """Ask the client to request the virtual documents of `path` again."""
        for uri in [uri for uri, shown in self._uris.items() if shown == path and self._can_refresh]:
            if uri in self._unanswered:
                self._changed_again.add(uri)
            else:
                self._refresh(uri)

    def _refresh(self, uri: str) -> None:
        self._unanswered.add(uri)
        params = lsp.TextDocumentContentRefreshParams(uri=uri)
        answer = self._send(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, params)
        answer.add_done_callback(lambda answer: self._handle_answer(uri, answer))

    def _handle_answer(self, uri: str, answer: Future[Any]) -> None:
        self._unanswered.discard(uri)
        is_refused = answer.cancelled() or answer.exception() is not None
        if is_refused:
            self._uris.pop(uri, None)  # the client does not support the refresh: do not ask again
        elif uri in self._changed_again:
            self._changed_again.discard(uri)
            self._refresh(uri)
