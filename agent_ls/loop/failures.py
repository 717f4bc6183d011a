"""What a failed model call means for the session (000 appendix B, REQUIREMENTS R1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from agent_ls.llm.errors import (
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    ProviderError,
    QuotaExceededError,
)
from agent_ls.loop.events import Error

CONTEXT_WARNING = "The conversation no longer fits the model's context window."

# The first class that fits; used where the provider's adapter gave no hint of its own.
_HINTS: tuple[tuple[type[LlmError], str], ...] = (
    (ConfigurationError, "Set the provider's key, or choose another provider, and send the message again."),
    (AuthenticationError, "Check the API key. The conversation is kept: open the session again to go on."),
    (AccessDeniedError, "This key may not use this model. Choose another model and open the session again."),
    (NotFoundError, "Check the model's name. Choose another model and open the session again."),
    (QuotaExceededError, "Top up the account or choose another provider, then open the session again."),
    (ContentFilterError, "Rephrase the request, then open the session again."),
    (ContextLengthError, "Start a new session, or choose a model with a larger context window."),
    (InvalidRequestError, "This is likely a fault of agent-ls. The conversation is kept; please report it."),
)
_RETRY_HINT = "Send the message again in a while."


@dataclass(frozen=True, slots=True)
class Failure:
    """`closes`: the session ends (it can be resumed). `warning` is told before the error, "" is none."""

    error: Error
    closes: bool
    warning: str = ""


def failure_of(error: LlmError) -> Failure:
    """An error after which no further attempt is made."""
    hint = _wait_hint(error) or error.hint
    hint = hint or next((words for kind, words in _HINTS if isinstance(error, kind)), _RETRY_HINT)
    event = Error(str(error) or error.kind, error.kind, hint, error.retryable)
    if isinstance(error, ContextLengthError):
        return Failure(event, closes=False, warning=CONTEXT_WARNING)
    return Failure(event, closes=isinstance(error, ProviderError) and not error.retryable)


def _wait_hint(error: LlmError) -> str:
    """How long the provider asks to wait, "" when it does not say; rounded up, so that it is long enough."""
    wait_s = ceil(error.retry_after_s or 0)
    if not wait_s:
        return ""
    words = f"{wait_s} s" if wait_s < 120 else f"{ceil(wait_s / 60)} minutes"
    return f"The provider asks to wait {words}; then send the message again."


def internal_error(error: Exception) -> Error:
    """For the last resort: a fault of ours ends the turn, never the session (R5)."""
    return Error(
        f"The turn ended by a fault inside agent-ls ({type(error).__name__}).",
        "internal",
        "The details are in the log. The conversation is kept: send the message again.",
    )
