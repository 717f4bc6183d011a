"""Our errors as JSON-RPC errors: a positive code of our own by kind, and `data {kind, retryable, hint}`.

Every error of ours that a person can meet has a `kind`, and every kind has a row below (a test looks for those
that lack one). The same kind means the same wherever it comes from. What has no kind is a bug: it is logged
with its traceback, and answered with a sentence that says so.

RequestError
    InvalidParamsError        the parameters do not fit the method
    UnknownMethodError        no such message
    StartError                the server could not be put together
    NotNegotiatedError        the client did not announce that it can take what it asks for
    KeyReusedError            one clientKey for two different requests
    NotOpenError              a session that is not live in this process
    NothingPendingError       what is to be answered or taken back waits no longer, or never did
    AmbiguousSelectionError   a review must name exactly one kind of thing
    UnknownCommandError       an input begins with a command that there is not
"""

from __future__ import annotations

import logging
from types import MappingProxyType

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

log = logging.getLogger(__name__)

INTERNAL = -32603

CODES = MappingProxyType(
    {
        "invalid_params": -32602,
        "unknown_method": -32601,
        # what is asked of us
        "app": 1000,
        "unknown_session": 1001,
        "session_busy": 1002,
        "bad_choice": 1003,
        "not_negotiated": 1004,
        "key_reused": 1005,
        "nothing_pending": 1006,
        "ambiguous_selection": 1007,
        "session_closed": 1008,
        "turn_running": 1009,
        "unknown_approval": 1010,
        "bad_session": 1011,
        "newer_format": 1012,
        "unknown_output": 1013,
        "start_failed": 1014,
        "unknown_terminal": 1015,
        "session_has_hunks": 1016,
        "no_input": 1017,
        "owner_silent": 1018,
        "unknown_question": 1030,
        "compaction_off": 1040,
        "nothing_to_compact": 1041,
        # models
        "llm_error": 1100,
        "configuration": 1101,
        "provider": 1102,
        "authentication": 1103,
        "access_denied": 1104,
        "not_found": 1105,
        "invalid_request": 1106,
        "context_length": 1107,
        "request_too_large": 1108,
        "quota": 1109,
        "rate_limit": 1110,
        "content_filter": 1111,
        "server": 1112,
        "overloaded": 1113,
        "network": 1114,
        "timeout": 1115,
        "stream": 1116,
        # files, commands and the editor
        "environment": 1200,
        "not_a_file": 1201,
        "not_a_folder": 1202,
        "too_large": 1203,
        "stale": 1204,
        "edit_refused": 1205,
        "invalid_pattern": 1206,
        "process_start": 1207,
        "unsupported": 1208,
        "commit": 1209,
        "input_refused": 1210,
        "page": 1211,
        "process_limit": 1212,
    }
)

# Errors of layers that know no kinds, by the name of their class.
KINDS_BY_CLASS = MappingProxyType(
    {
        "SessionError": "app",
        "SessionClosedError": "session_closed",
        "SessionBusyError": "turn_running",
        "UnknownApprovalError": "unknown_approval",
        "UnknownQuestionError": "unknown_question",
        "UnknownTerminalError": "unknown_terminal",
        "NoInputError": "no_input",
        "CompactionOffError": "compaction_off",
        "NothingToCompactError": "nothing_to_compact",
        "StoreError": "app",
        "SessionLockedError": "session_busy",
        "OwnershipLostError": "session_busy",
        "BadSessionError": "bad_session",
        "NewerFormatError": "newer_format",
        "UnknownOutputError": "unknown_output",
        "UnknownTurnError": "bad_choice",
    }
)


class RequestError(Exception):
    """`str()` is one sentence for the user; `hint` says what to do next."""

    kind = ""
    retryable = False
    hint = ""


class InvalidParamsError(RequestError):
    kind = "invalid_params"
    hint = "this is a fault of the editor plugin; docs/protocol.md lists the parameters"

    def __init__(self, method: str, problems: str) -> None:
        super().__init__(f"{method}: {problems}")


class UnknownMethodError(RequestError):
    kind = "unknown_method"
    hint = "the editor plugin may be newer than agent-ls: update agent-ls"

    def __init__(self, method: str) -> None:
        super().__init__(f"unknown method: {method}")


class StartError(RequestError):
    kind = "start_failed"
    hint = "the log of agent-ls says why; restart the server when it is mended"

    def __init__(self) -> None:
        super().__init__("agent-ls could not start its sessions")


class NotNegotiatedError(RequestError):
    kind = "not_negotiated"

    def __init__(self, what: str) -> None:
        super().__init__(f"the editor did not announce that it takes {what}")
        self.hint = f"send capabilities.experimental.agentLs = {{version: 1, {what}: true}} with initialize"


class KeyReusedError(RequestError):
    kind = "key_reused"
    hint = "make a new clientKey for each request that is not a repetition"

    def __init__(self, method: str, before: str) -> None:
        super().__init__(f"the clientKey of this {method} was already used for {before}")


class NotOpenError(RequestError):
    kind = "session_closed"
    hint = "agent/subscribe opens a stored session, agent/sessions lists them"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} is not open here")


class NothingPendingError(RequestError):
    kind = "nothing_pending"

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class AmbiguousSelectionError(RequestError):
    kind = "ambiguous_selection"
    hint = "give exactly one of hunkIds, uri, turnId, sessionId"

    def __init__(self, count: int) -> None:
        super().__init__(f"a review names one selection of hunks, not {count}")


class UnknownCommandError(RequestError):
    kind = "bad_choice"
    hint = "agent/commands lists those that there are"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no command /{name}")


def kind_of(error: BaseException) -> str:
    """ "" for what is no error of ours."""
    kind = getattr(error, "kind", None)
    return kind if isinstance(kind, str) else KINDS_BY_CLASS.get(type(error).__name__, "")


def response_error(error: BaseException) -> lsp.ResponseError:
    """What the client is told. Nothing of the program's inside gets out: no traceback, no repr of a value."""
    kind = kind_of(error)
    if code := CODES.get(kind):
        data = {
            "kind": kind,
            "retryable": getattr(error, "retryable", False) is True,
            "hint": getattr(error, "hint", "") or "",
        }
        return lsp.ResponseError(code=code, message=str(error), data=data)
    if isinstance(error, JsonRpcException) and error.code != INTERNAL:
        return lsp.ResponseError(code=error.code, message=error.message)
    log.error("a request failed by a fault of agent-ls", exc_info=error)
    data = {"kind": "internal", "retryable": False, "hint": "the log of agent-ls has the details"}
    return lsp.ResponseError(code=INTERNAL, message="agent-ls failed at this; it is a bug", data=data)
