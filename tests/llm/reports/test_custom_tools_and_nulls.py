"""Reports on places of calls, null contents, custom tools, odd bodies of errors and NVIDIA's fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, system, tool_results, user
from agent_ls.llm.requests import FreeText, Request, ToolDefinition
from agent_ls.llm.tools import run_tool
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_openai_stream import CREATED, added, done, final
from tests.llm.providers.test_refusals import SAID, asking, at, second, spoken
from tests.llm.reports.chat import answer as chat_answer, say
from tests.llm.reports.test_broken_streams import piece, said
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import ANTHROPIC, OPENAI, body_of
from tests.support.reports import reported

STOPS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def part(call_id: str | None, name: str | None, arguments: str, **place: Any) -> Any:
    function = {"name": name, "arguments": arguments}
    return {
        **place,
        **({"id": call_id} if call_id is not None else {}),
        "type": "function",
        "function": function,
    }


def calls(*found: Any) -> Any:
    return piece(tool_calls=[*found])


A, B = '{"path": "a.rs"}', '{"path": "b.rs"}'
BOTH = [("read", {"path": "a.rs"}), ("list", {"path": "b.rs"})]
STREAMS: list[Any] = [
    reported("ollama/ollama#7881", [calls(part("a", "read", A), part("b", "list", B)), CALLS], BOTH),
    reported("ollama/ollama#15457", [calls(part("a", "read", A, index=0)), calls(part("b", "list", B, index=0)), CALLS],
        BOTH),
    reported("BerriAI/litellm#33678", [calls(part("a", "read", A, index=0), part("b", "list", B, index=0)), CALLS],
        BOTH),
    reported("SamSaffron/term-llm#314",
        [calls(part("a", "read", '{"path": '), part("b", "list", '{"path": ')),
            calls(part(None, None, '"a.rs"}'), part(None, None, '"b.rs"}')), CALLS], BOTH),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "expected"), STREAMS)
def test_calls_are_told_apart(chunks: list[Any], expected: Any) -> None:
    assert said(chat_answer(*chunks)) == ("", expected)


TURN = (
    user("hi"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")]),
)
NULL = (
    "5 validation errors for ChatCompletionRequest\nmessages.1.ChatCompletionMessageGenericParam.content.str\n  Input "
    "should be a valid string [type=string_type, input_value=None, input_type=NoneType]"
)


@pytest.mark.parametrize(("status", "body"), [
    reported("sgl-project/sglang#4236", 400, {"object": "error", "message": NULL, "type": "BadRequest", "code": 400}),
    reported("openai/openai-python#1571", 400,
        say("Invalid value for 'content': expected a string, got null. (request id: 2024)",
            type="invalid_request_error", param="messages.[2].content", code=None)),
    reported("AIDotNet/OpenCowork#10", 400,
        say("Invalid request: the message at position 72 with role 'assistant' must not be empty",
            type="invalid_request_error")),
])  # fmt: skip
def test_no_content_is_null_after_its_refusal(status: int, body: Any) -> None:
    messages = second("compatible", body, Request("m", TURN), status)["messages"]
    assert all(message["content"] is not None for message in messages)


SIGNATURE = (
    "Function call is missing a thought_signature in functionCall parts. Additional data, function call `x`"
)
UNSIGNED = {"error": {"code": 400, "message": SIGNATURE, "status": "INVALID_ARGUMENT"}}


@pytest.mark.parametrize("body", [
    reported("0xsline/OpenChatCut#6", [UNSIGNED]),
    reported("askimo-ai/askimo#543", say("Streaming error occurred: " + json.dumps(UNSIGNED, indent=1))),
])  # fmt: skip
def test_calls_without_signatures_get_one_that_is_accepted(body: Any) -> None:
    messages = second("compatible", body, Request("m", SAID))["messages"]
    made = [call for message in messages for call in message.get("tool_calls", ())]
    assert made[0]["extra_content"]["google"]["thought_signature"]


LITERAL = json.dumps([{"received": "custom", "code": "invalid_literal", "expected": "function", "path": [4, "type"],
    "message": 'Invalid literal value, expected "function"'}])  # fmt: skip
LEFT_OUT: list[Any] = [
    reported("Alishahryar1/free-claude-code#1609", "compatible",
        {"message": "Validation: top_p is immutable for this model and must be 0.95, got 1", "type": "Bad Request",
            "code": 400}, "top_p"),
    reported("NousResearch/hermes-agent#77973", "openrouter",
        {"message": "Validation: Unsupported parameter(s): reasoning", "type": "Bad Request", "code": 400},
        "reasoning"),
    reported("MoonshotAI/kimi-cli#2534", "openai",
        {"message": "Validation: Unsupported parameter(s): `prompt_cache_key`", "type": "Bad Request", "code": 400},
        "prompt_cache_key"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, body: Any, path: str) -> None:
    request = asking(wire, cache_key="k")
    assert at(body_of(spoken(wire).encode(request, stream=True)), path) is not None
    assert at(second(wire, body, request), path) is None


ONLY_FUNCTIONS: list[Any] = [
    reported("openai/codex#10635", say("'type' of tool must be 'function'", code=400, type="invalid_request_error")),
    reported("openai/codex#22294",
        say(f"BadRequestError: Lm_studioException - code: 400 - {{'error': {LITERAL!r}}}. Received", code="400")),
]  # fmt: skip


@pytest.mark.parametrize("body", ONLY_FUNCTIONS)
def test_custom_tools_become_functions(body: Any) -> None:
    tool = ToolDefinition("apply_patch", "", {"type": "object"}, FreeText("input", "start: /a/"))
    sent = second("openai", body, asking("openai", tools=(tool,)))
    assert {tool["type"] for tool in sent["tools"]} == {"function"}


KINDS: list[Any] = [
    reported("MoonshotAI/Kimi-K2.5#51", "anthropic", 400,
        {"error": {"type": "invalid_request_error", "message": "Invalid request Error"}, "type": "error"},
        e.InvalidRequestError, "Invalid request Error"),
    reported("anomalyco/opencode#41120", "anthropic", 400,
        say("Error from provider (Console Go): Upstream request failed: [invalid_request_error] Invalid request: "
            "function name is invalid, must start with a letter and can contain letters, numbers, underscores",
            type="invalid_request_error"), e.InvalidRequestError, "function name is invalid"),
    reported("Alishahryar1/free-claude-code#993", "compatible", 400,
        {"message": "chat_template is not supported for Mistral tokenizers.", "type": "BadRequestError", "code": 400},
        e.InvalidRequestError, "chat_template"),
    reported("huggingface/ml-intern#51", "compatible", 400, say("Model not supported by provider fireworks-ai"),
        e.NotFoundError, "fireworks"),
    reported("BerriAI/litellm#1049", "compatible", 400,
        say("LLM Provider NOT provided. Pass in the LLM provider you are trying to call."),
        e.NotFoundError, "Provider"),
    reported("can1357/oh-my-pi#2299", "compatible", 410, {"status": 410, "title": "Gone"}, e.NotFoundError, ""),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


@pytest.mark.report("ggml-org/llama.cpp#23465")  # fmt: skip
def test_a_result_that_must_be_text_is_a_refused_image() -> None:
    words = "Output of tool call should be 'Input text'"
    assert refuses_images(refused("responses", 400, say(words, code=400, type="invalid_request_error")))


@pytest.mark.report("BerriAI/litellm#4558")  # fmt: skip
def test_a_refused_role_of_the_system_is_the_users() -> None:
    quoted = json.dumps(
        {"type": "urn:x:internal-server-error", "status": 500, "detail": "System role not supported"}
    )
    body = say(f"litellm.APIError: APIError: Nvidia_nimException - data:{quoted}", type=None, code="500")
    request = Request("m", (system("Be brief."), user("hi")))
    messages = second("compatible", body, request, 500)["messages"]
    assert [message["role"] for message in messages] == ["user"]


@pytest.mark.report("MiniMax-AI/MiniMax-M2.7#43")  # fmt: skip
@pytest.mark.report("LiuMengxuan04/MiniCode#7")  # fmt: skip
def test_messages_of_anthropic_are_the_users_or_the_models() -> None:
    request = Request("m", (system("a"), user("hi"), system("b"), user("more")))
    body = body_of(ANTHROPIC.encode(request, stream=True))
    assert {message["role"] for message in body["messages"]} == {"user"} and body["max_tokens"] > 0


@pytest.mark.report("modelscope/modelscope#1478")  # fmt: skip
def test_contents_that_must_be_texts_are_texts() -> None:
    words = "<400> InternalError.Algo.InvalidParameter: The content field's type should be `str` in messages."
    body = {
        "detail": f"Error code: 400 - {{'error': {{'code': 'invalid_parameter_error', 'message': {words!r}}}}}"
    }
    sent = second("anthropic", body, Request("m", (user("hi"),)))
    assert sent["messages"][0]["content"] == "hi"


@pytest.mark.report("anthropics/claude-code#4536")  # fmt: skip
@pytest.mark.parametrize("text", ["a\x00\x1b[0m", "a\ud83d b"])
def test_any_text_is_sent_as_json(text: str) -> None:
    sent = ANTHROPIC.encode(Request("m", (user(text),)), stream=True).content
    assert json.loads(sent.decode("utf-8"))["messages"]
    assert b"\\ud83d " not in sent


@pytest.mark.report("BigPizzaV3/CodexPlusPlus#586")
async def test_a_custom_call_of_a_tool_that_was_not_offered_has_an_answer() -> None:
    item = {"id": "i", "type": "custom_tool_call", "call_id": "c", "name": "web_search", "input": "MiMo"}
    response = responses_answer(CREATED, added(0, {**item, "input": ""}), done(0, item), final(output=[item]))
    (made,) = response.tool_calls
    result = await run_tool(made, {}, (), None)
    request = Request("m", (user("a"), response.message, tool_results([result])))
    sent = body_of(OPENAI.encode(request, stream=True))["input"][1:]
    assert result.is_error and [(it["type"], it["call_id"]) for it in sent] == [
        ("custom_tool_call", "c"),
        ("custom_tool_call_output", "c"),
    ]
