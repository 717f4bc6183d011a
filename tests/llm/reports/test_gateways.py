"""Reports on clouds, gateways and local servers: classes of errors, requests that follow, and streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import (
    DocumentPart,
    Message,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    system,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.refused_streams import demands_stream
from agent_ls.llm.requests import Request, ToolDefinition
from tests.llm.providers.test_anthropic_stream import end, start, text_block
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import ASK, answer, calls_of, codec, say
from tests.llm.reports.forms import TALK, bodies, given
from tests.llm.reports.test_broken_streams import piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_other_wires import answer as anthropic_answer
from tests.llm.reports.test_resent_requests import sent
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import body_of
from tests.support.reports import reported

PAGE_404 = (
    "litellm.NotFoundError: Vertex_aiException - <!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error "
    "404 "
    "(Not Found)!!1</title>\n<style>body{margin:0}</style>\n<p><b>404.</b> <ins>That's an error.</ins>. Received Model "
    "Group=gemini-2.5-flash"
)
WORKER = (
    "<!DOCTYPE html><html><head><title>Worker threw exception | a.example | Cloudflare</title></head><body><h1>Error "
    "1101"
    "</h1></body></html>"
)
ATTEMPTS = {"error": {"message": "All target providers failed.", "target_providers": ["openai"], "attempts": [
    {"provider": "openai", "stage": "upstream_response", "message": "Upstream request failed.", "status": 400,
        "details":
        {"error": {"message": "Error from provider: Provider returned error", "code": 400, "metadata": {"raw":
            '{"message":"invalid request error trace_id: 9ca6","type":"invalid_request_error"}\n', "provider_name":
            "Novita", "is_byok": True}}, "user_id": "u"}}]}}  # fmt: skip
ROW = (
    "Message has tool role, but there was no previous assistant message with a tool call! at row 319, column 120:\n "
    "{%- if last_tool_call.name is none %}\n"
)
TPD = (
    "Rate limit reached for model `a` in organization `o` service tier `on_demand` on tokens per day (TPD): Limit "
    "100000, "
    "Used 97050, Requested 3619. Please try again in 9m38.016s. Need more tokens? Upgrade to Dev Tier today"
)
AZURE = (
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have "
    "exceeded token "
    "rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds."
)
MINIMAX = (
    '{"error":{"message":"[minimax/MiniMax-M3] [400]: {"type":"error","error":{"type":"bad_request_error","message":'
    '"invalid params, invalid tool type: (2013)","http_code":"400"},"request_id":"0"} (reset after 30s)"}}'
)

KINDS: list[Any] = [
    reported("Jazee6/cloudflare-ai-web#49", "compatible", 500, WORKER, e.ServerError, "Worker threw exception"),
    reported("continuedev/continue#10920", "groq", 429, say(TPD, type="tokens", code="rate_limit_exceeded"),
        e.RateLimitError, "TPD"),
    reported("skye-harris/hass_local_openai_llm#18", "compatible", 500, say(ROW, code=500), e.InvalidRequestError,
        "no previous assistant"),
    reported("musistudio/claude-code-router#1558", "compatible", 400, ATTEMPTS, e.InvalidRequestError,
        "invalid request error"),
    reported("BerriAI/litellm#15496", "compatible", 404, say(PAGE_404, code="404"), e.NotFoundError,
        "Error 404 (Not Found)"),
    reported("chatboxai/chatbox#2060", "compatible", 400,
        {"code": 20015, "message": "length of prompt_tokens (68957) must be less than max_seq_len (65536).",
            "data": None},
        e.ContextLengthError, "68957"),
    reported("decolua/9router#2509", "anthropic", 400, MINIMAX, e.InvalidRequestError, "invalid tool type"),
    reported("agent0ai/agent-zero#1754", "responses", 400,
        say("invalid params, tool result's tool id(call_function_1) not found (2013)", code="invalid_prompt"),
        e.InvalidRequestError, "not found (2013)"),
    reported("18F/piipan#2530", "compatible", 429, {"statusCode": 429, "message": "Rate limit is exceeded. Try again "
        "in 7 "
        "seconds."}, e.RateLimitError, "exceeded"),
    reported("alex-wolf-ps/dbchatprov2#2", "compatible", 429, say(AZURE, code="429"), e.RateLimitError, "S0 pricing"),
    reported("lfnovo/open-notebook#470", "compatible", 500,
        say("rpc error: code = Internal desc = request (20652 tokens) exceeds the available context size (8192 "
            "tokens), "
            "try increasing it", code=500, type=""), e.ContextLengthError, "20652"),
    reported("mudler/LocalAI#6441", "compatible", 500,
        say("rpc error: code = InvalidArgument desc = Error: no triggers set for lazy grammar!", code=500, type=""),
        e.InvalidRequestError, "lazy grammar"),
    reported("janhq/jan#8668", "compatible", 400,
        say("This request needed 32,889 tokens, but the model's context window holds only 32,768."),
        e.ContextLengthError, "32,889"),
    reported("cline/cline#396", "compatible", 400, "", e.InvalidRequestError, "400"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    error = refused(wire, status, body)
    assert (type(error), words in str(error), error.retryable, "<" in str(error)) == (
        kind,
        True,
        kind.retryable,
        False,
    )


DELAYS: list[Any] = [
    ("groq", 429, say(TPD, type="tokens", code="rate_limit_exceeded"), 578.016),
    reported("Azure-Samples/graphrag-accelerator#129", "compatible", 429,
        say("Rate limit is exceeded. Try again in 50 seconds.", code="429"), 50),
    ("compatible", 429, say(AZURE, code="429"), 86400),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "delay_s"), DELAYS)
def test_the_delay_of_the_words_is_read(wire: str, status: int, body: Any, delay_s: float) -> None:
    assert refused(wire, status, body).retry_after_s == pytest.approx(delay_s)


FIELDS: list[Any] = [
    reported("NVIDIA/garak#748", "compatible", 422,
        {"type": "urn:inference-service:problem-details:unprocessable-entity", "title": "Unprocessable Entity",
            "status":
            422, "detail": "body -> top_p\n  Extra inputs are not permitted (type=extra_forbidden)\nbody -> "
                "temperature\n"
            "  Extra inputs are not permitted (type=extra_forbidden)", "instance": "/v2/nvcf/a", "requestId": "3"},
        {}, "top_p"),
    reported("diegosouzapw/OmniRoute#848", "openai", 400,
        say("[400]: Validation: Unsupported parameter(s): `prompt_cache_key`"), {"cache_key": "k"}, "prompt_cache_key"),
    reported("dimagi/open-chat-studio#2583", "openai", 400,
        say("The following tools cannot be used with reasoning.effort 'minimal': read.", type="invalid_request_error",
            param="tools", code=None), {"reasoning_effort": "minimal"}, "reasoning.effort"),
    reported("musistudio/claude-code-router#1229", "openrouter", 400,
        say('Error from provider(openrouter,a: 400): {"error":{"message":"Reasoning is mandatory for this endpoint and '
            'cannot be disabled.","code":400,"metadata":{"provider_name":null}}}'), {"reasoning_effort": "none"},
        "reasoning"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "field"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, more: Any, field: str) -> None:
    request = asking(wire, **more)
    assert at(body_of(spoken(wire).encode(request, stream=True)), field) is not None
    again = second(wire, body, request, status)
    assert at(again, field) is None and again["tools"]


@pytest.mark.report("googleapis/python-genai#660")
def test_a_schema_with_too_many_states_is_left_out_in_the_end() -> None:
    words = (
        "The specified schema produces a constraint that has too many states for serving.  Typical causes of this "
        "error "
        "are schemas with lots of text, schemas with long array length limits (especially when nested)"
    )
    sent_ = bodies("gemini", TALK, 400, say(words, code=400, status="INVALID_ARGUMENT"), **JSON)
    assert "responseSchema" in sent_[0]["generationConfig"] and "responseSchema" not in str(sent_[-1])


@pytest.mark.report("laurent22/joplin#16451")
def test_an_effort_that_the_server_sets_itself_is_switched_off_for_tools() -> None:
    words = (
        "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use "
        "function "
        "tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    again = second("compatible", say(words), asking("compatible", reasoning_effort=None))
    assert again["reasoning_effort"] == "none" and again["tools"]


@pytest.mark.report("songquanpeng/one-api#1487")
def test_the_output_is_lowered_to_the_range_of_a_gateway() -> None:
    words = "parameter check failed, max_output_tokens range is [2, 1024] (request id: 2024)"
    assert second("compatible", say(words), asking("compatible"))["max_tokens"] == 1024


@pytest.mark.report("songquanpeng/one-api#625")
def test_messages_alternate_for_ernie() -> None:
    words = "the length of messages must be an odd number (request id: 2023)"
    talk = Request("m", (system("Be brief."), user("hi")))
    first, again = sent("compatible", talk, 400, say(words, type="baidu_error", param="", code=336006))
    assert [it["role"] for it in first["messages"]] == ["system", "user"]
    assert [it["role"] for it in again["messages"]] == ["user"]


@pytest.mark.report("langchain-ai/openwiki#186")
def test_a_file_that_nebius_does_not_take_is_not_sent_again() -> None:
    part = {"type": "file", "mimeType": "application/octet-stream", "data": "LkRT"}
    place = "list[union[ChatCompletionContentPartTextParam,ChatCompletionContentPartImageParam]]"
    problems = [
        {"type": "string_type", "loc": ["body", "messages", 0, "content", "str"],
            "msg": "Input should be a valid string",
            "input": [part]},
        {"type": "missing", "loc": ["body", "messages", 0, "content", place, 0, "text"], "msg": "Field required",
            "input": part},
        {"type": "literal_error", "loc": ["body", "messages", 0, "content", place, 0, "type"], "msg":
            "Input should be 'text'", "input": "file", "ctx": {"expected": "'text'"}},
    ]  # fmt: skip
    message = Message(Role.USER, (TextPart("What is it?"), DocumentPart(b"%PDF-1.4", name="a.pdf")))
    words = f"NebiusException - Error code: 422 - { ({'detail': problems})!r}"
    first, again = sent("compatible", Request("m", (message,)), 400, say(words, code=400))
    assert '"file"' in json.dumps(first) and '"file"' not in json.dumps(again)


@pytest.mark.report("docker/docker-agent#2469")
def test_another_api_is_named_where_vertex_has_no_chat_completions() -> None:
    words = "The deployed model does not support ChatCompletions. endpoint_id: a, deployed_model_id: b"
    assert (
        "anthropic (Messages)"
        in refused("compatible", 400, say(words, code=400, status="FAILED_PRECONDITION")).hint
    )


@pytest.mark.report("MiniMax-AI/MiniMax-M2.5#24")
def test_a_server_that_has_not_implemented_tools_gets_none() -> None:
    assert not second(
        "compatible", say("Failed to fetch tools: Not yet implemented"), asking("compatible")
    ).get("tools")


@pytest.mark.report("onyx-dot-app/onyx#7842")
def test_calls_are_text_where_a_gateway_quotes_that_tools_must_be_defined() -> None:
    words = (
        'litellm.BadRequestError: BedrockException - b\'{"message":"The toolConfig field must be defined when using '
        "toolUse "
        "and toolResult content blocks.\"}'"
    )
    again = second("compatible", say(words), asking("compatible", tools=()))
    assert all(it["role"] != "tool" and "tool_calls" not in it for it in again["messages"])


@pytest.mark.report("egoist/chatwise-releases#1442")
def test_reasoning_that_cerebras_does_not_take_is_not_sent_back() -> None:
    words = "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"
    body = {
        "message": words,
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
    }
    thought = ReasoningPart("hm", Origin("moonshot", "m", {"reasoning_content": "hm"}))
    step = Message(Role.ASSISTANT, (thought, ToolCallPart("c1", "read", "{}")))
    first, again = sent("moonshot", Request("m", (user("hi"), step, given("c1"))), 400, body)
    assert "reasoning_content" in json.dumps(first) and "reasoning_content" not in json.dumps(again)


@pytest.mark.report("microsoft/azure-devops-mcp#145")
def test_gemini_gets_no_numbers_in_enums_of_texts() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "number", "enum": [1, 2, 3]}}}
    request = Request("gemini-3-pro", (user("hi"),), tools=(ToolDefinition("t", "", schema),))
    declared = body_of(spoken("gemini").encode(request, stream=True))["tools"][0]["functionDeclarations"][0]
    assert "parametersJsonSchema" in declared or "enum" not in declared["parameters"]["properties"]["a"]


@pytest.mark.report("BoltAI/BoltAI#141")
def test_a_server_that_demands_a_stream_gets_one() -> None:
    assert demands_stream(refused("compatible", 400, {"error": 'Add "stream": true in the payload'}))


# --- streams

STOPS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
SPOKEN: list[Any] = [
    reported("microsoft/foundry-local#299", [*({"choices": [{"delta": {"role": "assistant", "content": it,
        "tool_calls": []},
        "message": {"role": "assistant", "content": it, "tool_calls": []}, "index": 0}], "IsDelta": False,
            "Successful": True,
        "HttpStatusCode": 0} for it in ("ence", " holds", " its"))], "ence holds its"),
    reported("NVIDIA/NeMo-Agent-Toolkit#818", [*({"choices": [{"index": 0, "delta": None, "message": {"content": it,
        "role":
        None}, "finish_reason": None}]} for it in ("Hello", " there", "!")), STOPS], "Hello there!"),
    reported("BerriAI/litellm#376", [*({"choices": [{"index": 1, "delta": {"content": it}, "finish_reason": "stop"}]}
        for it in ("A", " b", " c"))], "A b c"),
    reported("envoyproxy/ai-gateway#2549", [piece(content="a"), {"choices": [{"index": 0, "delta": {}}]},
        piece(content="b"),
        STOPS], "ab"),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "text"), SPOKEN)
def test_the_text_of_a_stream_is_read_once(chunks: list[Any], text: str) -> None:
    assert answer(*chunks).text == text


CALLS: list[Any] = [
    reported("microsoft/foundry-local#874", [*({"choices": [{"index": 0, "delta": {"content": it, "tool_calls": []}}]}
        for it
        in ("<tool_call>", "\n", '{"name": "get_', 'time", "arguments": {"a"', ": 1}}", "\n</tool_call>")), STOPS],
        [("get_time", '{"a": 1}')]),
    reported("anomalyco/opencode#43328", [
        {"choices": [{"delta": {"role": None, "content": "", "tool_calls": [{"index": 0, "id": "chatcmpl-tool-1",
            "type":
            "function", "function": {"name": "get_time", "arguments": ""}}]}}]},
        *({"choices": [{"delta": {"role": None, "content": "", "tool_calls": [{"index": 0, "id": None, "type": None,
            "function": {"name": None, "arguments": it}}]}}]} for it in ("", '{"a"', ": 1}")), STOPS],
        [("get_time", '{"a": 1}')]),
    reported("raullenchai/Rapid-MLX#444", [*(piece(content=it) for it in ("comment", "ary", " to", "=", "functions",
        ".get_time", " ", "json", '{"', "a", '": 1', "}")), STOPS], [("get_time", '{"a": 1}')]),
    reported("BerriAI/litellm#40040", [
        {"id": "chatcmpl-3", "choices": [{"index": 0, "delta": {"content": ""}}]},
        {"id": "chatcmpl-8", "choices": [{"index": 0, "delta": {"tool_calls": [{"id": "chatcmpl-tool-a", "function":
            {"arguments": "", "name": "get_time"}, "type": "function", "index": 0}]}}]},
        *({"id": f"chatcmpl-{it}", "choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": it,
            "name":
            ""}, "type": "function", "index": 0}]}}]} for it in ('{"a": ', "1}")), STOPS], [("get_time", '{"a": 1}')]),
    reported("letta-ai/letta#2761", [{"choices": [{"index": 0,
        "delta": {"tool_calls": [{"function": {"name": "get_time",
        "arguments": '{"a": 1}'}, "type": "function"}]}, "finish_reason": "tool_calls"}]}], [("get_time", '{"a": 1}')]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CALLS)
def test_the_calls_of_a_stream_are_read(chunks: list[Any], calls: Any) -> None:
    response = answer(*chunks)
    assert (calls_of(response), response.finish_reason.kind) == (calls, "tool_calls")
    assert all(part.id for part in response.tool_calls) and not response.text.strip()


def complete(choice: Any, **more: Any) -> Any:
    body = {"id": "r", "object": "chat.completion", "model": "m", "choices": [choice], **more}
    return codec().decode(ASK, ReplyHead(200), json.dumps(body).encode())


@pytest.mark.report("microsoft/foundry-local#383")
def test_a_complete_answer_may_be_a_delta() -> None:
    choice = {
        "delta": {"role": "assistant", "content": "My name is Qwen."},
        "index": 0,
        "finish_reason": "stop",
    }
    assert complete(choice, IsDelta=False, Successful=True).text == "My name is Qwen."


@pytest.mark.report("theroyallab/tabbyAPI#292")
def test_a_complete_answer_with_calls_may_say_that_it_stops() -> None:
    call = {"id": "tool_id_1", "type": "function", "function": {"name": "list", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call], "tool_calls_json": None}
    response = complete(
        {"index": 0, "finish_reason": "stop", "stop_str": "<function=", "message": message, "logprobs": None}
    )
    assert (calls_of(response), response.finish_reason.kind) == ([("list", "{}")], "tool_calls")


@pytest.mark.report("BerriAI/litellm#9545")
def test_a_stream_of_responses_may_be_its_last_event_only() -> None:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": "Hello", "annotations": []}]}  # fmt: skip
    final = {
        "type": "response.completed",
        "response": {"id": "r", "status": "completed", "model": "m", "output": [item]},
    }
    assert responses_answer(final).text == "Hello"


@pytest.mark.report("farion1231/cc-switch#7396")
def test_a_message_of_anthropic_may_begin_without_content() -> None:
    begun = start()
    begun["message"].pop("content", None)
    assert anthropic_answer(begun, *text_block(0, "Hi"), *end()).text == "Hi"
