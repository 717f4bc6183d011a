"""Edit suggestions on request: answers `textDocument/inlineCompletion` while the setting `suggestions` is on.

Only requests that the user invoked get a suggestion. Requests that an editor sends while the user types get
an empty answer. A change of the document, or a newer request, cancels the model call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import anyio
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.features.suggestions.context import SuggestionContext
from agent_ls.features.suggestions.prompt import CursorText
from agent_ls.features.suggestions.service import NoSuggestionError, Suggestions
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.from_lsp import convert_position, maybe_path
from agent_ls.server.protocol import Wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.parameters import Document, Position, read_params
from agent_ls.server.transport.jsonrpc import AgentProtocol
from agent_ls.text import join_sentences

log = logging.getLogger(__name__)


REGISTRATION_ID = "agentLs.suggestions"
REGISTER_S = 10.0
"""Time that the client has to answer a registration."""

INVOKED: Final = lsp.InlineCompletionTriggerKind.Invoked.value


class _Trigger(Wire):
    trigger_kind: int


class _InlineCompletion(Wire):
    text_document: Document
    position: Position
    context: _Trigger


class SuggestionRequests:
    """Answers a client's requests for edit suggestions. `tell` shows a message to the user, `start` runs a task."""

    def __init__(
        self, context: Context, protocol: AgentProtocol, tell: Callable[[str], None], start: TaskStarter
    ) -> None:
        manager = context.manager
        self._context = context
        self._protocol = protocol
        self._tell = tell
        self._start = start
        self._suggestions = Suggestions(
            SuggestionContext(manager.models, manager.trust, lambda: manager.settings, manager.secrets)
        )
        self._reported: set[str] = set()
        self._running: tuple[str, anyio.CancelScope] | None = None
        self._can_register = False
        self._is_registered = False
        self._registering = anyio.Lock()

    def initialized(self) -> None:
        """Register the feature if the client supports registration. Called after `initialized`, because a
        server may send requests only from then on. A feature that `initialize` announced is not registered
        again.
        """
        client = self._context.client
        self._can_register = client.inline_completion_registration and not client.inline_completion_at_start
        self.settings_changed()

    def settings_changed(self) -> None:
        """Register or unregister the feature if the setting has changed. After that, problems that were already
        reported are reported again if they occur again.
        """
        self._reported.clear()
        if self._can_register:
            self._start(self._register)

    def text_changed(self, path: str) -> None:
        """Cancel the model call for a document that was changed or closed."""
        if self._running and self._running[0] == path:
            self._running[1].cancel()

    async def answer(self, raw: Any) -> dict[str, Any]:
        """Answer `textDocument/inlineCompletion`.

        Raises:
            InvalidParamsError
        """
        params = read_params(_InlineCompletion, lsp.TEXT_DOCUMENT_INLINE_COMPLETION, raw)
        if params.context.trigger_kind != INVOKED:
            return {"items": []}
        await self._context.wait_for_settings()
        if not self._context.manager.settings.suggestions:
            return {"items": []}
        return {"items": await self._items(params.text_document.uri, params.position)}

    async def _items(self, uri: str, at: Position) -> list[dict[str, Any]]:
        path = maybe_path(uri)
        opened = self._context.host.open_document(path) if path else None
        document = self._protocol.documents.maybe_open(uri)
        if opened is None or document is None:
            return []
        client, lines = self._context.client, document.lines
        line, offset = convert_position(
            lines, at.line, at.character, client.encoding, newline_only=client.newline_only
        )
        content = lines[line] if line < len(lines) else ""
        text = CursorText(
            name="",
            language=document.language_id or "",
            before="".join((*lines[:line], content[:offset])),
            after="".join((content[offset:], *lines[line + 1 :])),
        )
        suggested = await self._suggest(opened.path, text)
        if not suggested:
            return []
        where = {"line": line, "character": to_lsp.character(content, offset, client.encoding)}
        # Without a range, editors replace the word at the cursor.
        return [{"insertText": suggested, "range": {"start": where, "end": where}}]

    async def _suggest(self, path: str, text: CursorText) -> str:
        """Return the suggestion, "" if there is none or the call was cancelled. Each problem is reported once,
        until a suggestion succeeds or the settings change.
        """
        if self._running:
            self._running[1].cancel()
        suggested = ""
        with anyio.CancelScope() as scope:
            running = self._running = (path, scope)
            try:
                suggested = await self._suggestions.suggest(path, text, self._context.folders())
                self._reported.clear()
            except NoSuggestionError as error:
                if error.cause not in self._reported:
                    self._reported.add(error.cause)
                    self._tell(join_sentences(f"No suggestion: {error}", error.hint))
            finally:
                if self._running is running:
                    self._running = None
        return suggested

    async def _register(self) -> None:
        async with self._registering:
            wanted = self._context.manager.settings.suggestions
            if wanted == self._is_registered:
                return
            method = lsp.TEXT_DOCUMENT_INLINE_COMPLETION
            if wanted:
                selector = [lsp.TextDocumentFilterScheme(scheme="file")]
                options = lsp.InlineCompletionRegistrationOptions(document_selector=selector)
                registration = lsp.Registration(REGISTRATION_ID, method, options)
                await self._ask(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([registration]))
            else:
                unregistration = lsp.Unregistration(REGISTRATION_ID, method)
                await self._ask(lsp.CLIENT_UNREGISTER_CAPABILITY, lsp.UnregistrationParams([unregistration]))
            self._is_registered = wanted

    async def _ask(self, method: str, params: Any) -> None:
        try:
            with anyio.move_on_after(REGISTER_S):
                await self._protocol.send_request_async(method, params)
        except Exception as error:  # the client does not support the registration that it announced
            log.info("%s was not answered: %s", method, error)
