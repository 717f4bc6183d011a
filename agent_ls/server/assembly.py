"""The server put together: workbench, editor host, senders, routes. A list of what is given to whom."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from lsprotocol import types as lsp

from agent_ls.loop.ids import new_id
from agent_ls.loop.redaction import without
from agent_ls.server.access import follow_access
from agent_ls.server.answers import Answers
from agent_ls.server.client_requests import ClientRequests
from agent_ls.server.context import Context
from agent_ls.server.editor_host import LspEditorHost
from agent_ls.server.event_sender import EventSenders
from agent_ls.server.features import (
    archive,
    completion,
    contents,
    editor,
    models,
    owners,
    prompts,
    review,
    rules,
    sessions,
    terminals,
)
from agent_ls.server.features.configuration import Configuration, section_of
from agent_ls.server.from_lsp import maybe_path
from agent_ls.server.rpc import Route, Router
from agent_ls.server.seams import Bench
from agent_ls.server.server import AgentServer
from agent_ls.server.shown_texts import ShownTexts

log = logging.getLogger(__name__)

Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]
OpenBench: TypeAlias = Callable[[LspEditorHost, dict[str, Any]], tuple[Bench, Sequence[str]]]
"""Makes the workbench from the settings as the editor sent them; and says what was wrong with those."""

ROUTES: tuple[Route, ...] = (
    *sessions.ROUTES,
    *archive.ROUTES,
    *owners.ROUTES,
    *prompts.ROUTES,
    *review.ROUTES,
    *rules.ROUTES,
    *contents.ROUTES,
    *terminals.ROUTES,
    *editor.ROUTES,
    *models.ROUTES,
    *completion.ROUTES,
)


def assemble(server: AgentServer, start: Start, open_bench: OpenBench) -> tuple[Bench, Router]:
    protocol, host = server.protocol, server.host
    settings = section_of(protocol.options) or {}
    bench, problems = open_bench(host, settings)
    client_id = new_id("c")
    protocol.clean = lambda message: without(message, bench.secrets())
    senders = EventSenders(send=protocol.send_event, drain=server.writer.drain, start=start)
    bench.owners.known_as(protocol.client.name)
    bench.owners.watch(follow_access(senders))
    requests = ClientRequests(
        client_id,
        protocol.client,
        send=protocol.send_event,
        session_id=lambda: senders.any_session_id,
        start=start,
    )
    host.attach(bench.review, requests)
    bench.folders = partial(_folders, server)
    host.language.attach(requests)
    if protocol.client.workspace_trusted:
        bench.trust.of_editor = partial(_folders, server)
    shown_texts = ShownTexts(protocol.send_request, can_refresh=protocol.client.text_document_content)
    bench.review.watch_texts(shown_texts.changed)

    def tell(problems: Sequence[str]) -> None:
        for problem in problems:
            message = lsp.ShowMessageParams(type=lsp.MessageType.Warning, message=problem)
            protocol.notify(lsp.WINDOW_SHOW_MESSAGE, message)

    tell((*problems, *_mismatch(server)))
    configuration = Configuration(
        bench,
        protocol.client,
        first=settings,
        told=problems,
        tell=tell,
        folders=partial(_folders, server),
        ask=protocol.send_request_async,
        start=start,
    )
    context = Context(
        bench,
        host,
        protocol.client,
        client_id,
        partial(_folders, server),
        senders,
        requests,
        shown_texts,
        configuration.settled,
    )

    async def files_changed(params: Any) -> None:
        bench.files_changed(host.watched_files.changed(params))

    standard: dict[str, Callable[[Any], Awaitable[Any]]] = {
        lsp.INITIALIZED: configuration.initialized,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.changed,
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: files_changed,
    }
    if not protocol.client.is_rich:
        # A tenth of our own classes, which other editors have no use for.
        from agent_ls.server.stock.face import StockFace

        face = StockFace(context, protocol, start)
        host.watch(face)
        standard |= face.answers
    return bench, Router(ROUTES, context, Answers(start), standard)


def _folders(server: AgentServer) -> Sequence[str]:
    documents = server.protocol.documents
    uris = (*(folder.uri for folder in documents.folders.values()), documents.root_uri or "")
    return [path for uri in uris if (path := maybe_path(uri))]


def _mismatch(server: AgentServer) -> Sequence[str]:
    if not server.protocol.client.version_mismatch:
        return ()
    return (
        "This editor plugin and agent-ls speak different versions; update both. Until then only edits work.",
    )
