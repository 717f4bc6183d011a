from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.error_bodies import nested_object
from agent_ls.llm.providers.error_delays import retry_after_s
from agent_ls.llm.providers.error_mapping import MAX_MESSAGE_CHARS
from tests.support.codec_runs import ANTHROPIC, OPENAI, ask

CODECS = [pytest.param(ANTHROPIC, id="anthropic"), pytest.param(OPENAI, id="openai")]

STATUSES: list[tuple[int, type[e.LlmError], bool]] = [
    (400, e.InvalidRequestError, False),
    (401, e.AuthenticationError, False),
    (402, e.QuotaExceededError, False),
    (403, e.PermissionDeniedError, False),
    (404, e.NotFoundError, False),
    (408, e.RequestTimeoutError, False),
    (409, e.ProviderError, True),
    (413, e.RequestTooLargeError, False),
    (418, e.InvalidRequestError, False),
    (424, e.ServerError, True),
    (499, e.ProviderError, True),
    (501, e.InvalidRequestError, False),
    (422, e.InvalidRequestError, False),
    (429, e.RateLimitError, True),
    (500, e.ServerError, True),
    (502, e.ServerError, True),
    (503, e.ServerError, True),
    (504, e.ServerError, True),
    (529, e.OverloadedError, True),
    (301, e.ConfigurationError, False),
    (307, e.ConfigurationError, False),
]


@pytest.mark.req("U8")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("body", [b"", b"<html><b>Bad gateway</b></html>", b'{"error": "text"}', b"[1]"])
def test_http_status_without_an_error_body_is_mapped_to_an_error_class(codec: Codec, body: bytes) -> None:
    for status, expected, retryable in STATUSES:
        error = codec.decode_error(ask(), ReplyHead(status), body)
        assert (type(error), error.retryable) == (expected, retryable), status
        assert (error.provider, error.model) == (codec.name, "m")
        assert "html" not in str(error)
        assert error.hint, status


