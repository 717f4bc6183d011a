"""What a provider's error means to us, as far as all providers agree; each adds its own table of names and words.

Order of tests: the error's code or type by the provider's table, then words of its message where the status says
little, then the status (C sections 6.3 to 6.5, FORMATS section 0: never the status alone).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from agent_ls.llm.errors import (
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.providers.base import ReplyHead

_STATUSES: Mapping[int, type[ProviderError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: QuotaExceededError,
    403: AccessDeniedError,
    404: NotFoundError,
    413: RequestTooLargeError,
    422: InvalidRequestError,
    429: RateLimitError,
    529: OverloadedError,
}

# Statuses whose meaning the message may narrow down.
_VAGUE_STATUSES = (None, 400, 413, 422, 429, 500, 503)

# Words (lower case) that tell more than the status; an example stands beside each.
_WORDS: tuple[tuple[str, type[ProviderError]], ...] = (
    ("context length", ContextLengthError),  # This model's maximum context length is 8192 tokens
    ("context window", ContextLengthError),  # Your input exceeds the context window of this model
    ("too many tokens", ContextLengthError),
    ("prompt is too long", ContextLengthError),  # prompt is too long: 210000 tokens > 200000 maximum
    ("credit balance", QuotaExceededError),  # Your credit balance is too low to access the API
    ("current quota", QuotaExceededError),  # You exceeded your current quota
    ("content filter", ContentFilterError),
    ("usage policy", ContentFilterError),
    ("safety system", ContentFilterError),  # Your request was rejected as a result of our safety system.
    ("invalid api key", AuthenticationError),
    ("invalid key", AuthenticationError),
    ("unauthorized", AuthenticationError),
    ("overloaded", OverloadedError),
)

_LEADS: Mapping[type[ProviderError], tuple[str, str]] = {
    AuthenticationError: (
        "{provider} refused the key",
        "Enter a valid key in the editor, or set it in {variable} and start agent-ls again. The conversation is kept.",
    ),
    AccessDeniedError: ("{provider} denied access", "Check what this key and its project may use."),
    NotFoundError: (
        "{provider} does not know the model {model}",
        "Choose another model, or check its spelling and the base URL.",
    ),
    ContextLengthError: ("the conversation is too long for {model}", "Compact it or start a new session."),
    RequestTooLargeError: ("the request is too large for {provider}", "Leave out large images or files."),
    InvalidRequestError: (
        "{provider} rejected the request",
        "This is a fault of the request, not of your key.",
    ),
    QuotaExceededError: (
        "the credit at {provider} is used up",
        "Check plan, billing and spend limits there.",
    ),
    RateLimitError: ("{provider} limits the rate of requests", "Wait a moment, then send again."),
    ContentFilterError: ("{provider} refused the content", "Put the request in other words."),
    OverloadedError: ("{provider} is overloaded", "Try again in a few minutes, or choose another model."),
    ServerError: ("{provider} failed", "Try again; if it stays so, look at the provider's status page."),
    ProviderError: ("{provider} answered with an error", "Try again."),
}

MAX_MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the provider put it. `names` are its code and type, most telling first.

    `retry_after_s`: its body tells how long to wait. `kind`: its body leaves no doubt of what it is.
    """

    message: str = ""
    names: Sequence[str] = ()
    request_id: str = ""
    retry_after_s: float | None = None
    kind: type[ProviderError] | None = None


