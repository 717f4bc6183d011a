"""Reports about model servers: ends of answers, thinking that is demanded, items, addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.client import build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, assistant, tool_results, user
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.requests import JsonFormat, Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_anthropic_stream import block, end, sse, start, text_block
from tests.llm.providers.test_gemini_stream import STOP as GEMINI_STOP, chunk
from tests.llm.providers.test_openai_stream import CREATED, added, delta, done, final
from tests.llm.reports.chat import ASK, TOOLS, answer, codec, say
from tests.llm.reports.test_anthropic import USE, answer as anthropic_answer
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_gemini import CALL, answer as gemini_answer
from tests.llm.reports.test_odd_answers import ends
from tests.llm.reports.test_resent_requests import sent
from tests.llm.reports.test_responses import answer as responses_answer
from tests.llm.reports.test_schemas_ids_and_images import on
from tests.llm.test_end_to_end import KEY, streamed
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, body_of, response_of
from tests.support.loopback import AnthropicServer, ChatServer, OpenAIResponsesServer
from tests.support.reports import reported


def stopped(*piece: Any) -> Any:
    return ends("stop", **call_piece(0, *piece)["choices"][0]["delta"])


SAID: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "hi!"}],
}
REFUSED = {**SAID, "content": [{"type": "refusal", "refusal": "I cannot."}]}
BARE = {"id": "", "object": "chat.completion.chunk", "model": "", "choices": []}
COUNTED = {**BARE, "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}
PRINTED = '<tool_call>\n{"name": "read", "arguments": {"a": 1}}\n</tool_call>\n'
UNNAMED = {key: value for key, value in SAID.items() if key != "id"}
ENDINGS: list[Any] = [
    reported("su-kaka/gcli2api#403", lambda: answer(ends("stop", reasoning_content="Hm."), ends("stop", content="a"),
        stopped("c", "read", '{"a"'), stopped(None, None, ": 1}")), ("a", [("read", {"a": 1})]), "tool_calls"),
    reported("sgl-project/sglang#8417", lambda: answer(piece(content="a"), ends("stop", content="b"), ends("stop")),
        ("ab", []), "stop"),
    reported("tetsuo-ai/agenc-core#2111", lambda: anthropic_answer(*text_block(0, "a"),
        *end("model_context_window_exceeded")), ("a", []), "length"),
    (lambda: anthropic_answer(*text_block(0, "a"), *end("pause_turn")), ("a", []), "pause"),
    reported("turnstonelabs/turnstone#912", lambda: anthropic_answer(*end("refusal")), ("", []), "content_filter"),
    reported("inflexa-ai/inflexa#470", lambda: anthropic_answer(*text_block(0, '<invoke name="f">\n<parameter '
        'name="a">1</parameter>\n</invoke>'), *end("tool_use")), ("", [("f", {"a": 1})]), "tool_calls"),
    reported("anthropics/claude-code#20222", lambda: anthropic_answer(
        *block(0, {"type": "thinking", "thinking": "Hm."}),
        {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"}), ("", []), "stop"),
    reported("BerriAI/litellm#34692", lambda: anthropic_answer(*text_block(0, ""), *block(1, USE), *end("end_turn")),
        ("", [("f", {})]), "tool_calls"),
    reported("pipecat-ai/pipecat#5801", lambda: responses_answer(CREATED, added(0, {**SAID, "content": []}),
        delta("refusal", 0, "I can", content_index=0), delta("refusal", 0, "not.", content_index=0),
        done(0, REFUSED), final(output=[REFUSED])), ("I cannot.", []), "content_filter"),
    reported("anomalyco/opencode#42918", lambda: answer(BARE, piece(content="Hel"), BARE, piece(content="lo"),
        ends("stop"), COUNTED, {"choices": [], "cost": "0"}), ("Hello", []), "stop"),
    reported("iflytek/astron-agent#1568", lambda: answer(COUNTED), ("", []), "stop"),
    reported("maximhq/bifrost#597", lambda: answer(piece(content="a"), call_piece(0, None, None, '": 1}'),
        ends("tool_calls")), ("a", []), "stop"),
    reported("waybarrios/vllm-mlx#55", lambda: answer(piece(content=f"Look.\n{PRINTED[:-6]}"),
        piece(content=f"{PRINTED[-6:]}{PRINTED}"), ends("stop")),
        ("Look.\n", [("read", {"a": 1}), ("read", {"a": 1})]), "tool_calls"),
    reported("OpenRouterTeam/ai-sdk-provider#166", lambda: answer(piece(content="I will search"), piece(content="")),
        ("I will search", []), "stop"),
    reported("NousResearch/hermes-agent#45908", lambda: anthropic_answer(*text_block(0, "a"), *text_block(1, "b"),
        *block(4, USE), *end("tool_use")), ("ab", [("f", {})]), "tool_calls"),
    reported("anomalyco/opencode#44500", lambda: response_of(ANTHROPIC, b"event: ping\ndata:\n\n" + sse(start())
        + b"event: ping\n\nevent: ping\ndata: \n\n" + sse(*text_block(0, "a"), *end("end_turn"))), ("a", []), "stop"),
    reported("Wei-Shaw/sub2api#5140", lambda: responses_answer(CREATED, added(0, {**SAID, "content": []}),
        delta("output_text", 0, "hi!"), done(0, {**SAID, "content": [{**SAID["content"][0], "annotations": []}]}),
        final(output=[SAID])), ("hi!", []), "stop"),
    reported("pydantic/pydantic-ai#2097", lambda: gemini_answer(chunk({"text": "Hm.", "thought": True}),
        {"candidates": [{"finishReason": "STOP", "index": 0}]}), ("", []), "stop"),
    reported("CookSleep/gpt_image_playground#103", lambda: responses_answer(CREATED, added(0, {**SAID, "content": []}),
        delta("output_text", 0, "hi!", content_index=0), done(0, SAID), final(output=[UNNAMED])), ("hi!", []), "stop"),
    reported("2389-research/tracker#543", lambda: gemini_answer({"promptFeedback": {"blockReason": "A_NEW_ONE"}}),
        ("", []), "content_filter"),
    reported("Aaalice233/Aaalice_NAI_Launcher#212", lambda: gemini_answer(chunk(CALL), GEMINI_STOP),
        ("", [("f", {"a": 1})]), "tool_calls"),
    reported("maximhq/bifrost#2251", lambda: gemini_answer(chunk({"text": "Hello "}), chunk({"text": "world"}),
        chunk({"text": "Hello world"}, finish="STOP")), ("Hello world", []), "stop"),
    (lambda: gemini_answer(chunk({"text": "no "}), chunk({"text": "no "}, finish="STOP")), ("no no ", []), "stop"),
    (lambda: gemini_answer(chunk({"text": "a"}), chunk({"text": "b"}), chunk({"text": "ab"}, finish="STOP")),
        ("abab", []), "stop"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "expected", "kind"), ENDINGS)
def test_answers_end_as_the_server_means_it(read: Any, expected: Any, kind: str) -> None:
    response = read()
    assert (said(response), response.finish_reason.kind) == (expected, kind)


KINDS: list[Any] = [
    reported("getkimchi/kimchi#652", 400, "bad request: missing Editor-Version header for IDE auth",
        e.InvalidRequestError, "missing Editor-Version"),
    reported("huggingface/text-generation-inference#2749", 200, {"error": "Input validation error: `inputs` must have "
        "less than 1024 tokens. Given: 1500", "error_type": "validation"}, e.ContextLengthError, "1024"),
    reported("anomalyco/opencode#42613", 400, {"title": "One or more validation errors occurred.", "status": 400,
        "type": "https://tools.ietf.org/html/rfc9110#section-15.5.1",
        "errors": {"$": ["JSON was missing required properties including: 'id', 'status'."]}}, e.InvalidRequestError,
        "'id', 'status'"),
    reported("coreply/coreply#19", 401, {"error": "Invalid username or password."}, e.AuthenticationError, "username"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "words"), KINDS)
def test_refusals_have_their_kind(status: int, body: Any, kind: type[e.LlmError], words: str) -> None:
    error = refused("compatible", status, body)
    assert (type(error), error.retryable) == (kind, False)
    assert words in str(error)


FIELD: Any = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
NAMED = JsonFormat({"type": "object", "additionalProperties": False, **FIELD})


@pytest.mark.report("pydantic/pydantic-ai#3062")
def test_strict_is_left_out_for_a_server_that_refuses_it_as_its_own_failure() -> None:
    request = Request("m", (user("hi"),), response_format=NAMED)
    words = "Encountered a server error, please try again. strict=True is not supported for this model."
    first, again = sent("compatible", request, 500, {"message": words, "type": "server_error"})
    assert first["response_format"]["json_schema"].pop("strict") is True
    assert again == first
    unavailable = {"message": "An unexpected error: the strict reasoning backend is unavailable"}
    assert len(sent("compatible", request, 500, unavailable)) == 1


@pytest.mark.report("HKUDS/nanobot#2007")
def test_a_result_without_its_call_is_not_sent() -> None:
    said = (user("hi"), tool_results([ToolResultPart("x", "read", "y")]), user("go"))
    messages = body_of(codec().encode(Request("m", said, tools=TOOLS), stream=True))["messages"]
    assert "tool" not in [message["role"] for message in messages]


ADDRESSES: list[Any] = [
    reported("mlhher/late-cli#72", ChatServer, "compatible", ""),
    reported("nbramia/LifeOS#708", ChatServer, "compatible", "/"),
    reported("dgtlmoon/changedetection.io#4168", ChatServer, "compatible", "/chat/completions"),
    (ChatServer, "compatible", "/chat/completions/"),
    (OpenAIResponsesServer, "openai", "/responses"),
    (AnthropicServer, "anthropic", "/v1"),
    (AnthropicServer, "anthropic", "/v1/messages"),
]  # fmt: skip


@pytest.mark.parametrize(("server", "provider", "suffix"), ADDRESSES)
async def test_an_address_may_end_with_the_path_of_the_endpoint(
    server: Any, provider: str, suffix: str
) -> None:
    with server(["ok"]) as running:
        settings = {provider: ConnectionSettings(base_url=running.base_url + suffix)}
        client = build_client(Credentials({provider: KEY}), settings)
        try:
            response = await streamed(client, Request("m", (user("hi"),), provider=provider))
        finally:
            await client.close()
    assert response.text == "ok"


def asked_again(spoken: Codec, request: Request, words: str) -> Any:
    """Return the body of the request that follows a refusal."""
    spoken.encode(request, stream=True)
    body = json.dumps({"error": {"type": "invalid_request_error", "message": words}}).encode()
    assert spoken.adapt_encoding(request, spoken.decode_error(request, ReplyHead(400), body))  # type: ignore[attr-defined]
    return body_of(spoken.encode(request, stream=True))


THOUGHT = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."})
UNSIGNED = response_of(ANTHROPIC, sse(start(), *THOUGHT, *block(1, USE), *end("tool_use")), ASK).message
FOREIGN = Message(Role.ASSISTANT, (ToolCallPart("toolu_1", "f", "{}"),))
DEMANDS: list[Any] = [
    reported("OpenMinis/OpenMinis#70", UNSIGNED, "Hm.",
        "The `content[].thinking` in the thinking mode must be passed back to the API."),
    reported("VicBilibily/GCMP#26", FOREIGN, "(no text)", "Missing thinking block in the assistant message at 11."),
    reported("borawong/AiMaMi#10", FOREIGN, "(no text)",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 156"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "thinking", "words"), DEMANDS)
def test_thinking_that_a_server_demands_is_sent(message: Message, thinking: str, words: str) -> None:
    request = Request("m", (user("a"), message, tool_results([ToolResultPart("toolu_1", "f", "x")])))
    blocks = asked_again(on("anthropic"), request, words)["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": thinking, "signature": ""}
    assert blocks[1]["type"] == "tool_use"
    plain = body_of(on("anthropic").encode(request, stream=True))["messages"][1]["content"]
    assert [it["type"] for it in plain] == ["tool_use"]


@pytest.mark.report("cortexkit/magic-context#511")
def test_a_message_of_the_user_follows_a_last_answer() -> None:
    words = "This model does not support assistant message prefill. The conversation must end with a user message."
    request = Request("claude-sonnet-5-5", (user("a"), assistant("b")))
    assert asked_again(on("anthropic"), request, words)["messages"][-1]["role"] == "user"


ITEMS: list[Any] = [
    reported("praxis-proxy/ai#444", "Invalid value: 'web_search_call'. Supported values are: 'message', 'reasoning'."),
    reported("envoyproxy/ai-gateway#2586", "malformed request: cannot unmarshal unknown input type: web_search_call"),
    "Unsupported item type 'compaction'",
    reported("can1357/oh-my-pi#977", "Invalid 'input[49].id': 'fc_1w8x'. Expected an ID that begins with 'ctc'."),
]  # fmt: skip


@pytest.mark.parametrize("words", ITEMS)
def test_a_refusal_of_earlier_items_is_recognised(words: str) -> None:
    assert refuses_reasoning(refused("responses", 400, say(words)))


@pytest.mark.parametrize(
    "words", ["Unknown parameter: 'input_type'", "Invalid type for 'input'.", "No tool output"]
)
def test_other_refusals_are_none_of_items(words: str) -> None:
    assert not refuses_reasoning(refused("responses", 400, say(words)))


@pytest.mark.report("kernl-sdk/kernl#60")
@pytest.mark.report("theopenco/llmgateway#2714")
def test_each_call_has_its_result_and_no_item_is_a_reference() -> None:
    request = Request("m", (user("a"), FOREIGN, user("go on")), tools=TOOLS)
    items = body_of(OPENAI.encode(request, stream=True))["input"]
    kinds = [item["type"] for item in items]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


GEMINI_MODEL = "gemini-3-pro-preview"


@pytest.mark.report("FMXExpress/PasClaw#262")
@pytest.mark.report("mozilla-ai/any-llm#1314")
def test_a_conversation_begins_with_the_user_and_results_have_the_name_of_their_call() -> None:
    request = Request(GEMINI_MODEL, (FOREIGN, tool_results([ToolResultPart("toolu_1", "", "x")])))
    contents = body_of(GEMINI.encode(request, stream=True))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert "text" in contents[0]["parts"][0]
    assert contents[2]["parts"][0]["functionResponse"]["name"] == "f"


@pytest.mark.report("RooCodeInc/Roo-Code#10700")
@pytest.mark.report("roboflow/inference#2813")
def test_a_refused_level_of_thinking_is_left_out() -> None:
    request = Request(GEMINI_MODEL, (user("a"),), reasoning_effort="high", temperature=0.0)
    spoken = GeminiCodec(capabilities_lookup("gemini"))
    first = body_of(spoken.encode(request, stream=True))["generationConfig"]
    assert "thinkingLevel" in first["thinkingConfig"] and first["temperature"] == 0
    again = asked_again(spoken, request, "Thinking level is not supported for this model.")
    assert "thinkingLevel" not in json.dumps(again)


@pytest.mark.report("juspay/neurolink#1707")
def test_older_models_get_a_budget() -> None:
    request = Request("gemini-2.5-flash", (user("a"),), reasoning_effort="high")
    config = body_of(GEMINI.encode(request, stream=True))["generationConfig"]["thinkingConfig"]
    assert "thinkingBudget" in config and "thinkingLevel" not in config
