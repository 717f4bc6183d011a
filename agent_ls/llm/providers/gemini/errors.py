"""Gemini's error bodies, outside and inside a stream (FORMATS section 3, "Stop, usage, errors")."""

from __future__ import annotations

import json
import re

from agent_ls.llm.errors import (
    AccessDeniedError,
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.failures import Failure, FailureTable
from agent_ls.llm.providers.wire_json import (
    int_at,
    mended_object,
    object_at,
    objects_at,
    parse_object,
    text_at,
)

NAME = "gemini"

_TABLE = FailureTable(
    NAME,
    names={
        # reasons of the details
        "API_KEY_INVALID": AuthenticationError,
        "API_KEY_SERVICE_BLOCKED": AccessDeniedError,
        "BILLING_DISABLED": QuotaExceededError,
        # statuses
        "UNAUTHENTICATED": AuthenticationError,
        "PERMISSION_DENIED": AccessDeniedError,
        "NOT_FOUND": NotFoundError,
        "INVALID_ARGUMENT": InvalidRequestError,
        "FAILED_PRECONDITION": InvalidRequestError,
        "INTERNAL": ServerError,
        "UNAVAILABLE": OverloadedError,
        "DEADLINE_EXCEEDED": ServerError,
        "CANCELLED": ProviderError,
    },
    words=(
        ("exceeds the maximum number of tokens", ContextLengthError),
        ("api key not valid", AuthenticationError),
    ),
)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """The error of an answer that is not 2xx; a body of another shape (a proxy's page) says nothing."""
    return _TABLE.error(_failure(parse_object(body) or _first_of_list(body)), model, head)


def body_error(model: str, body: JsonObject) -> LlmError:
    """The error that stands in a stream, or in the body of an answer with status 200."""
    return _TABLE.error(_failure(body), model)


def _first_of_list(body: bytes) -> JsonObject:
    """An unstreamed list of chunks holds its error as its one item."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    is_list = isinstance(found, list) and bool(found) and isinstance(found[0], dict)
    return mended_object(found[0]) if is_list else {}


def _failure(body: JsonObject) -> Failure:
    error = object_at(body, "error")
    details = list(objects_at(error, "details"))
    reasons = [text_at(detail, "reason") for detail in details if text_at(detail, "reason")]
    status = text_at(error, "status")
    kind = _limit(details) if status == "RESOURCE_EXHAUSTED" or int_at(error, "code") == 429 else None
    return Failure(text_at(error, "message"), (*reasons, status), "", _delay_s(details), kind)


def _limit(details: list[JsonObject]) -> type[ProviderError]:
    """A limit of a minute passes; one of a day, and one that is zero, do not. The words of both are the same."""
    violations = [row for detail in details for row in objects_at(detail, "violations")]
    per_day = any("PerDay" in text_at(row, "quotaId") for row in violations)
    values = [text_at(row, "quotaValue") for row in violations]
    values += [text_at(object_at(detail, "metadata"), "quota_limit_value") for detail in details]
    return QuotaExceededError if per_day or "0" in values else RateLimitError


def _delay_s(details: list[JsonObject]) -> float | None:
    """google.rpc.RetryInfo; there is no header."""
    told = next((text_at(detail, "retryDelay") for detail in details if text_at(detail, "retryDelay")), "")
    found = _DELAY.fullmatch(told)
    return float(found[1]) if found else None
