"""Reports on grammars of llama.cpp, waits, plans, cached tokens and Bedrock's open models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import ReplyHead
from tests.llm.providers.test_refusals import asking, at, second
from tests.llm.reports.chat import ASK, answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import lacks, sent, with_schema
from tests.support.reports import reported

STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
GRAMMAR = {"code": 400, "message": "Failed to initialize samplers: failed to parse grammar", "type":
    "invalid_request_error"}  # fmt: skip
KINDS: list[Any] = [
    reported("digitallyinduced/haskell-agent#1300", "anthropic", 429,
        say("No granted Anthropic subscription account is currently available.", type="rate_limit_error"),
        e.QuotaExceededError, None),
    reported("NousResearch/hermes-agent#76225", "compatible", 429,
        say("[claude/claude-opus-5] [429]: rate limited (reset after 2m 13s)"), e.RateLimitError, 133),
    reported("PostHog/posthog#82310", "compatible", 429,
        say("Rate limit exceeded: User burst rate limit exceeded. Try again in about 3 hours.", retry_after=10800),
        e.RateLimitError, 10800),
    reported("NousResearch/hermes-agent#26893", "responses", 429,
        say("The usage limit has been reached", type="usage_limit_reached", plan_type="plus", resets_in_seconds=756),
        e.QuotaExceededError, 756),
    reported("openclaw/openclaw#99097", "openrouter", 429, say("Provider returned error", code=429), e.ServerError,
        None),
    reported("diegosouzapw/OmniRoute#1370", "ollama", 401, "unauthorized\n", e.AuthenticationError, None),
    reported("continuedev/continue#10685", "ollama", 403, '""', e.PermissionDeniedError, None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "delay"), KINDS)
def test_an_error_has_its_class_and_delay(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], delay: float | None
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retry_after_s, error.retryable) == (kind, delay, kind.retryable)


SCHEMAS: list[Any] = [
    ("llamacpp", GRAMMAR),
    reported("NousResearch/hermes-agent#71279", "lmstudio",
        {"error": "Engine protocol predict request returned 400:\n" + json.dumps({"error": GRAMMAR})}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "body"), SCHEMAS)
def test_schemas_that_are_no_grammar_are_simplified(provider: str, body: Any) -> None:
    request = with_schema(properties={"a": {"type": "string", "pattern": "^\\d+$", "maxLength": 99999}})
    first, *after = sent(provider, request, 400, body)
    assert not lacks("pattern")(first)
    assert [lacks("pattern", "maxLength")(body) for body in after] == [True]


USAGE: list[Any] = [
    reported("vercel/ai#14382", {"prompt_tokens": 100, "completion_tokens": 1, "num_cached_tokens": 90}, (100, 1, 90)),
    reported("symfony/ai#2275",
        {"prompt_tokens": 100, "completion_tokens": 5, "input_tokens_details": {"cached_tokens": 80}}, (100, 5, 80)),
    reported("vercel/ai#8723",
        {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 70},
            "completion_tokens_details": {"reasoning_tokens": 3}}, (100, 5, 70)),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "expected"), USAGE)
def test_cached_tokens_are_counted(wire: Any, expected: Any) -> None:
    usage = chat_answer(piece(content="a"), STOP, {"choices": [], "usage": wire}).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == expected


LEFT_OUT: list[Any] = [
    reported("danny-avila/LibreChat#8877", {"message": "The model is unsupported for streaming."}, "stream"),
    reported("BerriAI/litellm#18543",
        say("litellm.UnsupportedParamsError: openai does not support parameters: ['reasoning_effort'], for model=x. To "
            "drop these, set `litellm.drop_params=True`.", code="400"), "reasoning_effort"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(body: Any, path: str) -> None:
    assert not at(second("compatible", body, asking("compatible")), path)


@pytest.mark.report("promptfoo/promptfoo#9587")
def test_reasoning_between_tags_of_bedrock_is_no_text() -> None:
    response = chat_answer(piece(content="<reasoning>We think."), piece(content="</reasoning>Final."), STOP)
    assert (response.text, response.reasoning) == ("Final.", "We think.")


@pytest.mark.report("BerriAI/litellm#40775")
def test_reasoning_in_three_fields_of_a_whole_answer_is_shown_once() -> None:
    message = {"content": "pong", "role": "assistant", "reasoning_content": "We reply.", "thinking_blocks":
        [{"type": "thinking", "thinking": "We reply."}], "provider_specific_fields": {"reasoningContentBlocks":
        [{"reasoningText": {"text": "We reply."}}]}}  # fmt: skip
    body = {"id": "c", "choices": [{"finish_reason": "stop", "index": 0, "message": message}]}
    response = codec().decode(ASK, ReplyHead(200), json.dumps(body).encode())
    assert (response.text, response.reasoning) == ("pong", "We reply.")
