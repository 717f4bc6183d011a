"""Anthropic's error bodies, in responses and in streams."""

from __future__ import annotations

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
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.wire_json import object_at, parse_object, text_at

NAME = "anthropic"

_TABLE = FailureTable(
    NAME,
    names={
        "invalid_request_error": InvalidRequestError,
        "authentication_error": AuthenticationError,
        "billing_error": QuotaExceededError,
        "permission_error": PermissionDeniedError,
        "not_found_error": NotFoundError,
        "conflict_error": ProviderError,
        "request_too_large": RequestTooLargeError,
        "rate_limit_error": RateLimitError,
        "api_error": ServerError,
        "timeout_error": ServerError,
        "overloaded_error": OverloadedError,
    },
    words=(
        # example: input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000
        ("exceed context limit", ContextLengthError),
        ("usage limits", QuotaExceededError),  # example: You have reached your specified API usage limits
        ("spend", QuotaExceededError),  # a spend cap is a 429 without Retry-After
    ),
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx. A body in another format (a proxy's page) is ignored."""
    return _TABLE.error(_failure(parse_object(body) or {}, head), model, head)


def body_error(model: str, body: JsonObject) -> LlmError:
    """Return the error of a stream event, or of a body with status 200."""
    return _TABLE.error(_failure(body, None), model)


def _failure(body: JsonObject, head: ReplyHead | None) -> ProviderFailure:
    error = object_at(body, "error")
    request_id = text_at(body, "request_id") or (head.headers.get("request-id", "") if head else "")
    return ProviderFailure(text_at(error, "message"), (text_at(error, "type"),), request_id)
