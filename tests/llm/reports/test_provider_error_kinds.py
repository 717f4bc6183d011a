"""Made-up errors of the kinds that providers and gateways have in reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_regional_providers import has_texts
from tests.llm.reports.test_resent_requests import called, sent


def raw(quoted: Any) -> Any:
    return say("Provider returned error", code=429, metadata={"raw": quoted, "provider_name": "A"})


KINDS: list[Any] = [
    # a template refuses the conversation at each try, whatever the status
    ("lmstudio", 200, {"error": "Failed to render the prompt: unknown filter"}, e.InvalidRequestError),
    ("llamacpp", 500, say("Failed to apply chat template: expected value expression"), e.InvalidRequestError),
    ("compatible", 500, say("Jinja Exception: unexpected message role."), e.InvalidRequestError),
    ("vllm", 200, say("Chat template error: 'bool' object is not callable"), e.InvalidRequestError),
    ("llamacpp", 500, say("While executing ForStatement at line 2: Expected iterable"), e.InvalidRequestError),
    ("lmstudio", 200, {"error": "Unknown StringValue filter: safe"}, e.InvalidRequestError),
    ("lmstudio", 500, say("x is undefined. It is an issue with the model's prompt template."), e.InvalidRequestError),
    ("compatible", 500, say("Unknown (built-in) filter 'map' for type String"), e.InvalidRequestError),
    ("compatible", 500, say("While executing the request at line 3, the worker was lost"), e.ServerError),
    ("compatible", 500, say("Failed to read the page template: disk error"), e.ServerError),
    # a function of NVIDIA that is down for a while
    ("responses", 400, say("Function id '1': DEGRADED function cannot be invoked"), e.ServerError),
    ("gemini", 400, say("DEGRADED function cannot be invoked", code=400), e.ServerError),
    # a server with other models
    ("compatible", 400, say("Only qwen3-8b is served here, but the requested model is a"), e.NotFoundError),
    ("compatible", 400, say("only 'a' and 'b' are available, this model is c"), e.NotFoundError),
    ("compatible", 400, {"message": "Only glm-4 is supported, your model is glm-3"}, e.NotFoundError),
    (
        "compatible",
        400,
        {"detail": "only the model a is loaded; the requested model is b"},
        e.InvalidRequestError,
    ),
    ("compatible", 400, say("Only text is supported as input of a tool"), e.InvalidRequestError),
    # limits of requests, by their code
    ("compatible", 400, {"code": "RequestLimitExceeded", "message": "Slow down."}, e.RateLimitError),
    ("compatible", 200, say("Slow down.", code="requests_limit_reached"), e.RateLimitError),
    ("compatible", 200, say("The token bucket of this key has no room left, limit 5"), e.RateLimitError),
    (
        "responses",
        200,
        say("request tokens exceed the bucket", code="RequestLimitExceeded"),
        e.RateLimitError,
    ),
    ("compatible", 200, say("Slow down.", code="request_limit_of_fields"), e.ProviderError),
    # two sizes, in names of fields
    ("compatible", 400, say("total_tokens (9000) exceeds max_model_len (8192)"), e.ContextLengthError),
    ("compatible", 400, say("num_tokens is 40960, the limit of max_position is 32768"), e.ContextLengthError),
    (
        "compatible",
        400,
        say("input_token_count 70000 is over max_input_token_count 65536"),
        e.ContextLengthError,
    ),
    ("compatible", 400, say("seq_length=5000 must be at most 4096"), e.ContextLengthError),
    ("compatible", 400, say("max_tokens (10000) must be at most 8192"), e.InvalidRequestError),
    # a pool of accounts without any that may answer
    ("compatible", 503, say("No keys with remaining quota"), e.QuotaExceededError),
    ("compatible", 500, say("no account has enough credits for m"), e.QuotaExceededError),
    ("anthropic", 503, say("No available accounts with quota"), e.QuotaExceededError),
    ("responses", 500, say("no accounts have quota left"), e.QuotaExceededError),
    ("compatible", 503, say("No accounts available"), e.ServerError),
    # an exception of Bedrock in the words of a gateway
    ("compatible", 400, say("ModelTimeoutException: the model did not answer"), e.ServerError),
    ("compatible", 500, say("An error occurred (AccessDeniedException) when calling"), e.PermissionDeniedError),
    ("anthropic", 400, say("ExpiredTokenException - sign in"), e.AuthenticationError),
    ("responses", 200, say("BedrockException: ServiceUnavailableException"), e.OverloadedError),
    ("compatible", 400, say("ValidationException: the field a is wrong"), e.InvalidRequestError),
    ("compatible", 200, say("Too many tokens, please wait."), e.RateLimitError),
    # Tencent Cloud
    ("compatible", 200, {"Response": {"Error": {"Code": "AuthFailure", "Message": "the key is invalid, check your "
        "API key"}}}, e.AuthenticationError),
    ("compatible", 200, {"Error": {"Code": "RequestLimitExceeded", "Message": "slow down"}}, e.RateLimitError),
    ("compatible", 200, {"Response": {"Error": {"Code": "a", "Message": "账户余额不足"}, "RequestId": "r"}},
        e.QuotaExceededError),
    ("compatible", 400, {"Response": {"Error": {"Code": "InvalidParameter", "Message": "n is wrong"}}},
        e.InvalidRequestError),
    # an error within the error, as an object
    ("openrouter", 429, raw(say("Rate limit exceeded")), e.RateLimitError),
    ("openrouter", 429, raw({"detail": "You have used all of your credits."}), e.QuotaExceededError),
    ("openrouter", 400, raw([say("The prompt is too long", code=400)]), e.ContextLengthError),
    (
        "openrouter",
        400,
        raw({"body": json.dumps(say("content flagged by moderation", code=400))}),
        e.ContentFilterError,
    ),
    ("openrouter", 502, raw(None), e.ServerError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_of_a_kind_has_its_class(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


CALLS: list[Any] = [
    (
        {"error": "Tool error: EOF while parsing an object at line 1 column 99", "error_type": "tool_error"},
        True,
    ),
    ({"error": "Tool error: expected `,` at line 4 column 2"}, True),
    (say("tool error: key must be a string at line 1"), True),
    ({"error": "Tool error: trailing characters at line 2 column 1", "error_type": "tool_error"}, True),
    ({"error": "Tool error: tool `f` is not declared", "error_type": "tool_error"}, False),
]


@pytest.mark.parametrize(("body", "is_retried"), CALLS)
def test_a_call_that_a_server_cannot_read_is_asked_for_again(body: Any, is_retried: bool) -> None:
    assert refused("compatible", 422, body).retryable is is_retried


OTHER_API: list[Any] = [
    ("anthropic", "The Messages API is not available for this model."),
    ("anthropic", "This model is only supported in /v1/chat/completions"),
    ("responses", "Responses API is not supported for model a"),
    ("compatible", "The Chat Completions API isn't enabled for a, use another one"),
    ("gemini", "Model a is only accessible by /v1/messages"),
]


@pytest.mark.parametrize(("wire", "words"), OTHER_API)
def test_the_other_apis_are_named(wire: str, words: str) -> None:
    error = refused(wire, 400, say(words))
    assert (error.retryable, "compatible (Chat Completions)" in error.hint) == (False, True)


EMPTY = [
    "content length must be at least 1",
    "Message content length must be greater than zero",
    "invalid message: Content length must be more than 0",
    "messages[1]: content length must be greater or equal to 1",
]


@pytest.mark.parametrize("words", EMPTY)
def test_a_server_that_refuses_empty_texts_gets_none(words: str) -> None:
    first, again = sent("compatible", called("a"), 400, say(words))
    assert (has_texts(first), has_texts(again)) == (False, True)


FIELDS: list[Any] = [
    ("compatible", "temperature参数不合法", "temperature"),
    ("compatible", "不支持的参数top_p，请检查", "top_p"),
    ("compatible", "参数max_tokens无效参数非法", "max_tokens"),
    ("zai", "参数非法：thinking字段", "thinking"),
    ("zai", "thinking: Extra inputs are not permitted", "thinking"),
    ("zai", "unknown field `thinking`", "thinking"),
    ("compatible", "thinking is not supported by this model", "reasoning_effort"),
]


@pytest.mark.parametrize(("wire", "words", "field"), FIELDS)
def test_the_field_that_an_error_names_is_left_out(wire: str, words: str, field: str) -> None:
    assert at(second(wire, say(words), asking(wire)), field) is None


AFFORDABLE: list[Any] = [
    ("max_tokens limit exceeded: 64000 > 9577. Raise the limit of the key", 9577),
    ("The limit of this key: max_tokens limit exceeded: 64000 > 1,024", 1024),
]


@pytest.mark.parametrize(("words", "most"), AFFORDABLE)
def test_the_output_of_a_limited_key_is_lowered(words: str, most: int) -> None:
    again = second("openrouter", say(words, code=402), asking("openrouter", max_output_tokens=64000), 402)
    assert at(again, "max_tokens") == most


def test_a_prompt_that_a_key_may_not_pay_is_not_sent_again() -> None:
    error = refused("openrouter", 402, say("Prompt tokens limit exceeded: 230799 > 91442", code=402))
    assert (type(error), error.retryable) == (e.QuotaExceededError, False)
    assert not spoken("openrouter").adapt_encoding(asking("openrouter", max_output_tokens=300000), error)


def test_an_output_above_the_rest_of_the_window_is_lowered() -> None:
    words = "max_total_tokens (33802) must be less than or equal to max_seq_len (32768)"
    again = second(
        "compatible", {"code": 20015, "message": words}, asking("compatible", max_output_tokens=8192)
    )
    assert 5_000 < at(again, "max_tokens") < 8192 - (33802 - 32768)


WORD = [
    "messages must contain the word 'json' to use json_object",
    "The input must contain 'json' in some form for 'text.format'",
    "To use JSON mode, the prompt must contain the word JSON",
    "'messages' must contain the word 'json', to use 'response_format'",
]


@pytest.mark.parametrize("words", WORD)
def test_a_format_that_needs_a_word_is_left_out(words: str) -> None:
    assert at(second("compatible", say(words), asking("compatible", **JSON)), "response_format") is None
