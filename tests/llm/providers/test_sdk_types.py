"""What we send passes the official SDKs' own request types, where those are installed (docs/adding-a-provider.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pydantic
import pytest

from agent_ls.llm.catalog import facts_lookup
from agent_ls.llm.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolDefinition

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS = (ToolDefinition("read_file", "Reads.", SCHEMA), ToolDefinition("ls", "Lists.", {"type": "object"}))
CALL = ToolCallPart("c1", "read_file", '{"path": "a"}')
IMAGE = ImagePart(b"png", "image/png")
PARTS = (TextPart("x"), IMAGE, ImagePart(url="https://x.example/a.png", detail="low"), DocumentPart(b"pdf"))
ITEMS: dict[str, Any] = {
    "anthropic": {"type": "thinking", "thinking": "h", "signature": "s"},
    "openai": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
}
MODELS = {
    "anthropic": ["claude-opus-5", "claude-haiku-4-5"],
    "openai": ["gpt-6-sol", "gpt-4.1"],
    "gemini": ["gemini-4-argon", "gemini-2.5-flash"],
    "groq": ["m"],
}
CODECS: dict[str, Codec] = {
    "anthropic": AnthropicCodec(facts_lookup("anthropic")),
    "openai": OpenAIResponsesCodec(facts_lookup("openai")),
    "gemini": GeminiCodec(facts_lookup("gemini")),
    "groq": ChatCodec("groq", facts_lookup("groq")),
}


def requests(provider: str, model: str) -> Iterator[Request]:
    item = ITEMS.get(provider)
    thought = (ReasoningPart("h", Origin(provider, model, item)),) if item else ()
    results = [ToolResultPart("c1", "f", "x"), ToolResultPart("c2", "f", "y", is_error=True, images=(IMAGE,))]
    answer = Message(Role.ASSISTANT, (*thought, TextPart("t"), CALL, replace(CALL, id="c2")))
    base = Request(model, (system("be"), user("hi")), tools=TOOLS, cache_key="k")
    yield Request(model, (user("hi"),))
    yield replace(base, messages=(system("be"), user("a"), answer, tool_results(results), user("go")))
    yield replace(base, messages=(Message(Role.USER, PARTS),))
    for choice in ("none", "required", NamedToolChoice("ls")):
        yield replace(base, tool_choice=choice)
    for effort in ("none", "low", "medium", "high"):
        yield replace(base, reasoning_effort=effort)
    yield replace(
        base, response_format=JsonFormat(SCHEMA), max_output_tokens=2000, temperature=0.5, top_p=0.9
    )


def checker(provider: str) -> Callable[[dict[str, Any]], object]:
    match provider:
        case "anthropic":
            pytest.importorskip("anthropic", reason="the SDK is not installed")
            from anthropic.types import message_create_params as types

            return typed(types.MessageCreateParamsStreaming, types.MessageCreateParamsNonStreaming)
        case "openai":
            pytest.importorskip("openai", reason="the SDK is not installed")
            from openai.types.responses import response_create_params as types

            return typed(types.ResponseCreateParamsStreaming, types.ResponseCreateParamsNonStreaming)
        case "gemini":
            pytest.importorskip("google.genai", reason="the SDK is not installed")
            from google.genai import types

            return gemini_type(types)
    pytest.importorskip("openai", reason="the SDK is not installed")
    from openai.types.chat import completion_create_params as types

    return typed(types.CompletionCreateParamsStreaming, types.CompletionCreateParamsNonStreaming)


def typed(streaming: Any, whole: Any) -> Callable[[dict[str, Any]], object]:
    both: Any = pydantic.TypeAdapter(streaming), pydantic.TypeAdapter(whole)
    return lambda body: both[0 if body.get("stream") else 1].validate_python(body)


def gemini_type(types: Any) -> Callable[[dict[str, Any]], object]:
    """The SDK builds its body from these; it has no type for the whole of it."""
    members = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }

    def check(body: dict[str, Any]) -> None:
        assert set(body) <= set(members)
        for name, value in body.items():
            kind: Any = pydantic.TypeAdapter(members[name])
            kind.validate_python(value)

    return check


@pytest.mark.req("U2", "U6")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("provider", CODECS)
def test_body_passes_the_types_of_the_official_sdk(provider: str, stream: bool) -> None:
    check = checker(provider)
    for model in MODELS[provider]:
        for request in requests(provider, model):
            check(json.loads(CODECS[provider].encode(request, stream=stream).content))
