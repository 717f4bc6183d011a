"""Reports on pools of accounts and keys in front of the Anthropic, Responses and Gemini APIs."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported

LENGTH = (
    "1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or "
    "equal to "
    "25000000"
)
ERRORS: list[Any] = [
    reported("james-6-23/codex2api#701", "responses", 503, say("无可用账号，请稍后重试", code="no_available_account",
        type="server_error"), e.ServerError, True),
    reported("Wei-Shaw/claude-relay-service#713", "anthropic", 500, {"error": "Relay service error",
        "message": "No available Claude accounts support the requested model: claude-haiku-4-5-20251001"},
            e.NotFoundError, False),
    reported("langchain-ai/langchain-aws#419", "anthropic", 400, {"message": LENGTH}, e.RequestTooLargeError, False),
    reported("PublicAffairs/openai-gemini#92", "gemini", 403, {"error": {"code": 403,
        "message": "Method doesn't allow unregistered "
        "callers (callers without established identity). Please use API Key or other form of API consumer identity "
        "to call this "
        "API.", "status": "PERMISSION_DENIED"}}, e.AuthenticationError, False),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "again"), ERRORS)
def test_errors_of_pools_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], again: bool
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, again)


@pytest.mark.report("Wei-Shaw/sub2api#4636")
def test_a_pool_without_a_free_account_is_tried_again() -> None:
    assert refused(
        "anthropic", 424, say("No available accounts: no available accounts", type="api_error")
    ).retryable


@pytest.mark.report("KarpelesLab/teamclaude#168")
def test_accounts_that_come_back_soon_are_waited_for() -> None:
    error = refused("anthropic", 429, say("All 3 accounts exhausted. Retry in 60s.", type="rate_limit_error"))
    assert (type(error), error.retryable, error.retry_after_s) == (e.RateLimitError, True, 60.0)


# Relatives of the failed reports, made up.
@pytest.mark.parametrize(("wire", "status", "body", "kind"), [
    ("compatible", 502, say("no account supports the model x"), e.NotFoundError),
    ("compatible", 500, say("all accounts support the new model list, but the relay failed"), e.ServerError),
    ("compatible", 400, say("Value at 'body' failed to satisfy constraint: Member must not be null"),
        e.InvalidRequestError),
    ("gemini", 403, say("Requests from unregistered callers are blocked"), e.AuthenticationError),
    ("gemini", 403, say("The caller does not have permission"), e.PermissionDeniedError),
])  # fmt: skip
def test_relatives_of_errors_of_pools(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    assert type(refused(wire, status, body)) is kind
