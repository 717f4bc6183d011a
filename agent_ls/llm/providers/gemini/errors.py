"""Gemini's error bodies, in responses and in streams."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.llm.errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import (
    find_failure,
    first_object,
    nested_object,
    read_failure,
    unreadable_answer,
)
from agent_ls.llm.providers.error_delays import worded_delay_s
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.error_words import NO_RATE
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, text_at
from agent_ls.patterns import regex

NAME = "gemini"

_TABLE = FailureTable(
    NAME,
    names={
        # from here on: `reason` values in the error's details
        "API_KEY_INVALID": AuthenticationError,
        "API_KEY_SERVICE_BLOCKED": PermissionDeniedError,
        "BILLING_DISABLED": QuotaExceededError,
        # from here on: statuses
        "UNAUTHENTICATED": AuthenticationError,
        "PERMISSION_DENIED": PermissionDeniedError,
        "NOT_FOUND": NotFoundError,
        "INVALID_ARGUMENT": InvalidRequestError,
        "FAILED_PRECONDITION": InvalidRequestError,
        "INTERNAL": ServerError,
        "UNAVAILABLE": OverloadedError,
        "RESOURCE_EXHAUSTED": RateLimitError,
        "CANCELLED": ProviderError,
    },
    words=(
        ("exceeds the maximum number of tokens", ContextLengthError),
        ("is not found for api version", NotFoundError),
    ),
    timeouts=("DEADLINE_EXCEEDED",),
)
_DELAY = regex(r"(\d+(?:\.\d+)?)s")


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx, or of a body that is not an answer."""
    if head.status < 300:
        return unreadable_answer(_TABLE, model, body)
    value = first_object(body)
    return _TABLE.error(_failure(value) if value else read_failure(body), model, head)


def body_error(model: str, body: JsonObject) -> LlmError:
    """Return the error of a stream event, or of a body with status 200."""
    return _TABLE.error(_failure(body), model)


def _failure(body: JsonObject) -> ProviderFailure:
    failure = find_failure(body) or ProviderFailure()
    error = object_at(body, "error")
    error = object_at(nested_object(text_at(error, "message")) or {}, "error") or error  # quoted by a proxy
    details = list(objects_at(error, "details"))
    reasons = [text_at(detail, "reason") for detail in details if text_at(detail, "reason")]
    status = text_at(error, "status")
    delay_s = failure.retry_after_s or _delay_s(details) or worded_delay_s(failure.message)
    kind = (
        _limit(details, failure.message, delay_s)
        if status == "RESOURCE_EXHAUSTED" or int_at(error, "code") == 429
        else None
    )
    names = (*reasons, *([status] if status else []), *failure.names)
    return replace(failure, names=names, retry_after_s=delay_s, kind=kind)


def _limit(details: list[JsonObject], message: str, delay_s: float | None) -> type[ProviderError]:
    """Return the error class for an exceeded limit, from the details of the error.

    Waiting helps for a limit per minute, but not for a limit per day or a limit of zero. The message often does not
    say which it is: it speaks of plan and billing for both, but has a delay for a limit per minute.
    """
    violations = [row for detail in details for row in objects_at(detail, "violations")]
    per_day = any("PerDay" in text_at(row, "quotaId") for row in violations)
    values = [text_at(row, "quotaValue") for row in violations]
    values += [text_at(object_at(detail, "metadata"), "quota_limit_value") for detail in details]
    is_spent = not violations and delay_s is None and "billing details" in message
    is_quota = per_day or "0" in values or is_spent or NO_RATE.search(message)
    return QuotaExceededError if is_quota else RateLimitError


def _delay_s(details: list[JsonObject]) -> float | None:
    """Return the delay in google.rpc.RetryInfo, because Gemini sends no Retry-After header."""
    delay = next((text_at(detail, "retryDelay") for detail in details if text_at(detail, "retryDelay")), "")
    found = _DELAY.fullmatch(delay)
    return float(found[1]) if found else None
