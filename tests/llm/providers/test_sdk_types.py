"""Requests to providers are valid for the request types of the official SDKs (docs/adding-a-provider.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup, find_entry
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
from tests.support.sdk_bodies import CHECKS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
NULLABLE: dict[str, Any] = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
LOOSE: dict[str, Any] = {"type": "object", "properties": {"line": NULLABLE, "any": {"oneOf": [{}, SCHEMA]}}}
TOOLS = (
    ToolDefinition("read_file", "Reads.", SCHEMA),
    ToolDefinition("ls", "Lists.", {"type": "object"}),
    ToolDefinition("edit", "Edits.", LOOSE),
)
CALL = ToolCallPart("c1", "read_file", '{"path": "a"}')
IMAGE = ImagePart(b"png", "image/png")
PARTS = (TextPart("x"), IMAGE, ImagePart(url="https://x.example/a.png", detail="low"), DocumentPart(b"pdf"))
RESULTS = (ToolResultPart("c1", "read_file", "x"), ToolResultPart("c2", "read_file", "no", is_error=True))

CODECS: dict[str, Codec] = {
    "anthropic": AnthropicCodec(capabilities_lookup("anthropic")),
    "openai": OpenAIResponsesCodec(capabilities_lookup("openai")),
    "gemini": GeminiCodec(capabilities_lookup("gemini")),
    "groq": ChatCodec("groq", capabilities_lookup("groq")),
    "openrouter": ChatCodec("openrouter", capabilities_lookup("openrouter")),
}
MODELS = {
    "anthropic": ["claude-fable-5-2", "claude-opus-5", "claude-opus-4-6", "claude-haiku-4-5"],
    "openai": ["gpt-6-sol", "gpt-5.1-codex-max", "gpt-4.1"],
    "gemini": ["gemini-4-argon", "gemini-3-flash-preview", "gemini-2.5-pro", "gemini-2.5-flash"],
    "groq": ["m"],
    "openrouter": ["anthropic/claude-opus-5", "m"],
}
REASONING: dict[str, Mapping[str, Any]] = {
    "anthropic": {"type": "thinking", "thinking": "h", "signature": "s"},
    "openai": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
    "gemini": {"parts": [{"text": "", "thoughtSignature": "c2ln"}]},
    "openrouter": {
        "reasoning_details": [{"type": "reasoning.text", "text": "h", "signature": "s", "index": 0}]
    },
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
# Fields that a server accepts beyond the wire whose SDK checks the request.
BEYOND = {"openrouter": {"reasoning", "reasoning_details", "cache_control"}}


def plain(provider: str, model: str) -> Request:
    return Request(model, (user("hi"),))


def tools(provider: str, model: str) -> Request:
    return Request(model, (system("be"), user("hi")), tools=TOOLS, cache_key="k")


def parallel_results(provider: str, model: str) -> Request:
    answer = Message(Role.ASSISTANT, (TextPart("t"), CALL, replace(CALL, id="c2")))
    messages = (system("be"), user("a"), answer, tool_results(RESULTS), user("go on"))
    return replace(tools(provider, model), messages=messages)


def images(provider: str, model: str) -> Request:
    return replace(tools(provider, model), messages=(Message(Role.USER, PARTS),))


def images_in_results(provider: str, model: str) -> Request:
    answer = Message(Role.ASSISTANT, (CALL,))
    result = ToolResultPart("c1", "read_file", "x", images=(IMAGE, IMAGE))
    return replace(tools(provider, model), messages=(user("a"), answer, tool_results([result])))


def reasoning_replayed(provider: str, model: str) -> Request:
    item = REASONING.get(provider)
    thought = (ReasoningPart("h", Origin(provider, model, item)),) if item else ()
    answer = Message(Role.ASSISTANT, (*thought, TextPart("t"), CALL))
    messages = (system("be"), user("a"), answer, tool_results(RESULTS[:1]))
    return replace(tools(provider, model), messages=messages)


def uncached(provider: str, model: str) -> Request:
    options = {"anthropic": {"auto_cache": False}, "openrouter": {"auto_cache": False}}
    return replace(parallel_results(provider, model), cache_key="", provider_options=options)


def answer_in_schema(provider: str, model: str) -> Request:
    return replace(plain(provider, model), response_format=JsonFormat(SCHEMA), max_output_tokens=2000)


def sampling(provider: str, model: str) -> Request:
    # The SDK's types describe the newest version of Messages, which has no sampling options; the default
    # version has them.
    temperature, top_p = (None, None) if provider == "anthropic" else (0.5, 0.9)
    return replace(plain(provider, model), temperature=temperature, top_p=top_p)


CASES: list[Callable[[str, str], Request]] = [
    plain,
    tools,
    parallel_results,
    images,
    images_in_results,
    reasoning_replayed,
    uncached,
    answer_in_schema,
    sampling,
]


def faults(provider: str, request: Request) -> list[str]:
    check, beyond = CHECKS.get(provider, CHECKS["groq"]), BEYOND.get(provider, set())
    bodies = (json.loads(CODECS[provider].encode(request, stream=s).content) for s in (True, False))
    return [fault for body in bodies for fault in check(body, beyond)]


@pytest.mark.req("U2", "U4", "U5", "U7", "U14")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("provider", CODECS)
def test_request_body_is_valid_for_the_official_sdk(
    provider: str, case: Callable[[str, str], Request]
) -> None:
    for model in MODELS[provider]:
        assert faults(provider, case(provider, model)) == []


@pytest.mark.req("U6")
@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedToolChoice("ls")])
@pytest.mark.parametrize("provider", CODECS)
def test_request_body_with_any_tool_choice_is_valid_for_the_official_sdk(provider: str, choice: Any) -> None:
    for model in MODELS[provider]:
        if choice in ("auto", "none") or capabilities_lookup(provider)(model).forces_tools:
            assert faults(provider, replace(tools(provider, model), tool_choice=choice)) == []


@pytest.mark.req("L7")
@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("provider", CODECS)
def test_request_body_with_any_reasoning_effort_is_valid_for_the_official_sdk(
    provider: str, effort: str
) -> None:
    for model in MODELS[provider]:
        if effort == "none" or effort in (find_entry(provider, model).efforts or EFFORTS):
            assert faults(provider, replace(tools(provider, model), reasoning_effort=effort)) == []


WRONG: dict[str, dict[str, Any]] = {
    "anthropic": {"messages": [{"role": "user", "content": [{"type": "txt", "text": "x"}]}]},
    "openai": {"input": [{"type": "function_call", "call_id": "c", "name": "n"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"txt": "x"}]}]},
    "groq": {"messages": [{"role": "user", "content": "x", "wrong": 1}]},
}


@pytest.mark.parametrize("provider", CHECKS)
def test_sdk_type_check_rejects_a_request_body_with_a_nested_error(provider: str) -> None:
    body = json.loads(CODECS[provider].encode(plain(provider, MODELS[provider][0]), stream=True).content)
    assert CHECKS[provider]({**body, **WRONG[provider]}, set()) != []
