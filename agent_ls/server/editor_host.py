"""ADAPTER EditorHost over the language server protocol: open documents, and edits that are believed when seen.

`workspace/applyEdit` carries one versioned edit of one document; what becomes of it is decided by
review/inflight.py from the answer and the `didChange`s, in the order in which they came. One edit per document
is on its way at a time. What was applied is told to the ledger in two parts: ours, then what the user typed
meanwhile. Everything here but the waiting is synchronous and runs on the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import anyio
from lsprotocol import types as lsp

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import LineEdit, OpenDocument, not_told
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.environments.terminal_host import NewTerminal
from agent_ls.loop.editor_events import EditNews
from agent_ls.notebook.align import ShownCell
from agent_ls.review import inflight
from agent_ls.server import to_lsp
from agent_ls.server.ask_to_save import AskToSave
from agent_ls.server.diagnostics import Diagnostics
from agent_ls.server.editor_view import EditorView
from agent_ls.server.foreign_locks import held_elsewhere
from agent_ls.server.from_lsp import maybe_path, maybe_same, true_name
from agent_ls.server.jsonrpc import AgentProtocol
from agent_ls.server.language import EditorLanguage
from agent_ls.server.notebooks import CellEditor, OpenNotebooks
from agent_ls.server.saving import Savable, SavePolicy, unsaved_note
from agent_ls.server.stock.chat_text import is_chat
from agent_ls.server.watched_files import WatchedFiles
from agent_ls.text import split_lines

SAVED_EARLY = 20
"""Saves that are remembered while the agent is still being loaded; more at once are no person's."""

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class DocumentListener(Protocol):
    """Who keeps the ledger. Plain calls, in the order of what happened; must not raise."""

    def document_opened(self, path: str, text: str) -> None: ...

    def document_closed(self, path: str) -> None: ...

    def document_saved(self, path: str, text: str) -> None:
        """The editor itself has written this to the disk."""
        ...

    def notebook_saved(self, path: str, cells: Sequence[ShownCell]) -> None:
        """The same of a notebook that it tells by cells."""
        ...

    def user_edit(self, path: str, text: str) -> None:
        """The document's text now; what changed since the last call is the user's."""
        ...

    def agent_edit(
        self, path: str, before: str | None, after: str | None, attribution: Attribution
    ) -> None: ...

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """An edit that the ledger itself asked for (an attribution without a call) is in the document."""
        ...


_CHANGED = {
    lsp.TEXT_DOCUMENT_DID_CHANGE: "textDocument",
    lsp.NOTEBOOK_DOCUMENT_DID_CHANGE: "notebookDocument",
}
"""Where the parameters of a change name the document."""


class Watcher(Protocol):
    """Who else is told of documents (stock/face.py). Plain calls; must not raise."""

    def on_opened(self, path: str) -> None: ...

    def on_changed(self, path: str) -> None: ...

    def on_saved(self, path: str) -> None: ...

    def on_closed(self, path: str) -> None: ...


class ClientActions(CellEditor, Protocol):
    """What a rich client does for us (client_requests.py). None of these raises."""

    def check_time(self, paths: Sequence[str]) -> None:
        """Asks it to reload these files where it shows them; does not wait."""
        ...

    async def save(self, documents: Sequence[OpenDocument]) -> None:
        """Asks it to save these documents as they are here, and waits for its answer for a while."""
        ...

    @property
    def has_terminals(self) -> bool: ...

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        """As TerminalHost.open_terminal."""
        ...

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """As TerminalHost.runs_in."""
        ...


@dataclass(slots=True)
class _Flight:
    """An edit on its way. `outcome` is set once; `settling` when the settling time has begun."""

    attribution: Attribution
    machine: inflight.InFlightEdit
    answered: anyio.Event = field(default_factory=anyio.Event)
    settling: anyio.Event = field(default_factory=anyio.Event)
    decided: anyio.Event = field(default_factory=anyio.Event)
    outcome: inflight.Applied | inflight.Stale | inflight.Refused | None = None


