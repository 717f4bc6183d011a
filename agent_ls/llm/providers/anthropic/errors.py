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
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import read_failure, unreadable_answer
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure

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
        # from here on: Amazon Bedrock, through a proxy
        "ThrottlingException": RateLimitError,
        "ServiceUnavailableException": OverloadedError,
        "ModelStreamErrorException": ServerError,
        "InternalServerException": ServerError,
        "AccessDeniedException": PermissionDeniedError,
        "ResourceNotFoundException": NotFoundError,
        "ValidationException": InvalidRequestError,
    },
    words=(
        # example: input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000
        ("exceed context limit", ContextLengthError),
        ("spend", QuotaExceededError),  # a spend cap is a 429 without Retry-After
    ),
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx, or of a body that is not an answer."""
    if head.status < 300:
        return unreadable_answer(_TABLE, model, body)
    return _TABLE.error(read_failure(body, head.headers.get("request-id", "")), model, head)


def body_error(model: str, failure: ProviderFailure) -> LlmError:
    """Return the error of a stream event, or of a body with status 200."""
    return _TABLE.error(failure, model)
