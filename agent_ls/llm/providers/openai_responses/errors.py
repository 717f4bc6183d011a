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
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.wire_json import object_at, parse_object, text_at

NAME = "openai"

_OF_CUSTOM_TOOLS = re.compile(
    r"custom|grammar|tool type|tools\W*\d+\W*(?:type|format|function)", re.IGNORECASE
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
    words=(("incorrect api key", AuthenticationError), ("does not exist", NotFoundError)),
)


def http_error(model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx. A body in another format (a proxy's page) is ignored."""
    error = object_at(parse_object(body) or {}, "error")
    return _TABLE.error(_failure(error, head.headers.get("x-request-id", "")), model, head)


def event_error(model: str, event: JsonObject) -> LlmError:
    """Return the error of an `error` event.

    The SDK's types have the error's fields at the top level of the event. Servers send them in a nested object.
    """
    return _TABLE.error(_failure(object_at(event, "error") or event), model)


def response_error(model: str, response: JsonObject) -> LlmError:
    """Return the error of a response with status `failed`, or of an error body with HTTP status 200."""
    return _TABLE.error(_failure(object_at(response, "error")), model)


def _failure(error: JsonObject, request_id: str = "") -> ProviderFailure:
    return ProviderFailure(
        text_at(error, "message"), (text_at(error, "code"), text_at(error, "type")), request_id
    )


def refuses_custom_tools(error: LlmError) -> bool:
    """Return whether an error suggests that the server does not support custom tools."""
    return isinstance(error, InvalidRequestError) and bool(_OF_CUSTOM_TOOLS.search(str(error)))


def refuses_cache_key(error: LlmError) -> bool:
    """Return whether the error says that a compatible server or proxy does not accept `prompt_cache_key`."""
    return isinstance(error, InvalidRequestError) and "prompt_cache_key" in str(error)
