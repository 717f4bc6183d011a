"""Fifteen behaviours of the client on each native wire.

Each test uses the public Client and a loopback server that refuses what the real service refuses.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.generate import GenerateOptions, build_request, generate, generate_object, stream
from agent_ls.llm.messages import ImagePart, Message, Role, TextPart, user
from agent_ls.llm.object_errors import NoObjectGeneratedError
from agent_ls.llm.requests import Request, Response, Usage
from agent_ls.llm.retry import RetryPolicy
from agent_ls.llm.stream import StreamFinish, StreamStart, TextDelta, TextEnd, TextStart
from agent_ls.llm.tools import CallableTool
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ErrorReply,
    GeminiServer,
    LoopbackProvider,
    OpenAIResponsesServer,
    Reasoning,
    Reply,
    Text,
    ToolCall,
)
from tests.support.sdk_bodies import faults_of

KEY = "key-of-the-test"
PNG = b"\x89PNG\r\n\x1a\n-picture-"
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
NO_RETRY = GenerateOptions(retry=RetryPolicy(max_retries=0))


@dataclass(frozen=True)
class Cell:
    """One provider, its client and its server. `script` grows while the test runs."""

    provider: str
    client: Client
    server: LoopbackProvider
    script: list[Answer]

    def ask(self, *messages: Message) -> Request:
        model = {"openai": "gpt-6-sol", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-4-argon"}
        request = build_request(
            model[self.provider], messages=messages or (user("hi"),), provider=self.provider
        )
        return replace(request, cache_key="session")

    def answers(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def streamed(self, request: Request) -> Response:
        folded = Accumulator(self.provider, request.model)
        async with aclosing(self.client.stream(request)) as events:
            async for event in events:
                folded.feed(event)
        return folded.response()

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.server.requests]


Case: TypeAlias = Callable[[Cell], Awaitable[None]]


async def simple_text_generation(cell: Cell) -> None:
    cell.answers("Hello.")
    result = await generate(cell.ask(), client=cell.client)
    assert (result.text, result.finish_reason.kind) == ("Hello.", "stop")
    assert result.response.provider == cell.provider


async def streaming_text_generation(cell: Cell) -> None:
    cell.answers([Text("Grü", "ße ", "👋")])
    async with aclosing(cell.client.stream(cell.ask())) as events:
        told = [event async for event in events]
    assert isinstance(told[0], StreamStart)
    assert [event.text for event in told if isinstance(event, TextDelta)] == ["Grü", "ße ", "👋"]
    assert [type(event) for event in told if isinstance(event, TextStart | TextEnd)] == [TextStart, TextEnd]
    assert isinstance(told[-1], StreamFinish)


async def image_input_as_base64(cell: Cell) -> None:
    cell.answers("A dot.", "A dot.")
    request = cell.ask(Message(Role.USER, (TextPart("What is it?"), ImagePart(PNG, "image/png"))))
    assert (await cell.client.complete(request)).text == (await cell.streamed(request)).text == "A dot."
    for body in cell.bodies:
        assert base64.b64encode(PNG).decode() in str(body)
        assert "image/png" in str(body)


async def image_input_by_url(cell: Cell) -> None:
    cell.answers("A dot.", "A dot.")
    url = "https://pages.example/dot.png"
    request = cell.ask(
        Message(Role.USER, (TextPart("What is it?"), ImagePart(url=url, media_type="image/png")))
    )
    assert (await cell.client.complete(request)).text == (await cell.streamed(request)).text == "A dot."
    assert all(url in str(body) for body in cell.bodies)


def weather(city: str) -> str:
    return f"20 degrees in {city}"


WEATHER = CallableTool("weather", "Tells the weather.", CITY, weather)


async def single_tool_call_and_execution(cell: Cell) -> None:
    cell.answers([Reasoning("Hm."), Text("I ask."), ToolCall("weather", {"city": "Rome"})], "It is warm.")
    result = await generate(cell.ask(), tools=[WEATHER], client=cell.client)
    assert [r.content for step in result.steps for r in step.tool_results] == ["20 degrees in Rome"]
    assert result.text == "It is warm."
    assert "20 degrees in Rome" in str(cell.bodies[1])


async def multiple_parallel_tool_calls(cell: Cell) -> None:
    cities, together = ["Rome", "Oslo", "Lima"], anyio.Event()
    here: list[str] = []

    async def meeting(city: str) -> str:
        here.append(city)
        if len(here) == len(cities):
            together.set()
        with anyio.fail_after(240):  # each call waits for all others, so calls in sequence would never end
            await together.wait()
        return weather(city)

    cell.answers([ToolCall("weather", {"city": city}) for city in cities], "All are warm.")
    tool = replace(WEATHER, execute=meeting)
    result = await generate(cell.ask(), tools=[tool], client=cell.client)
    assert [r.content for r in result.steps[0].tool_results] == [weather(city) for city in cities]
    assert len(cell.bodies) == 2  # all results went back with one request
    assert all(weather(city) in str(cell.bodies[1]) for city in cities)


async def tool_loop_of_several_rounds(cell: Cell) -> None:
    cities = ["Rome", "Oslo", "Lima"]
    for city in cities:
        cell.answers([Reasoning(f"{city}?"), ToolCall("weather", {"city": city})])
    cell.answers("All are warm.")
    result = await generate(
        cell.ask(), tools=[WEATHER], options=GenerateOptions(max_tool_rounds=5), client=cell.client
    )
    assert len(result.steps) == 4
    assert result.text == "All are warm."
    assert result.total_usage == sum((step.response.usage for step in result.steps), Usage())


async def streaming_with_tool_calls(cell: Cell) -> None:
    cell.answers([Reasoning("Hm."), Text("I ask."), ToolCall("weather", {"city": "Rome"})], "It is warm.")
    result = stream(cell.ask(), tools=[WEATHER], client=cell.client)
    assert [text async for text in result.text_stream] == ["I ask.", "It is warm."]
    assert result.response().text == "It is warm."
    assert [r.content for step in result.steps for r in step.tool_results] == ["20 degrees in Rome"]


async def structured_output(cell: Cell) -> None:
    cell.answers('{"name": "Alice", "age": 30}', '{"name": "Alice"}')
    result = await generate_object(cell.ask(), PERSON, client=cell.client)
    assert result.output == {"name": "Alice", "age": 30}
    assert "schema" in str(cell.bodies[0]).lower()
    with pytest.raises(NoObjectGeneratedError):
        await generate_object(cell.ask(), PERSON, client=cell.client)


async def reasoning_token_reporting(cell: Cell) -> None:
    for _ in range(2):
        cell.answers([Reasoning("I think about it for a while."), Text("Four.")])
    request = replace(cell.ask(), reasoning_effort="high")
    for response in (await cell.client.complete(request), await cell.streamed(request)):
        assert response.reasoning == "I think about it for a while."
        assert response.usage.reasoning_tokens
        assert response.usage.output_tokens > response.usage.reasoning_tokens
    assert "high" in str(cell.bodies[0]).lower()


async def invalid_key(cell: Cell) -> None:
    settings = {cell.provider: ConnectionSettings(base_url=cell.server.base_url)}
    other = build_client(Credentials({cell.provider: "wrong"}), settings)
    try:
        with pytest.raises(e.AuthenticationError) as raised:
            await generate(cell.ask(), client=other)
    finally:
        await other.close()
    status = 400 if cell.provider == "gemini" else 401  # the details of the error name the key
    assert (raised.value.status, raised.value.retryable) == (status, False)
    assert len(cell.server.requests) == 1  # it is not sent again


async def rate_limit(cell: Cell) -> None:
    limited = ErrorReply(429, headers={"retry-after": "7"})
    cell.answers(limited, "At last.", limited)
    waits: list[float] = []

    async def sleep(delay_s: float) -> None:
        waits.append(delay_s)

    result = await generate(cell.ask(), options=GenerateOptions(sleep=sleep), client=cell.client)
    assert (result.text, waits) == ("At last.", [7.0])
    with pytest.raises(e.RateLimitError) as raised:
        await generate(cell.ask(), options=NO_RETRY, client=cell.client)
    assert (raised.value.status, raised.value.retryable, raised.value.retry_after_s) == (429, True, 7.0)


# The same usage as each service reports it: 100 input tokens and 40 output tokens, of which 16 are reasoning.
COUNTED: Mapping[str, dict[str, Any]] = {
    "openai": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 16},
    },
    "anthropic": {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 30,
        "output_tokens": 40,
        "output_tokens_details": {"thinking_tokens": 16},
    },
    "gemini": {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 24,
        "thoughtsTokenCount": 16,
        "totalTokenCount": 140,
    },
}


async def accurate_usage(cell: Cell) -> None:
    cell.answers(*[Reply([Text("ok")], usage=COUNTED[cell.provider])] * 2)
    written = None if cell.provider == "gemini" else 30  # Gemini does not report cache writes
    expected = Usage(100, 40, 16, 60, written)
    for response in (await cell.client.complete(cell.ask()), await cell.streamed(cell.ask())):
        assert response.usage == expected
        assert response.usage.total_tokens == 140


async def prompt_caching(cell: Cell) -> None:
    messages = [Message(Role.SYSTEM, (TextPart("Rules. " * 500),))]
    shares = []
    for turn in range(6):
        cell.answers([Reasoning("Hm."), Text(f"Answer {turn}.")])
        messages.append(user(f"Question {turn}? " * 20))
        request = replace(cell.ask(*messages), tools=(WEATHER.definition,))
        response = await cell.streamed(request)
        messages.append(response.message)
        shares.append((response.usage.cache_read_tokens or 0) / response.usage.input_tokens)
    assert all(share > 0 for share in shares[1:])
    assert all(share > 0.5 for share in shares[4:])


OPTIONS: Mapping[str, dict[str, Any]] = {
    "openai": {"service_tier": "flex", "metadata": {"a": "b"}},
    "anthropic": {"metadata": {"user_id": "u-1"}, "beta_headers": ["one-2026-01-01", "two-2026-01-01"]},
    "gemini": {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]},
}


async def options_of_the_provider(cell: Cell) -> None:
    cell.answers("ok")
    await cell.client.complete(replace(cell.ask(), provider_options=OPTIONS))
    (sent,) = cell.server.requests
    body, headers = sent.body, sent.headers
    for name, options in OPTIONS.items():
        for key, value in options.items():
            if key == "beta_headers":
                assert headers.get("anthropic-beta") == (",".join(value) if name == cell.provider else None)
            elif name == cell.provider:
                assert body[key] == value
            elif key not in OPTIONS[cell.provider]:
                assert key not in body


CASES: list[Case] = [
    simple_text_generation,
    streaming_text_generation,
    image_input_as_base64,
    image_input_by_url,
    single_tool_call_and_execution,
    multiple_parallel_tool_calls,
    tool_loop_of_several_rounds,
    streaming_with_tool_calls,
    structured_output,
    reasoning_token_reporting,
    invalid_key,
    rate_limit,
    accurate_usage,
    prompt_caching,
    options_of_the_provider,
]
SERVERS = {"openai": OpenAIResponsesServer, "anthropic": AnthropicServer, "gemini": GeminiServer}


@pytest.mark.req("U16", "U2", "U5", "U6", "U7", "U8", "U9", "U13")
@pytest.mark.parametrize("provider", SERVERS)
@pytest.mark.parametrize("case", CASES)
async def test_each_provider_passes_each_case_of_the_parity_matrix(case: Case, provider: str) -> None:
    script: list[Answer] = []
    with SERVERS[provider](script, key=KEY) as server:
        settings = {provider: ConnectionSettings(base_url=server.base_url)}
        client = build_client(Credentials({provider: KEY}), settings)
        try:
            await case(Cell(provider, client, server, script))
        finally:
            await client.close()
    assert faults_of(server, provider) == []
