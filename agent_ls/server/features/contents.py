"""Texts of `agent-ls:` documents: what the user has accepted of a file, and what it would hold with all proposals.

    agent-ls:/base/<path>?<file uri>        the accepted text
    agent-ls:/proposed/<path>?<file uri>    the current text with all proposed hunks

The path is for people, the percent-encoded `file:` uri behind it is what counts. A diff editor has two such documents,
or one and the file.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.errors import InvalidParamsError, NothingPendingError
from agent_ls.server.from_lsp import maybe_path
from agent_ls.server.hello import SCHEME
from agent_ls.server.rpc import route


async def text_document_content(
    context: Context, params: wire.TextDocumentContent
) -> wire.TextDocumentContentResult:
    kind, path = _parsed(params.uri, params.method)
    context.shown_texts.asked_for(params.uri, path)
    review = context.bench.review
    text = review.base_text(path) if kind == "base" else review.proposed_text(path)
    if text is None and not review.knows(path):
        document = context.host.open_document(path)
        if document is None:
            raise NothingPendingError(
                f"no session that is open here has changed {path}",
                "open the file itself, or subscribe to the session that changed it",
            )
        text = document.text
    return wire.TextDocumentContentResult(text=text or "")


def _parsed(uri: str, method: str) -> tuple[str, str]:
    """`base` or `proposed`, and the absolute path of the file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise InvalidParamsError(method, f"uri: {uri} is no uri") from None
    kind = parts.path.lstrip("/").split("/", 1)[0]
    path = maybe_path(unquote(parts.query))
    if parts.scheme != SCHEME or kind not in ("base", "proposed") or path is None:
        raise InvalidParamsError(
            method, f"uri: {uri} is not {SCHEME}:/base/<path>?<file uri>, nor the same with /proposed/"
        )
    return kind, path


ROUTES = (route(wire.TextDocumentContent, text_document_content),)
