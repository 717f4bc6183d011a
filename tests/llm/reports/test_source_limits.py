"""Delays that servers and gateways state in other headers than Retry-After, and links beside an error."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported

LIMITS: list[Any] = [
    reported("envoyproxy/envoy@form",
        {"x-ratelimit-limit": "10, 10;w=60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 30.0),
    reported("traefik/traefik@form", {"x-retry-in": "2.5s"}, 2.5),
    reported("Kong/kong@source",
        {"x-ai-ratelimit-reset-minute-openai": "45", "x-ai-ratelimit-remaining-minute-openai": "0"}, 45.0),
    reported("Kong/kong@source",
        {"ratelimit-limit": "5", "ratelimit-remaining": "0", "ratelimit-reset": "12"}, 12.0),
    reported("services/ietf-wg-httpapi@form",
        {"ratelimit": '"default";r=0;t=55'}, 55.0),
    reported("services/ietf-wg-httpapi@form",
        {"ratelimit": "limit=100, remaining=0, reset=50"}, 50.0),
    reported("services/OpenRouterTeam@form",
        {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000042000"},
        1000042000 - 1000.0),
    reported("groq/groq-python@form",
        {"x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "2m59.56s",
            "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s"}, 7.66),
    reported("services/Cerebras@form",
        {"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.4",
            "x-ratelimit-remaining-requests-day": "900", "x-ratelimit-reset-requests-day": "33011.4"}, 11.4),
    reported("anthropics/anthropic-sdk-python@form",
        {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "1970-01-01T00:17:10Z"},
        30.0),
    reported("anthropics/anthropic-sdk-typescript#357",
        {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "1970-01-01T00:17:00Z",
            "anthropic-ratelimit-requests-remaining": "5",
            "anthropic-ratelimit-requests-reset": "1970-01-01T00:18:10Z"}, 20.0),
    reported("services/tokenbucket@form", {"x-ratelimit-remaining": "3", "x-ratelimit-reset": "30"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "delay_s"), LIMITS)
@pytest.mark.parametrize("wire", ["compatible", "anthropic", "responses", "gemini"])
def test_the_delay_is_read_from_the_headers_of_a_limit(
    wire: str, headers: dict[str, str], delay_s: float | None
) -> None:
    error = refused(wire, 429, say("Too many requests"), **headers)
    assert error.retry_after_s == (None if delay_s is None else pytest.approx(delay_s))


def test_the_words_and_retry_after_come_first() -> None:
    headers = {"retry-after": "3", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"}
    assert refused("compatible", 429, say("Too many requests"), **headers).retry_after_s == 3
    del headers["retry-after"]
    assert refused("compatible", 429, say("Please try again in 5s."), **headers).retry_after_s == 5


def test_only_a_limit_of_the_rate_is_waited_for() -> None:
    error = refused(
        "compatible", 500, say("failed"), **{"x-ratelimit-reset": "60", "x-ratelimit-remaining": "0"}
    )
    assert (type(error), error.retry_after_s) == (e.ServerError, None)


def test_the_link_that_a_server_gives_is_shown() -> None:
    body = {"error": "unauthorized", "signin_url": "https://ollama.com/connect?key=a"}
    assert "https://ollama.com/connect?key=a" in str(refused("ollama", 401, body))
