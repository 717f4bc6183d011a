"""Refusals by what servers refuse and by wire: the request is sent again without it, or the error has its class.

The bodies have the forms of known servers. A row names the field that the second request lacks, or the class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.providers.refused_tools import NO_TOOLS_HINT, name_refused_tools
from agent_ls.llm.requests import JsonFormat, Request, ToolDefinition
from tests.llm.reports.chat import codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.support.codec_runs import body_of

MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.1", "gemini": "gemini-3-pro-preview"}
CALLS = (TextPart("ok"), ToolCallPart("a", "read", "{}"), ToolCallPart("b", "list", "{}"))
SAID = (
    system("Be brief."),
    user("hi"),
    Message(Role.ASSISTANT, CALLS),
    tool_results([ToolResultPart("a", "read", "x"), ToolResultPart("b", "list", "y")]),
    user("more"),
)
SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "string", "pattern": "^a"}},
    "oneOf": [{"required": ["a"]}],
}
TREE: Any = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "$defs": {"A": {"$ref": "#/$defs/A"}},
}


def spoken(wire: str) -> Any:
    match wire:
        case "anthropic":
            return AnthropicCodec(capabilities_lookup(wire))
        case "openai":
            return OpenAIResponsesCodec(capabilities_lookup(wire))
        case "gemini":
            return GeminiCodec(capabilities_lookup(wire))
    return codec(wire)


def asking(wire: str, **more: Any) -> Request:
    """Return a request with nearly every field."""
    fields: dict[str, Any] = {
        "messages": SAID,
        "tools": (ToolDefinition("read", "", SCHEMA), ToolDefinition("list", "", {"type": "object"})),
        "max_output_tokens": 65536,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning_effort": "high",
        "metadata": {"user_id": "u"},
        "stop_sequences": () if wire == "openai" else ("X",),
    }
    return Request(**{"model": MODELS.get(wire, "m"), **fields, **more})


def second(wire: str, body: Any, request: Request, status: int = 400) -> Any:
    """Return the body that follows the refusal of a request. Fails if the codec does not send it again."""
    speaker = spoken(wire)
    text = body if isinstance(body, str) else json.dumps(body)
    speaker.encode(request, stream=True)
    error = speaker.decode_error(request, ReplyHead(status), text.encode())
    assert speaker.adapt_encoding(request, error)
    return body_of(speaker.encode(request, stream=True))


def at(body: Any, path: str) -> Any:
    """Return the value at a dotted path; None if there is none."""
    for step in path.split("."):
        body = body[int(step)] if isinstance(body, list) else (body or {}).get(step)
    return body


def check_left_out(wire: str, status: int, body: Any, more: Mapping[str, Any], path: str) -> None:
    """Check that a request has a field, and has it no longer after the server has refused it."""
    request = asking(wire, **more)
    assert at(body_of(spoken(wire).encode(request, stream=True)), path) is not None
    assert at(second(wire, body, request, status), path) is None


def extra(field: str) -> Any:
    return [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted"}]


def named(param: str, message: str) -> Any:
    return say(message, type="invalid_request_error", param=param)


FORCED = {"tool_choice": "required"}
JSON = {"response_format": JsonFormat({"type": "object", "properties": {"a": {"type": "string"}}})}
CONFIG = "generationConfig"
LEFT_OUT: list[Any] = [
    # a field that the server does not know
    ("openai", {"detail": "Unsupported parameter: top_p"}, "top_p", {}),
    ("openai", extra("metadata"), "metadata", {}),
    ("openai", named("stream", "Your organization must be verified to stream this model."), "stream", {}),
    ("openai", named("tools[0].strict", "Unknown parameter: 'tools[0].strict'."), "tools.0.strict", {}),
    ("openai", named("include", "Encrypted content is not supported with this model."), "include", {}),
    ("openai", say("Tool choice other than 'auto' is not supported"), "tool_choice", FORCED),
    ("openai", say("Unknown parameter: 'text.format'."), "text", JSON),
    ("anthropic", say("stop_sequences: Extra inputs are not permitted"), "stop_sequences", {}),
    ("anthropic", say("stream: Extra inputs are not permitted"), "stream", {}),
    ("anthropic", say("tool_choice is not supported by this model"), "tool_choice", {"tool_choice": "none"}),
    ("anthropic", say("#: extraneous key [output_config] is not permitted"), "output_config", {}),
    ("compatible", say("Streaming is not supported when tools are provided"), "stream", {}),
    ("compatible", say("This model doesn't support tool use in streaming mode."), "stream_options", {}),
    ("compatible", extra("stream_options"), "stream_options", {}),
    ("ollama", say('"gemma3" does not support thinking'), "reasoning_effort", {}),
    ("groq", say("json mode cannot be combined with tool/function calling"), "response_format", JSON),
    ("gemini", say("Unknown name \"maxOutputTokens\" at 'generation_config': Cannot find field."),
        f"{CONFIG}.maxOutputTokens", {}),
    ("gemini", say("Unknown name \"stopSequences\" at 'generation_config': Cannot find field."),
        f"{CONFIG}.stopSequences", {}),
    ("gemini", say("Thinking_config.include_thoughts is only enabled when thinking is enabled."),
        f"{CONFIG}.thinkingConfig", {}),
    ("gemini", say("JSON mode is not enabled for models/gemma-3"), f"{CONFIG}.responseSchema", JSON),
    ("gemini", say("Function calling mode ANY is not supported for this model"), "toolConfig", FORCED),
    # a value that the server does not know
    ("openai", named("reasoning.summary", "Unsupported value: 'auto' is not supported with the model."),
        "reasoning.summary", {}),
    ("openai", named("reasoning.effort", "Unsupported value: 'high' is not supported with the model."),
        "reasoning.effort", {}),
    ("anthropic", say("thinking: Input tag 'adaptive' does not match any of the expected tags"), "thinking", {}),
    ("anthropic", say("unknown variant `adaptive`, expected `enabled` or `disabled`"), "thinking", {}),
    ("anthropic", say("`temperature` may only be set to 1 when thinking is enabled."), "temperature", {}),
    ("anthropic", say("`top_p` must be at least 0.95 or unset when thinking is enabled"), "top_p", {}),
    ("anthropic", say("`temperature` and `top_p` cannot both be specified for this model"), "temperature", {}),
    ("anthropic", say("output_config.effort: Input should be another one"), "output_config", {}),
    ("anthropic", say("metadata.user_id: String should have at most 256 characters"), "metadata", {}),
    ("anthropic", say("A maximum of 4 blocks with cache_control may be provided. Found 5."), "cache_control", {}),
    ("compatible", say("temperature must be between 0 and 1"), "temperature", {}),
    ("compatible", say("top_p must be in (0, 1), got 1"), "top_p", {}),
    ("groq", say("`reasoning_effort` must be one of `none` or `default`"), "reasoning_effort", {}),
    ("compatible", say("When `thinking` is enabled, a final message must start with a thinking block"),
        "reasoning_effort", {}),
    ("compatible", say("Invalid tool_choice type: 'object'. Supported string values: none, auto"), "tool_choice",
        FORCED),
    # tools
    ("compatible", say("meta/x is not supported for function calling"), "tools", {}),
    ("compatible", say("Unrecognized request arguments supplied: tool_choice, tools"), "tools", {}),
    ("compatible", say("Function calling not supported for this model"), "tools", {}),
    ("compatible", {"detail": "Tool use has not been enabled, because the model cannot"}, "tools", {}),
    ("compatible", extra("tools"), "tools", {}),
    # schemas
    ("anthropic", say("tools.0.input_schema: input_schema does not support oneOf at the top level"),
        "tools.0.input_schema.oneOf", {}),
    ("gemini", say("Unknown name \"pattern\" at 'tools[0].function_declarations[0].parameters': Cannot find field."),
        "tools.0.functionDeclarations.0.parameters.properties.a.pattern", {}),
    ("gemini", say("Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field."),
        "tools.0.functionDeclarations.0.parametersJsonSchema", {"tools": (ToolDefinition("t", "", TREE),)}),
    # the system text
    ("gemini", say("Developer instruction is not enabled for models/gemma-3-27b-it"), "systemInstruction", {}),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "path", "more"), LEFT_OUT)
def test_what_a_server_refuses_is_left_out(wire: str, body: Any, path: str, more: dict[str, Any]) -> None:
    request = asking(wire, **more)
    assert at(second(wire, body, request), path) is None


def test_a_system_text_that_may_not_be_a_list_is_a_text() -> None:
    body = second("anthropic", say("system: Input should be a valid string"), asking("anthropic"))
    assert body["system"] == "Be brief."


def test_a_system_text_that_is_refused_is_the_first_message() -> None:
    body = second("gemini", say("Developer instruction is not enabled for models/gemma"), asking("gemini"))
    assert body["contents"][0] == {"role": "user", "parts": [{"text": "Be brief."}]}


def test_a_role_that_is_refused_is_the_users() -> None:
    body = second("compatible", say("messages[0].role: unknown variant `system`"), asking("compatible"))
    assert {message["role"] for message in body["messages"]} == {"user", "assistant", "tool"}


def test_storing_stays_off_for_a_server_that_speaks_of_it() -> None:
    speaker, request = spoken("openai"), asking("openai")
    error = speaker.decode_error(
        request, ReplyHead(400), json.dumps({"detail": "Store must be true"}).encode()
    )
    assert not speaker.adapt_encoding(request, error)


WHOLE = "You requested a total of 66436 tokens: 900 tokens from the input messages and 65536 tokens for the completion."
LIMITS: list[Any] = [
    ("openai", "Invalid 'max_output_tokens': Expected a value <= 32768, but got 65536 instead.", "max_output_tokens",
        32768),
    ("openai", "max_tokens is too large: 65536. This model supports at most 16384 completion tokens.",
        "max_output_tokens", 16384),
    ("gemini", "maxOutputTokens is 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
        f"{CONFIG}.maxOutputTokens", 8192),
    ("gemini", "max_output_tokens must be in the range [1, 8192]", f"{CONFIG}.maxOutputTokens", 8192),
    ("moonshot", "Invalid request: max_tokens should be in (0, 32768]", "max_tokens", 32768),
    ("compatible", "body.max_tokens: Input should be less than or equal to 1024", "max_tokens", 1024),
    ("zai", "max_tokens参数非法：取值范围 [1, 32768)", "max_tokens", 32768),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words", "path", "most"), LIMITS)
def test_the_most_output_that_a_refusal_names_is_asked_for(
    wire: str, words: str, path: str, most: int
) -> None:
    assert at(second(wire, say(words), asking(wire)), path) == most


@pytest.mark.parametrize(
    "words",
    [
        f"Requested token count exceeds the model's maximum context length of 32768 tokens. {WHOLE}",
        "`inputs` tokens + `max_new_tokens` must be <= 32768. Given: 900 `inputs` tokens and 65536 `max_new_tokens`",
    ],
)
def test_the_output_has_the_room_that_the_prompt_leaves(words: str) -> None:
    assert 30_000 < second("compatible", say(words), asking("compatible"))["max_tokens"] < 31_900


def test_ids_of_calls_are_unique_in_a_conversation() -> None:
    turn = (
        Message(Role.ASSISTANT, (ToolCallPart("call_0", "read", "{}"),)),
        tool_results([ToolResultPart("call_0", "read", "x")]),
    )
    messages = (user("hi"), *turn, *turn, assistant("ok"), user("more"), *turn)
    speaker = spoken("anthropic")
    for end in (3, 5, 7, 9):  # each request of a session continues the one before
        sent = body_of(speaker.encode(Request("m", messages[:end]), stream=True))["messages"]
        blocks = [block for message in sent for block in message["content"]]
        made = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert len(set(made)) == len(made)
        assert made == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


SPENT = "Your prepayment credits are depleted. Please go to AI Studio to manage your billing."
KINDS: list[Any] = [
    # credit, quota and budget
    ("gemini", 429, say(SPENT, code=429, status="RESOURCE_EXHAUSTED"), e.QuotaExceededError),
    ("anthropic", 429, say("Extra usage is required for long context requests."), e.QuotaExceededError),
    ("openrouter", 403, say("Key limit exceeded (total limit).", code=403), e.QuotaExceededError),
    ("xai", 403, {"code": "no permission", "error": "Your team doesn't have any credits yet."}, e.QuotaExceededError),
    ("moonshot", 429, say("Your account is suspended.", type="exceeded_current_quota_error"), e.QuotaExceededError),
    ("compatible", 400, say("Access denied.", code="Arrearage"), e.QuotaExceededError),
    ("compatible", 403, say("The free tier of the model has been exhausted."), e.QuotaExceededError),
    ("compatible", 403, say("x", code="AccountOverdueError"), e.QuotaExceededError),
    ("compatible", 412, say("Account x is suspended, possibly due to the monthly spending limit."),
        e.QuotaExceededError),
    # content
    ("openrouter", 403, say('Your input was flagged for "violence"', code=403), e.ContentFilterError),
    ("xai", 403, {"code": "no permission", "error": "Content violates usage guidelines."}, e.ContentFilterError),
    ("deepseek", 400, say("Content Exists Risk", code="invalid_request_error"), e.ContentFilterError),
    ("responses", 400, say("flagged", code="cyber_policy"), e.ContentFilterError),
    ("compatible", 400, say("x", code="InputTextSensitiveContentDetected"), e.ContentFilterError),
    # key, region and rights
    ("gemini", 403, say("Your API key was reported as leaked.", status="PERMISSION_DENIED"), e.AuthenticationError),
    ("gemini", 400, say("User location is not supported for the API use."), e.PermissionDeniedError),
    ("anthropic", 400, say("Access is not allowed from unsupported countries."), e.PermissionDeniedError),
    ("anthropic", 400, say("This organization has been disabled."), e.PermissionDeniedError),
    ("responses", 401, say("Missing scopes: api.responses.write."), e.PermissionDeniedError),
    ("compatible", 401, say("key not allowed", type="key_model_access_denied"), e.PermissionDeniedError),
    ("groq", 400, say("The model `x` requires terms acceptance."), e.PermissionDeniedError),
    # the model's name
    ("anthropic", 400, say("The provided model identifier is invalid."), e.NotFoundError),
    ("anthropic", 400, say("Invocation of model ID x with on-demand throughput isn't supported."), e.NotFoundError),
    ("groq", 400, say("x", code="model_decommissioned"), e.NotFoundError),
    ("compatible", 400, say("The requested model 'x' is not supported by any provider you have."), e.NotFoundError),
    ("together", 400, say("Unable to access non-serverless model x."), e.NotFoundError),
    # the server
    ("moonshot", 429, say("busy", type="engine_overloaded_error"), e.OverloadedError),
    ("groq", 498, say("Flex tier capacity exceeded", code="capacity_exceeded"), e.OverloadedError),
    ("compatible", 400, {"detail": "Function id 'x': DEGRADED function cannot be invoked"}, e.ServerError),
    ("gemini", 400, say("Request payload size exceeds the limit: 20971520 bytes."), e.RequestTooLargeError),
    ("llamacpp", 500, say("image input is not supported - hint: provide the mmproj", code=500), e.InvalidRequestError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_the_class_says_what_helps(wire: str, status: int, body: Any, kind: type[e.LlmError]) -> None:
    assert type(refused(wire, status, body)) is kind


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ("gemini", "Function calling is not enabled for models/gemma-3-27b-it"),
        ("anthropic", "registry.ollama.ai/library/gemma does not support tools"),
        ("responses", "tools is not supported in this model"),
    ],
)
def test_a_model_without_tools_is_told_on_each_wire(wire: str, words: str) -> None:
    error = refused(wire, 400, say(words))
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, asking(wire).tools)
    assert error.hint == NO_TOOLS_HINT


EFFORTS: list[Any] = [
    ("deepseek", "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    ("moonshot", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
    ("zai", "xhigh", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ("zai", "none", {"thinking": {"type": "disabled"}}),
    ("mistral", "low", {"reasoning_effort": "high"}),
    ("mistral", "none", {"reasoning_effort": "none"}),
    ("deepseek", None, {}),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "effort", "told"), EFFORTS)
def test_the_effort_is_sent_as_the_server_documents_it(wire: str, effort: str | None, told: Any) -> None:
    body = body_of(codec(wire).encode(Request("m", (user("hi"),), reasoning_effort=effort), stream=True))
    assert {key: body[key] for key in ("thinking", "reasoning_effort") if key in body} == told
