"""Requests are sent again without what a server refused, in the words that reports quote."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import JsonFormat, Request, ToolDefinition
from agent_ls.loop.model.recovery import refuses_images, refuses_reasoning
from agent_ls.mcp.schemas import provider_schema
from tests.llm.reports.chat import TOOLS, codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.support.codec_runs import body_of
from tests.support.reports import reported


def called(*ids: str, model: str = "m") -> Request:
    calls = Message(Role.ASSISTANT, (ReasoningPart("hm"), *(ToolCallPart(i, "read", "{}") for i in ids)))
    results = tool_results([ToolResultPart(i, "read", "x") for i in ids])
    return Request(model, (user("hi"), calls, results, user("more")), tools=TOOLS)


def misnamed(name: str) -> Request:
    calls = Message(Role.ASSISTANT, (ToolCallPart("a", name, '{path:"x"}'),))
    return Request("m", (user("hi"), calls, tool_results([ToolResultPart("a", name, "x")])), tools=TOOLS)


def unpaired() -> Request:
    calls = Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"), ToolCallPart("b", "read", "{}")))
    results = [ToolResultPart(i, "read", "x") for i in ("a", "c")]
    return Request("m", (user("hi"), calls, tool_results(results), user("more")), tools=TOOLS)


def is_paired(body: Any) -> bool:
    return [it["tool_call_id"] for it in body["messages"] if it["role"] == "tool"] == ["a", "b"]


def with_schema(**schema: Any) -> Request:
    made = provider_schema({"type": "object", **schema})
    return Request("m", (user("hi"),), tools=(ToolDefinition("t", "", made),))


def limited(model: str = "grok-4") -> Request:
    return Request(model, (user("hi"),), max_output_tokens=9, temperature=0.5, reasoning_effort="high")


def answered(**schema: Any) -> Request:
    return Request("m", (user("hi"),), response_format=JsonFormat({"type": "object", "properties": schema}))


def sent(provider: str, request: Request, status: int, body: Any) -> list[dict[str, Any]]:
    """Return the first request, and the one that follows the refusal."""
    spoken = OpenAIResponsesCodec(capabilities_lookup("openai")) if provider == "openai" else codec(provider)
    first = body_of(spoken.encode(request, stream=True))
    text = body if isinstance(body, str) else json.dumps(body)
    error = spoken.decode_error(request, ReplyHead(status, {}, 1.0), text.encode())
    if not spoken.adapt_encoding(request, error):
        return [first]
    return [first, body_of(spoken.encode(request, stream=True))]


def has_short_ids(body: Any) -> bool:
    made = [call["id"] for call in body["messages"][1]["tool_calls"]]
    given = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    return made == given and all(re.fullmatch("[a-zA-Z0-9]{9}", one) for one in made)


def has_single_calls(body: Any) -> bool:
    return all(len(message.get("tool_calls") or ()) < 2 for message in body["messages"])


def is_typed(node: Any) -> bool:
    """Return whether a schema has what Moonshot demands."""
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *filter(None, [node.get("items")])]
    return ("anyOf" in node) != ("type" in node) and "$ref" not in node and all(map(is_typed, inner))


def has_typed_schema(body: Any) -> bool:
    return is_typed(body["tools"][0]["function"]["parameters"])


def lacks(*names: str) -> Callable[[Any], bool]:
    return lambda body: not any(f'"{name}"' in json.dumps(body) for name in names)


def has_one_system(body: Any) -> bool:
    return [message["role"] for message in body["messages"]].count("system") == 1


def has_answers(body: Any) -> bool:
    roles = [message["role"] for message in body["messages"]]
    return ("tool", "user") not in itertools.pairwise(roles)


def has_signature(body: Any) -> bool:
    return all("extra_content" in it["tool_calls"][0] for it in body["messages"] if it.get("tool_calls"))


TOLD = Request(
    "m", (system("Be brief."), user("a"), assistant("ok"), system("Changed."), user("b")), tools=TOOLS
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work."
)
IDS = "Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9."
MOON = "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': {}>"
TYPED = MOON.format("when using anyOf, type should be defined in anyOf items instead of the parent schema")
RESULTS = "ValidationException: Expected toolResult blocks at messages.2.content for the following Ids: b"
TOO_MANY = "The number of toolResult blocks at messages.2.content exceeds that of the toolUse blocks before."
EFFORT = "Model grok does not support parameter reasoningEffort."
EXTRA = "[{'type': 'extra_forbidden', 'loc': ('body', '%s'), 'msg': 'Extra inputs are not permitted', 'input': 1}]"
UUID = "0b6f2a56-9a9e-4d0a-8a37-6b9b1b2f4a11"
OPTIONS = {"type": "array", "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
SPECIAL = "'messages.2.assistant.reasoning_content' is unsupported"
RESENT: list[Any] = [
    reported("avante-corp/avante.nvim#2951", "mistral", called("call_0fypS1hVX"), 400, say(IDS.format("call_0")),
        has_short_ids),
    reported("jackmpcollins/magentic#276", "compatible", called("38f04d9ea185424a8dc6ed9a88da5"), 400,
        {"object": "error", "message": IDS.format("38f04d9ea185424a8dc6ed9a88da5"), "type": "invalid_request_error"},
        has_short_ids),
    reported("nearai/ironclaw#1241", "openrouter", called("turn1_0", "turn1_1"), 400,
        {"message": IDS.format("turn1_0"), "type": "invalid_function_call", "code": "3280"}, has_short_ids),
    reported("ml-explore/mlx-lm#1375", "compatible", called(UUID), 404,
        {"error": "Tool call IDs should be alphanumeric strings with length 9!"}, has_short_ids),
    ("compatible", called(UUID), 500, say("Tool call IDs should be alphanumeric strings with length 9!"),
        has_short_ids),
    ("vllm", called("a"), 400, say(IDS.format("a"), code=400), has_short_ids),
    ("compatible", called(UUID), 400, {"detail": f"litellm.BadRequestError: {IDS.format(UUID)}"}, has_short_ids),
    reported("mlflow/mlflow#24296", "compatible", called("a", "b", "c"), 400, say(RESULTS), has_single_calls),
    reported("aws-samples/bedrock-access-gateway#84", "compatible", called("a", "b"), 400, {"detail": TOO_MANY},
        has_single_calls),
    ("compatible", called("a", "b"), 500, say(f"BedrockException - {RESULTS}"), has_single_calls),
    ("openrouter", called("a", "b"), 400, say(TOO_MANY), has_single_calls),
    ("compatible", called("a", "b"), 400, say("Multiple tool calls are not supported by this model"), has_single_calls),
    reported("MoonshotAI/kimi-cli#1903", "moonshot",
        with_schema(properties={"a": {"$ref": "#/$defs/V", "description": "x"}},
        **{"$defs": {"V": {"type": "string"}}}),
        400, say(MOON.format("conflicting keywords found after $ref expansion: description")), has_typed_schema),
    reported("MoonshotAI/kimi-cli#1595", "moonshot",
        with_schema(properties={"a": {"description": "m"}, "b": {"anyOf": [{"type": "string"}, {"description": "f"}]}}),
        400, say(MOON.format("type is not defined")), has_typed_schema),
    reported("openJiuwen-ai/jiuwenswarm#3942", "compatible",
        with_schema(properties={"q": {"type": "array", "items": {"type": "object", "properties": {"o": OPTIONS}}}}),
        400,
        say(TYPED), has_typed_schema),
    reported("akitaonrails/ai-memory#474", "moonshot",
        with_schema(properties={"a": {"type": "string"}}, anyOf=[{"required": ["a"]}]), 400, say(TYPED),
        has_typed_schema),
    ("moonshot", with_schema(properties={"a": {"enum": ["x", 1]}}), 400, say(MOON.format("type is not defined")),
        has_typed_schema),
    ("openrouter", with_schema(properties={"a": {"properties": {"b": {}}}}), 400, say(TYPED), has_typed_schema),
    ("compatible", with_schema(properties={"a": {"type": "array", "items": {}}}), 400, say(TYPED), has_typed_schema),
    reported("musistudio/claude-code-router#708", "compatible",
        answered(a={"type": "array", "items": {"type": "string"}, "minItems": 1}), 400,
        say("Error from provider(cerebras: 400): " + json.dumps(
            {"message": "Unsupported JSON schema fields: {'minItems'}", "code": "wrong_api_format"})),
        lacks("minItems")),
    ("vllm", answered(a={"type": "string", "pattern": "x"}), 400, say("Grammar error: unimplemented keys"),
        lacks("pattern")),
    ("deepseek", answered(a={"type": "string"}), 400, say("This response_format type is unavailable now"),
        lacks("response_format")),
    ("compatible", answered(a={"type": "string"}), 400, say("Unknown parameter: 'response_format'"),
        lacks("response_format")),
    reported("t59688/arboris-novel#23", "lmstudio", answered(a={"type": "string"}), 400,
        {"error": "'response_format.type' must be 'json_schema' or 'text'"}, lacks("json_object")),
    reported("MoonshotAI/kimi-cli#2621", "moonshot", called("a"), 400, say("Invalid request: text content is empty"),
        lambda body: body["messages"][1]["content"] is None),
    reported("lsdefine/GenericAgent#30", "moonshot", limited("kimi-k2.5"), 400,
        say("invalid temperature: only 1 is allowed for this model"), lacks("temperature")),
    ("compatible", limited(), 400, say("invalid top_p or temperature: only 0.95 is accepted"), lacks("temperature")),
    ("compatible", limited(), 400, say("temperature is deprecated for this model"), lacks("temperature")),
    ("openrouter", limited(), 400, say("temperature: Only 1.0 is supported"), lacks("temperature")),
    reported("livekit/agents#3134", "cerebras", called("a"), 400, say("Tools with strict=True are not supported"),
        lacks("strict")),
    reported("RooCodeInc/Roo-Code#10334", "cerebras", called("a"), 422, say("Tools with mixed values for 'strict'"),
        lacks("strict")),
    reported("livekit/agents#2403", "cerebras", called("a"), 400, say("'NoneType' object is not iterable"),
        lacks("null")),
    reported("Alishahryar1/free-claude-code#1136", "cerebras", called("a"), 400, say(SPECIAL),
        lacks("reasoning_content")),
    reported("567-labs/instructor#1766", "cerebras", Request("m", (user("hi"),), tools=TOOLS, tool_choice="required"),
        400,
        {"message": "Unsupported tool_choice: type='function'. Expected 'auto' or 'none'.", "param": "tool_choice"},
        lacks("tool_choice")),
    reported("hidenobunagai/nvidia-nim-provider#2", "compatible", called("a"), 400,
        say('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', code=400),
        lacks("tools")),
    reported("FlowiseAI/Flowise#2866", "compatible", limited(), 400,
        say("Extra inputs are not permitted, field: 'stream_options'"), lacks("stream_options")),
    reported("gpustack/gpustack#429", "vllm", limited(), 400, {"message": EXTRA % "stream_options", "code": 400},
        lacks("stream_options")),
    reported("openai/openai-python#2296", "compatible", limited(), 400,
        say("Validation error at #/stream_options: Extra inputs are not permitted", code=400), lacks("stream_options")),
    reported("1Panel-dev/MaxKB#2912", "vllm", limited(), 400, {"message": EXTRA % "max_completion_tokens", "code": 400},
        lacks("max_completion_tokens")),
    reported("openai/openai-python#1724", "compatible", limited(), 400,
        say("Unrecognized request argument supplied: max_completion_tokens"), lacks("max_completion_tokens")),
    reported("promptfoo/promptfoo#3781", "groq", limited(), 400, say("Unknown parameter: 'reasoning_effort'."),
        lacks("reasoning_effort")),
    reported("BerriAI/litellm#13609", "openrouter", limited(), 400,
        say('BedrockException - {"message":"The model returned the following errors: reasoning: Extra inputs are not '
            'permitted"}'), lacks("reasoning")),
    reported("charmbracelet/crush#386", "xai", limited(), 400,
        '"Argument not supported on this model: reasoningEffort"',
        lacks("reasoning_effort")),
    reported("BerriAI/litellm#16265", "xai", limited(), 400, {"code": "invalid argument", "error": EFFORT},
        lacks("reasoning_effort")),
    ("openrouter", limited(), 400, {"code": "invalid argument", "error": EFFORT}, lacks("reasoning")),
    reported("earendil-works/pi#8381", "openai", limited("gpt-5.1"), 400, {"code": "invalid-argument", "error": EFFORT},
        lacks("effort")),
    reported("router-for-me/CLIProxyAPI#3968", "openai", limited("gpt-5.1"), 400, {"error": EFFORT},
        lambda body: list(body["reasoning"]) == ["summary"]),
    ("openai", limited("gpt-5.1"), 400, say("Unsupported parameter: 'reasoning_effort'"), lacks("effort")),
    ("openai", limited("gpt-5.1"), 400, say("reasoning.effort is not supported with this model"), lacks("effort")),
    ("openai", limited("gpt-5.1"), 400, say("reasoning effort: Extra inputs are not permitted"), lacks("effort")),
    reported("decolua/9router#3008", "openai", limited("gpt-5.1"), 400,
        '{"error":{"message":"{\\"detail\\":\\"Unsupported '
        'parameter: reasoning_effort\\"}（traceid: d2）"}}{"code":30001,"success":false}', lacks("effort")),
    reported("NousResearch/hermes-agent#54210", "vllm", TOLD, 400, say("System message must be at the beginning."),
        lambda body: [it["role"] for it in body["messages"]] == ["system", "user", "assistant", "user", "user"]),
    ("compatible", TOLD, 400, say("system message should be the first message"), has_one_system),
    ("compatible", TOLD, 500, say("Jinja Exception: System message must be at the beginning."), has_one_system),
    ("openrouter", TOLD, 400, say("The system message must be first"), has_one_system),
    reported("OpenHands/OpenHands#5350", "compatible", called("a"), 400,
        say('BedrockException - {"message":"Conversation blocks and tool result blocks cannot be provided in the same '
            'turn."}'), has_answers),
    ("mistral", called("a"), 400, {"message": "Unexpected role 'user' after role 'tool'"}, has_answers),
    ("openrouter", called("a"), 400, say("Expected last role User or Tool but got: user after tool"), has_answers),
    ("compatible", called("a"), 422, say("Unexpected role 'user' after role 'tool'"), has_answers),
    reported("continuedev/continue#10148", "compatible", called("a"), 400,
        say("Bedrock Runtime: ValidationException: messages: text content blocks must be non-empty"), lacks('""')),
    reported("openclaw/openclaw#63397", "compatible", called("a", "b"), 400,
        say(f"litellm.BadRequestError: Vertex_aiException BadRequestError - {UNSIGNED}"), has_signature),
    reported("microsoft/vscode#299370", "compatible", called("a"), 400,
        say(json.dumps({"error": {"code": 400, "message": UNSIGNED}}) + "\n", code=400), has_signature),
    ("openrouter", called("a"), 400, say(UNSIGNED), has_signature),
    ("compatible", called("a"), 400, [{"error": {"code": 400, "message": UNSIGNED}}], has_signature),
    ("compatible", called("a"), 400, say("Unable to submit request because function call x in the 3. content block is "
        "missing a `thought_signature`."), has_signature),
    reported("microsoft/autogen#1037", "vllm", TOLD, 400,
        {"object": "error", "message": "Conversation roles must alternate user/assistant/user/assistant/..."},
        lacks("system")),
    ("compatible", Request("m", (assistant("a"), user("b"))), 400,
        say('messages: first message must use the "user" role'),
        lambda body: body["messages"][0]["role"] == "user"),
    ("vllm", Request("m", (assistant("a"), user("b"))), 400, say("Conversations must start with a user prompt"),
        lambda body: body["messages"][0]["role"] == "user"),
    reported("BigPizzaV3/CodexPlusPlus#267", "compatible", TOLD, 400,
        say("invalid params, chat content has invalid message role: system (2013)"), lacks("system")),
    reported("netease-youdao/LobsterAI#123", "compatible", Request("m", (system("a"), system("b"), user("c"))), 400,
        say("invalid params, invalid chat setting (2013)"), has_one_system),
    reported("langchain-ai/langchainjs#5960", "compatible", called("a"), 400,
        say("The text field in the ContentBlock object at messages.1.content.0 is blank."), lacks('""')),
    reported("langchain-ai/langchain#26968", "compatible", called("a"), 400,
        say("The content field in the Message object at messages.3 is empty. Add a ContentBlock object."), lacks('""')),
    reported("microsoft/semantic-kernel#11360", "compatible", called("a"), 400,
        say("The text in content block cannot be null or empty."), lacks('""')),
    reported("livekit/agents#1297", "compatible", called("a"), 400,
        say("Invalid value for 'content': expected a string, got null."), lacks("null")),
    reported("openai/openai-agents-python#2129", "vllm", called("a"), 400,
        {"message": '"auto" tool choice requires --enable-auto-tool-choice'}, lacks("tools")),
    reported("hotovo/aider-desk#513", "openrouter", called("a"), 400, say("Provider returned error", code=400,
        metadata={
        "raw": f"Gemini models require OpenRouter reasoning details to be preserved. Upstream error: {UNSIGNED}"}),
        has_signature),
    reported("QwenLM/qwen-code#11834", "compatible", with_schema(), 400,
        say("invalid params, function parameters is empty (2013)"),
        lambda body: body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}),
    reported("NousResearch/hermes-agent#90008", "compatible", misnamed("functions.read it!"), 400,
        say("messages.14.member.content.1.member.toolUse.name failed to satisfy constraint"),
        lambda body: re.fullmatch("[a-zA-Z0-9_-]+",
        body["messages"][1]["tool_calls"][0]["function"]["name"]) is not None),
    reported("HKUDS/nanobot#2469", "compatible", misnamed("read"), 400,
        say('The "function.arguments" parameter of the code model must be in JSON format.'),
        lambda body: json.loads(body["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {}),
    reported("alibaba/spring-ai-alibaba#3082", "compatible", with_schema(), 400,
        say("toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object"),
        lambda body: body["tools"][0]["function"]["parameters"]["type"] == "object"),
    reported("agentscope-ai/agentscope#772", "compatible", unpaired(), 400,
        {"code": "InvalidParameter",
        "message": 'An assistant message with "tool_calls" must be followed by tool messages'},
        is_paired),
    reported("QwenLM/qwen-code#2360", "compatible", unpaired(), 400,
        say('messages with role "tool" must be a response to a preceeding message with "tool_calls".'), is_paired),
    reported("usestrix/strix#1088", "groq", with_schema(required=["a"]), 400,
        say("invalid JSON schema for tool t, parameters: 'required' present but 'properties' is missing"),
        lambda body: "properties" in body["tools"][0]["function"]["parameters"]),
    reported("i-am-bee/beeai-framework#1215", "groq", answered(a={"type": "array", "minItems": 1}), 400,
        say("invalid schema for response format: response_format/json_schema/next_step: minItems is not supported"),
        lacks("minItems")),
    reported("BerriAI/litellm#13389", "mistral", with_schema(properties={"a": {"type": "string", "pattern": "x"}}), 400,
        {"object": "error", "message": "Grammar error: at 3(11): failed to compile JSON schema"}, lacks("pattern")),
    reported("decolua/9router#773", "deepseek", Request("m", (system("Be brief."), user("hi"))), 400,
        say("[deepseek] [400]: messages[1].role: unknown variant `developer`"), lacks("developer")),
    reported("musistudio/claude-code-router#1624", "groq", Request("openai/gpt-oss-20b", (user("hi"),)), 400,
        say("not found"), lambda body: body["model"] == "openai/gpt-oss-20b"),
    reported("partITech/php-mistral#76", "mistral", Request("m", (user("hi"),)), 400,
        say("[{'type': 'extra_forbidden', 'loc': ['body', 'tools']}]"), lacks("tools")),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_", "status", "body", "is_right"), RESENT)
def test_what_is_sent_is_accepted_at_the_latest_the_second_time(
    provider: str, request_: Request, status: int, body: Any, is_right: Callable[[Any], bool]
) -> None:
    assert any(map(is_right, sent(provider, request_, status, body)))


@pytest.mark.report("AgentiLoop/Agent#22")  # fmt: skip
def test_missing_reasoning_is_sent_after_a_nested_message() -> None:
    words = 'The ` + "`" + `reasoning_content` + "`" + ` in the thinking mode must be passed back to the API.'
    _, again = sent("compatible", called("a"), 400, say(words))
    assert all(it["reasoning_content"] for it in again["messages"] if it["role"] == "assistant")


IMAGES: list[Any] = [
    reported("anthropics/claude-code#42399", "anthropic",
        "messages.11.content.8.image.source.base64.data: Image format image/png not supported"),
    reported("roboflow/awesome-openai-vision-api-experiments#11", "compatible",
        "Invalid content type. image_url is only supported by certain models."),
    reported("diegosouzapw/OmniRoute#3044", "openrouter",
        json.dumps(say("Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt."))),
    reported("anthropics/claude-code#9375", "anthropic",
        "messages.109.content.2.image.source.base64.data: At least one of the image dimensions exceed the max size"),
    reported("labring/FastGPT#6104", "compatible", "Invalid image URL. The URL must be a valid HTTP or HTTPS URL"),
    reported("zaidmukaddam/scira#248", "compatible", "URL image sources are not supported by Workers AI."),
    reported("ollama/ollama#13267", "ollama", "Cannot decode or download image URL too long"),
    reported("ggml-org/llama.cpp#23542", "responses", "Output of tool call should be 'Input text'"),
    ("responses", "input.2.function_call_output.output: Input should be a valid string"),
    ("responses", "Invalid type for 'input[2].output': expected a string, but got an array instead."),
    ("responses", "function_call_output: output items should be `input_text`"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words"), IMAGES)
def test_a_refused_image_is_left_out_of_the_conversation(wire: str, words: str) -> None:
    assert refuses_images(refused(wire, 400, say(words)))


REASONING: list[Any] = [
    reported("anthropics/claude-code#10627", "anthropic",
        "messages.1.content.0: Invalid `signature` in `thinking` block"),
    reported("NousResearch/hermes-agent#10217", "responses",
        "Item with id 'rs_01a' not found. Items are not persisted when store is set to false."),
    reported("am17an/llama.cpp#50", "responses", "Cannot determine type of 'item'"),
    ("responses", "item['content'] is not an array"),
    ("responses", "item['content'] is empty"),
    ("responses", "Unsupported type of 'item': reasoning"),
    reported("Gentleman-Programming/gentle-ai#4595", "responses", "encrypted_content was not issued to this caller"),
    reported("AstrBotDevs/AstrBot#9724", "responses", "Unknown parameter: 'input[3].status'."),
    reported("zai-org/feedback#682", "responses",
        "[invalid_request_error] `input[87]` missing required field `summary`"),
    ("responses", "Unknown parameter: 'input[5].phase'."),
    ("responses", "Invalid 'input[2].id': 'x'. Expected an ID that begins with 'rs'."),
    ("responses", "Missing required parameter: 'input[4].encrypted_content'."),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words"), REASONING)
def test_refused_reasoning_is_left_out_of_the_conversation(wire: str, words: str) -> None:
    assert refuses_reasoning(refused(wire, 400, say(words)))
