"""Reports on limits of concurrency, sizes and ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_chat_stream import chunk
from tests.llm.providers.test_refusals import asking, second, spoken
from tests.llm.reports.chat import ASK, answer, codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import unpaired
from tests.support.codec_runs import ANTHROPIC, body_of, response_of
from tests.support.reports import reported

CROWDED = (
    "Too many requests. Your current concurrency is 5, which exceeds your concurrency limit of 5 based on your "
    "remaining "
    "balance."
)
ERRORS: list[Any] = [
    reported("QwenLM/qwen-code#3409", "compatible", 429, say("Too many concurrent requests for this model"),
        e.RateLimitError, True),
    reported("wangyingsm/dr-strange#17", "compatible", 429, say(CROWDED, type="rate_limit_error"), e.RateLimitError,
        True),
    reported("Wei-Shaw/claude-relay-service#773", "anthropic", 429,
        {"error": "Too many concurrent requests", "message": "Too many concurrent requests. Limit: 1 concurrent "
            "requests"},
        e.RateLimitError, True),
    reported("neondatabase/neon-pkgs#367", "responses", 502, {"error_code": "INTERNAL_ERROR",
        "message": "The server received an invalid response from an upstream server."}, e.ServerError, True),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "again"), ERRORS)
def test_measured_errors_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], again: bool
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, again)


@pytest.mark.report("devops-thiago/ThrillhouseBot#838")
def test_a_queue_that_was_too_long_is_tried_again() -> None:
    assert refused("compatible", 200, {"error": "timed out waiting for a concurrent request slot"}).retryable


@pytest.mark.report("djinnos/djinn#751")
def test_an_error_in_place_of_an_answer_is_shown_in_its_words() -> None:
    data = b'event: error\ndata: {"error":{"code":"1302","message":"High concurrency"}}\n\n'
    with pytest.raises(e.RateLimitError, match="High concurrency"):
        response_of(ANTHROPIC, data, ASK)


@pytest.mark.report("router-for-me/CLIProxyAPI#999")
def test_an_item_that_is_not_stored_is_earlier_reasoning() -> None:
    words = (
        "Item with id 'rs_061465a4' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    assert refuses_reasoning(
        refused("responses", 404, say(words, type="invalid_request_error", param="input", code=None))
    )


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#2204")
def test_no_message_of_anthropic_is_the_systems() -> None:
    body = body_of(spoken("anthropic").encode(asking("anthropic"), stream=True))
    assert {message["role"] for message in body["messages"]} == {"user", "assistant"}


@pytest.mark.parametrize(("asked", "body", "sent"), [
    reported("AQBot-Desktop/AQBot#93", 1048576, {"error": {"message": "Param Incorrect", "type": "upstream_error",
        "code": "400",
        "param": "max_tokens is too large: 1048576. This model supports at most 131072 completion tokens, whereas "
            "you provided "
            "1048576."}}, 131072),
    reported("skapadia3214/groq-moa#8", 16000, say("max_tokens for `llama-3.1-8b-instant` must be less than or equal "
        "to 8000",
        type="invalid_request_error"), 8000),
])  # fmt: skip
def test_the_limit_of_the_output_is_the_one_that_a_server_names(asked: int, body: Any, sent: int) -> None:
    again = second("compatible", body, asking("compatible", max_output_tokens=asked))
    assert again["max_tokens"] == sent


@pytest.mark.report("vespa-engine/vespa#33327")
def test_the_end_of_a_sequence_is_an_end() -> None:
    response = answer(chunk({"content": "ok"}), chunk({}, "eos"))
    assert (response.text, response.finish_reason.kind) == ("ok", "stop")


@pytest.mark.report("PowerShell/AIShell#350")
def test_an_answer_that_ends_without_a_reason_is_kept() -> None:
    data = "".join(f"data: {part}\n\n" for part in (json.dumps(chunk({"content": "ok"})), "[DONE]"))
    assert response_of(codec(), data.encode(), ASK).text == "ok"


@pytest.mark.report("google-gemini/gemini-cli#6418")
def test_gemini_gets_as_many_responses_as_calls() -> None:
    parts = [
        part
        for one in body_of(spoken("gemini").encode(unpaired(), stream=True))["contents"]
        for part in one["parts"]
    ]
    assert sum("functionCall" in part for part in parts) == sum("functionResponse" in part for part in parts)