def anthropic(kind: str, message: str = "") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def openai(code: str | None, message: str = "", kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


INVALID = "invalid_request_error"
OVER_LIMIT = "input length and `max_tokens` exceed context limit: 9 + 8 > 10"

BODIES: list[tuple[Codec, int, dict[str, Any], type[e.LlmError]]] = [
    (ANTHROPIC, 400, anthropic(INVALID, "messages: bad"), e.InvalidRequestError),
    (ANTHROPIC, 400, anthropic(INVALID, "prompt is too long: 9 tokens > 8 maximum"), e.ContextLengthError),
    (ANTHROPIC, 400, anthropic(INVALID, OVER_LIMIT), e.ContextLengthError),
    (ANTHROPIC, 400, anthropic(INVALID, "Your credit balance is too low"), e.QuotaExceededError),
    (ANTHROPIC, 400, anthropic(INVALID, "Rejected by our safety system."), e.ContentFilterError),
    (ANTHROPIC, 400, anthropic(INVALID, "Unauthorized: invalid key"), e.AuthenticationError),
    (ANTHROPIC, 400, anthropic(INVALID, "You have reached your specified API usage limits."), e.QuotaExceededError),
    (ANTHROPIC, 401, anthropic("authentication_error"), e.AuthenticationError),
    (ANTHROPIC, 402, anthropic("billing_error"), e.QuotaExceededError),
    (ANTHROPIC, 403, anthropic("permission_error"), e.PermissionDeniedError),
    (ANTHROPIC, 404, anthropic("not_found_error", "model: x"), e.NotFoundError),
    (ANTHROPIC, 409, anthropic("conflict_error"), e.ProviderError),
    (ANTHROPIC, 413, anthropic("request_too_large"), e.RequestTooLargeError),
    (ANTHROPIC, 429, anthropic("rate_limit_error", "too many tokens per minute"), e.RateLimitError),
    (ANTHROPIC, 429, anthropic("rate_limit_error", "monthly spend limit reached"), e.QuotaExceededError),
    (ANTHROPIC, 500, anthropic("api_error"), e.ServerError),
    (ANTHROPIC, 504, anthropic("timeout_error"), e.ServerError),
    (ANTHROPIC, 529, anthropic("overloaded_error"), e.OverloadedError),
    (ANTHROPIC, 200, anthropic("overloaded_error"), e.OverloadedError),
    (OPENAI, 400, openai(None, "was provided without its required following item."), e.InvalidRequestError),
    (OPENAI, 400, openai("context_length_exceeded"), e.ContextLengthError),
    (OPENAI, 400, openai(None, "This model's maximum context length is 8192 tokens."), e.ContextLengthError),
    (OPENAI, 400, openai("model_not_found"), e.NotFoundError),
    (OPENAI, 400, openai(None, "The model `x` does not exist"), e.NotFoundError),
    (OPENAI, 400, openai("integer_below_min_value"), e.InvalidRequestError),
    (OPENAI, 400, openai("invalid_prompt"), e.ContentFilterError),
    (OPENAI, 400, openai(None, "flagged by our content filter"), e.ContentFilterError),
    (OPENAI, 400, openai("previous_response_not_found", "Previous response not found."), e.InvalidRequestError),
    (OPENAI, 401, openai("invalid_api_key"), e.AuthenticationError),
    (OPENAI, 404, openai("model_not_found"), e.NotFoundError),
    (OPENAI, 429, openai("rate_limit_exceeded", kind="tokens"), e.RateLimitError),
    (OPENAI, 429, openai("insufficient_quota", kind="insufficient_quota"), e.QuotaExceededError),
    (OPENAI, 429, openai(None, "You exceeded your current quota", "x"), e.QuotaExceededError),
    (OPENAI, 500, openai("server_error", kind="server_error"), e.ServerError),
    (OPENAI, 503, openai("server_is_overloaded", kind="server_error"), e.OverloadedError),
    (OPENAI, 503, openai(None, "The engine is currently overloaded", "x"), e.OverloadedError),
    (OPENAI, 200, openai("rate_limit_exceeded"), e.RateLimitError),
]  # fmt: skip


@pytest.mark.req("U8")
@pytest.mark.parametrize(
    ("codec", "status", "body", "expected"), BODIES, ids=lambda value: getattr(value, "name", None)
)
def test_error_bodies_are_mapped_to_error_classes(
    codec: Codec, status: int, body: dict[str, Any], expected: type[e.LlmError]
) -> None:
    data = json.dumps(body).encode()
    if status == 200:
        with pytest.raises(e.LlmError) as raised:
            codec.decode(ask(), ReplyHead(status), data)
        error = raised.value
    else:
        error = codec.decode_error(ask(), ReplyHead(status), data)
    assert type(error) is expected
    assert body["error"]["message"] in str(error)


def test_error_names_provider_problem_and_next_step() -> None:
    body = json.dumps(anthropic("rate_limit_error", "Slow\n down.")).encode()
    error = ANTHROPIC.decode_error(ask(), ReplyHead(429, {"retry-after": "7"}), body)
    assert isinstance(error, e.ProviderError)
    assert str(error) == "anthropic limits the rate of requests (HTTP 429): Slow down."
    assert error.retry_after_s == 7
    assert (error.status, error.code, error.request_id) == (429, "rate_limit_error", "req_1")
    assert ANTHROPIC.decode_error(ask(), ReplyHead(401), b"").hint.count("ANTHROPIC_API_KEY") == 1


def test_long_error_message_is_truncated() -> None:
    body = json.dumps(openai(None, "x" * 10_000)).encode()
    assert len(str(OPENAI.decode_error(ask(), ReplyHead(400), body))) < MAX_MESSAGE_CHARS + 60


@pytest.mark.parametrize(
    ("status", "code", "told", "expected"),
    [
        (500, None, "false", False),
        (400, None, "true", True),
        (500, None, "maybe", True),
        (429, "insufficient_quota", "true", False),  # waiting never refills an account
    ],
)
def test_the_should_retry_header_overrides_the_status(
    status: int, code: str | None, told: str, expected: bool
) -> None:
    body = json.dumps(openai(code)).encode()
    assert OPENAI.decode_error(ask(), ReplyHead(status, {"x-should-retry": told}), body).retryable is expected


@pytest.mark.req("U8")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:17:10 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_retry_after_headers_in_every_form_are_parsed_to_seconds(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(ReplyHead(429, headers, received_at_s=1_000.0)) == expected


def test_a_body_that_a_proxy_quotes_in_python_is_read_without_a_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = nested_object(r"Failed: {'error': {'message': 'no \d in the pattern', 'code': 400}}")
    assert found and found["error"] and not caught
