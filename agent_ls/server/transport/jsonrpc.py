"""pygls's protocol, hardened: each request gets one answer, no message ends the server, no answer has a traceback.

Each override fixes one behaviour of pygls 2.1.1 (pinned); tests/server/test_wire.py has a test for each. This
module does not depend on sessions: messages `agent/...` and the methods in OURS go to `Receivers.agent`, all others
to pygls.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import PurePosixPath
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcMethodNotFound,
    JsonRpcRequestCancelled,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.protocol.language_server import lsp_method

from agent_ls.addresses import split_address
from agent_ls.server.lsp.capabilities import COMMAND, ClientAbilities, client_abilities, initialize_result
from agent_ls.server.lsp.documents import Documents
from agent_ls.server.lsp.from_lsp import has_texts, mended_change
from agent_ls.server.transport.errors import response_error
from agent_ls.server.transport.framing import frame
from agent_ls.server.transport.large_messages import LargeMessage, document_uri, summarize

log = logging.getLogger(__name__)

PARSE_ERROR, INVALID_REQUEST, NOT_INITIALIZED = -32700, -32600, -32002
PREFIX = "agent/"
CONTENT = lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT
OURS = frozenset(
    {
        CONTENT,
        COMMAND,
        lsp.INITIALIZED,
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.TEXT_DOCUMENT_CODE_LENS,
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.TEXT_DOCUMENT_HOVER,
        lsp.TEXT_DOCUMENT_INLINE_COMPLETION,
        lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    }
)
"""Standard methods that the backend answers, with plain JSON parameters."""

NOTEBOOK_TEXTS = frozenset({lsp.NOTEBOOK_DOCUMENT_DID_OPEN, lsp.NOTEBOOK_DOCUMENT_DID_CHANGE})
DOCUMENT_TEXTS = NOTEBOOK_TEXTS | {lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE}
"""Notifications that have the text of a document."""


class OnUnread(Protocol):
    """Callback for a notification whose text could not be read. It gets the method and the URI of the
    document.
    """

    def __call__(self, method: str, uri: str, *, is_too_large: bool) -> None: ...


MessageId: TypeAlias = str | int
AgentCall: TypeAlias = Callable[[str, Any], Awaitable[Any]]


FIRST_OWN_ID = 1 << 30
"""Ids of requests to the client are numbers, because Vim can answer no other ones, and large, because pygls keeps
requests of both sides in one table.
"""


@dataclass(frozen=True, slots=True)
class RawJson:
    """An encoded result. `sent` is called after the answer is queued; if queueing failed, it is not called.
    `is_document`: the result has a document's text, so secrets are not removed.
    """

    body: bytes
    sent: Callable[[], None] | None = None
    is_document: bool = True


def _holds_documents(message: Any) -> bool:
    """Return whether the message edits a document, or is a response, which may contain a document's text."""
    known = message if isinstance(message, dict) else vars(message) if hasattr(message, "__dict__") else {}
    method = known.get("method", getattr(message, "method", None))
    error = known.get("error", getattr(message, "error", None))
    return method == lsp.WORKSPACE_APPLY_EDIT or (method is None and error is None)


