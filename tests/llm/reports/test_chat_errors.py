"""Errors of Chat Completions servers as users reported them: their words, classes and delays."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import refusal, say
from tests.support.reports import reported

# the words of servers for a conversation that is too long
OVERFLOWS: list[Any] = [
    reported(
        "tinyhumansai/openhuman#4404",
        413,
        say(
            "Request too large for model `gpt-oss-120b` on tokens per minute (TPM): "
            "Limit 8000, Requested 42084, please reduce your message size",
            code="rate_limit_exceeded",
            type="tokens",
        ),
        "groq",
        id="groq",
    ),
    reported(
        "vanna-ai/vanna-flask#11",
        429,
        say(
            "Request too large for gpt-4o on tokens per min (TPM): "
            "Limit 30000, Requested 342389. The input or output tokens must be reduced"
        ),
        "compatible",
        id="tpm as 429",
    ),
    reported(
        "evalstate/fast-agent#346",
        413,
        {
            "error": {
                "code": "tokens_limit_reached",
                "message": "Request body too large for gpt-4o model. Max size: 8000 tokens.",
            }
        },
        "compatible",
        id="github",
    ),
    pytest.param(400, say("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        "xai", id="xai"),
    pytest.param(400, say("Invalid request: Your request exceeded model token limit: 131072 (requested: 132000)"),
        "moonshot", id="moonshot"),
    pytest.param(400, say("Prompt exceeds max length", code="1261"), "zai", id="zai"),
    pytest.param(400, say("Input is too long for requested model."), "compatible", id="bedrock"),
    pytest.param(400, say("input length 40001 exceeds the maximum allowed input length of 32768"), "compatible",
        id="poolside"),
    pytest.param(400, say("configured context size is 8192"), "compatible", id="ds4"),
    pytest.param(400, say("Prompt too long: 9000 tokens exceeds max_seq_len 8192"), "compatible", id="atlas"),
    pytest.param(
        422,
        say(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. "
            "Given: 6032 `inputs` tokens and 4096 `max_new_tokens`"
        ),
        "together",
        id="together",
    ),
    pytest.param(400, say("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        "compatible", id="dashscope"),
    pytest.param(400, say("prompt token count of 140000 exceeds the limit of 128000"), "compatible", id="copilot"),
    pytest.param(
        422,
        {
            "error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            "error_type": "validation",
        },
        "compatible",
        id="tgi",
    ),
    pytest.param(400, {"object": "error", "message": "max_tokens must be at least 1, got -35.", "code": 400}, "vllm",
        id="vllm without room"),
    pytest.param(
        400,
        say(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
        ),
        "mistral",
        id="mistral",
    ),
    pytest.param(400, say("You sent 50,000 tokens, but 32,768 is all we take"), "compatible", id="unknown words"),
    pytest.param(400, say("At most 32768 input tokens are allowed, 41000 given"), "compatible",
        id="unknown words, limit first"),
    pytest.param(500, say("the request exceeds the available context size, try increasing it", type="server_error"),
        "llamacpp", id="as 500"),
]  # fmt: skip


@pytest.mark.req("L12", "U8")
@pytest.mark.parametrize(("status", "body", "provider"), OVERFLOWS)
def test_too_long_is_understood_in_the_words_of_each_server(status: int, body: Any, provider: str) -> None:
    error = refusal(status, body, provider)
    assert isinstance(error, e.ContextLengthError)
    assert not error.retryable
    assert "key" not in error.hint and "images" not in error.hint


def test_a_page_of_another_program_is_no_unknown_model() -> None:
    for body in ("404 page not found", "<html><title>404 Not Found</title></html>"):
        error = refusal(404, body)
        assert isinstance(error, e.NotFoundError)
        assert "the model m" not in str(error) and "base URL" in error.hint


NOT_OVERFLOWS: list[Any] = [
    pytest.param(400, say("temperature exceeds the maximum of 2"), id="temperature"),
    pytest.param(400, say("`inputs` must be a list of messages"), id="inputs"),
    pytest.param(400, say("Tool description is longer than the maximum length of 1024, got 2000"), id="description"),
    pytest.param(400, say("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes of input"), id="image"),
    pytest.param(400, say("Invalid 'prompt_cache_key': string too long. Maximum length 64, got 70."), id="cache key"),
    pytest.param(400, say("max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
        id="output limit"),
    pytest.param(400, say("Invalid 'tools': array too long. Expected maximum length 128, but got 200."), id="tools"),
    pytest.param(400, say("`max_tokens` must be greater than `thinking.budget_tokens`: 4096 and 8192"), id="budget"),
    pytest.param(
        429,
        say(
            "Rate limit reached on tokens per minute (TPM): Limit 6000, "
            "Used 5034, Requested 1443. Please try again in 4.77s"
        ),
        id="rate",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), NOT_OVERFLOWS)
def test_other_sizes_are_no_overflow(status: int, body: Any) -> None:
    assert not isinstance(refusal(status, body), e.ContextLengthError)


KINDS: list[Any] = [
    pytest.param(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
        e.ModelLoadingError, None, id="llama.cpp loads"),
    pytest.param(503, {"error": "Model big/model is currently loading", "estimated_time": 20.0}, e.ModelLoadingError,
        None, id="inference API loads"),
    pytest.param(400, say("model foo does not exist"), e.NotFoundError, None, id="unknown model"),
    pytest.param(400, say("The requested model is not supported."), e.NotFoundError, None, id="model not supported"),
    pytest.param(400, say("The prompt was blocked for safety reasons"), e.ContentFilterError, None, id="safety"),
    pytest.param(400, say("Input data may contain inappropriate content.", code="data_inspection_failed"),
        e.ContentFilterError, None, id="inspection"),
    pytest.param(429, say("Rate limit reached. Please try again in 7m12.5s."), e.RateLimitError, 432.5,
        id="minutes and seconds"),
    pytest.param(429, say("Too many requests, retry after 20 seconds"), e.RateLimitError, 20.0,
        id="seconds in words"),
    pytest.param(429, {"error": {"message": "slow", "metadata": {"headers": {"X-RateLimit-Reset": "1030000"}}}},
        e.RateLimitError, None, id="reset of another form"),
    pytest.param(429, {"error": {"message": "slow", "retry_after": 3}}, e.RateLimitError, 3.0,
        id="delay in the body"),
]  # fmt: skip


@pytest.mark.req("U8", "U9")
@pytest.mark.parametrize(("status", "body", "kind", "delay"), KINDS)
def test_refusals_have_the_class_and_the_delay_that_the_server_states(
    status: int, body: Any, kind: type[e.LlmError], delay: float | None
) -> None:
    error = refusal(status, body)
    assert (type(error), error.retry_after_s) == (kind, delay)
