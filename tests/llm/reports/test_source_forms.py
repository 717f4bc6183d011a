"""Messages that templates, decoders and services refuse by their sources, and the form in which they are sent then."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_ls.llm.messages import (
    ImagePart,
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_refusals import SAID, asking, spoken
from tests.llm.reports.chat import TOOLS, say
from tests.llm.reports.test_error_kinds import refused
from tests.support.codec_runs import body_of
from tests.support.reports import reported

Check = Callable[[Any], bool]


def resent(wire: str, status: int, body: Any, **more: Any) -> Iterator[Any]:
    """Yield the bodies that are sent while the server refuses each with the same words."""
    speaker, request = spoken(wire), asking(wire, **more)
    text = body if isinstance(body, str) else json.dumps(body)
    error = speaker.decode_error(request, ReplyHead(status, {}, 1.0), text.encode())
    yield body_of(speaker.encode(request, stream=True))
    for _ in range(4):
        if not speaker.adapt_encoding(request, error):
            return
        yield body_of(speaker.encode(request, stream=True))


def roles(body: Any) -> list[str]:
    return [message["role"] for message in body["messages"]]


def alternates(body: Any) -> bool:
    found = [role for role in roles(body) if role != "system"]
    return found[0] == "user" and all(one != other for one, other in itertools.pairwise(found))


def lacks_role(*names: str) -> Check:
    return lambda body: not {*names} & {*roles(body)}


def has_first_system_only(body: Any) -> bool:
    return "system" not in roles(body)[1:] and "developer" not in roles(body)[1:]


def has_texts(body: Any) -> bool:
    return all(isinstance(message["content"], str) for message in body["messages"])


def has_content(body: Any) -> bool:
    return all(message.get("content") for message in body["messages"])


def has_no_text_beside_calls(body: Any) -> bool:
    return all(not message.get("content") for message in body["messages"] if message.get("tool_calls"))


def has_one_call_each(body: Any) -> bool:
    return all(len(message.get("tool_calls") or ()) < 2 for message in body["messages"])


def has_objects(body: Any) -> bool:
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return bool(calls) and all(isinstance(call["function"]["arguments"], dict) for call in calls)


def is_toolless(body: Any) -> bool:
    return "tools" not in body and not any(message.get("tool_calls") for message in body["messages"])


def has_answer_after_results(body: Any) -> bool:
    return ("tool", "user") not in itertools.pairwise(roles(body))


def has_short_ids(body: Any) -> bool:
    ids = [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]
    return bool(ids) and all(len(one) == 9 and one.isalnum() for one in ids)


def has_fewer_output(body: Any) -> bool:
    return (body.get("max_tokens") or body.get("max_completion_tokens") or 0) <= 8192


TWO = (user("a"), user("b"))
LATE = (user("a"), Message(Role.SYSTEM, (TextPart("Changed."),)), user("b"))
PICTURED = (Message(Role.USER, (TextPart("look"), ImagePart(b"\x89PNG", "image/png"))),)
CALLED = (
    user("a"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")]),
)
FORMS: list[Any] = [
    reported("huggingface/transformers@form", "compatible", 400,
        say("Conversation roles must alternate user/assistant/user/assistant/..."), {"messages": TWO}, alternates),
    reported("services/google@form", "compatible", 500,
        say("System role not supported (in <string>:1)"), {}, lacks_role("system", "developer")),
    reported("meta-llama/llama-models@form", "compatible", 400,
        say("This model only supports single tool-calls at once!"), {}, has_one_call_each),
    reported("QwenLM/Qwen3@form", "compatible", 400,
        say("System message must be at the beginning."), {"messages": LATE}, has_first_system_only),
    reported("mistralai/mistral-common@form", "mistral", 400,
        say("Unexpected role 'user' after role 'tool'", type="invalid_request_message_order", code="3230"), {},
        has_answer_after_results),
    reported("mistralai/mistral-common@form", "mistral", 400,
        say("Assistant message must have either content or tool_calls, but not both."), {}, has_no_text_beside_calls),
    reported("mistralai/mistral-common@form", "mistral", 400,
        say("Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9."), {}, has_short_ids),
    reported("mistralai/mistral-common@form", "mistral", 400,
        say("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"),
        {"messages": (user("a"), Message(Role.ASSISTANT, (TextPart("b"),)))}, lambda body: roles(body)[-1] == "user"),
    reported("vllm-project/vllm@source", "vllm", 400,
        say('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            type="BadRequestError"), {}, is_toolless),
    reported("vllm-project/vllm@source", "vllm", 400,
        say("Can only get item pairs from a mapping."), {}, has_objects),
    reported("sgl-project/sglang@source", "compatible", 400,
        say("Tools are not supported with the current tokenizer/chat template"), {}, is_toolless),
    reported("sgl-project/sglang@source", "compatible", 400,
        say("can only concatenate str (not \"list\") to str"), {"messages": PICTURED}, has_texts),
    reported("ggml-org/llama.cpp@form", "llamacpp", 500,
        say("Value is not callable: null at row 1, column 20", code=500, type="server_error"), {"messages": CALLED},
        has_content),
    reported("ggml-org/llama.cpp@form", "llamacpp", 400,
        say("Cannot have 2 or more assistant messages at the end of the list.", code=400), {"messages": (user("a"),
            Message(Role.ASSISTANT, (TextPart("b"),)), Message(Role.ASSISTANT, (TextPart("c"),)))},
        lambda body: roles(body).count("assistant") == 1),
    reported("ggml-org/llama.cpp@form", "llamacpp", 500,
        say("tools param requires --jinja flag", code=500), {}, is_toolless),
    reported("ggml-org/llama.cpp@form", "llamacpp", 400,
        say("Missing 'content' or 'tool_calls' in message", code=400), {"messages": CALLED}, has_content),
    reported("ollama/ollama@source", "ollama", 400,
        say("json: cannot unmarshal array into Go struct field Message.messages.content of type string"),
        {"messages": PICTURED}, has_texts),
    reported("ollama/ollama@source", "ollama", 400,
        say("registry.ollama.ai/library/gemma:2b does not support tools", type="api_error"), {}, is_toolless),
    reported("mlc-ai/mlc-llm@source", "compatible", 400,
        {"object": "error", "message": "Assistant message having `tool_calls` is not supported yet.", "code": 400}, {},
        is_toolless),
    reported("mlc-ai/mlc-llm@source", "compatible", 400,
        {"object": "error", "message": "System prompt at position 1 in the message list is invalid.", "code": 400},
        {"messages": LATE}, has_first_system_only),
    reported("InternLM/lmdeploy@source", "compatible", 400,
        say("Please launch the api_server with --tool-call-parser if you want to use tool calling."), {}, is_toolless),
    reported("InternLM/lmdeploy@source", "compatible", 400,
        say("Unsupported `content` part at index 0. Expected string."), {"messages": PICTURED}, has_texts),
    reported("triton-inference-server/server@source", "compatible", 400,
        {"detail": "tools are not supported: please start the frontend with --tool-call-parser"}, {}, is_toolless),
    reported("xorbitsai/inference@source", "compatible", 400,
        {"detail": "[address=0.0.0.0:4, pid=7] Tool call arguments must be a mapping or JSON object string"}, {},
        has_objects),
    reported("xorbitsai/inference@source", "compatible", 400,
        {"detail": "Only ['qwen3', 'glm4'] support tool messages"}, {}, is_toolless),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the ConverseStream operation: Expected "
            "toolResult "
            "blocks at messages.2.content for the following Ids: b"}, {}, has_one_call_each),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the ConverseStream operation: This model "
            "doesn't "
            "support tool use in streaming mode."}, {}, lambda body: not body.get("stream")),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the Converse operation: The text field in the "
            "ContentBlock object at messages.1.content.0 is blank. Add text to the text field, and try again."},
        {"messages": (user("a"), Message(Role.ASSISTANT, (TextPart(" "),)), user("b"))}, has_content),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 400,
        {"detail": "max_tokens or max_completion_tokens must be set when using reasoning_effort with Claude models"},
        {"max_output_tokens": None}, lambda body: "reasoning_effort" not in body),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 400,
        say("invalid_request_error: role 'system' is not supported on this model."), {}, lacks_role("system")),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 400,
        say("Function call is missing a thought_signature in functionCall parts.", code=400, status="INVALID_ARGUMENT"),
        {}, lambda body: any("extra_content" in call for message in body["messages"] for call in message.get(
            "tool_calls") or ())),
    reported("deepseek-ai/DeepSeek-V3@form", "deepseek", 400,
        say("The reasoner does not support successive user or assistant messages"), {"messages": TWO}, alternates),
    reported("services/MoonshotAI@form", "moonshot", 400,
        say("Invalid request: the message at position 2 with role 'assistant' must not be empty"),
        {"messages": (user("a"),
            Message(Role.ASSISTANT, (TextPart(" "),)), user("b"))}, has_content),
    reported("services/MiniMax-AI@form", "compatible", 400,
        say("invalid params, invalid chat setting (2013)"), {"messages": LATE}, has_first_system_only),
    reported("services/ppl-ai@form", "compatible", 400,
        say("After the (optional) system message(s), user or tool message(s) should alternate with assistant "
            "message(s).",
            type="invalid_message", code=400), {"messages": TWO}, alternates),
    reported("services/Cerebras@form", "cerebras", 422,
        {"message": "messages.1.assistant.content: Input should be a valid string", "type": "invalid_request_error"},
        {"messages": (user("a"), Message(Role.ASSISTANT, (TextPart("a"),)), *PICTURED)}, has_texts),
    reported("groq/groq-python@form", "groq", 400,
        say("'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a "
            "string)]",
            type="invalid_request_error"), {"messages": PICTURED}, has_texts),
    reported("cloudflare/workers-sdk@form", "compatible", 400,
        {"errors": [{"code": 5006, "message": "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required "
            "properties at '/' are 'prompt', Type mismatch of '/messages/0/content', 'array' not in 'string'"}],
            "success": False}, {"messages": PICTURED}, has_texts),
    reported("services/NVIDIA@form", "compatible", 400,
        {"detail": "Only models launched with tool calling support tools. Please restart with "
            "NIM_ENABLE_AUTO_TOOL_CHOICE"},
        {}, is_toolless),
    reported("services/IBM@form", "compatible", 400,
        {"errors": [{"code": "model_no_support_for_function",
        "message": "Model 'a' does not support function calling"}]},
        {}, is_toolless),
    reported("services/Azure@form", "compatible", 400,
        say("max_tokens is too large: 65536. This model supports at most 8192 completion tokens, whereas you provided "
            "65536.", code="invalid_value", param="max_tokens"), {}, has_fewer_output),
    reported("services/dashscope@form", "compatible", 400,
        say("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
            code="invalid_parameter_error"), {}, has_fewer_output),
    reported("huggingface/text-generation-inference@source", "compatible", 422,
        {"error": "Input validation error: `max_new_tokens` must be <= 8192. Given: 65536",
        "error_type": "validation"}, {},
        has_fewer_output),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "is_right"), FORMS)
def test_messages_get_the_form_that_a_source_demands(
    wire: str, status: int, body: Any, more: dict[str, Any], is_right: Check
) -> None:
    assert any(map(is_right, resent(wire, status, body, **{"messages": SAID, **more})))


IMAGES: list[Any] = [
    reported("vllm-project/vllm@source", "vllm", 400,
        say("Unknown part type: image_url")),
    reported("ml-explore/mlx-lm@source", "compatible", 404, {"error": "Only 'text' content type is "
            "supported."}),
    reported("vllm-project/vllm@source", "vllm", 400,
        say("At most 0 image(s) may be provided in one prompt.", type="BadRequestError")),
    reported("ggml-org/llama.cpp@form", "llamacpp", 500,
        say("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        code=500)),
    reported("huggingface/text-generation-inference@source", "compatible", 422,
        {"error": "Input validation error: image modality is not supported", "error_type": "validation"}),
    reported("triton-inference-server/server@source", "compatible", 400,
        {"detail": "only text message is supported, but got image_url"}),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 400,
        {"detail": "Multimodal message is currently not supported by a"}),
    reported("theroyallab/tabbyAPI@source", "compatible", 400,
        {"detail": "Failed to read base64 image input."}),
    reported("LostRuins/koboldcpp@source", "compatible", 400,
        {"detail": {"msg": "No LLaVA model loaded", "type": "bad_input"}}),
    reported("ollama/ollama@source", "ollama", 400,
        say("this model only supports one image while more than one image requested", type="api_error")),
    reported("ollama/ollama@source", "anthropic", 400,
        say("invalid image source", type="invalid_request_error")),
    reported("EricLBuehler/mistral.rs@source", "anthropic", 422,
        say("Anthropic image content is only supported for user messages.")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), IMAGES)
def test_a_refused_image_is_recognised(wire: str, status: int, body: Any) -> None:
    assert refuses_images(refused(wire, status, body))


def test_a_request_that_nothing_refuses_is_sent_as_it_is() -> None:
    request = Request("m", SAID, tools=TOOLS)
    assert body_of(spoken("compatible").encode(request, stream=True))["messages"][0]["role"] == "system"
