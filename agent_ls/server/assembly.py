"""Wire the server together: session manager, editor host, event senders and routes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.loop.calls.redaction import redact_line
from agent_ls.loop.ids import new_id
from agent_ls.notebook.cells import is_notebook
from agent_ls.server.channel.switch import ChannelSwitch
from agent_ls.server.editor.client_requests import ClientRequests
from agent_ls.server.editor.host import LspEditorHost
from agent_ls.server.editor.virtual_documents import VirtualDocuments
from agent_ls.server.features import review
from agent_ls.server.features.configuration import Configuration, SettingsClient, section_of
from agent_ls.server.features.moved_hunks import MovedHunks
from agent_ls.server.features.rich_findings import RichFindings
from agent_ls.server.features.routes import ROUTES
from agent_ls.server.features.suggestions import SuggestionRequests
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.access import follow_access
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.event_sender import EventSenders
from agent_ls.server.rpc.idempotency import RecentAnswers
from agent_ls.server.rpc.router import Router
from agent_ls.server.server import AgentServer
from agent_ls.server.transport.jsonrpc import AgentProtocol
from agent_ls.services.settings.layers import layered, user_layer
from agent_ls.services.settings.untrusted import of_client
from agent_ls.sessions.host import ClientState

if TYPE_CHECKING:
    from agent_ls.server.channel.listener import LocalChannel
    from agent_ls.server.chat.ui import ChatInterface
    from agent_ls.services.settings.model import Settings
    from agent_ls.sessions.manager import SessionManager

log = logging.getLogger(__name__)

CreateManager: TypeAlias = (
    "Callable[[LspEditorHost, dict[str, Any], ClientState], tuple[SessionManager, Sequence[str]]]"
)
"""Creates the session manager from the settings that the editor sent. Returns the problems in these settings
as well.
"""


def assemble(
    server: AgentServer, start: TaskStarter, create_manager: CreateManager
) -> tuple[SessionManager, Router, ChannelSwitch]:
    protocol, host = server.protocol, server.host
    of_user, wrong = user_layer()
    section, ignored = of_client(section_of(protocol.options) or {})
    settings = layered(of_user, section)

    def settings_changed(settings: Settings) -> None:
        suggestions.settings_changed()
        channel.turn(on=settings.panel)

    async def trust_changed() -> None:
        await configuration.trust_changed()

    client_state = ClientState(
        folders=partial(_folders, server),
        trusted_folders=partial(_folders, server) if protocol.client.workspace_trusted else tuple,
        on_settings=settings_changed,
        on_trust=trust_changed,
        lists_servers=True,
    )
    manager, found = create_manager(host, settings, client_state)
    problems = (*wrong, *ignored, *found)
    protocol.clean = lambda message: redact_line(message, manager.secrets())
    tell = partial(_tell, protocol)
    tell((*problems, *_mismatch(server)))
    configuration = Configuration(
        manager,
        SettingsClient(protocol.client, protocol.send_request_async, tell),
        first=settings,
        displayed=problems,
        folders=partial(_folders, server),
        start=start,
    )
    context = _connect_client(server, start, manager, configuration)
    suggestions = SuggestionRequests(context, protocol, lambda problem: tell((problem,)), start)
    host.on_change = suggestions.text_changed
    interface = _create_interface(context, protocol, start)
    host.set_watcher(interface)
    standard = _standard_handlers(context, configuration, suggestions, interface)
    _follow_positions(context, protocol, interface, start)
    answers = RecentAnswers(start)

    def create_channel() -> LocalChannel:
        # Imported late for a faster start, because no editor waits for the channel.
        from agent_ls.server.channel.listener import LocalChannel

        return LocalChannel(context, ROUTES, answers, lambda message: protocol.clean(message))

    channel = ChannelSwitch(create_channel, is_on=manager.settings.panel)
    return manager, Router(ROUTES, context, answers, standard), channel


def _connect_client(
    server: AgentServer, start: TaskStarter, manager: SessionManager, configuration: Configuration
) -> Context:
    """Connect the sessions with the client: its events, its requests and its documents."""
    protocol, host, client_id = server.protocol, server.host, new_id("c")
    writer = server.writer
    senders = EventSenders(
        send=protocol.send_events, drain=writer.drain, has_room=lambda: not writer.waiting_bytes, start=start
    )
    manager.owners.set_program_name(protocol.client.name)
    manager.owners.watch(follow_access(senders))
    requests = ClientRequests(
        client_id,
        protocol.client,
        send=protocol.send_event,
        session_id=lambda: senders.any_session_id,
        start=start,
    )
    host.attach(manager.review, requests)
    host.language.set_sender(requests)
    virtual_documents = VirtualDocuments(
        protocol.send_request, can_refresh=protocol.client.text_document_content
    )
    manager.review.state.watch_texts(virtual_documents.refresh)
    return Context(
        manager,
        host,
        protocol.client,
        client_id,
        partial(_folders, server),
        senders,
        requests,
        virtual_documents,
        configuration.wait_for_settings,
    )


def _standard_handlers(
    context: Context,
    configuration: Configuration,
    suggestions: SuggestionRequests,
    interface: RichFindings | ChatInterface,
) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
    """Return the handlers of messages of LSP itself, by method."""

    async def initialized(params: Any) -> None:
        await configuration.initialized(params)
        suggestions.initialized()

    async def files_changed(params: Any) -> None:
        paths = context.host.watched_files.filter_changes(params)
        context.manager.files_changed(paths)
        for path in paths:
            interface.text_changed(path)

    return {
        lsp.INITIALIZED: initialized,
        lsp.TEXT_DOCUMENT_INLINE_COMPLETION: suggestions.answer,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.handle_change,
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: files_changed,
        **interface.answers,
    }


def _create_interface(
    context: Context, protocol: AgentProtocol, start: TaskStarter
) -> RichFindings | ChatInterface:
    """Return the handler of standard LSP messages: RichFindings for a rich client, ChatInterface for others."""
    if context.client.is_rich:
        return RichFindings(context, context.manager.review.findings, protocol, start)
    # Imported only here, because rich clients do not need the chat, which has a tenth of agent-ls's classes.
    from agent_ls.server.chat.ui import ChatInterface

    return ChatInterface(context, protocol, start)


def _follow_positions(
    context: Context, protocol: AgentProtocol, interface: RichFindings | ChatInterface, start: TaskStarter
) -> None:
    """Report moved hunks to `interface`, and send their positions to a client that draws them itself."""
    manager = context.manager
    listeners = [interface.text_changed]
    if protocol.client.review:
        moved_hunks = MovedHunks(
            partial(review.find_synced_hunks, context),
            send=protocol.send_notification,
            start=start,
            read=manager.review.look_at_disk,
        )
        listeners.append(moved_hunks.handle_change)
        _follow_notebooks(manager, context.host, moved_hunks)

    def moved(path: str) -> None:
        for changed in listeners:
            changed(path)

    manager.review.state.watch_positions(moved)


def _follow_notebooks(manager: SessionManager, host: LspEditorHost, moved_hunks: MovedHunks) -> None:
    """Make `moved_hunks` send the positions of a notebook's hunks whenever its cells change in the editor or
    the agent proposes a change.
    """

    def changed(path: str) -> None:
        if manager.review.knows(path):
            moved_hunks.handle_notebook_change(path)

    def texts_changed(path: str) -> None:
        if is_notebook(path):
            moved_hunks.handle_change(path)

    host.notebooks.on_change = changed
    manager.review.state.watch_texts(texts_changed)


def _tell(protocol: AgentProtocol, problems: Sequence[str]) -> None:
    """Show the user a warning about each problem."""
    for problem in problems:
        protocol.show(problem)


def _folders(server: AgentServer) -> Sequence[str]:
    documents = server.protocol.documents
    uris = (*(folder.uri for folder in documents.folders.values()), documents.root_uri or "")
    return [path for uri in uris if (path := maybe_path(uri))]


def _mismatch(server: AgentServer) -> Sequence[str]:
    if not server.protocol.client.version_mismatch:
        return ()
    return (
        (
            "This editor plugin and agent-ls use different versions of their protocol; update both. Until then, "
            "agent-ls works as if the plugin were not installed."
        ),
    )
