"""Fields of requests, answers and errors for programs that use the client, on the wire of each provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent_ls.llm.client import build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.errors import ConfigurationError, ProviderError
from agent_ls.llm.messages import user
from agent_ls.llm.requests import JsonFormat, Request
from tests.support.commands import provider_variables
from tests.support.loopback import (
    AnthropicServer,
    ChatServer,
    ErrorReply,
    GeminiServer,
    LoopbackProvider,
    OpenAIResponsesServer,
    Reply,
    Script,
    Text,
)

SERVERS: dict[str, tuple[Callable[[Script], LoopbackProvider], str]] = {
    "anthropic": (AnthropicServer, "claude-sonnet-4-5"),
    "openai": (OpenAIResponsesServer, "gpt-5"),
    "gemini": (GeminiServer, "gemini-2.5-pro"),
    "deepseek": (ChatServer, "deepseek-chat"),
}
ANSWER = '{"ok": true}'


async def body_of(provider: str, **fields: Any) -> Any:
    server_type, model = SERVERS[provider]
    with server_type([ANSWER]) as server:
        client = build_client(Credentials.from_environment(provider_variables(server)))
        await client.complete(Request(model, (user("Say it as JSON."),), provider=provider, **fields))
        await client.close()
    return server.requests[0].body


async def test_metadata_is_sent_where_the_provider_takes_it() -> None:
    labels = {"user_id": "u1", "job": "nightly"}
    assert (await body_of("openai", metadata=labels))["metadata"] == labels
    assert (await body_of("anthropic", metadata=labels))["metadata"] == {"user_id": "u1"}
    for provider in ("gemini", "deepseek"):
        assert "nightly" not in json.dumps(await body_of(provider, metadata=labels))


async def test_json_without_a_schema_is_asked_for_in_each_providers_way() -> None:
    wanted = JsonFormat()
    assert (await body_of("openai", response_format=wanted))["text"] == {"format": {"type": "json_object"}}
    config = (await body_of("gemini", response_format=wanted))["generationConfig"]
    assert config["responseMimeType"] == "application/json" and "responseSchema" not in config
    chat = await body_of("deepseek", response_format=wanted)
    assert chat["response_format"] == {"type": "json_object"}
    with pytest.raises(ConfigurationError, match="needs a schema to answer in JSON"):
        await body_of("anthropic", response_format=wanted)


async def test_rate_limits_are_read_from_the_response_headers() -> None:
    headers = {
        "openai": {"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "9000"},
        "anthropic": {"anthropic-ratelimit-requests-limit": "60", "anthropic-ratelimit-tokens-limit": "9000"},
    }
    for provider, told in headers.items():
        server_type, model = SERVERS[provider]
        with server_type([Reply([Text(ANSWER)], headers=told)]) as server:
            client = build_client(Credentials.from_environment(provider_variables(server)))
            answer = await client.complete(Request(model, (user("Hi."),), provider=provider))
            await client.close()
        assert answer.rate_limit
        assert (answer.rate_limit.limit_requests, answer.rate_limit.limit_tokens) == (60, 9000)


@pytest.mark.parametrize("provider", SERVERS)
async def test_error_contains_the_response_body_of_the_provider(provider: str) -> None:
    server_type, model = SERVERS[provider]
    with server_type([ErrorReply(400, message="the key test-key is odd")]) as server:
        client = build_client(Credentials.from_environment(provider_variables(server)))
        with pytest.raises(ProviderError) as failed:
            await client.complete(Request(model, (user("Hi."),), provider=provider))
        await client.close()
    assert failed.value.raw["error"] and "test-key" not in str(failed.value.raw)
