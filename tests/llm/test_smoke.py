"""Smoke test against the real services. It costs money and needs the network.

It runs for each provider whose key is in the environment, and only if AGENT_LS_SMOKE=1.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from struct import pack
from typing import Any

import pytest

from agent_ls.llm.catalog import known_models
from agent_ls.llm.client import Client
from agent_ls.llm.errors import NotFoundError
from agent_ls.llm.generate import GenerateOptions, build_request, generate, generate_object, stream
from agent_ls.llm.messages import ImagePart, Message, Role, TextPart
from agent_ls.llm.stream import TextDelta
from agent_ls.llm.tools import CallableTool
from tests.support.services import use_service

PROVIDERS = ("anthropic", "openai", "gemini")
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}

pytestmark = [pytest.mark.smoke, pytest.mark.req("U16"), pytest.mark.parametrize("provider", PROVIDERS)]


@pytest.fixture
async def client(provider: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    use_service(provider, monkeypatch)
    made = Client.from_env(os.environ)
    yield made
    await made.close()


def tiny_png() -> bytes:
    """Return a picture with one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    head = pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


async def test_text_is_generated(client: Client, provider: str) -> None:
    request = build_request(known_models(provider)[0].id, "Say hello in one sentence.", provider=provider)
    result = await generate(replace(request, max_output_tokens=2000), client=client)
    assert result.text
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    assert result.finish_reason.kind == "stop"


async def test_text_is_streamed(client: Client, provider: str) -> None:
    result = stream(
        build_request(known_models(provider)[0].id, "Write a haiku.", provider=provider), client=client
    )
    pieces = [event.text async for event in result if isinstance(event, TextDelta)]
    assert "".join(pieces) == result.response().text != ""


async def test_tools_are_called(client: Client, provider: str) -> None:
    tool = CallableTool(
        "weather", "Tells the weather of one city.", CITY, lambda city: f"{city}: 20 degrees, sunny"
    )
    question = "How is the weather in San Francisco, and in New York? Name both cities."
    request = build_request(known_models(provider)[0].id, question, provider=provider)
    result = await generate(request, tools=[tool], options=GenerateOptions(max_tool_rounds=3), client=client)
    assert len(result.steps) >= 2
    assert "San Francisco" in result.text
    assert "New York" in result.text


async def test_image_in_a_user_message_is_accepted(client: Client, provider: str) -> None:
    said = Message(Role.USER, (TextPart("Which colour is it?"), ImagePart(tiny_png(), "image/png")))
    result = await generate(
        build_request(known_models(provider)[0].id, messages=[said], provider=provider), client=client
    )
    assert result.text


async def test_object_is_generated(client: Client, provider: str) -> None:
    request = build_request(
        known_models(provider)[0].id, "Extract: Alice is 30 years old.", provider=provider
    )
    result = await generate_object(request, PERSON, client=client)
    assert result.output == {"name": "Alice", "age": 30}


async def test_an_unknown_model_is_reported_as_unknown(client: Client, provider: str) -> None:
    with pytest.raises(NotFoundError):
        await generate(build_request("no-such-model-xyz", "hi", provider=provider), client=client)
