"""Map errors of agent-ls to JSON-RPC errors: a code by `kind`, and `data {kind, retryable, hint}`.

Every error that a user can meet has a `kind`, and every kind has a row below (a test checks this). A kind means the
same in all layers. An error without a kind is a bug: the error is logged with its traceback, and the response
says that the log has it.

RequestError
    InvalidParamsError        the parameters do not match the method
    BadInputError             the user's input cannot be used
    UnknownMethodError        the method does not exist
    StartError                the session manager could not be created
    NotNegotiatedError        the client did not announce support for the answer
    KeyReusedError            one clientKey for two different requests
    NotOpenError              a session that is not open in this process
    NothingPendingError       the request to answer or withdraw is not pending
    AmbiguousSelectionError   a review must have exactly one selector
    UnknownCommandError       the input begins with an unknown command
"""

from __future__ import annotations

import logging
from types import MappingProxyType

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from agent_ls.system import describe_out_of_files, is_out_of_files

log = logging.getLogger(__name__)

INTERNAL = -32603

CODES = MappingProxyType(
    {
        "invalid_params": -32602,
        "unknown_method": -32601,
        # requests
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
        "runaway": 1117,
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
        "place": 1213,
        "lost": 1214,
    }
)

# The `kind` of errors of lower layers by class name, because these classes have no `kind` of their own.
KINDS_BY_CLASS = MappingProxyType(
    {
        "SessionError": "app",
        "SessionClosedError": "session_closed",
        "SessionBusyError": "turn_running",
        "RollBackStoppedError": "app",
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
        "MissingLogError": "unknown_session",
        "NewerFormatError": "newer_format",
        "UnknownOutputError": "unknown_output",
        "UnknownTurnError": "bad_choice",
    }
)


class RequestError(Exception):
    """Base class of errors that reject a client's request.

    `str()` is one sentence for the user; `hint` says what to do next. `detail` is for client authors: it may
    name methods and parameters, and clients show it only on request.
    """

    kind = ""
    retryable = False
    hint = ""
    detail = ""


class InvalidParamsError(RequestError):
    kind = "invalid_params"
    hint = (
        "update the editor plugin and agent-ls; if the error remains, report it to the authors of the plugin"
    )

    def __init__(self, method: str, problems: str) -> None:
        super().__init__("the editor plugin sent a request with parameters that agent-ls cannot read")
        self.detail = f"{method}: {problems}"


class BadInputError(RequestError):
    kind = "invalid_params"

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class UnknownMethodError(RequestError):
    kind = "unknown_method"
    hint = "the editor plugin may be newer than agent-ls: update agent-ls"

    def __init__(self, method: str) -> None:
        super().__init__("the editor plugin sent a request that this version of agent-ls does not know")
        self.detail = f"unknown method: {method}"


class StartError(RequestError):
    kind = "start_failed"
    hint = "read the reason in the log of agent-ls, correct the problem, then restart the server"

    def __init__(self) -> None:
        super().__init__("agent-ls could not start its sessions")


class NotNegotiatedError(RequestError):
    kind = "not_negotiated"
    hint = "update the editor plugin and agent-ls, and restart the editor"

    def __init__(self, what: str) -> None:
        super().__init__("the editor plugin did not announce at its start that it supports this feature")
        self.detail = f"send capabilities.experimental.agentLs = {{version: 1, {what}: true}} with initialize"


class KeyReusedError(RequestError):
    kind = "key_reused"
    hint = "send the request again; if the error remains, report it to the authors of the editor plugin"

    def __init__(self, method: str, before: str) -> None:
        super().__init__("the editor plugin sent two different requests with the same key")
        self.detail = f"the clientKey of this {method} was already used for {before}"


class NotOpenError(RequestError):
    kind = "session_closed"
    hint = "send a message to continue the session, or choose another session"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} is closed")


class NothingPendingError(RequestError):
    kind = "nothing_pending"

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class AmbiguousSelectionError(RequestError):
    kind = "ambiguous_selection"
    hint = "choose some changes, a file, a message or a session"

    def __init__(self, count: int) -> None:
        super().__init__(f"choose one selection of changes to decide about, not {count}")
        self.detail = f"give exactly one of hunkIds, uri, turnId, sessionId (got {count})"


class UnknownCommandError(RequestError):
    kind = "bad_choice"
    hint = "type / to list the commands"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no command /{name}")


def kind_of(error: BaseException) -> str:
    """Return the kind of an error, "" if the error is not an expected error of agent-ls."""
    kind = getattr(error, "kind", None)
    return kind if isinstance(kind, str) else KINDS_BY_CLASS.get(type(error).__name__, "")


def response_error(error: BaseException) -> lsp.ResponseError:
    """Return the JSON-RPC error for the client. The error has no internal details: no traceback, no repr of a
    value.
    """
    kind = kind_of(error)
    if code := CODES.get(kind):
        data = {
            "kind": kind,
            "retryable": getattr(error, "retryable", False) is True,
            "hint": getattr(error, "hint", "") or "",
        }
        if detail := getattr(error, "detail", ""):
            data["detail"] = detail
        return lsp.ResponseError(code=code, message=str(error), data=data)
    if isinstance(error, OSError) and is_out_of_files(error):
        message, hint = describe_out_of_files()
        limited = {"kind": "app", "retryable": True, "hint": hint}
        return lsp.ResponseError(code=CODES["app"], message=message, data=limited)
    if isinstance(error, JsonRpcException) and error.code != INTERNAL:
        return lsp.ResponseError(code=error.code, message=error.message)
    log.error("a request failed because of an internal error", exc_info=error)
    data = {"kind": "internal", "retryable": False, "hint": "the log of agent-ls has the details"}
    return lsp.ResponseError(
        code=INTERNAL, message="agent-ls failed because of an internal error; this is a bug", data=data
    )
