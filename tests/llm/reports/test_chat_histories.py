"""Reports of users about Chat Completions servers: histories that are refused, kinds of errors, odd streams."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ImagePart, Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request, ToolDefinition
from tests.llm.providers.test_chat_stream import call, chunk, wire
from tests.llm.reports.chat import ASK, TOOLS, answer, calls_of, codec, refusal, say
from tests.llm.reports.test_chat_refusals import replayed
from tests.support.codec_runs import body_of, response_of
from tests.support.reports import reported

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 100_000, "pattern": "^[^/]"},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 5000},
    },
    "required": ["path"],
}
LIMITED = (ToolDefinition("read", "", SCHEMA),)


@pytest.mark.report("flagdizero/jenny-android-ai-agent#2", "agentscope-ai/QwenPaw#2732")
@pytest.mark.parametrize(
    "message",
    [
        "Failed to initialize samplers: failed to parse grammar",
        "JSON schema conversion failed: Pattern must start with '^' and end with '$'",
        "Unsupported JSON schema feature: maxLength",
    ],
)
def test_schemas_are_plain_for_a_server_whose_grammar_fails(message: str) -> None:
    sent = replayed(codec("llamacpp"), Request("m", (user("hi"),), tools=LIMITED), 400, say(message))
    assert sent["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path"],
    }


PARALLEL = (
    user("hi"),
    Message(Role.ASSISTANT, tuple(ToolCallPart(f"c{at}", "read", "{}") for at in range(3))),
    tool_results([ToolResultPart(f"c{at}", "read", f"r{at}") for at in range(3)]),
)


@pytest.mark.report("vllm-project/vllm#25108")
def test_parallel_calls_become_single_ones_for_a_template_that_demands_it() -> None:
    error = say("This model only supports single tool-calls at once!")
    sent = replayed(codec("vllm"), Request("m", PARALLEL, tools=TOOLS), 400, error)["messages"]
    assert [len(item.get("tool_calls") or ()) for item in sent] == [0, 1, 0, 1, 0, 1, 0]
    for asked, given in zip(sent[1::2], sent[2::2], strict=True):
        assert asked["tool_calls"][0]["id"] == given["tool_call_id"]


@pytest.mark.report("OpenHands/software-agent-sdk#1314", "devoxx/DevoxxGenieIDEAPlugin#1256")
@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content: Input should be a valid string",
        "Type mismatch of '/messages/0/content', 'array' not in 'string'",
        "messages[1]: invalid type: sequence, expected a string",
    ],
)
def test_contents_are_texts_for_a_server_that_demands_it(message: str) -> None:
    said = Message(Role.USER, (ImagePart(data=b"x", media_type="image/png"),))
    sent = replayed(codec(), Request("m", (user("hi"), said)), 400, say(message))["messages"]
    assert all(isinstance(item["content"], str) for item in sent)


@pytest.mark.report("xorbitsai/xagent#1576", "BerriAI/litellm#26257")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "No endpoints found that support the provided 'tool_choice' value."),
        (
            400,
            "litellm.UnsupportedParamsError: fireworks_ai does not support parameters: ['tool_choice'].",
        ),
        (400, "Thinking may not be enabled when tool_choice forces tool use."),
    ],
)
def test_a_refused_tool_choice_is_left_out(status: int, message: str) -> None:
    request = Request("m", (user("hi"),), tools=TOOLS, tool_choice="required")
    assert "tool_choice" not in replayed(codec("openrouter"), request, status, say(message))


@pytest.mark.report("danny-avila/LibreChat#14375")
@pytest.mark.parametrize(
    "message",
    [
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified.",
    ],
)
def test_old_calls_are_told_as_text_where_a_request_has_no_tools(message: str) -> None:
    sent = replayed(codec(), Request("m", PARALLEL), 400, say(message))["messages"]
    assert all("tool_calls" not in item and item["role"] != "tool" for item in sent)
    assert "r1" in json.dumps(sent)


@pytest.mark.report(
    "OpenHands/software-agent-sdk#2887", "strands-agents/harness-sdk#1696", "pydantic/pydantic-ai#393"
)
def test_the_history_has_valid_arguments_texts_and_all_fields() -> None:
    broken = ToolCallPart("c", "read", '{"a": "He said "x""}')
    said = (user("hi"), Message(Role.ASSISTANT, (broken,)), tool_results([ToolResultPart("c", "read", "x")]))
    _, asked, given = body_of(codec().encode(Request("m", said, tools=TOOLS), stream=True))["messages"]
    assert isinstance(json.loads(asked["tool_calls"][0]["function"]["arguments"]), dict)
    assert "content" in asked and given["content"] == "x"


KINDS: list[Any] = [
    reported("earendil-works/pi#2204", "openrouter", 400,
        {"error": {"message": "Provider returned error", "code": 400}}, e.ServerError, True, id="no reason"),
    reported("NousResearch/hermes-agent#97311", "openrouter", 404,
        {"error": {"message": "Provider returned error", "code": 404}}, e.ServerError, True, id="404 without reason"),
    reported("anomalyco/opencode#11141", "lmstudio", 400,
        {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, e.ContextLengthError, False,
        id="LM Studio"),
    reported("lmstudio-ai/lmstudio-bug-tracker#1620", "lmstudio", 400,
        {"error": "The model has crashed without additional information. (Exit code: 1844)"}, e.ServerError, True,
        id="crash"),
    reported("agentscope-ai/QwenPaw#202", "zai", 429,
        {"error": {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}},
        e.QuotaExceededError, False, id="balance"),
    reported("kaitranntt/ccs#402", "zai", 429,
        {"error": {"code": "1302", "message": "High concurrency usage of this API"}}, e.RateLimitError, True,
        id="concurrency"),
    reported("CommandCodeAI/command-code#785", "compatible", 500,
        {"success": False, "error": {"code": "INTERNAL_SERVER_ERROR", "status": 500, "message": "An unexpected error"}},
        e.ServerError, True, id="own object"),
]  # fmt: skip


RATE_OF_AZURE = {
    "error": {
        "type": "invalid_request_error",
        "message": json.dumps(
            {
                "error": {
                    "code": "RateLimitReached",
                    "message": "Rate limit of 50000 per 60s exceeded for UserByModelByMinute. Please wait 12 seconds.",
                }
            }
        ),
    }
}


@pytest.mark.report("everruns/everruns#3740")
def test_a_rate_of_tokens_is_no_overflow() -> None:
    error = refusal(429, RATE_OF_AZURE)
    assert (type(error), error.retryable) == (e.RateLimitError, True)


@pytest.mark.req("U8")
@pytest.mark.parametrize(("provider", "status", "body", "kind", "again"), KINDS)
def test_refusals_of_servers_have_their_kind(
    provider: str, status: int, body: Any, kind: type[e.LlmError], again: bool
) -> None:
    error = refusal(status, body, provider)
    assert (type(error), error.retryable) == (kind, again)


@pytest.mark.report("charmbracelet/crush#279", "NousResearch/hermes-agent#20154")
@pytest.mark.report("LibreChat-AI/agents#344")
@pytest.mark.parametrize("seen", [False, True])
def test_an_answer_comes_between_results_and_the_next_message(seen: bool) -> None:
    raw = json.dumps(
        {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "code": "3230"}
    )
    error = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    shown = ToolResultPart("c2", "read", "r2", images=(ImagePart(b"x", media_type="image/png"),))
    more = tool_results([*PARALLEL[-1].parts[:-1], shown]) if seen else user("more")  # type: ignore[list-item]
    talk = (*PARALLEL[:-1], more) if seen else (*PARALLEL, more)
    sent = replayed(codec("openrouter"), Request("m", talk, tools=TOOLS), 400, error)
    roles = [item["role"] for item in sent["messages"]]
    assert ("tool", "user") not in itertools.pairwise(roles) and roles[-1] == "user"


NONE: Any = None
STREAMS: list[Any] = [
    reported("ollama/ollama#16212",
        [chunk(call(0, "a", "read", '{"a": 1}')), chunk(call(0, "b", "list", "{}")), chunk(finish="stop")],
        [("read", '{"a": 1}'), ("list", "{}")], id="index 0 and stop"),
    reported("langbot-app/LangBot#2261",
        [chunk(call(0, None, "read", "")), chunk(call(0, None, NONE, '{"a": 1}')), chunk(finish="tool_calls")],
        [("read", '{"a": 1}')], id="no id"),
    pytest.param(
        [
            chunk({"role": None, "content": None, "reasoning_content": None, "tool_calls": None}),
            chunk(call(0, "a", "read", None)),
            chunk(call(None, None, NONE, '{"a": 1}')),
            chunk({"tool_calls": None}, "tool_calls"),
        ],
        [("read", '{"a": 1}')],
        marks=pytest.mark.report("SeraphimSerapis/tool-eval-bench#12"),
        id="null everywhere"
    ),
    pytest.param(
        [
            chunk(call(0, "a", "read", "")),
            chunk(call(0, "", NONE, '{"a": 1}')),
            chunk(call(0, "b", "list", "")),
            chunk(call(0, "", NONE, "{}")),
            chunk(finish="tool_calls"),
        ],
        [("read", '{"a": 1}'), ("list", "{}")],
        marks=pytest.mark.report("InternLM/lmdeploy#3412"),
        id="empty id later"
    ),
    reported("RayBytes/ChatMock#114", [chunk(call(0, "a", "read", "{}"), "tool_calls"), chunk(finish="stop")],
        [("read", "{}")], id="two finish reasons"),
    reported("skye-harris/hass_local_openai_llm#92",
        [chunk(call(0, "a", "read", "{}")), chunk(finish="tool_calls"),
            {**chunk(finish="tool_calls"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}],
        [("read", "{}")], id="two finish reasons of calls"),
    reported("vercel/workflow#1387", [chunk(call(0, "a", "read", "{}"), "unknown")], [("read", "{}")],
        id="unknown finish reason"),
    reported("huggingface/text-generation-inference#2461",
        [{"choices": [], "usage": None, "prompt_annotations": []}, chunk(call(0, "a", "read", {"a": 1}), "stop")],
        [("read", '{"a":1}')], id="object"),
]  # fmt: skip


@pytest.mark.req("U3")
@pytest.mark.parametrize(("chunks", "calls"), STREAMS)
def test_calls_of_odd_streams_run(chunks: list[Any], calls: list[tuple[str, str]]) -> None:
    response = answer(*chunks)
    assert calls_of(response) == calls
    assert response.finish_reason.kind == "tool_calls"


@pytest.mark.report("earendil-works/pi#5964")
@pytest.mark.report("NousResearch/hermes-agent#95404")
@pytest.mark.parametrize("arguments", ["{}", '{"path": "/', ""])
def test_a_call_of_a_stream_that_breaks_off_does_not_run(arguments: str) -> None:
    data = wire(chunk(call(0, "a", "read", arguments))).replace(b"data: [DONE]\n\n", b"")
    with pytest.raises(e.StreamError):
        response_of(codec(), data, ASK)
