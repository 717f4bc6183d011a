"""Error bodies of the Responses API, outside and inside a stream (FORMATS section 1, "Stop, usage, errors")."""

from __future__ import annotations

from agent_ls.llm.errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.failures import Failure, FailureTable
from agent_ls.llm.providers.wire_json import object_at, parse_object, text_at

NAME = "openai"

_TABLE = FailureTable(
    NAME,
    names={
        # codes
        "invalid_api_key": AuthenticationError,
        "model_not_found": NotFoundError,
        "context_length_exceeded": ContextLengthError,
        "rate_limit_exceeded": RateLimitError,
        "insufficient_quota": QuotaExceededError,
        "billing_hard_limit_reached": QuotaExceededError,
        "billing_not_active": QuotaExceededError,
        "previous_response_not_found": InvalidRequestError,
        "invalid_prompt": ContentFilterError,
        "bio_policy": ContentFilterError,
        "misalignment_policy_violation": ContentFilterError,
        "content_policy_violation": ContentFilterError,
        "server_error": ServerError,
        "server_is_overloaded": OverloadedError,
        "slow_down": OverloadedError,
        # types, where there is no code
        "authentication_error": AuthenticationError,
        "permission_error": AccessDeniedError,
        "invalid_request_error": InvalidRequestError,
    },
    words=(("incorrect api key", AuthenticationError), ("does not exist", NotFoundError)),
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """The error of an answer that is not 2xx; a body of another shape (a proxy's page) says nothing."""
    error = object_at(parse_object(body) or {}, "error")
    return _TABLE.error(_failure(error, head.headers.get("x-request-id", "")), model, head)


def event_error(model: str, event: JsonObject) -> LlmError:
    """The error of an `error` event: flat as the SDK types it, or nested as servers send it."""
    return _TABLE.error(_failure(object_at(event, "error") or event), model)


def response_error(model: str, response: JsonObject) -> LlmError:
    """The error of a response whose status is `failed`, or of an error body that came with status 200."""
    return _TABLE.error(_failure(object_at(response, "error")), model)


def _failure(error: JsonObject, request_id: str = "") -> Failure:
    return Failure(text_at(error, "message"), (text_at(error, "code"), text_at(error, "type")), request_id)
