"""Anthropic's error bodies, outside and inside a stream (FORMATS section 2, "Stop, usage, errors")."""

from __future__ import annotations

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
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.failures import Failure, FailureTable
from agent_ls.llm.providers.wire_json import object_at, parse_object, text_at

NAME = "anthropic"

_TABLE = FailureTable(
    NAME,
    names={
        "invalid_request_error": InvalidRequestError,
        "authentication_error": AuthenticationError,
        "billing_error": QuotaExceededError,
        "permission_error": AccessDeniedError,
        "not_found_error": NotFoundError,
        "conflict_error": ProviderError,
        "request_too_large": RequestTooLargeError,
        "rate_limit_error": RateLimitError,
        "api_error": ServerError,
        "timeout_error": ServerError,
        "overloaded_error": OverloadedError,
    },
    words=(
        # input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000
        ("exceed context limit", ContextLengthError),
        ("usage limits", QuotaExceededError),  # You have reached your specified API usage limits
        ("spend", QuotaExceededError),  # a spend cap comes as 429, without Retry-After
    ),
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """The error of an answer that is not 2xx; a body that is not Anthropic's (a proxy's page) says nothing."""
    return _TABLE.error(_failure(parse_object(body) or {}, head), model, head)


def body_error(model: str, body: JsonObject) -> LlmError:
    """The error that stands in a stream, or in the body of an answer with status 200."""
    return _TABLE.error(_failure(body, None), model)


def _failure(body: JsonObject, head: ReplyHead | None) -> Failure:
    error = object_at(body, "error")
    request_id = text_at(body, "request_id") or (head.headers.get("request-id", "") if head else "")
    return Failure(text_at(error, "message"), (text_at(error, "type"),), request_id)
