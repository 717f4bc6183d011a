"""Reports on all wires, most of them about servers on one's own machine and about clouds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
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
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolDefinition
from tests.llm.providers.test_anthropic_stream import sse, start
from tests.llm.providers.test_openai_stream import CREATED, added, final, sse as openai_sse
from tests.llm.providers.test_refusals import asking, at, check_left_out, second
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC
from tests.llm.reports.test_broken_streams import ENDS, HI, USE, add, begin, call_piece, piece, said
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES
from tests.support.codec_runs import ANTHROPIC, OPENAI, body_of, response_of
from tests.support.reports import reported

JSON = {"response_format": JsonFormat({"type": "object", "properties": {"a": {"type": "string"}}})}
BUDGET = {"model": "claude-sonnet-4-5", "messages": (user("hi"),)}
LEFT_OUT: list[Any] = [
    reported("Wei-Shaw/sub2api#5289", "openai", 400,
        say("[invalid_request_error] This response_format type is unavailable now", type="invalid_request_error"), JSON,
        "text"),
    reported("databricks/databricks-ai-bridge#269", "openai", 400,
        {"error_code": "BAD_REQUEST", "message": '{"message":"tools.0.custom.strict: Extra inputs are not permitted"}'},
        {},
        "tools.0.strict"),
    reported("leonardovida/duckdb-ai#85", "compatible", 400,
        {"error_code": "BAD_REQUEST", "message": "Model eu.anthropic.m does not support the temperature parameter."},
            {},
        "temperature"),
    reported("danny-avila/LibreChat#8346", "anthropic", 400,
        say("The model returned the following errors: thinking.enabled.budget_tokens: Input should be greater than or "
            "equal to 1024"), BUDGET, "thinking"),
    reported("anthropics/claude-code#8756", "anthropic", 400,
        say("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation",
            type="invalid_request_error"), BUDGET, "thinking"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(
    wire: str, status: int, body: Any, more: dict[str, Any], path: str
) -> None:
    check_left_out(wire, status, body, more, path)


@pytest.mark.report("can1357/llm-git#13")  # fmt: skip
def test_a_tool_choice_that_is_refused_as_an_object_is_not_one() -> None:
    words = {"error": "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"}
    body = second("compatible", words, asking("compatible", tool_choice=NamedToolChoice("read")))
    assert not isinstance(body.get("tool_choice"), dict)


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#2203")  # fmt: skip
def test_each_schema_has_properties_for_lm_studio() -> None:
    tool = ToolDefinition("list", "", {"type": "object"})
    body = body_of(codec("lmstudio").encode(asking("lmstudio", tools=(tool,)), stream=True))
    assert at(body, "tools.0.function.parameters.properties") == {}


CALLED = (
    user("hi"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")]),
)
ALTERNATE = "conversation roles must alternate user and assistant roles except for tool calls and results."
ROLES: list[Any] = [
    reported("ggml-org/llama.cpp#19851", "llamacpp", 500,
        say(f"\n------------\nWhile executing at line 189\nError: Jinja Exception: After the optional system message, "
            f"{ALTERNATE}", code=500, type="server_error"), (user("a"), user("b")), ["user"]),
    reported("arbs-io/vscode-openai#260", "compatible", 400,
        say("After the (optional) system message(s), user and assistant roles should be alternating.",
            type="invalid_message",
            code=400), (system("s"), user("a"), user("b")), ["user"]),
    reported("raycast/extensions#23957", "compatible", 400,
        say("After the (optional) system message(s), user or tool message(s) should alternate with assistant ones.",
            type="invalid_message", code=400), (*CALLED, user("more")), ["user", "assistant", "tool", "assistant",
                "user"]),
    reported("karakeep-app/karakeep#262", "compatible", 400, say("Last message must have role `user`."),
        (user("a"), assistant("b")), ["user", "assistant", "user"]),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "messages", "roles"), ROLES)
def test_roles_are_sent_as_the_server_wants_them(
    wire: str, status: int, body: Any, messages: Any, roles: list[str]
) -> None:
    found = second(wire, body, Request("m", messages), status)["messages"]
    assert [message["role"] for message in found] == roles


@pytest.mark.report("ggml-org/llama.cpp#17040")  # fmt: skip
def test_llama_cpp_gets_no_thinking_back() -> None:
    response = chat_answer(
        piece(reasoning_content="Hm."), piece(content="ok"), call_piece(0, "a", "read", "{}"), ENDS
    )
    messages = (user("hi"), response.message, tool_results([ToolResultPart("a", "read", "x")]))
    sent = body_of(codec("llamacpp").encode(Request("m", messages), stream=True))["messages"][1]
    assert sent.keys() == {"role", "content", "tool_calls"}


@pytest.mark.report("ggml-org/llama.cpp#27367")  # fmt: skip
def test_no_message_of_the_system_is_in_the_middle() -> None:
    said_before = (user("hi"), Message(Role.DEVELOPER, (TextPart("note"),)), user("more"))
    body = body_of(ANTHROPIC.encode(Request("m", said_before), stream=True))
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert "note" in json.dumps(body["system"])


@pytest.mark.report("diffbot/code-gpt-docs#300")  # fmt: skip
def test_an_output_limit_is_always_sent_to_anthropic() -> None:
    assert body_of(ANTHROPIC.encode(Request("m", (user("hi"),)), stream=True))["max_tokens"] > 0


LIMIT = "you (a) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade"
KINDS: list[Any] = [
    reported("continuedev/continue#11444", "ollama", 429, {"error": LIMIT}, e.QuotaExceededError),
    reported("HomericIntelligence/Scylla#346", "ollama", 429,
        {"error": "you've reached your weekly usage limit, please wait or upgrade to continue"}, e.QuotaExceededError),
    reported("ollama/ollama#15990", "anthropic", 403,
        say("this model requires a subscription, upgrade for access", type="permission_error"),
        e.PermissionDeniedError),
    reported("ollama/ollama#13776", "anthropic", 401, {"error": "unauthorized"}, e.AuthenticationError),
    reported("huggingface/transformers#25220", "compatible", 422,
        {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1553"},
        e.ContextLengthError),
    reported("Wei-Shaw/sub2api#1552", "anthropic", 400, say("upstream stream ended without terminal event",
        type="api_error"),
        e.ServerError),
    reported("huggingface/smolagents#908", "vllm", 500, {"message": "Internal server error"}, e.ServerError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (isinstance(error, kind), error.retryable) == (True, kind.retryable)


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#649")  # fmt: skip
def test_pieces_with_an_empty_name_belong_to_the_call() -> None:
    pieces = [call_piece(0, "a", "read", ""), call_piece(0, "a", "", '{"x":'), call_piece(0, "a", "", " 1}")]
    assert said(chat_answer(*pieces, ENDS)) == ("", [("read", {"x": 1})])


@pytest.mark.report("sugarforever/chat-ollama#695")  # fmt: skip
def test_a_filtered_answer_says_so() -> None:
    response = chat_answer({"choices": [{"delta": {"content": ""}, "finish_reason": "content_filter"}]})
    assert (response.text, response.finish_reason.kind) == ("", "content_filter")


INCOMPLETE: list[Any] = [
    reported("jundot/omlx#2817", "max_output_tokens", "length"),
    reported("BerriAI/litellm#34352", "content_filter", "content_filter"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "kind"), INCOMPLETE)
def test_an_incomplete_answer_says_why(reason: str, kind: str) -> None:
    thinking = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    ends = final(
        "incomplete", incomplete_details={"reason": reason}, usage={"input_tokens": 3, "output_tokens": 9}
    )
    response = response_of(OPENAI, openai_sse(CREATED, added(0, thinking), ends), ASK_RESPONSES)
    assert (response.finish_reason.kind, response.usage.output_tokens) == (kind, 9)


CUT: list[Any] = [
    reported("Wei-Shaw/sub2api#791", sse({"type": "message_stop"})),
    reported("NousResearch/hermes-agent#81025", sse(start(), *HI, begin(1, **USE), add(1, "input_json_delta",
        partial_json='{"a"'))),
]  # fmt: skip


@pytest.mark.parametrize("data", CUT)
def test_a_stream_without_an_answer_is_tried_again(data: bytes) -> None:
    with pytest.raises(e.LlmError) as raised:
        response_of(ANTHROPIC, data, ASK_ANTHROPIC)
    assert raised.value.retryable
