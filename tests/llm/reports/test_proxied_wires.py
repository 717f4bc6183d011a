"""Reports on proxies of the Responses, Anthropic and Gemini APIs, and local servers beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.providers.test_anthropic_stream import end, start, text_block
from tests.llm.providers.test_chat_stream import chunk as chat_chunk
from tests.llm.providers.test_gemini_stream import chunk
from tests.llm.providers.test_openai_custom_tools import ASK as FREE, codec as custom, tools_of
from tests.llm.providers.test_openai_stream import CREATED, added, delta, done, final
from tests.llm.providers.test_refusals import asking, at, second, spoken
from tests.llm.reports.chat import ASK, TOOLS, answer, calls_of, codec, say
from tests.llm.reports.test_anthropic import answer as anthropic_answer
from tests.llm.reports.test_error_kinds import exhausted, refused
from tests.llm.reports.test_gemini import answer as gemini_answer, declared
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import OPENAI, body_of, response_of
from tests.support.reports import reported

INVALID = {"type": "invalid_request_error"}
RATE = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED"}
SPENT = "You have exhausted your capacity on this model. Your quota will reset after"
RAW = (
    '{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.2: `tool_use` ids must '
    'be unique"}}'
)
OVERLOADED = {
    "type": "service_unavailable_error",
    "code": "server_is_overloaded",
    "message": "Our servers are overloaded",
}
BETA = (
    "Unexpected value(s) `interleaved-thinking-2025-04-14` for the `anthropic-beta` header. Please consult our "
    "documentation."
)
ROLE_TOOL = (
    '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceeding message '
    'with "tool_calls".'
)
ERRORS: list[Any] = [
    reported("anthropics/claude-code#14646", "anthropic", 404,
        {"error": {"code": 404, "message": "Requested entity was not found.", "status": "NOT_FOUND"}}, e.NotFoundError),
    reported("pacifio/cersei#20", "anthropic", 400, {"type": "error", "error": {**INVALID, "message": BETA}},
        e.InvalidRequestError),
    reported("musistudio/claude-code-router#593", "compatible", 400,
        say("Provider returned error", code=400, metadata={"raw": RAW, "provider_name": "Google"}),
            e.InvalidRequestError),
    reported("routatic/proxy#171", "anthropic", 400, {"model": "qwen3.7-plus"}, e.InvalidRequestError),
    reported("QwenLM/qwen-code#2360", "compatible", 400, say(ROLE_TOOL), e.InvalidRequestError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), ERRORS)
def test_errors_of_proxies_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


@pytest.mark.report("jlcodes99/cockpit-tools#1651")
def test_an_error_without_its_event_is_that_of_the_stream() -> None:
    with pytest.raises(e.OverloadedError):
        response_of(OPENAI, f"data: {json.dumps({'error': OVERLOADED})}\n\n".encode(), ASK)


@pytest.mark.parametrize(("after", "seconds"), [
    reported("vybestack/llxprt-code#813", "26s", 26.0),
    reported("google-gemini/gemini-cli#22107", "0s", 0.0),
])  # fmt: skip
def test_a_capacity_that_returns_soon_is_a_limit_of_rate(after: str, seconds: float) -> None:
    error = refused("gemini", 429, [exhausted(f"{SPENT} {after}.", details=[RATE])])
    assert (type(error), error.retryable) == (e.RateLimitError, True)
    assert (error.retry_after_s or 0.0) == pytest.approx(seconds, abs=1.0)


LEVELS: list[Any] = [
    reported("google-gemini/gemini-cli#14025", "low",
        "Unable to submit request because thinking_level is not supported by this model.. Learn more: https://a/b"),
    reported("jenslys/opencode-gemini-auth#14", "medium",
        "Unable to submit request because thinking_level MEDIUM is not supported by this model. Learn more: "
        "https://a/b"),
    reported("theJayTea/WritingTools#282", "minimal",
        "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level."),
]  # fmt: skip


@pytest.mark.parametrize(("effort", "words"), LEVELS)
def test_a_level_of_thinking_that_a_model_lacks_is_not_sent_twice(effort: str, words: str) -> None:
    request = asking("gemini", reasoning_effort=effort)
    sent = at(
        body_of(spoken("gemini").encode(request, stream=True)),
        "generationConfig.thinkingConfig.thinkingLevel",
    )
    body = second(
        "gemini", [{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}], request
    )
    assert sent is not None
    assert at(body, "generationConfig.thinkingConfig.thinkingLevel") != sent


FUNCTIONS: list[Any] = [
    reported("Alishahryar1/free-claude-code#859", say("Unsupported Responses tool type: 'custom'", param=None,
        code=None, **INVALID)),
    reported("jasonxu114514/opencode2api#5", say("tools[0] must be a function tool", **INVALID)),
    reported("QuantumNous/new-api#7192", say('Invalid input: expected "function"', param="tools.0.type", code=None,
        **INVALID)),
    reported("coder/aibridge#285", "failed to parse JSON for /v1/responses: unknown tool type"),
]  # fmt: skip


@pytest.mark.parametrize(
    "body", [*FUNCTIONS, say("Each tool must be a function"), say("tools: expected an 'function' tool")]
)
def test_a_tool_with_free_text_becomes_a_function_if_a_server_knows_only_those(body: Any) -> None:
    speaker = custom()
    assert tools_of(FREE, speaker)[0]["type"] == "custom"
    text = body if isinstance(body, str) else json.dumps(body)
    error = speaker.decode_error(FREE, ReplyHead(400), text.encode())
    assert speaker.adapt_encoding(FREE, error)
    assert tools_of(FREE, speaker)[0]["type"] == "function"


@pytest.mark.report("higress-group/higress#4107")
def test_thinking_leaves_room_or_is_left_out() -> None:
    request = asking("anthropic", model="claude-sonnet-4-5", max_output_tokens=8192, messages=(user("hi"),))
    body = second(
        "anthropic", say("`max_tokens` must be greater than `thinking.budget_tokens`.", **INVALID), request
    )
    assert (
        at(body, "thinking.budget_tokens") is None or body["thinking"]["budget_tokens"] < body["max_tokens"]
    )


@pytest.mark.report("themaximalist/llm.js#30")
def test_a_budget_of_thinking_fits_a_small_answer() -> None:
    request = asking("anthropic", model="claude-sonnet-4-5", max_output_tokens=1024)
    body = body_of(spoken("anthropic").encode(request, stream=True))
    budget = at(body, "thinking.budget_tokens")
    assert budget is None or 1024 <= budget < body["max_tokens"]


@pytest.mark.report("NachoSEO/claudegram#12")
def test_calls_of_two_answers_with_one_id_get_their_own() -> None:
    turn = (
        Message(Role.ASSISTANT, (ToolCallPart("t", "read", "{}"),)),
        tool_results([ToolResultPart("t", "read", "x")]),
    )
    request = Request("m", (user("a"), *turn, *turn), tools=TOOLS)
    messages = body_of(spoken("anthropic").encode(request, stream=True))["messages"]
    made = [block["id"] for one in messages for block in one["content"] if block["type"] == "tool_use"]
    given = [
        block["tool_use_id"] for one in messages for block in one["content"] if block["type"] == "tool_result"
    ]
    assert len(set(made)) == 2
    assert made == given


@pytest.mark.report("BrokkAi/bifrost#25")
def test_numbers_are_no_enum_of_gemini() -> None:
    found = declared(schema_version={"type": "integer", "enum": [1], "default": 1})
    values = at(found, "parameters.properties.schema_version.enum") or []
    assert all(isinstance(value, str) for value in values)


@pytest.mark.report("diegosouzapw/OmniRoute#13693")
def test_text_after_the_end_of_its_item_belongs_to_it() -> None:
    item = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "1"}],
    }
    text = {
        "type": "response.output_text.done",
        "item_id": "msg",
        "output_index": 0,
        "content_index": 0,
        "text": "1",
    }
    response = responses_answer(
        CREATED, added(0, {**item, "content": []}), delta("output_text", 0, "1"), text, done(0, item),
        delta("output_text", 0, "\n"), delta("output_text", 0, "2"), final(output=[]),
    )  # fmt: skip
    assert response.text == "1\n2"


@pytest.mark.parametrize(("ended", "rest"), [("1", "1\n2"), ("1\n2", "1\n2"), ("1", "")])
def test_relatives_of_text_after_its_end_are_read_once(ended: str, rest: str) -> None:
    item = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": ended}],
    }
    whole = {**item, "content": [{"type": "output_text", "text": rest}]}
    response = responses_answer(
        CREATED, added(0, {**item, "content": []}), delta("output_text", 0, "1"), done(0, item),
        delta("output_text", 0, "\n2"), final(output=[whole] if rest else []),
    )  # fmt: skip
    assert response.text == "1\n2"


@pytest.mark.report("raullenchai/Rapid-MLX#851")
def test_an_answer_without_output_is_empty() -> None:
    last = {"type": "response.completed", "response": {"id": "r", "status": "completed", "model": "m"}}
    response = responses_answer(CREATED, {"type": "response.in_progress", "response": {"id": "r"}}, last)
    assert (response.text, response.tool_calls, response.finish_reason.kind) == ("", (), "stop")


@pytest.mark.report("BerriAI/litellm#33859")
def test_a_message_that_begins_twice_is_read_once() -> None:
    response = anthropic_answer(start(), *text_block(0, "OK"), *end())
    assert (response.text, response.finish_reason.kind) == ("OK", "stop")


@pytest.mark.report("songquanpeng/one-api#1408")
def test_an_end_in_every_piece_ends_nothing() -> None:
    response = answer(*(chat_chunk({"content": text}, "stop") for text in ("a", "b", "c")))
    assert (response.text, response.finish_reason.kind) == ("abc", "stop")


@pytest.mark.report("MacPaw/OpenAI#283")
def test_pieces_on_lines_of_their_own_are_read() -> None:
    lines = [chat_chunk({"content": "o"}), chat_chunk({"content": "k"}), chat_chunk({}, "stop")]
    response = response_of(codec(), "".join(f"{json.dumps(line)}\n" for line in lines).encode(), ASK)
    assert (response.text, response.finish_reason.kind) == ("ok", "stop")


@pytest.mark.report("waybarrios/vllm-mlx#161")
def test_thoughts_in_tags_beside_calls_are_no_text() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    response = answer(
        chat_chunk({"content": "<think>hm</think>"}),
        chat_chunk({"tool_calls": [call]}),
        chat_chunk({}, "tool_calls"),
    )
    assert (response.text.strip(), response.message.reasoning, calls_of(response)) == (
        "",
        "hm",
        [("read", "{}")],
    )


@pytest.mark.report("vllm-project/vllm#46079")
def test_a_call_within_thoughts_that_do_not_end_is_run() -> None:
    said = 'I read it.\n<tool_call>\n{"name": "read", "arguments": {}}\n</tool_call>'
    response = answer(chat_chunk({"reasoning_content": said}), chat_chunk({}, "stop"))
    assert [name for name, _ in calls_of(response)] == ["read"]


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#1592")
def test_tags_that_thoughts_only_mention_are_no_calls() -> None:
    thought = "Some models use <function=...>, others use <tool_call>."
    response = answer(
        chat_chunk({"reasoning_content": thought}), chat_chunk({"content": "ok"}), chat_chunk({}, "stop")
    )
    assert (response.text, response.message.reasoning, response.tool_calls) == ("ok", thought, ())


@pytest.mark.report("agentjido/req_llm#742")
def test_thoughts_in_a_list_of_content_are_thoughts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response = answer(
        chat_chunk({"content": [thought]}),
        chat_chunk({"content": "ok"}),
        chat_chunk({}, "stop"),
        provider="mistral",
    )
    assert (response.text, response.message.reasoning) == ("ok", "hm")


@pytest.mark.report("BerriAI/litellm#40864")
def test_an_end_for_safety_without_content_is_a_filter() -> None:
    response = gemini_answer({"candidates": [{"finishReason": "IMAGE_SAFETY", "index": 0}]}, chunk())
    assert (response.text, response.finish_reason.kind) == ("", "content_filter")
