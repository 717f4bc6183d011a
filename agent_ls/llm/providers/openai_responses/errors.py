"""Error bodies of the Responses API, in responses and in streams."""

from __future__ import annotations

import re

from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import find_failure, read_failure, unreadable_answer
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.wire_json import object_at, repair_object
from agent_ls.patterns import regex

NAME = "openai"

_OF_CUSTOM_TOOLS = regex(
    r"custom|grammar|tool type|(expected|must be) (an? )?\W{0,2}function|type\W{1,3}of tool"
    r"|tools\W*\d+\W*(?:type|format|function)",
    re.IGNORECASE,
)

_TABLE = FailureTable(
    NAME,
    names={
        # from here on: codes
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
        # from here on: error types, for errors without code
        "authentication_error": AuthenticationError,
        "permission_error": PermissionDeniedError,
        "invalid_request_error": InvalidRequestError,
    },
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx, or of a body that is not an answer."""
    if head.status < 300:
        return unreadable_answer(_TABLE, model, body)
    return _TABLE.error(read_failure(body, head.headers.get("x-request-id", "")), model, head)


def event_error(model: str, event: JsonObject) -> LlmError:
    """Return the error of an `error` event.

    The SDK's types have the error's fields at the top level of the event. Servers send them in a nested object.
    """
    return body_error(model, find_failure(repair_object(event)) or ProviderFailure())


def response_error(model: str, response: JsonObject, beside: JsonObject | None = None) -> LlmError:
    """Return the error of a response with status `failed`, or of an error body with HTTP status 200.

    `beside` is the event with the response: some servers state the error there.
    """
    found = object_at(response, "error") or object_at(beside or {}, "error")
    return body_error(model, find_failure({"error": found} if found else response) or ProviderFailure())


def body_error(model: str, failure: ProviderFailure) -> LlmError:
    return _TABLE.error(failure, model)


def refuses_custom_tools(error: LlmError) -> bool:
    """Return whether an error suggests that the server does not support custom tools."""
    return isinstance(error, InvalidRequestError) and bool(_OF_CUSTOM_TOOLS.search(str(error)))
