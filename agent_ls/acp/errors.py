"""Errors for the client: one sentence for the user in `message`, and what to do next in `data.details`."""

from __future__ import annotations

import logging
from typing import Any

from agent_ls.environments.errors import EnvError
from agent_ls.llm.errors import LlmError
from agent_ls.loop.calls.approval import UnknownApprovalError
from agent_ls.loop.errors import SessionError
from agent_ls.loop.questions import BadAnswerError, UnknownQuestionError
from agent_ls.services.errors import AppError, UnknownSessionError
from agent_ls.store.errors import StoreError
from agent_ls.system import describe_out_of_files, is_out_of_files
from agent_ls.text import join_sentences

log = logging.getLogger(__name__)

PARSE = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002

_EXPECTED = (
    AppError, EnvError, LlmError, SessionError, StoreError, UnknownApprovalError, UnknownQuestionError, BadAnswerError,
)  # fmt: skip


class RpcError(Exception):
    """An error for the client. `details` is a full sentence for the user that says what to do next."""

    def __init__(self, code: int, message: str, details: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.details = details or message


def invalid(what: str, hint: str = "") -> RpcError:
    """Return the error for parameters that do not fit the method."""
    return RpcError(INVALID_PARAMS, what, join_sentences(what, hint))


def error_object(error: BaseException) -> dict[str, Any]:
    """Return the `error` of a response. An internal error is logged, and its details never reach the client."""
    found = as_rpc_error(error)
    return {"code": found.code, "message": str(found), "data": {"details": found.details}}


def as_rpc_error(error: BaseException) -> RpcError:
    if isinstance(error, RpcError):
        return error
    if isinstance(error, OSError) and is_out_of_files(error):
        message, hint = describe_out_of_files()
        return RpcError(INTERNAL, message, join_sentences(message, hint))
    if isinstance(error, _EXPECTED):
        code = NOT_FOUND if isinstance(error, UnknownSessionError) else INTERNAL
        if getattr(error, "is_usage", False) and code == INTERNAL:
            code = INVALID_PARAMS
        hint = getattr(error, "hint", "") or ""
        return RpcError(code, str(error), join_sentences(str(error), hint))
    log.error("a request failed because of an internal error", exc_info=error)
    return RpcError(
        INTERNAL,
        "agent-ls failed because of an internal error",
        "The log of agent-ls has the details. Try again.",
    )
