"""Errors of model calls.

    LlmError
        ConfigurationError        unknown provider or option, or no way to send the request
            MissingKeyError           no key
        ProviderError             the provider answered with an error
            AuthenticationError       401: the key is wrong or revoked
            PermissionDeniedError     403
            NotFoundError             404: usually the model's name
            InvalidRequestError       400, 422: the request is malformed (a bug in agent_ls: display it)
                ContextLengthError        the conversation is too long for the model
                    RequestTooLargeError      413
            QuotaExceededError        money or quota is used up; waiting does not help
            RateLimitError            429: retry after the given time
            ContentFilterError        refused because of its content
            ServerError               500 to 599
                OverloadedError           529, 503 with "overloaded"
                ModelLoadingError         a server that has just started still loads the model
        NetworkError              no connection, connection lost, name not found, certificate refused
        RequestTimeoutError       no connection, no first byte or no data for too long; 408 (not retryable)
        NoObjectGeneratedError    (object_errors.py) the answer is not the object that was wanted
        StreamError               the stream ended without its terminal event, or has a malformed event
        RunawayError              the answer repeats itself without end and was stopped

Each error has `retryable`, `retry_after_s` (None: unknown), and `hint`, which says what the user can do next. No
message contains a request body, a header or a key, but only provider, model, status and the provider's own message.
"""

from __future__ import annotations

from math import inf
from typing import TypeGuard

from agent_ls.argument_types import checked
from agent_ls.llm.messages import JsonObject


class LlmError(Exception):
    """Base class of all errors of model calls. `str()` is one sentence for the user; `hint` says what to do next."""

    kind = "llm_error"
    retryable = False
    is_cut = False
    """True if a part of the answer had arrived and was recorded. The call is then not repeated."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        hint: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.hint = hint
        self.retry_after_s = retry_after_s
        if hint:
            self.add_note(hint)  # the traceback of a program shows it


class ConfigurationError(LlmError):
    kind = "configuration"


class MissingKeyError(ConfigurationError):
    pass


def _misuse(message: str, hint: str) -> ConfigurationError:
    return ConfigurationError(message, hint=hint)


typed = checked(_misuse)
"""Decorate a function for programs: an argument of a wrong type raises ConfigurationError."""


class ProviderError(LlmError):
    """The provider answered with an error.

    `status` is the HTTP status; None if the error occurred inside a stream that began with status 200. `param` is the
    field of the request that the provider names. `raw` is the JSON body. It is for programs only and is never
    displayed, because it may repeat parts of the request. Unknown statuses of 400 to 499 count as 400.
    """

    kind = "provider"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        hint: str = "",
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, provider=provider, model=model, hint=hint, retry_after_s=retry_after_s)
        self.status = status
        self.code = ""
        self.param = ""
        self.request_id = ""
        self.raw: JsonObject = {}


class AuthenticationError(ProviderError):
    kind = "authentication"
    retryable = False


class PermissionDeniedError(ProviderError):
    kind = "access_denied"
    retryable = False


class NotFoundError(ProviderError):
    kind = "not_found"
    retryable = False


class InvalidRequestError(ProviderError):
    kind = "invalid_request"
    retryable = False


class ContextLengthError(InvalidRequestError):
    kind = "context_length"


class RequestTooLargeError(ContextLengthError):
    kind = "request_too_large"


class QuotaExceededError(ProviderError):
    kind = "quota"
    retryable = False


class RateLimitError(ProviderError):
    kind = "rate_limit"


class ContentFilterError(ProviderError):
    kind = "content_filter"
    retryable = False


class ServerError(ProviderError):
    kind = "server"


class OverloadedError(ServerError):
    kind = "overloaded"


class ModelLoadingError(ServerError):
    """The server still loads the model. Waiting helps, for longer than other retries last."""


class NetworkError(LlmError):
    kind = "network"
    retryable = True


class RequestTimeoutError(LlmError):
    kind = "timeout"
    retryable = True


class StreamError(LlmError):
    kind = "stream"
    retryable = True


class RunawayError(LlmError):
    kind = "runaway"


def is_refusal(error: LlmError) -> TypeGuard[ProviderError]:
    """Return whether a server may have refused a part of the request, so that it may accept another form of it."""
    kinds = InvalidRequestError | NotFoundError | ServerError
    return isinstance(error, kinds) and not isinstance(error, ContextLengthError)


def valid_delay_s(value: object) -> float | None:
    """Return a number of seconds as it is; None if it is no number, negative, infinite or NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < inf else None


def asked_delay_s(error: LlmError) -> float | None:
    """Return the seconds that the provider asks to wait; None if it gives no time, or none that can be waited."""
    return valid_delay_s(error.retry_after_s)


def check_amounts(value: object, *names: str) -> None:
    """Raise ConfigurationError if one of these fields is below 0 or not a number. None and other types pass."""
    for name in names:
        amount = getattr(value, name)
        if isinstance(amount, int | float) and not amount >= 0:
            raise ConfigurationError(
                f"{type(value).__name__}: {name} is {amount}", hint="Pass a number from 0 on."
            )
