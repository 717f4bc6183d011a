"""Map errors of providers to LlmError classes. Each provider adds a table of names and phrases to the common rules.

The class is determined by the error's code or type in the provider's table. If the HTTP status is vague, phrases in
the message are tested next, and then the status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from agent_ls.llm.errors import (
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.text import strip_escapes, to_display_line

_STATUSES: Mapping[int, type[ProviderError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: QuotaExceededError,
    403: PermissionDeniedError,
    404: NotFoundError,
    413: RequestTooLargeError,
    422: InvalidRequestError,
    429: RateLimitError,
    529: OverloadedError,
}

PROXY_LOGIN = (
    "the proxy between this machine and {provider} requires a login",
    "Put user and password into the address of the proxy (HTTPS_PROXY), or connect without the proxy.",
)
"""Message and hint for status 407, with which a proxy refuses a request or a tunnel to the provider."""

# Statuses that a wrong base URL or a proxy causes, each with message and hint. A retry never succeeds.
_WRONG_WAYS: Mapping[int, tuple[str, str]] = {
    405: (
        "the server at the base URL of {provider} does not accept API requests (HTTP status 405)",
        "Check the base URL of the provider.",
    ),
    407: PROXY_LOGIN,
}

# Statuses for which a phrase in the message may select a more specific error class.
_VAGUE_STATUSES = (None, 400, 413, 422, 429, 500, 503)

# Phrases (lower case) that are more specific than the status, with examples.
_WORDS: tuple[tuple[str, type[ProviderError]], ...] = (
    ("context length", ContextLengthError),  # example: This model's maximum context length is 8192 tokens
    ("context window", ContextLengthError),  # example: Your input exceeds the context window of this model
    ("too many tokens", ContextLengthError),
    ("prompt is too long", ContextLengthError),  # example: prompt is too long: 210000 tokens > 200000 maximum
    ("credit balance", QuotaExceededError),  # example: Your credit balance is too low to access the API
    ("current quota", QuotaExceededError),  # example: You exceeded your current quota
    ("content filter", ContentFilterError),
    ("usage policy", ContentFilterError),
    # example: Your request was rejected as a result of our safety system.
    ("safety system", ContentFilterError),
    ("invalid api key", AuthenticationError),
    ("invalid key", AuthenticationError),
    ("unauthorized", AuthenticationError),
    ("api key not valid", AuthenticationError),
    ("authentication error", AuthenticationError),
    ("overloaded", OverloadedError),
)

_LEADS: Mapping[type[ProviderError], tuple[str, str]] = {
    AuthenticationError: (
        "{provider} refused the key",
        "Enter a valid key in the editor, or set it in {variable} and start agent-ls again. The conversation is kept.",
    ),
    PermissionDeniedError: ("{provider} denied access", "Check the permissions of this key and its project."),
    NotFoundError: (
        "{provider} does not know the model {model}",
        "Choose another model, or check its spelling and the base URL.",
    ),
    ContextLengthError: (
        "the conversation is too long for {model}",
        "Compact the conversation or start a new session.",
    ),
    RequestTooLargeError: ("the request is too large for {provider}", "Leave out large images or files."),
    InvalidRequestError: (
        "{provider} rejected the request",
        (
            "Check the model's name and the key: some servers answer this if one is wrong. "
            "If both are right, please report it."
        ),
    ),
    QuotaExceededError: (
        "the credit at {provider} is used up",
        "Check the plan, billing and spending limits of your account at the provider.",
    ),
    RateLimitError: ("{provider} limits the rate of requests", "Wait a moment, then send again."),
    ContentFilterError: ("{provider} refused the content", "Rephrase the request."),
    OverloadedError: ("{provider} is overloaded", "Try again in a few minutes, or choose another model."),
    ServerError: (
        "{provider} failed",
        "Try again. If the error remains, look at the provider's status page.",
    ),
    ProviderError: ("{provider} answered with an error", "Try again."),
}

MAX_MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """An error as the provider reported it. `names` are the error's code and type, the most specific first.

    `retry_after_s` is the delay in the body. `kind` is the error class, if the body determines it. `prompt_tokens`
    is the size of a request that is too long, `context_tokens` the size of the server's context. Both are 0 if the
    body does not contain them.
    """

    message: str = ""
    names: Sequence[str] = ()
    request_id: str = ""
    retry_after_s: float | None = None
    kind: type[ProviderError] | None = None
    prompt_tokens: int = 0
    context_tokens: int = 0


@dataclass(frozen=True, slots=True)
class FailureTable:
    """One provider's error names and phrases. `words` are lower case and tested before the common phrases.

    `more_context` says how the user starts this server with a larger context; "" for a service.
    """

    provider: str
    names: Mapping[str, type[ProviderError]]
    words: Sequence[tuple[str, type[ProviderError]]] = field(default=())
    more_context: str = ""

    def error(self, failure: ProviderFailure, model: str, head: ReplyHead | None = None) -> LlmError:
        """Return the error for `failure`. `head` None: the failure occurred inside a stream that began with
        status 200.
        """
        status = head.status if head else None
        code = next((name for name in failure.names if name), "")
        if head is not None and 300 <= head.status < 400:
            return self._redirect(head, model)
        if status == 408:
            return self._timeout(failure, model, head)
        if status is not None and status in _WRONG_WAYS:
            return self._map_wrong_endpoint(status, model)
        kind = failure.kind or self._kind(failure, status)
        if status == 413 and not issubclass(kind, ContextLengthError):
            # The status overrides the error name in the body, because the same request is too large at every
            # attempt.
            kind = RequestTooLargeError
        lead, hint = (text.format(**self._facts(model)) for text in _LEADS[kind])
        if kind is ContextLengthError:
            lead, hint = f"{lead}{_sizes(failure)}", self._longer_context(hint)
        error = kind(
            _sentence(lead, failure.message, status),
            provider=self.provider,
            model=model,
            hint=hint,
            retry_after_s=_delay_s(failure, kind, head),
            status=status,
        )
        error.code, error.request_id = code, failure.request_id
        told = head.headers.get("x-should-retry") if head else None
        # The server's header decides, except for used-up quotas and too long requests: a retry would fail
        # again.
        if told in ("true", "false") and not issubclass(kind, QuotaExceededError | ContextLengthError):
            error.retryable = told == "true"
        return error

    def _kind(self, failure: ProviderFailure, status: int | None) -> type[ProviderError]:
        named = next((self.names[name] for name in failure.names if name in self.names), None)
        if named is not None and named not in (InvalidRequestError, RateLimitError):
            return named
        # "invalid_request_error" is also the type of bodies whose status is more specific (401, 404).
        is_vague = named is InvalidRequestError and status not in (None, 400, 422)
        kind = _by_status(status) if named is None or is_vague else named
        if status not in _VAGUE_STATUSES:
            return kind
        text = failure.message.lower()
        worded = next((kind for words, kind in (*self.words, *_WORDS) if words in text), kind)
        # For a 429, phrases only decide whether the quota is used up: "Too many tokens per minute" is a rate limit,
        # not a context limit.
        return worded if kind is not RateLimitError or worded is QuotaExceededError else kind

    def _longer_context(self, hint: str) -> str:
        if not self.more_context:
            return hint
        needed = "Tools and instructions need several thousand tokens."
        return f"{self.more_context} {needed} Or: {hint[0].lower()}{hint[1:]}"

    def _facts(self, model: str) -> Mapping[str, str]:
        return {"provider": self.provider, "model": model, "variable": f"{self.provider.upper()}_API_KEY"}

    def _redirect(self, head: ReplyHead, model: str) -> LlmError:
        return ConfigurationError(
            f"the address of {self.provider} redirects to another address (HTTP {head.status}), which agent-ls "
            "does not follow",
            provider=self.provider,
            model=model,
            hint="Set the base URL of the provider to the final address.",
        )

    def _map_wrong_endpoint(self, status: int, model: str) -> LlmError:
        problem, hint = _WRONG_WAYS[status]
        return ConfigurationError(
            f"{problem.format(provider=self.provider)} (HTTP {status})",
            provider=self.provider,
            model=model,
            hint=hint,
        )

    def _timeout(self, failure: ProviderFailure, model: str, head: ReplyHead | None) -> LlmError:
        error = RequestTimeoutError(
            _sentence(f"{self.provider} ended the request after a time limit", failure.message, 408),
            provider=self.provider,
            model=model,
            hint="Try again.",
            retry_after_s=retry_after_s(head) if head else None,
        )
        # If the server itself stopped the request because it took too long, retry only if a header allows it.
        error.retryable = head is not None and head.headers.get("x-should-retry") == "true"
        return error


# examples: Please try again in 1.146s. / Please retry in 48.9s. / try again in 84ms
_WORDED_DELAY = re.compile(r"(?:try again|retry) in (\d+(?:\.\d+)?)\s*(ms|s|m)\b", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0}


def _delay_s(failure: ProviderFailure, kind: type[ProviderError], head: ReplyHead | None) -> float | None:
    """Return the seconds to wait before a retry, from headers, body or message; None if unknown."""
    told = retry_after_s(head) if head else None
    told = failure.retry_after_s if told is None else told
    if told is not None or kind is not RateLimitError:
        return told
    found = _WORDED_DELAY.search(failure.message)
    return float(found[1]) * _UNIT_S[found[2].lower()] if found else None


def retry_after_s(head: ReplyHead) -> float | None:
    """Return the seconds to wait before a retry, from the headers; None without a valid header.

    `retry-after-ms` is used first, then `retry-after`, which has seconds or an HTTP date.
    """
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


def _sizes(failure: ProviderFailure) -> str:
    """Return the sizes of request and context in brackets.

    "" if the sizes are unknown, or if the server's message has them.
    """
    prompt, context = failure.prompt_tokens, failure.context_tokens
    if not (prompt and context) or (str(prompt) in failure.message and str(context) in failure.message):
        return ""
    return f" ({prompt:,} tokens for a context of {context:,})"


def _by_status(status: int | None) -> type[ProviderError]:
    if status is not None and status not in _STATUSES and 500 <= status < 600:
        return ServerError
    return _STATUSES.get(status, ProviderError) if status is not None else ProviderError


def _sentence(lead: str, message: str, status: int | None) -> str:
    told = to_display_line(strip_escapes(message), MAX_MESSAGE_CHARS)
    where = f" (HTTP {status})" if status else ""
    return f"{lead}{where}: {told}" if told else f"{lead}{where}"
