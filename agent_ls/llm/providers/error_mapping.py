"""Map errors of providers to LlmError classes. Each provider adds a table of names and phrases to the common rules.

The class is determined by the error's code or type in the provider's table. If the HTTP status is vague, phrases in
the message are tested next, and then the status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_ls.llm.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    ModelLoadingError,
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
from agent_ls.llm.providers.error_codes import OWN_CODE, is_vague, kind_of_name, kind_of_status, quoted_kind
from agent_ls.llm.providers.error_delays import reset_delay_s, retry_after_s, worded_delay_s
from agent_ls.llm.providers.error_leads import (
    ABOVE_RATE,
    LEADS,
    NO_API,
    OTHER_API,
    OTHER_API_HINT,
    PAGE,
    PER_MINUTE,
    UNSTATED,
    UNSTATED_HINT,
    WRONG_WAYS,
)
from agent_ls.llm.providers.error_topics import STATED, fails_always, is_busy, is_refused, topic_of
from agent_ls.llm.providers.error_words import (
    BUDGET,
    CUT,
    LOADING,
    MALFORMED_CALL,
    NO_RATE,
    THROTTLED,
    WORDS,
    exceeds_rate,
    refined,
    states_overflow,
)
from agent_ls.text import strip_escapes, to_display_line

# Names of these classes are used for other errors, too.
_VAGUE = (InvalidRequestError, RateLimitError, ServerError)

_REFUSAL = {"400", "422"}  # statuses of another server that count more than the status of a proxy

MAX_MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """An error as the provider reported it. `names` are the error's code and type, the most specific first.

    `retry_after_s` is the delay in the body, `reset_at_s` the Unix time at which a limit ends. `kind` is the error
    class, if the body determines it. `param` is the field of the request that the error is about. `prompt_tokens` is
    the size of a request that is too long, `context_tokens` the size of the server's context. Both are 0 if the body
    does not contain them. `is_page`: the body is an HTML page. `is_quoted`: a proxy quotes the error of another server.
    """

    message: str = ""
    names: Sequence[str] = ()
    request_id: str = ""
    retry_after_s: float | None = None
    kind: type[ProviderError] | None = None
    prompt_tokens: int = 0
    context_tokens: int = 0
    reset_at_s: float | None = None
    is_page: bool = False
    is_quoted: bool = False
    param: str = ""


@dataclass(frozen=True, slots=True)
class FailureTable:
    """One provider's error names and patterns. `words` are matched before the common patterns, with the message in
    lower case. `passing` is a pattern of failures that another try may not meet, whatever their status. `timeouts` are
    names of a time limit of the server.

    `more_context` says how the user starts this server with a larger context; "" for a service.
    """

    provider: str
    names: Mapping[str, type[ProviderError]]
    words: Sequence[tuple[str, type[ProviderError]]] = field(default=())
    more_context: str = ""
    timeouts: Sequence[str] = ()
    passing: str = ""

    def error(self, failure: ProviderFailure, model: str, head: ReplyHead | None = None) -> LlmError:
        """Return the error for `failure`. `head` None: the failure occurred inside a stream that began with
        status 200.
        """
        status = head.status if head and head.status >= 300 else None
        code = next((name for name in failure.names if name), "")
        if head is not None and 300 <= head.status < 400:
            return self._redirect(head, model)
        is_cut = CUT.search(failure.message.lower()) is not None  # CLIProxyAPI calls that a timeout
        if (status == 408 and not is_cut) or any(name in self.timeouts for name in failure.names):
            return self._timeout(failure, model, head)
        if status is not None and status in WRONG_WAYS:
            return self._map_wrong_endpoint(status, model)
        kind = refined(failure.kind or self._kind(failure, status), failure.message)
        delay_s = _delay_s(failure, kind, head)
        if kind is RateLimitError and delay_s is None and NO_RATE.search(failure.message):
            kind = QuotaExceededError
        if status == 413 and not issubclass(kind, ContextLengthError):
            # The status overrides the error name in the body, because the same request is too large at every
            # attempt.
            kind = RequestTooLargeError
        lead, hint = self._words(failure, kind, model)
        error = kind(
            _sentence(lead, failure.message, status),
            provider=self.provider,
            model=model,
            hint=hint,
            retry_after_s=delay_s,
            status=status,
        )
        error.code, error.request_id, error.param = code, failure.request_id, failure.param
        stated = head.headers.get("x-should-retry") if head else None
        # The server's header decides, except for used-up quotas and too long requests: a retry would fail
        # again.
        if stated in ("true", "false") and not issubclass(kind, QuotaExceededError | ContextLengthError):
            error.retryable = stated == "true"
        error.retryable = error.retryable or MALFORMED_CALL.search(f"{code} {error}") is not None
        return error

    def _words(self, failure: ProviderFailure, kind: type[ProviderError], model: str) -> tuple[str, str]:
        """Return the beginning of the message, and the hint."""
        chosen = LEADS[kind]
        is_rate = kind is ContextLengthError and PER_MINUTE.search(failure.message) is not None
        names_model = (
            re.search("model|endpoints", failure.message, re.IGNORECASE)
            or bool(failure.names)
            or not failure.message
        )
        if is_rate:
            chosen = ABOVE_RATE
        elif kind is NotFoundError and not names_model:
            chosen = NO_API  # a page of another program
        elif failure.is_page and issubclass(kind, AuthenticationError | PermissionDeniedError):
            chosen = PAGE
        lead, hint = (text.format(**self._facts(model)) for text in chosen)
        said = " ".join((failure.message, *failure.names))
        if kind in (InvalidRequestError, NotFoundError) and OTHER_API.search(said):
            return lead, OTHER_API_HINT
        if kind is InvalidRequestError and (not failure.message or UNSTATED.search(failure.message)):
            return lead, UNSTATED_HINT
        if kind is ContextLengthError and not is_rate:
            return f"{lead}{_sizes(failure)}", self._longer_context(hint)
        return lead, hint

    def _kind(self, failure: ProviderFailure, status: int | None) -> type[ProviderError]:
        text = failure.message.lower()
        if status in (None, 500, 503) and LOADING.search(text):
            return ModelLoadingError
        if (self.passing and re.search(self.passing, text)) or (
            (is_vague(status) or status == 408) and CUT.search(text)
        ):
            return ServerError
        if status == 429 and THROTTLED.search(f"{text} {' '.join(failure.names).lower()}"):
            return RateLimitError
        if BUDGET.search(text):
            return QuotaExceededError
        if is_vague(status) and (quoted := quoted_kind(failure.message)):
            return quoted
        kinds = {name: kind for name in failure.names if (kind := kind_of_name(name, self.names))}
        # Z.ai says rate_limit_error on the API of Anthropic, beside a code that says more.
        exact = (kind for name, kind in kinds.items() if OWN_CODE.fullmatch(name) and kind not in _VAGUE)
        named = next(iter(kinds.values()), None)
        named = next(exact, named) if named in _VAGUE else named
        if named is ContextLengthError and status == 429 and _is_rate(failure.message):
            named = RateLimitError  # token_limit_exceeded: waiting would not help against a long conversation
        if named is not None and named not in _VAGUE:
            return named
        # "invalid_request_error" is also the type of bodies whose status is more specific (401, 404).
        # 1002 is a rate limit of MiniMax and a wrong key at Z.ai.
        is_of_status = status in (None, 400, 422) or (failure.is_quoted and _REFUSAL & set(failure.names))
        is_less = (
            (named is InvalidRequestError and not is_of_status)
            or (named is RateLimitError and status in (401, 403))
            or (named is ServerError and status in (401, 402, 403, 404))  # api_error of a proxy
        )
        kind = kind_of_status(status) if named is None or is_less else named
        if not is_vague(status):
            return kind
        worded = next((kind for words, kind in (*self.words, *WORDS) if re.search(words, text)), kind)
        if worded is kind and kind in (InvalidRequestError, ProviderError) and states_overflow(text):
            return ContextLengthError
        if kind is RateLimitError:
            # "Too many tokens per minute" is a rate limit, not a context limit, unless one request is above it.
            if exceeds_rate(text) or (worded is ContextLengthError and "request too large" in text):
                return ContextLengthError
            return worded if worded is QuotaExceededError else kind
        if worded in (OverloadedError, RateLimitError, ServerError) and kind not in (
            ProviderError,
            ServerError,
        ):
            return worded if is_busy(text) else kind
        if worded is kind and kind in (InvalidRequestError, ProviderError, ServerError):
            topics = STATED if kind is ServerError else ()
            if (kind is ProviderError and is_refused(text)) or fails_always(text):
                kind = InvalidRequestError
            return topic_of(failure.message, topics) or (NotFoundError if _is_about_model(failure) else kind)
        return worded

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
        problem, hint = WRONG_WAYS[status]
        return ConfigurationError(
            f"{problem.format(provider=self.provider)} (HTTP {status})",
            provider=self.provider,
            model=model,
            hint=hint,
        )

    def _timeout(self, failure: ProviderFailure, model: str, head: ReplyHead | None) -> LlmError:
        error = RequestTimeoutError(
            _sentence(
                f"{self.provider} ended the request after a time limit",
                failure.message,
                head.status if head and head.status >= 300 else None,
            ),
            provider=self.provider,
            model=model,
            hint="Try again.",
            retry_after_s=retry_after_s(head) if head else None,
        )
        # If the server itself stopped the request because it took too long, retry only if a header allows it.
        if head is not None and head.status == 408:
            error.retryable = head.headers.get("x-should-retry") == "true"
        return error


def _is_rate(message: str) -> bool:
    """Return whether a message is about a limit that waiting lifts."""
    return worded_delay_s(message) is not None or PER_MINUTE.search(message) is not None


def _is_about_model(failure: ProviderFailure) -> bool:
    """Return whether the server says that it is the field `model` which it refuses."""
    is_named = failure.param in ("model", "model_id") or failure.message.startswith(
        ("body.model: ", "model: ")
    )
    return is_named and re.search(r"valid|unknown|support|not|must|should|exist", failure.message) is not None


def _delay_s(failure: ProviderFailure, kind: type[ProviderError], head: ReplyHead | None) -> float | None:
    """Return the seconds to wait before a retry, from headers, body or message; None if unknown."""
    stated = retry_after_s(head) if head else None
    stated = failure.retry_after_s if stated is None else stated
    if stated is None and failure.reset_at_s is not None and head is not None:
        stated = max(0.0, failure.reset_at_s - head.received_at_s)
    if stated is not None or not issubclass(kind, RateLimitError | ServerError | QuotaExceededError):
        return stated
    worded = worded_delay_s(failure.message)
    if worded is None and head is not None and kind is RateLimitError:
        return reset_delay_s(head)
    return worded


def _sizes(failure: ProviderFailure) -> str:
    """Return the sizes of request and context in brackets.

    "" if the sizes are unknown, or if the server's message has them.
    """
    prompt, context = failure.prompt_tokens, failure.context_tokens
    if not (prompt and context) or (str(prompt) in failure.message and str(context) in failure.message):
        return ""
    return f" ({prompt:,} tokens for a context of {context:,})"


def _sentence(lead: str, message: str, status: int | None) -> str:
    stated = to_display_line(strip_escapes(message), MAX_MESSAGE_CHARS)
    where = f" (HTTP {status})" if status else ""
    return f"{lead}{where}: {stated}" if stated else f"{lead}{where}"
