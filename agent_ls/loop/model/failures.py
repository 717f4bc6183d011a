"""Convert a failed model call to the events to emit, and decide whether the session ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from agent_ls.llm.errors import (
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    MissingKeyError,
    NetworkError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    RequestTimeoutError,
    RunawayError,
    StreamError,
    asked_delay_s,
)
from agent_ls.llm.requests import FinishReason
from agent_ls.loop.events.types import Error, UserAction, Warning
from agent_ls.loop.step import cut_message
from agent_ls.text import strip_escapes, to_display_line

CONTEXT_WARNING = "The conversation no longer fits the model's context window."
MESSAGE_CHARS = 1000

_REPHRASE = "Rephrase the request, then send it again, or choose another model."
# The hint of the first matching class is used if the provider's adapter gave no hint.
_HINTS: tuple[tuple[type[LlmError], str], ...] = (
    (ConfigurationError, "Set the provider's key, or choose another provider, and send the message again."),
    (AuthenticationError, "Enter a valid API key, then send the message again."),
    (
        PermissionDeniedError,
        "This key may not use this model. Choose another model, then send the message again.",
    ),
    (NotFoundError, "Check the model's name, or choose another model, then send the message again."),
    (QuotaExceededError, "Top up the account or choose another provider, then send the message again."),
    (ContentFilterError, _REPHRASE),
    (ContextLengthError, "Start a new session, or choose a model with a larger context window."),
    (InvalidRequestError, "Choose another model. This is probably a fault in agent-ls: please report it."),
)
_RETRY_HINT = "Send the message again in a few minutes."
_CONTINUE_HINT = "The received part of the answer is kept: send a message to continue."
KEPT = "The conversation is kept."
"""Added to the hint if the model has answered before. Without an answer, nothing may have been stored."""
_KEPT_AFTER = (AuthenticationError, InvalidRequestError)

# The action of the first matching class is used. Other errors are temporary, or their hint says what to do.
_ACTIONS: tuple[tuple[type[LlmError], UserAction], ...] = (
    (MissingKeyError, "setKey"),
    (AuthenticationError, "setKey"),
    (PermissionDeniedError, "chooseModel"),
    (NotFoundError, "chooseModel"),
    (QuotaExceededError, "chooseModel"),
    (ContentFilterError, "chooseModel"),
    (InvalidRequestError, "chooseModel"),
    (RunawayError, "retry"),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """The consequences of a failed model call. `events` are emitted in order; the last one is the error. If
    `closes`, the session ends but can be resumed.
    """

    events: tuple[Warning | Error, ...]
    closes: bool


def failure_of(error: LlmError, *, has_answers: bool) -> Failure:
    """Return the consequences of an error that is not retried. `has_answers`: the model has answered before."""
    is_cut = error.is_cut and isinstance(error, NetworkError | RequestTimeoutError | StreamError)
    words = _CONTINUE_HINT if error.is_cut and not isinstance(error, RunawayError) else ""
    hint = _wait_hint(error) or words or error.hint
    hint = hint or next((words for kind, words in _HINTS if isinstance(error, kind)), _RETRY_HINT)
    if has_answers and isinstance(error, _KEPT_AFTER):
        hint = f"{hint} {KEPT}"
    kind = "stream_cut" if is_cut else error.kind
    event = Error(visible(str(error)) or kind, kind, hint, error.retryable, _action(error))
    if isinstance(error, ContextLengthError):
        return Failure((Warning(CONTEXT_WARNING, error.kind), event), closes=False)
    return Failure((event,), closes=isinstance(error, ProviderError) and not error.retryable)


def _action(error: LlmError) -> UserAction:
    for kind, action in _ACTIONS:
        if isinstance(error, kind):
            return action
    if not error.retryable:
        return ""
    return "continue" if error.is_cut else "retry"


def make_end_error(finish: FinishReason) -> Error:
    """Return the error for an answer that the provider cut off early. The received text stays in the history."""
    if finish.kind == "content_filter":
        return Error(cut_message(finish), finish.kind, _REPHRASE, action="chooseModel")
    return Error(cut_message(finish), "provider", _CONTINUE_HINT, retryable=True, action="continue")


def failed_tools(names: Sequence[str]) -> Error:
    """Return the error for tools that reported a fatal failure."""
    return Error(
        f"The task cannot continue, because {', '.join(names)} failed.",
        "fatal",
        "Read the output of the tool call.",
    )


def visible(message: str) -> str:
    """Return a provider's message as one line without control sequences."""
    return to_display_line(strip_escapes(message), MESSAGE_CHARS)


def _wait_hint(error: LlmError) -> str:
    """Return the hint to wait as long as the provider asks, rounded up; "" if the provider gives no time."""
    wait_s = ceil(asked_delay_s(error) or 0)
    if not wait_s:
        return ""
    words = f"{wait_s} s" if wait_s < 120 else f"{ceil(wait_s / 60)} minutes"
    return f"The provider asks you to wait {words}. Then send the message again."


def internal_error(error: Exception, *, has_answers: bool) -> Error:
    """Return the error for an unexpected exception. Such an exception ends the turn but never the session.

    `has_answers`: the model has answered before.
    """
    return Error(
        f"The turn ended because of an internal error of agent-ls ({type(error).__name__}).",
        "internal",
        f"The details are in the log. Send the message again.{f' {KEPT}' if has_answers else ''}",
        action="retry",
    )
