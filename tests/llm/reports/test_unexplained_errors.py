"""Reports on proxies of accounts, clouds of models, and what they say in place of a reason."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.providers.test_refusals import asking, second
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported

TENGINE = (
    "<!DOCTYPE HTML><html><head><title>504 Gateway Time-out</title></head><body><h1>504 Gateway Time-out</h1><p>The "
    "gateway "
    "did not receive a timely response from the upstream server or application.<hr/>Powered by Tengine</body></html>"
)
COOLING = {
    "error": {"code": "model_cooldown", "message": "All credentials for model a are cooling down via provider "
        "antigravity",
        "model": "a", "provider": "antigravity", "reset_seconds": 1768, "reset_time": "29m28s"}
}  # fmt: skip
FORMAT = (
    "Error: Model response did not respect the required format. Please consider retrying or using a more "
    "straightforward "
    "prompt."
)
ERRORS: list[Any] = [
    reported("anomalyco/opencode#40194", 403, say("Upstream request failed: [server_error] Upstream response was not "
        "valid JSON"),
        e.ServerError, True),
    reported("chatanywhere/GPT_API_free#97", 504, TENGINE, e.ServerError, True),
    reported("router-for-me/CLIProxyAPI#4520", 503, say("auth_unavailable: no auth available (providers=a, model=b)",
        type="server_error", code="internal_server_error"), e.ServerError, True),
    reported("LLM-Red-Team/kimi-free-api#108", 200, {"code": -2000, "message": "Params body.messages invalid",
        "data": None},
        e.InvalidRequestError, False),
    reported("MoonshotAI/kimi-cli#2011", 400, say("Invalid request: Your request exceeded model token limit: 262144 "
        "(requested: "
        "269030)", type="invalid_request_error"), e.ContextLengthError, False),
    reported("aaif-goose/goose#1161", 400, {"error_code": "BAD_REQUEST", "message": FORMAT}, e.InvalidRequestError,
        True),
    reported("ai-dynamo/dynamo#3860", 500, {"message": "Failed to fold completions stream for 6edcf4b3: a python "
        "exception was "
        "caught while processing the async generator: ValueError: n must be 1 when using greedy sampling, got 2.",
        "type": "Internal Server Error", "code": 500}, e.ServerError, True),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "again"), ERRORS)
def test_final_errors_have_their_kind(
    status: int, body: Any, kind: type[e.ProviderError], again: bool
) -> None:
    error = refused("compatible", status, body)
    assert (type(error), error.retryable) == (kind, again)


@pytest.mark.report("router-for-me/CLIProxyAPI#913")
def test_the_seconds_of_a_cooldown_are_waited() -> None:
    error = refused("anthropic", 429, COOLING)
    assert (type(error), error.retry_after_s) == (e.RateLimitError, 1768.0)


@pytest.mark.parametrize(("wire", "body"), [
    reported("lobehub/lobehub#18885", "compatible", say("Upstream error: 400", type="invalid_request_error", param="",
        code=None)),
    reported("MoonshotAI/Kimi-K2.5#20", "anthropic", {"error": {"type": "invalid_request_error",
        "message": "Invalid request Error"},
        "type": "error"}),
])  # fmt: skip
def test_what_gives_no_reason_is_said_to_give_none(wire: str, body: Any) -> None:
    assert "does not say what it refuses" in (refused(wire, 400, body).hint or "")


@pytest.mark.report("tidyverse/ellmer#152")
def test_a_model_that_calls_only_once_gets_calls_as_text() -> None:
    body = {
        "error_code": "BAD_REQUEST",
        "message": "Bad request: Model does not support continuing the chat past the first tool call",
    }
    again = second("compatible", body, asking("compatible"))
    assert all(message["role"] != "tool" and "tool_calls" not in message for message in again["messages"])


# Relatives of the failed reports, made up.
@pytest.mark.parametrize(("status", "body", "kind", "again"), [
    (403, say("Upstream request failed: [server_error] try later"), e.ServerError, True),
    (403, say("Upstream request failed: [forbidden]"), e.PermissionDeniedError, False),
    (200, {"code": -2000, "message": "Param top_p is invalid"}, e.InvalidRequestError, False),
])  # fmt: skip
def test_relatives_of_final_errors_have_their_kind(
    status: int, body: Any, kind: type[e.ProviderError], again: bool
) -> None:
    error = refused("compatible", status, body)
    assert (type(error), error.retryable) == (kind, again)


@pytest.mark.parametrize(("words", "is_unstated"), [
    ("The upstream returned an error (400)", True),
    ("400 Upstream error: 400", True),
    ("Upstream error: 400: the field n is unknown", False),
    ("Upstream error: messages are too odd", False),
])  # fmt: skip
def test_relatives_of_an_upstream_without_reason(words: str, is_unstated: bool) -> None:
    hint = refused("compatible", 400, say(words)).hint or ""
    assert ("does not say what it refuses" in hint) == is_unstated