@dataclass(frozen=True, slots=True)
class FailureTable:
    """One provider's own vocabulary. `words` are lower case and tested before the common ones."""

    provider: str
    names: Mapping[str, type[ProviderError]]
    words: Sequence[tuple[str, type[ProviderError]]] = field(default=())

    def error(self, failure: Failure, model: str, head: ReplyHead | None = None) -> LlmError:
        """The error that `failure` means; `head` None: it stood inside a stream that began with 200."""
        status = head.status if head else None
        code = next((name for name in failure.names if name), "")
        if head is not None and 300 <= head.status < 400:
            return self._redirect(head, model)
        if status == 408:
            return self._timeout(failure, model, head)
        kind = failure.kind or self._kind(failure, status)
        lead, hint = (text.format(**self._facts(model)) for text in _LEADS[kind])
        error = kind(
            _sentence(lead, failure.message, status),
            provider=self.provider,
            model=model,
            hint=hint,
            retry_after_s=_delay_s(failure, kind, head),
            status=status,
            code=code,
            request_id=failure.request_id,
        )
        told = head.headers.get("x-should-retry") if head else None
        if told in ("true", "false") and kind is not QuotaExceededError:  # waiting never refills an account
            error.retryable = told == "true"
        return error

    def _kind(self, failure: Failure, status: int | None) -> type[ProviderError]:
        named = next((self.names[name] for name in failure.names if name in self.names), None)
        if named is not None and named not in (InvalidRequestError, RateLimitError):
            return named
        # "invalid_request_error" is also the type of bodies whose status says more (401, 404).
        is_vague = named is InvalidRequestError and status not in (None, 400, 422)
        kind = _by_status(status) if named is None or is_vague else named
        if status not in _VAGUE_STATUSES:
            return kind
        text = failure.message.lower()
        worded = next((kind for words, kind in (*self.words, *_WORDS) if words in text), kind)
        # "Too many tokens per minute" is a rate, not a context: of a 429 words only say whether money is gone.
        return worded if kind is not RateLimitError or worded is QuotaExceededError else kind

    def _facts(self, model: str) -> Mapping[str, str]:
        return {"provider": self.provider, "model": model, "variable": f"{self.provider.upper()}_API_KEY"}

    def _redirect(self, head: ReplyHead, model: str) -> LlmError:
        return ConfigurationError(
            f"the address of {self.provider} redirects elsewhere (HTTP {head.status}), which is not followed",
            provider=self.provider,
            model=model,
            hint="Set the base URL to the final address.",
        )

    def _timeout(self, failure: Failure, model: str, head: ReplyHead | None) -> LlmError:
        error = RequestTimeoutError(
            _sentence(f"{self.provider} gave up waiting", failure.message, 408),
            provider=self.provider,
            model=model,
            hint="Try again.",
            retry_after_s=retry_after_s(head) if head else None,
        )
        # C section 6.4: a request that the server itself found too slow is not sent again, unless it says so.
        error.retryable = head is not None and head.headers.get("x-should-retry") == "true"
        return error


# Please try again in 1.146s. / Please retry in 48.9s. / try again in 84ms
_WORDED_DELAY = re.compile(r"(?:try again|retry) in (\d+(?:\.\d+)?)\s*(ms|s|m)\b", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0}


def _delay_s(failure: Failure, kind: type[ProviderError], head: ReplyHead | None) -> float | None:
    """How long to wait, as the headers, the body or its words tell."""
    told = retry_after_s(head) if head else None
    told = failure.retry_after_s if told is None else told
    if told is not None or kind is not RateLimitError:
        return told
    found = _WORDED_DELAY.search(failure.message)
    return float(found[1]) * _UNIT_S[found[2].lower()] if found else None


def retry_after_s(head: ReplyHead) -> float | None:
    """Seconds to wait as the headers tell: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date."""
    milliseconds = _number(head.headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    told = head.headers.get("retry-after", "")
    seconds = _number(told)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - head.received_at_s)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _by_status(status: int | None) -> type[ProviderError]:
    if status is not None and status not in _STATUSES and 500 <= status < 600:
        return ServerError
    return _STATUSES.get(status, ProviderError) if status is not None else ProviderError


def _sentence(lead: str, message: str, status: int | None) -> str:
    told = " ".join(message.split())
    if len(told) > MAX_MESSAGE_CHARS:
        told = told[: MAX_MESSAGE_CHARS - 1] + "…"
    where = f" (HTTP {status})" if status else ""
    return f"{lead}{where}: {told}" if told else f"{lead}{where}"
