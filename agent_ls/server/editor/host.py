"""Implement EditorHost over LSP: open documents, and edits that count as applied only when the editor reports the new
text.

`workspace/applyEdit` sends one versioned edit of one document. review/in_flight_edit.py decides from the response and
the `didChange` notifications, in the order of their arrival, whether the edit was applied. At most one edit per
document is in flight. An applied edit is reported to the review ledger in two steps: the agent's text, then what the
user typed at the same time. Everything except waiting is synchronous and runs on the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import anyio
from lsprotocol import types as lsp

from agent_ls.environments.base import READ_LIMIT_BYTES, Attribution
from agent_ls.environments.editor_host import AppliedEdit, LineEdit, OpenDocument, apply_edits, ignore_paths
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.environments.terminal_host import NewTerminal
from agent_ls.loop.events.editor import EditNews
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.review import in_flight_edit
from agent_ls.server.chat.chat_text import is_chat
from agent_ls.server.editor.ask_to_save import AskToSave
from agent_ls.server.editor.diagnostics import EditorDiagnostics
from agent_ls.server.editor.foreign_locks import find_other_editor
from agent_ls.server.editor.language import EditorLanguage
from agent_ls.server.editor.notebooks import CellEditor, OpenNotebooks
from agent_ls.server.editor.saving import Savable, SavePolicy, saved_undone, unsaved_note
from agent_ls.server.editor.view import EditorView
from agent_ls.server.editor.watch_registrations import WatchedFiles
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.from_lsp import maybe_path, maybe_same, true_name
from agent_ls.server.transport.jsonrpc import NOTEBOOK_TEXTS, AgentProtocol

SAVED_EARLY = 20
"""Maximum number of saves that are remembered while the agent is still loading."""

MAX_DOCUMENT_CHARS = READ_LIMIT_BYTES
"""Longer documents are neither read nor edited. The limit for reading files on disk is the same number."""

TOO_LARGE = f"the file is open in the editor and too large to edit: more than {MAX_DOCUMENT_CHARS >> 20} MiB"
TOO_LARGE_TO_READ = (
    "the file is open in the editor and too large for agent-ls to read or edit; the user can "
    "close the file there, or open it again after making it smaller"
)
UNREADABLE = "the text of the file in the editor could not be read; the user can close the file there and open it again"

OPERATION_S = 10.0
"""Time that an editor has to rename or delete a file."""

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class DocumentListener(Protocol):
    """Interface of a listener for document changes, implemented by the review ledger.

    Methods are called synchronously, in the order of the editor's notifications. They must not raise.
    """

    def document_opened(self, path: str, text: str) -> None: ...

    def document_closed(self, path: str) -> None: ...

    def document_saved(self, path: str, text: str, *, is_asked: bool = False) -> None:
        """Handle a save: the editor has written `text` to the disk. `is_asked`: agent-ls asked for the save."""
        ...

    def notebook_saved(self, path: str, cells: Sequence[EditorCell]) -> None:
        """Handle a save of a notebook: the editor has written these cells to the disk."""
        ...

    def user_edit(self, path: str, text: str) -> None:
        """Handle a user edit that changed the last reported text to `text`, the document's current text."""
        ...

    def agent_edit(
        self, path: str, before: str | None, after: str | None, attribution: Attribution
    ) -> None: ...

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """Handle an undo of hunks, after the editor has changed the document from `before` to `after`."""
        ...


class Watcher(Protocol):
    """Interface of a second listener for document changes, implemented by ChatInterface (chat/ui.py) for
    plugin-free clients and by RichFindings (features/rich_findings.py) for rich clients. Must not raise.
    """

    def on_opened(self, path: str) -> None: ...

    def on_changed(self, path: str) -> None: ...

    def on_saved(self, path: str) -> None: ...

    def on_closed(self, path: str) -> None: ...


class ClientActions(CellEditor, Protocol):
    """Interface of actions that a rich client performs for agent-ls (client_requests.py). None of these
    raises.
    """

    def reload_files(self, paths: Sequence[str]) -> None:
        """Ask the client to reload these files if it displays them. Does not wait for the client."""
        ...

    async def save(self, documents: Sequence[OpenDocument]) -> bool:
        """Ask the client to save each of these documents that still has the given version. Waits for the
        client's answer, up to a deadline.
        """
        ...

    @property
    def has_terminals(self) -> bool: ...

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        """Open a terminal in the editor. Returns False if the editor cannot do so, or does not answer in time."""
        ...

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """Report to the client that the command of tool call `call_id` now runs in this terminal."""
        ...


