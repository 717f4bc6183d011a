"""Failures of requests to an MCP server, in words for the model and the user, and the time limit of a request."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from agent_ls.mcp.errors import LoginRefusedError, RenewalError
from agent_ls.mcp.http_answers import LOST, HttpAnswers
from agent_ls.mcp.process import EndedError

CLOSED = "the server closed the connection"
MAX_DATA = 2_000
MAX_EXTENDED = 10
"""How often progress may begin the time limit of a request again."""


class McpServerError(Exception):
    """A request failed: the request could not be sent, or the server refused it. `str()` is for the model and
    the user.
    """


class SessionLostError(McpServerError):
    """The server no longer knows the session of this connection, for example after its restart. It did nothing."""


class RequestLimit:
    """Context manager that limits the time of a request, and converts exceptions of the SDK to McpServerError.

    `deadline` is the time at which the request ends.
    """

    def __init__(self, timeout_s: float, answers: HttpAnswers | None = None) -> None:
        self._timeout_s = timeout_s
        self._answers = answers
        self._scope = anyio.CancelScope()
        self._end = 0.0

    @property
    def deadline(self) -> float:
        return self._scope.deadline

    def pause(self) -> None:
        """Stop the time limit while the user is asked."""
        self._scope.deadline = math.inf

    def resume(self, waited_s: float) -> None:
        """Begin the time limit again after the user was asked."""
        self._end += waited_s
        self.extend(anyio.current_time())

    def extend(self, at: float) -> None:
        """Begin the time limit again at this time."""
        self._scope.deadline = min(at + self._timeout_s, self._end)

    def __enter__(self) -> RequestLimit:
        if self._answers:
            self._answers.refused = ""
        self._scope = anyio.move_on_after(self._timeout_s)
        self._end = anyio.current_time() + MAX_EXTENDED * self._timeout_s
        self._scope.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        was_timeout = bool(self._scope.__exit__(kind, error, trace)) and self._scope.cancelled_caught
        if was_timeout:
            raise McpServerError(f"the server did not answer within {self._timeout_s:g} s") from None
        if error is not None and (problem := problem_of(error)):
            if self._answers and (failure := self._answers.login_failure):
                raise McpServerError(str(failure)) from failure
            if self._answers and (
                self._answers.has_lost_session or (self._answers.session and LOST.fullmatch(problem))
            ):
                raise SessionLostError(problem) from error
            refused = self._answers.refused if self._answers and problem == SDK_REFUSED else ""
            raise McpServerError(refused or problem) from error


SDK_REFUSED = "Server returned an error response"
"""What the SDK says about each HTTP status of an error, whatever the answer says."""


def is_closed(error: MCPError) -> bool:
    """Return whether the SDK reports the end of the connection. Servers use its code for failures of their own."""
    found = error.error
    return (found.code, found.message, found.data) == (types.CONNECTION_CLOSED, "Connection closed", None)


def problem_of(error: BaseException) -> str:
    """Describe the failure of a server; "" for other exceptions: cancellation, or an error in agent-ls."""
    for leaf in _list_causes(error):
        match leaf:
            case MCPError():
                if is_closed(leaf):
                    return CLOSED
                return _with_data(leaf.error.message or f"error {leaf.error.code}", leaf.error.data)
            case httpx2.HTTPStatusError():
                return f"the server answered with HTTP status {leaf.response.status_code}"
            case httpx2.HTTPError():
                return f"the server cannot be reached: {str(leaf) or type(leaf).__name__}"
            case ValidationError():
                return "the answer of the server does not follow the protocol"
            case McpServerError() | LoginRefusedError() | RenewalError():
                return str(leaf)
            case RuntimeError() | ValueError() | TimeoutError() | EndedError():
                return str(leaf) or type(leaf).__name__
            case Exception() if type(leaf).__module__.startswith("mcp."):
                return str(leaf)
    return ""


def _with_data(message: str, data: Any) -> str:
    """Return what a server says of a failure: many put the reason into `data` only."""
    words = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
    return f"{message}: {words[:MAX_DATA]}" if data and words not in message else message


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _list_causes(inner)
    else:
        yield error