@cache
def plain_converter() -> Converter:
    """Return the converter of all connections. It leaves parameters without a type as plain JSON; pygls's
    converter would make nested namedtuples.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls left it untyped
    for cls in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(cls, _to_params)
    return converter


def _to_params(obj: dict[str, Any], cls: type[Any]) -> Any:
    return cls(**{name: obj[name] for name in cls.__annotations__})


@dataclass(frozen=True, slots=True)
class Receivers:
    """The functions that get what the client sends. `exit` gets the exit code, `unread` a document that was not read.

    `initialized` is called at the end of `initialize`.
    """

    exit: Callable[[int], None]
    agent: AgentCall
    unread: OnUnread
    initialized: Callable[[], None]


class AgentProtocol(LanguageServerProtocol):
    """The protocol of one connection. `client` and `options` come from `initialize`."""

    client = ClientAbilities()
    options: Any = None
    receivers: Receivers

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.documents = Documents(self.client, None, ())
        self._answered_id: MessageId | None = None
        self._own_ids = count(FIRST_OWN_ID)
        self.clean: Callable[[bytes], bytes] = lambda message: message
        """Removes API keys from a message before it is sent. Texts of documents are not changed."""

    # -- received messages

    def on_wire(self, body: bytes, *, is_answered: bool = False) -> None:
        """Handle one message. Never raises, whatever the client sent. `is_answered`: the response to the
        message was already sent.
        """
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "the message is not JSON")
            return
        if isinstance(data, dict) and "method" not in data and data.keys() & {"id", "error", "result"}:
            self._on_response(data)
        elif not _is_call(data, self.VERSION):
            self._refuse(None, INVALID_REQUEST, "not a JSON-RPC 2.0 request, notification or response")
        else:
            self._on_call(data, is_answered=is_answered)

    def on_bad_header(self, reason: str) -> None:
        """Report a message whose header cannot be read. Its id is unknown."""
        self._refuse(None, PARSE_ERROR, reason)

    def on_large_message(self, message: LargeMessage) -> None:
        """Handle a message whose body was skipped. A request gets an error response. A response makes the
        request that waits for it fail. If the message has the text of a document, the user gets a warning.
        """
        head = summarize(message)
        size = f"{message.size / 1024 / 1024:.0f} MB"
        log.warning("skipped a message of %s: %s", size, head.method or "a response")
        future = None if head.method or head.id is None else self._request_futures.pop(head.id, None)
        if future and not future.done():
            future.set_exception(JsonRpcException(f"the answer of the editor is too large ({size})"))
        elif head.method and head.id is not None:
            self._refuse(
                head.id, INVALID_REQUEST, f"the request is too large ({size}): send less text at once"
            )
        elif head.uri and head.method in DOCUMENT_TEXTS:
            self.receivers.unread(head.method, head.uri, is_too_large=True)
            name = PurePosixPath(unquote(split_address(head.uri).path)).name or "A document"
            words = f"{name} is too large for agent-ls ({size}). The agent cannot edit it while it is open."
            self.show(words)

    def _on_call(self, data: dict[str, Any], *, is_answered: bool) -> None:
        data.setdefault("params", None)
        if _is_our_command(data):
            data["method"] = COMMAND
        message_id, method = data.get("id"), data["method"]
        if self._shutdown and method != lsp.EXIT:
            self._refuse(message_id, INVALID_REQUEST, "the server is shutting down", quiet=message_id is None)
        elif self._workspace is None and method not in (lsp.INITIALIZE, lsp.EXIT):
            self._refuse(
                message_id, NOT_INITIALIZED, "the first request must be initialize", quiet=message_id is None
            )
        elif message_id is not None and not self._is_known(method):
            self._refuse(message_id, JsonRpcMethodNotFound.CODE, f"unknown method: {method}")
        else:
            self._answered_id = message_id if is_answered else None
            self._structured(data)

    def _is_known(self, method: str) -> bool:
        return _is_ours(method) or method in self.fm.builtin_features or method in self.fm.features

    def _structured(self, data: dict[str, Any]) -> None:
        try:
            message = self._maybe_mended(data)
        except JsonRpcException:
            if "id" in data:
                self._refuse(
                    data["id"], JsonRpcInvalidParams.CODE, f"{data['method']}: the parameters are not valid"
                )
            else:
                log.warning("ignored %s: its parameters are not valid", data["method"])
                if data["method"] in DOCUMENT_TEXTS and (uri := document_uri(data["params"])):
                    self.receivers.unread(data["method"], uri, is_too_large=False)
            return
        self.handle_message(message)

    def _maybe_mended(self, data: dict[str, Any]) -> Any:
        """Parse a message, repairing a `didChange` if necessary.

        Raises:
            JsonRpcException: the parameters are invalid.
        """
        if data["method"] != lsp.TEXT_DOCUMENT_DID_CHANGE:
            return self.structure_message(data)
        with suppress(JsonRpcException):
            if has_texts(data["params"]):
                return self.structure_message(data)
        # If a change were ignored, all later ones would be applied to the wrong text.
        return self.structure_message({**data, "params": mended_change(data["params"])})

    def _on_response(self, data: dict[str, Any]) -> None:
        if data.get("jsonrpc") != self.VERSION or not _is_id(data.get("id")):
            log.warning(
                "ignored a response to an unknown request"
            )  # an error response could itself be answered, endlessly
            return
        if "error" not in data:
            data.setdefault("result", None)
        try:
            message = self.structure_message(data)
        except JsonRpcException as error:
            # The response is invalid, e.g. `{}` for a dismissed prompt. The waiting request fails instead of
            # waiting for ever.
            future = self._request_futures.pop(data["id"], None)
            if future and not future.done():
                future.set_exception(error)
            return
        self.handle_message(message)

    def _refuse(self, message_id: MessageId | None, code: int, message: str, *, quiet: bool = False) -> None:
        if not quiet:
            # Built by hand, because the response to an unreadable request has the id null, and lsprotocol
            # omits an id that is null.
            error = {"code": code, "message": message}
            self._send_data({"jsonrpc": self.VERSION, "id": message_id, "error": error})

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # no cache: see below
        # Plain JSON, because the first conversion of all client capabilities to classes takes tens of
        # milliseconds.
        return None if method == lsp.INITIALIZE or method in OURS else super().get_message_type(method)

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # no cache, as above
        # Plain JSON, because features/configuration.py validates the settings, and a client may send any value.
        return None if method == lsp.WORKSPACE_CONFIGURATION else super().get_result_type(method)

    def _get_handler(self, feature_name: str) -> Callable[[Any], Any]:
        if _is_ours(feature_name):
            return partial(self.receivers.agent, feature_name)
        handler: Callable[[Any], Any] = super()._get_handler(feature_name)
        return handler

    def _run_generator(
        self, future: Future[Any] | None, *, gen: Generator[Any, Any, Any], result_future: Future[Any]
    ) -> None:
        try:
            super()._run_generator(future, gen=gen, result_future=result_future)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # cancellation: pygls would never answer the request
            if result_future.done():
                raise
            cancelled = JsonRpcRequestCancelled("cancelled")
            result_future.set_exception(cancelled.with_traceback(error.__traceback__))

    # -- sent messages

    def _send_data(self, data: Any) -> None:
        if data and self.writer is not None:
            body = json.dumps(data, default=self._serialize_message, separators=(",", ":"))
            self.writer.write(frame(body.encode() if _holds_documents(data) else self.clean(body.encode())))

    def show(self, text: str, kind: lsp.MessageType = lsp.MessageType.Warning) -> None:
        """Show the user a message."""
        self.notify(lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(type=kind, message=text))

    def notify_plain(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification with plain JSON parameters."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    def send_event(self, event: bytes) -> None:
        """Send an encoded event as an `agent/event` notification."""
        self.send_notification("agent/event", event)

    def send_events(self, events: Sequence[bytes]) -> None:
        """Send several events as `send_event` does, in one write."""
        if self.writer is not None:
            self.writer.write(b"".join(self._notification("agent/event", event) for event in events))

    def send_notification(self, method: str, params: bytes) -> None:
        """Send a notification with encoded parameters."""
        if self.writer is not None:
            self.writer.write(self._notification(method, params))

    def _notification(self, method: str, params: bytes) -> bytes:
        return frame(b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), self.clean(params)))

    def _send_response(
        self, msg_id: MessageId, result: Any | None = None, error: lsp.ResponseError | None = None
    ) -> None:
        if msg_id is not None and msg_id == self._answered_id:
            self._answered_id = None
        elif error is None and isinstance(result, RawJson):
            self._result_types.pop(msg_id, None)
            head = b'{"jsonrpc":"2.0","id":%b,"result":' % json.dumps(msg_id).encode()
            if self.writer is not None:
                body = result.body if result.is_document else self.clean(result.body)
                self.writer.write(frame(head + body + b"}"))
            if result.sent:
                result.sent()
        else:
            super()._send_response(msg_id, result, error)

    def _send_handler_result(self, future: Future[Any], *, msg_id: MessageId) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            cancelled = JsonRpcRequestCancelled("the request was cancelled")
            self._send_response(msg_id, error=cancelled.to_response_error())
        elif error := future.exception():
            self._send_response(msg_id, error=response_error(error))
        else:
            self._send_response(msg_id, result=future.result())

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        message_id = msg_id or next(it for it in self._own_ids if it not in self._request_futures)

        def forget(future: Future[Any]) -> None:
            self._result_types.pop(message_id, None)
            waiting = self._request_futures.pop(message_id, None) is not None
            if waiting and future.cancelled() and not self._shutdown:
                self.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=message_id))

        future: Future[Any] = super().send_request(method, params, callback, message_id)
        future.add_done_callback(forget)
        return future

    # -- lifecycle

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: Any) -> dict[str, Any]:  # type: ignore[override]  # no user handler to yield
        if self._workspace is not None:
            raise JsonRpcException("initialize can be sent only once", code=INVALID_REQUEST)
        if not isinstance(params, dict):
            raise JsonRpcInvalidParams("initialize: the parameters are not an object")
        self.client = client_abilities(params)
        self.options = params.get("initializationOptions")
        self._server.process_id = self.client.process_id
        root, folders = params.get("rootUri"), params.get("workspaceFolders")
        self.documents = self._workspace = Documents(
            self.client,
            root if isinstance(root, str) else None,
            [_folder(item) for item in folders if _is_folder(item)] if isinstance(folders, list) else [],
        )
        self.receivers.initialized()
        return initialize_result(self.client)

    @property
    def is_shut_down(self) -> bool:
        return self._shutdown

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        if handler := self.fm.features.get(lsp.SHUTDOWN):
            yield handler, args, None
        self.cancel_requests()
        self._shutdown = True

    def cancel_requests(self) -> None:
        """Cancel all pending requests of the server to the client."""
        # a copy, because a cancelled future removes itself from the table
        for message_id, future in list(self._request_futures.items()):
            if message_id != self.msg_id and not future.done():
                future.cancel()

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]  # as above
        self.receivers.exit(0 if self._shutdown else 1)


def _is_ours(method: str) -> bool:
    return method.startswith(PREFIX) or method in OURS


def _is_our_command(data: dict[str, Any]) -> bool:
    params = data["params"]
    command = params.get("command") if isinstance(params, dict) else None
    is_ours = isinstance(command, str) and command.startswith("agentLs.")
    return is_ours and data["method"] == lsp.WORKSPACE_EXECUTE_COMMAND


def _is_id(value: object) -> bool:
    return isinstance(value, str) or type(value) is int


def _is_call(data: object, version: str) -> bool:
    if (
        not isinstance(data, dict)
        or data.get("jsonrpc") != version
        or not isinstance(data.get("method"), str)
    ):
        return False
    return "id" not in data or _is_id(data["id"])


def _is_folder(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("uri"), str)


def _folder(item: dict[str, Any]) -> lsp.WorkspaceFolder:
    return lsp.WorkspaceFolder(uri=item["uri"], name=str(item.get("name", "")))