@dataclass(slots=True)
class _Tracked:
    """An open document. `told` is the text that the ledger knows of; `unsaved` what changed since the last save."""

    uri: str
    path: str
    told: str
    saving: Savable
    true_name: str
    flight: _Flight | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class LspEditorHost:
    """`sleep` waits seconds; tests have another."""

    def __init__(self, protocol: AgentProtocol, sleep: Sleep = anyio.sleep) -> None:
        self._protocol = protocol
        self._sleep = sleep
        self._tracked: dict[str, _Tracked] = {}
        self._unsynced: frozenset[str] = frozenset()
        self._unknown: set[str] = set()
        self._listener: DocumentListener | None = None
        self._actions: ClientActions | None = None
        self._watcher: Watcher | None = None
        self._saved_early: list[str] = []
        self._save_policy: SavePolicy = "agent"
        self._asks_to_save = AskToSave(self._ask_user)
        self.notebooks = OpenNotebooks(protocol)
        self.view = EditorView(self.open_document)
        self.diagnostics = Diagnostics(self.open_document)
        self.language = EditorLanguage(lambda: protocol.client, self.open_document, self.diagnostics)
        self.watched_files = WatchedFiles(protocol.send_request, lambda: protocol.client)

    def attach(self, listener: DocumentListener, actions: ClientActions) -> None:
        """The ledger and the client's abilities are there; the ledger learns what is open already."""
        self._listener, self._actions = listener, actions
        self.notebooks.attach(actions, listener.notebook_saved)
        for tracked in self._tracked.values():
            listener.document_opened(tracked.path, tracked.told)

    def watch(self, watcher: Watcher) -> None:
        """It learns what is open already, and what was saved before it was there."""
        self._watcher = watcher
        for tracked in list(self._tracked.values()):
            watcher.on_opened(tracked.path)
        for path in self._saved_early:
            watcher.on_saved(path)
        self._saved_early.clear()

    # -- what the editor tells (features/documents.py, features/review.py)

    def opened(self, uri: str) -> None:
        document, path = self._protocol.documents.maybe_open(uri), maybe_path(uri)
        if document is None or path is None:
            return  # an unnamed buffer, a notebook cell: no file that a tool could name
        self.closed(uri)
        self._unknown.discard(true_name(path))
        saving = Savable(path, document.source)
        self._tracked[path] = _Tracked(uri, path, document.source, saving, true_name(path))
        if self._listener:
            self._listener.document_opened(path, document.source)
        if self._watcher:
            self._watcher.on_opened(path)

    def changed(self, uri: str) -> None:
        tracked, document = self._tracked.get(maybe_path(uri) or ""), self._protocol.documents.maybe_open(uri)
        if tracked is None or document is None:
            return
        if tracked.flight:
            self._feed(tracked, inflight.Observed(document.version or 0, document.source))
        else:
            self._tell_user_edit(tracked, document.source)
        if self._watcher:
            self._watcher.on_changed(tracked.path)

    def saved(self, uri: str) -> None:
        if (tracked := self._tracked.get(maybe_path(uri) or "")) and (document := self._document(tracked)):
            tracked.saving = Savable(tracked.path, document.text)
            if self._listener:
                self._listener.document_saved(tracked.path, document.text)
            if self._watcher:
                self._watcher.on_saved(tracked.path)
            elif len(self._saved_early) < SAVED_EARLY:
                self._saved_early.append(tracked.path)

    def unread(self, method: str, params: Any) -> None:
        """After a change that could not be read the text is not known: each edit would be made to another one."""
        name = _CHANGED.get(method, "")
        document = params.get(name) if isinstance(params, dict) else None
        uri = document.get("uri") if isinstance(document, dict) else None
        if not isinstance(uri, str):
            return
        if method == lsp.NOTEBOOK_DOCUMENT_DID_CHANGE:
            self.notebooks.unread(uri)
        elif maybe_path(uri) in self._tracked:
            self.closed(uri)
            self._unknown.add(true_name(maybe_path(uri) or ""))

    def closed(self, uri: str) -> None:
        path = maybe_path(uri) or ""
        self._unknown.discard(true_name(path))
        tracked = self._tracked.pop(path, None)
        if tracked is None:
            return
        if tracked.flight:
            self._feed(tracked, inflight.Closed())
        if self._listener:
            self._listener.document_closed(tracked.path)
        if self._watcher:
            self._watcher.on_closed(tracked.path)

    def editor_state(self, unsynced: Sequence[str]) -> None:
        paths = (maybe_path(uri) for uri in unsynced)
        self._unsynced = frozenset(true_name(path) for path in paths if path)

    def save_by(self, policy: SavePolicy) -> None:
        """What is saved before a command."""
        self._save_policy = policy

    def wait_for_problems(self, limit_ms: int) -> None:
        """How long the result of an edit waits, for a client that said that it tells of problems."""
        client = self._protocol.client
        self.diagnostics.limit_ms = limit_ms if client.diagnostics or client.language else 0

    # -- EditorEyes

    def situation(self, shown: Callable[[str], str]) -> str:
        return self.view.told(shown)

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        return self.diagnostics.watch(paths, shown)

    def watch_files(self, paths: Sequence[str]) -> None:
        self.watched_files.watch_files(paths)

    # -- EditorHost

    @property
    def reloads(self) -> bool:
        return self._protocol.client.is_rich

    def open_document(self, path: str) -> OpenDocument | None:
        tracked = self._tracked.get(path) or self._maybe_by_another_name(path)
        return self._document(tracked) if tracked else None

    def open_documents(self) -> Sequence[OpenDocument]:
        return [document for tracked in self._tracked.values() if (document := self._document(tracked))]

    def blocked(self, path: str) -> str:
        if maybe_same(path, self._unsynced):
            return "the editor has it open with unsaved changes that it does not share with agent-ls"
        if maybe_same(path, self._unknown):
            return "the editor told a change of it that cannot be read; close it there and open it again"
        return held_elsewhere(path)

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> OpenDocument:
        tracked = self._tracked.get(document.path)
        if tracked is None:
            raise EditRefusedError(document.path, "it was closed meanwhile")
        async with tracked.lock:
            current = self._current(tracked, document)
            expected = _edited(current.text, edits)
            if expected == current.text:
                return current
            flight = tracked.flight = _Flight(
                attribution, inflight.send(current.text, expected, current.version)
            )
            request = self._send(tracked, current, edits, attribution)
            request.add_done_callback(lambda answer: self._answered(tracked, flight, answer))
            # Who cancels waits until it is known what became of the edit: it is in the user's document, or not.
            with anyio.CancelScope(shield=True):
                await self._landing(tracked, flight)
            match flight.outcome:
                case inflight.Applied(_, observed, version):
                    return OpenDocument(tracked.path, version, observed)
                case inflight.Refused(reason):
                    request.cancel()  # where a person is still asked, it must not be done any more
                    raise EditRefusedError(document.path, reason)
                case _:
                    raise StaleFileError(document.path, "the user changed it meanwhile")

    @property
    def takes_edits_after_commands(self) -> bool:
        """Kate takes edits for two seconds after the user carried out a command of ours, and never says that it does.

        So its "no" is believed at once, and what was refused is offered again with the next command.
        """
        return not self._protocol.client.apply_edit_announced

    async def files_changed(self, paths: Sequence[str]) -> None:
        if self._actions:
            self._actions.check_time(paths)

    async def save_before_command(self, told: Callable[[Sequence[str]], None] = not_told) -> str:
        async def save(documents: Sequence[OpenDocument]) -> None:
            told([document.path for document in documents])
            if self._actions:
                await self._actions.save(documents)

        can_save = self._actions is not None and self._protocol.client.save
        return await unsaved_note(
            self._savable, save if can_save else None, self._save_policy, self._asks_to_save
        )

    # -- TerminalHost

    @property
    def has_terminals(self) -> bool:
        return self._actions is not None and self._actions.has_terminals

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        return self._actions is not None and await self._actions.open_terminal(terminal)

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        if self._actions:
            self._actions.runs_in(terminal_id, call_id)

    # -- inside

    async def _ask_user(self, question: str, answers: Sequence[str]) -> str:
        """The title that the user chose, "" for none."""
        actions = [lsp.MessageActionItem(title=title) for title in answers]
        params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Info, message=question, actions=actions)
        chosen = await self._protocol.send_request_async(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        title = getattr(chosen, "title", None)
        return title if isinstance(title, str) else ""

    def _savable(self) -> list[tuple[Savable, OpenDocument]]:
        # A chat document is always unsaved while it is answered, and no command reads it.
        all_tracked = [tracked for tracked in self._tracked.values() if not is_chat(tracked.path)]
        documents = ((tracked.saving, self._document(tracked)) for tracked in all_tracked)
        texts = [(saving, document) for saving, document in documents if document]
        return [*texts, *self.notebooks.savable()]

    def _maybe_by_another_name(self, path: str) -> _Tracked | None:
        """By a link to the file, or to a folder above it, or as the file system takes names; of several names that by
        which it was opened last.
        """
        name = maybe_same(path, {it.true_name: None for it in reversed(self._tracked.values())})
        return next((it for it in reversed(self._tracked.values()) if it.true_name == name), None)

    def _document(self, tracked: _Tracked) -> OpenDocument | None:
        found = self._protocol.documents.maybe_open(tracked.uri)
        return OpenDocument(tracked.path, found.version or 0, found.source) if found else None

    def _current(self, tracked: _Tracked, document: OpenDocument) -> OpenDocument:
        """The document as it must be for the edit to be sent."""
        current = self._document(tracked) if self._tracked.get(tracked.path) is tracked else None
        if current is None:
            raise EditRefusedError(document.path, "it was closed meanwhile")
        if self._protocol.client.apply_edit_refused:
            raise EditRefusedError(document.path, "this editor does not apply edits of a language server")
        # The text too: an editor may give a change the number of the text before, or none.
        if (current.version, current.text) != (document.version, document.text):
            raise StaleFileError(document.path, "the user changed it meanwhile")
        return current

    async def _landing(self, tracked: _Tracked, flight: _Flight) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._settle, tracked, flight)
            tasks.start_soon(self._time_out_unanswered, tracked, flight)
            tasks.start_soon(self._time_out_unseen, tracked, flight)
            await flight.decided.wait()
            tasks.cancel_scope.cancel()

    def _send(
        self, tracked: _Tracked, current: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> Future[Any]:
        client = self._protocol.client
        changes = to_lsp.text_edits(current.text, edits, client.encoding, newline_only=client.newline_only)
        label = None if client.prints_labels else attribution.label
        params = to_lsp.document_edit(tracked.uri, current.version, changes, label)
        return self._protocol.send_request(lsp.WORKSPACE_APPLY_EDIT, params)

    def _answered(self, tracked: _Tracked, flight: _Flight, answer: Future[Any]) -> None:
        # Called when the message is handled, so in its order with the didChanges; an awaited answer comes later.
        if tracked.flight is not flight:
            return
        flight.answered.set()
        if answer.cancelled():
            self._feed(tracked, inflight.Closed())
        elif error := answer.exception():
            self._feed(tracked, inflight.Answered(False, str(error)))
        else:
            result = answer.result()
            self._feed(tracked, inflight.Answered(result.applied is True, result.failure_reason or ""))

    async def _settle(self, tracked: _Tracked, flight: _Flight) -> None:
        await flight.settling.wait()
        await self._sleep(inflight.SETTLE_MS / 1000)
        self._feed(tracked, inflight.Settled())

    async def _time_out_unanswered(self, tracked: _Tracked, flight: _Flight) -> None:
        await self._sleep(inflight.TIMEOUT_MS / 1000)
        if not flight.answered.is_set():
            self._feed(tracked, inflight.TimedOut())

    async def _time_out_unseen(self, tracked: _Tracked, flight: _Flight) -> None:
        await flight.answered.wait()
        answer = flight.machine.answer
        is_no = answer is not None and not answer.applied and self.takes_edits_after_commands
        await self._sleep((inflight.SETTLE_MS if is_no else inflight.TIMEOUT_MS) / 1000)
        self._feed(tracked, inflight.TimedOut())

    def _feed(self, tracked: _Tracked, happening: inflight.Happening) -> None:
        flight = tracked.flight
        if flight is None:
            return
        flight.machine, outcome = inflight.advance(flight.machine, happening)
        if isinstance(outcome, inflight.Waiting):
            if outcome.settling:
                flight.settling.set()
            return
        tracked.flight, flight.outcome = None, outcome
        flight.decided.set()
        if isinstance(outcome, inflight.Applied):
            self._tell_applied(tracked, flight, outcome)
        elif document := self._document(tracked):
            self._tell_user_edit(tracked, document.text)

    def _tell_applied(self, tracked: _Tracked, flight: _Flight, applied: inflight.Applied) -> None:
        before = flight.machine.old
        self._tell_user_edit(tracked, before)
        tracked.told, tracked.saving.agent_wrote = applied.ours, True
        if self._listener and flight.attribution.call_id:
            self._listener.agent_edit(tracked.path, before, applied.ours, flight.attribution)
        elif self._listener:
            self._listener.undo_applied(tracked.path, before, applied.ours)
        self._tell_user_edit(tracked, applied.observed)

    def _tell_user_edit(self, tracked: _Tracked, text: str) -> None:
        if text == tracked.told:
            return
        tracked.told, tracked.saving.user_typed = text, True
        if self._listener:
            self._listener.user_edit(tracked.path, text)


def _edited(text: str, edits: Sequence[LineEdit]) -> str:
    lines = split_lines(text)
    for edit in reversed(edits):
        lines[edit.start : edit.end] = [edit.text]
    return "".join(lines)