@dataclass(slots=True)
class _Flight:
    """An edit that was sent to the editor. `outcome` says whether it was applied, None while this is not
    known. `in_grace` is set when the editor has responded but has not yet sent a text with the edit. That text
    may still arrive within GRACE_MS.
    """

    attribution: Attribution
    machine: in_flight_edit.InFlightEdit
    answered: anyio.Event = field(default_factory=anyio.Event)
    in_grace: anyio.Event = field(default_factory=anyio.Event)
    decided: anyio.Event = field(default_factory=anyio.Event)
    outcome: in_flight_edit.Applied | in_flight_edit.Stale | in_flight_edit.Refused | None = None


@dataclass(slots=True)
class _Tracked:
    """An open document, with the text last reported to the ledger and the version and text that the editor sent last.

    `repeats_versions`: the editor used one version number for two texts. `is_in_doubt`: the last edit was
    reported as stale, but the document may contain it at a wrong position. `is_asked_to_save`: agent-ls has
    asked the client to save the document and waits for the response.
    """

    uri: str
    path: str
    reported_text: str
    saving: Savable
    true_name: str
    last: tuple[int, str]
    repeats_versions: bool = False
    is_in_doubt: bool = False
    is_asked_to_save: bool = False
    flight: _Flight | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class LspEditorHost:
    """The documents of one editor. `sleep(seconds)` waits; tests replace it."""

    def __init__(self, protocol: AgentProtocol, sleep: Sleep = anyio.sleep) -> None:
        self._protocol = protocol
        self._sleep = sleep
        self._tracked: dict[str, _Tracked] = {}
        self._unsynced: frozenset[str] = frozenset()
        self._unread: dict[str, str] = {}
        """Why the text of an open document is not known, by the true name of its file."""
        self._listener: DocumentListener | None = None
        self._actions: ClientActions | None = None
        self._watcher: Watcher | None = None
        self.on_change: Callable[[str], object] = lambda path: None
        """Called with the path of each document that was changed or closed."""
        self._saved_early: list[str] = []
        self._save_policy: SavePolicy = "agent"
        self._asks_to_save = AskToSave(self._ask_user)
        # While a file is open as a notebook, its text document is ignored.
        self.notebooks = OpenNotebooks(protocol, self.handle_close, self.handle_open)
        self.view = EditorView(self.open_document)
        self.diagnostics = EditorDiagnostics(self.open_document, lambda: self.language.diagnostics_request())
        self.language: EditorLanguage = EditorLanguage(
            lambda: protocol.client, self.open_document, self.diagnostics
        )
        self.watched_files = WatchedFiles(protocol.send_request, lambda: protocol.client)

    def attach(self, listener: DocumentListener, actions: ClientActions) -> None:
        """Set the ledger and the client's actions. The ledger gets a `document_opened` for each document that is
        already open.
        """
        self._listener, self._actions = listener, actions
        self.notebooks.attach(actions, listener.notebook_saved)
        for tracked in self._tracked.values():
            listener.document_opened(tracked.path, tracked.reported_text)

    def set_watcher(self, watcher: Watcher) -> None:
        """Set the watcher. It is notified of the documents that are already open and of the saves recorded so
        far.
        """
        self._watcher = watcher
        for tracked in list(self._tracked.values()):
            watcher.on_opened(tracked.path)
        for path in self._saved_early:
            watcher.on_saved(path)
        self._saved_early.clear()

    # -- notifications of the editor (features/documents.py, features/review.py)

    def handle_open(self, uri: str) -> None:
        document, path = self._protocol.documents.maybe_open(uri), maybe_path(uri)
        if document is None or path is None:
            return  # an unnamed buffer or a notebook cell: not a file that a tool could name
        self.handle_close(uri)
        if self.notebooks.open_notebook(path):
            return  # ignored: this text is that of the file on disk, without the notebook's unsaved changes
        if len(document.source) > MAX_DOCUMENT_CHARS:
            self._unread[true_name(path)] = TOO_LARGE
            return
        saving = Savable(path, document.source)
        last = (document.version or 0, document.source)
        self._tracked[path] = _Tracked(uri, path, document.source, saving, true_name(path), last)
        if self._listener:
            self._listener.document_opened(path, document.source)
        if self._watcher:
            self._watcher.on_opened(path)

    def handle_change(self, uri: str, *, is_whole: bool = False) -> None:
        """Handle a change. `is_whole`: the change contains the whole text, so the text of a document that was
        unreadable is known again.
        """
        path = maybe_path(uri) or ""
        tracked, document = self._tracked.get(path), self._protocol.documents.maybe_open(uri)
        if document and (tracked is None) == (len(document.source) <= MAX_DOCUMENT_CHARS):
            reason = self._unread.get(true_name(path))
            if tracked or reason == TOO_LARGE or (reason and is_whole):
                self.handle_open(uri)  # the text has become too large, or small enough again
            return
        if tracked is None or document is None:
            return
        version, text = document.version or 0, document.source
        if version <= tracked.last[0] and text != tracked.last[1]:
            tracked.repeats_versions = True
        tracked.last = (version, text)
        self.on_change(tracked.path)
        if tracked.flight:
            self._feed(tracked, in_flight_edit.Observed(version, text))
        else:
            self._tell_user_edit(tracked, text)
        if self._watcher:
            self._watcher.on_changed(tracked.path)

    def handle_save(self, uri: str) -> None:
        if (tracked := self._tracked.get(maybe_path(uri) or "")) and (document := self._document(tracked)):
            tracked.saving = tracked.saving.saved(document.text)
            if self._listener:
                self._listener.document_saved(tracked.path, document.text, is_asked=tracked.is_asked_to_save)
            if self._watcher:
                self._watcher.on_saved(tracked.path)
            elif len(self._saved_early) < SAVED_EARLY:
                self._saved_early.append(tracked.path)

    def unread(self, method: str, uri: str, *, is_too_large: bool) -> None:
        """Block edits of a document whose text could not be read, because the edits would be computed from an
        old text.
        """
        reason, path = TOO_LARGE_TO_READ if is_too_large else UNREADABLE, maybe_path(uri)
        if method in NOTEBOOK_TEXTS:
            self.notebooks.unread(uri, reason)
        elif path and (
            method == lsp.TEXT_DOCUMENT_DID_OPEN
            or self._protocol.documents.maybe_open(uri)
            or true_name(path) in self._unread
        ):
            self.handle_close(uri)
            self._unread[true_name(path)] = reason

    def handle_close(self, uri: str) -> None:
        path = maybe_path(uri) or ""
        self._unread.pop(true_name(path), None)
        tracked = self._tracked.pop(path, None)
        if tracked is None:
            return
        self.on_change(tracked.path)
        if tracked.flight:
            self._feed(tracked, in_flight_edit.Closed())
        if self._listener:
            self._listener.document_closed(tracked.path)
        if self._watcher:
            self._watcher.on_closed(tracked.path)

    def editor_state(self, unsynced: Sequence[str]) -> None:
        paths = (maybe_path(uri) for uri in unsynced)
        self._unsynced = frozenset(true_name(path) for path in paths if path)

    def save_by(self, policy: SavePolicy) -> None:
        """Set the policy for saving documents before a command."""
        self._save_policy = policy

    def wait_for_problems(self, limit_ms: int) -> None:
        """Set how long the result of an edit waits for diagnostics. Zero for a client that does not report
        diagnostics.
        """
        client = self._protocol.client
        self.diagnostics.limit_ms = limit_ms if client.diagnostics or client.language else 0

    # -- EditorStatus

    def situation(self, shown: Callable[[str], str]) -> str:
        return self.view.format_view(shown)

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

    def is_unknown(self, path: str) -> bool:
        return maybe_same(path, self._unread) is not None

    def blocked(self, path: str) -> str:
        if maybe_same(path, self._unsynced):
            return "the file has unsaved changes in the editor, which does not share them with agent-ls"
        if name := maybe_same(path, self._unread):
            return self._unread[name]
        return find_other_editor(path)

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> AppliedEdit:
        tracked = self._tracked.get(document.path)
        if tracked is None:
            raise EditRefusedError(document.path, "the document was closed before the change was made")
        async with tracked.lock:
            current = self._find_current(tracked, document)
            expected = apply_edits(current.text, edits)
            if expected == current.text:
                return AppliedEdit(current.text, current.text, current)
            sent = in_flight_edit.start_edit(
                current.text,
                expected,
                current.version,
                repeats_versions=tracked.repeats_versions,
                follows_doubt=tracked.is_in_doubt,
            )
            flight = tracked.flight = _Flight(attribution, sent)
            request = self._send(tracked, current, edits, attribution)
            request.add_done_callback(lambda answer: self._handle_answer(tracked, flight, answer))
            # A cancelled caller still waits until the edit is applied or refused, because the edit may
            # already be in the user's document.
            with anyio.CancelScope(shield=True):
                await self._wait_for_decision(tracked, flight)
            is_stale = isinstance(flight.outcome, in_flight_edit.Stale)
            tracked.is_in_doubt = is_stale and flight.machine.is_in_doubt
            match flight.outcome:
                case in_flight_edit.Applied(ours, observed, version):
                    document = OpenDocument(tracked.path, version, observed)
                    return AppliedEdit(flight.machine.old, ours, document)
                case in_flight_edit.Refused(reason):
                    request.cancel()  # if the editor is still asking the user, the edit must not be applied later
                    raise EditRefusedError(document.path, reason)
                case _:
                    raise StaleFileError(document.path, "the user changed the file at the same time")

    @property
    def takes_edits_after_commands(self) -> bool:
        """Whether the client accepts edits only after a command of agent-ls. Kate accepts edits for two
        seconds after a command, and does not announce this limit.

        If such a client refuses an edit, the edit counts as refused at once and is sent again after the next
        command.
        """
        return not self._protocol.client.apply_edit_announced

    async def rename_file(self, document: OpenDocument, path: str) -> None:
        if self._protocol.client.renames_files:
            options = lsp.RenameFileOptions(overwrite=False, ignore_if_exists=False)
            new_uri = to_lsp.uri(path)
            await self._operate(document, lambda uri: lsp.RenameFile(uri, new_uri, options=options))

    async def delete_file(self, document: OpenDocument) -> str:
        if not self._protocol.client.deletes_files:
            return document.text
        options = lsp.DeleteFileOptions(recursive=False, ignore_if_not_exists=False)
        return await self._operate(document, lambda uri: lsp.DeleteFile(uri, options=options))

    async def _operate(
        self, document: OpenDocument, operation: Callable[[str], lsp.RenameFile | lsp.DeleteFile]
    ) -> str:
        """Send a file operation, wait up to OPERATION_S for the response, and return the last known text."""
        tracked = self._tracked.get(document.path)
        if tracked is None:
            return document.text
        async with tracked.lock:
            client = self._protocol.client
            label = None if client.prints_labels else "agent-ls"
            params = to_lsp.file_operation(tracked.uri, document.version, operation(tracked.uri), label)
            if tracked.last == (document.version, document.text) and not client.apply_edit_refused:
                # ignore errors: the caller checks on the disk whether the operation was done
                with anyio.move_on_after(OPERATION_S), suppress(Exception):
                    await self._protocol.send_request_async(lsp.WORKSPACE_APPLY_EDIT, params)
        return tracked.last[1]

    async def files_changed(self, paths: Sequence[str]) -> None:
        if self._actions:
            self._actions.reload_files(paths)

    async def save_before_command(self, report: Callable[[Sequence[str]], None] = ignore_paths) -> str:
        async def save(documents: Sequence[OpenDocument]) -> bool:
            report([document.path for document in documents])
            return await self._save(documents)

        return await unsaved_note(
            self._savable, save if self._can_save else None, self._save_policy, self._asks_to_save
        )

    async def save_undone(self, paths: Sequence[str]) -> Sequence[str]:
        may_save = self._can_save and self._save_policy != "never"
        return await saved_undone(self._savable, self._save if may_save else None, frozenset(paths))

    @property
    def _can_save(self) -> bool:
        return self._actions is not None and self._protocol.client.save

    async def _save(self, documents: Sequence[OpenDocument]) -> bool:
        if self._actions is None:
            return True
        asked = [it for document in documents if (it := self._tracked.get(document.path))]
        for tracked in asked:
            tracked.is_asked_to_save = True
        try:
            return await self._actions.save(documents)
        finally:
            for tracked in asked:
                tracked.is_asked_to_save = False

    # -- TerminalHost

    @property
    def has_terminals(self) -> bool:
        return self._actions is not None and self._actions.has_terminals

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        return self._actions is not None and await self._actions.open_terminal(terminal)

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        if self._actions:
            self._actions.runs_in(terminal_id, call_id)

    # -- internals

    async def _ask_user(self, question: str, answers: Sequence[str]) -> str:
        """Show a question and return the title of the user's choice; "" if they choose none."""
        actions = [lsp.MessageActionItem(title=title) for title in answers]
        params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Info, message=question, actions=actions)
        chosen = await self._protocol.send_request_async(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        title = getattr(chosen, "title", None)
        return title if isinstance(title, str) else ""

    def _savable(self) -> list[tuple[Savable, OpenDocument]]:
        # Chat documents are left out, because they are always unsaved while the agent writes into them, and no
        # command reads them.
        all_tracked = [tracked for tracked in self._tracked.values() if not is_chat(tracked.path)]
        documents = ((tracked.saving, self._document(tracked)) for tracked in all_tracked)
        texts = [(saving, document) for saving, document in documents if document]
        return [*texts, *self.notebooks.savable()]

    def _maybe_by_another_name(self, path: str) -> _Tracked | None:
        """Find the document by another path of the same file: a link to the file or to a folder above it, or
        a spelling that the file system treats as equal. If several documents match, returns the document
        opened last.
        """
        name = maybe_same(path, {it.true_name: None for it in reversed(self._tracked.values())})
        return next((it for it in reversed(self._tracked.values()) if it.true_name == name), None)

    def _document(self, tracked: _Tracked) -> OpenDocument | None:
        found = self._protocol.documents.maybe_open(tracked.uri)
        return OpenDocument(tracked.path, found.version or 0, found.source) if found else None

    def _find_current(self, tracked: _Tracked, document: OpenDocument) -> OpenDocument:
        """Return the current document if an edit computed for `document` may still be sent.

        Raises:
            EditRefusedError: the document is closed, or the editor does not apply edits.
            StaleFileError: the text or the version has changed.
        """
        current = self._document(tracked) if self._tracked.get(tracked.path) is tracked else None
        if current is None:
            raise EditRefusedError(document.path, "the document was closed before the change was made")
        if self._protocol.client.apply_edit_refused:
            raise EditRefusedError(document.path, "this editor does not apply edits of a language server")
        # Compare the texts too, because an editor may reuse or omit version numbers.
        if (current.version, current.text) != (document.version, document.text):
            raise StaleFileError(document.path, "the user changed the file at the same time")
        return current

    async def _wait_for_decision(self, tracked: _Tracked, flight: _Flight) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_grace, tracked, flight)
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
        version = None if client.plain_edits else current.version
        params = to_lsp.document_edit(tracked.uri, version, changes, label)
        return self._protocol.send_request(lsp.WORKSPACE_APPLY_EDIT, params)

    def _handle_answer(self, tracked: _Tracked, flight: _Flight, answer: Future[Any]) -> None:
        # This callback runs while the response is handled, before later didChange messages are. A task that
        # awaits the future would resume only after those messages.
        if tracked.flight is not flight:
            return
        flight.answered.set()
        if answer.cancelled():
            self._feed(tracked, in_flight_edit.Closed())
        elif error := answer.exception():
            self._feed(tracked, in_flight_edit.Answered(False, str(error)))
        else:
            result = answer.result()
            self._feed(tracked, in_flight_edit.Answered(result.applied is True, result.failure_reason or ""))

    async def _end_grace(self, tracked: _Tracked, flight: _Flight) -> None:
        await flight.in_grace.wait()
        await self._sleep(in_flight_edit.GRACE_MS / 1000)
        self._feed(tracked, in_flight_edit.GraceEnded())

    async def _time_out_unanswered(self, tracked: _Tracked, flight: _Flight) -> None:
        await self._sleep(in_flight_edit.TIMEOUT_MS / 1000)
        if not flight.answered.is_set():
            self._feed(tracked, in_flight_edit.TimedOut())

    async def _time_out_unseen(self, tracked: _Tracked, flight: _Flight) -> None:
        await flight.answered.wait()
        answer = flight.machine.answer
        is_no = answer is not None and not answer.applied and self.takes_edits_after_commands
        await self._sleep((in_flight_edit.GRACE_MS if is_no else in_flight_edit.TIMEOUT_MS) / 1000)
        self._feed(tracked, in_flight_edit.TimedOut())

    def _feed(self, tracked: _Tracked, happening: in_flight_edit.EditEvent) -> None:
        flight = tracked.flight
        if flight is None:
            return
        flight.machine, outcome = in_flight_edit.advance_edit(flight.machine, happening)
        if isinstance(outcome, in_flight_edit.Undecided):
            if outcome.in_grace:
                flight.in_grace.set()
            return
        tracked.flight, flight.outcome = None, outcome
        flight.decided.set()
        if isinstance(outcome, in_flight_edit.Applied):
            self._tell_applied(tracked, flight, outcome)
        elif document := self._document(tracked):
            self._tell_user_edit(tracked, document.text)

    def _tell_applied(self, tracked: _Tracked, flight: _Flight, applied: in_flight_edit.Applied) -> None:
        before = flight.machine.old
        self._tell_user_edit(tracked, before)
        tracked.reported_text, tracked.saving.agent_wrote = applied.ours, True
        if self._listener and flight.attribution.call_id:
            self._listener.agent_edit(tracked.path, before, applied.ours, flight.attribution)
        elif self._listener:
            self._listener.undo_applied(tracked.path, before, applied.ours)
        self._tell_user_edit(tracked, applied.observed)

    def _tell_user_edit(self, tracked: _Tracked, text: str) -> None:
        if text == tracked.reported_text:
            return
        tracked.reported_text, tracked.saving.user_typed = text, True
        if self._listener:
            self._listener.user_edit(tracked.path, text)
