"""Texts of `agent-ls:` documents: the accepted text of a file, and its text with all proposed hunks.

    agent-ls:/base/<path>?<file uri>        the accepted text
    agent-ls:/proposed/<path>?<file uri>    the current text with all proposed hunks

The path is only for display; the percent-encoded `file:` URI behind it identifies the file. A diff editor
shows two of these documents, or one of them and the file.
"""

from __future__ import annotations

from urllib.parse import unquote

from agent_ls.addresses import split_address
from agent_ls.server import protocol as wire
from agent_ls.server.lsp.capabilities import SCHEME
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import InvalidParamsError, NothingPendingError


async def text_document_content(
    context: Context, params: wire.TextDocumentContent
) -> wire.TextDocumentContentResult:
    kind, path = _parse_uri(params.uri, params.method)
    context.virtual_documents.record_request(params.uri, path)
    review = context.manager.review
    text = review.base_text(path) if kind == "base" else review.proposed_text(path)
    if text is None and not review.knows(path):
        document = context.host.open_document(path)
        if document is None:
            raise NothingPendingError(
                f"no session open in this editor has changed {path}",
                "open the file itself, or subscribe to the session that changed it",
            )
        text = document.text
    return wire.TextDocumentContentResult(text=text or "")


def _parse_uri(uri: str, method: str) -> tuple[str, str]:
    """Return `base` or `proposed`, and the absolute path of the file.

    Raises:
        InvalidParamsError: not a URI in one of these two forms.
    """
    parts = split_address(uri)
    kind = parts.path.lstrip("/").split("/", 1)[0]
    path = maybe_path(unquote(parts.query))
    if parts.scheme != SCHEME or kind not in ("base", "proposed") or path is None:
        raise InvalidParamsError(
            method,
            f"uri: {uri} must be {SCHEME}:/base/<path>?<file uri> or {SCHEME}:/proposed/<path>?<file uri>",
        )
    return kind, path


ROUTES = (route(wire.TextDocumentContent, text_document_content),)
