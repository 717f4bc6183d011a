"""Reports on overflow, spent credit, counts, refused fields, thinking tags and pieces of calls."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_openai_stream import CREATED, added, done, final
from tests.llm.providers.test_refusals import SAID, asking, at, second
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_counts import counted
from tests.llm.reports.test_error_kinds import check_error, refused
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import body_of
from tests.support.reports import reported

VLLM_LONG = (
    "This model's maximum context length is 196608 tokens. However, you requested 16384 output tokens and your prompt "
    "contains at least 180225 input tokens, for a total of at least 196609 tokens. Please reduce the length of the "
    "input prompt or the number of requested output tokens. (parameter=input_tokens, value=180225)"
)
DATABRICKS = (
    '{"external_model_provider":"x","external_model_error":{"type":"error","error":{"type":"invalid_request_error",'
    '"message":"input length and `max_tokens` exceed context limit: 196758 + 8192 > 200000, decrease one"}}}'
)
GUARDED = (
    'litellm.BadRequestError: BedrockException - {"message":"The model returned the following errors: guardrails: '
    'Extra inputs are not permitted"}. Received Model Group=m\nAvailable Model Group Fallbacks=None'
)
NO_BALANCE = {
    "error": {"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}
}
KINDS: list[Any] = [
    reported("openai/codex#20866", "responses", 400,
        say("Your input exceeds the context window of this model. Please adjust your input and try again.",
            type="invalid_request_error", param="input", code="context_length_exceeded"), e.ContextLengthError),
    reported("0xku/kon#91", "vllm", 400, say(VLLM_LONG, type="BadRequestError", param="input_tokens", code=400),
        e.ContextLengthError),
    reported("proma-ai/Proma#1045", "anthropic", 400,
        say("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202752]。"),
        e.ContextLengthError),
    reported("anthropics/claude-code#8017", "anthropic", 400,
        say("`input_length and max_tokens exceed context limit: 199211+20000 > 2000000, decrease them`"),
        e.ContextLengthError),
    reported("anthropics/claude-code#28712", "anthropic", 400, say("The model has reached its context window limit."),
        e.ContextLengthError),
    reported("aaif-goose/goose#3635", "compatible", 400, {"error_code": "BAD_REQUEST", "message": DATABRICKS},
        e.ContextLengthError),
    reported("MoonshotAI/kimi-code#476", "moonshot", 400, say("total message size 10176584 exceeds limit 2097152"),
        e.ContextLengthError),
    reported("kortix-ai/suna#6368", "openrouter", 400,
        say("This endpoint's maximum context length is 1050000 tokens. However, you requested about 1200000 tokens.",
            code=400), e.ContextLengthError),
    reported("openclaw/openclaw#119596", "compatible", 413, "", e.RequestTooLargeError),
    reported("continuedev/continue#9853", "deepseek", 402, say("Insufficient Balance", type="unknown_error"),
        e.QuotaExceededError),
    reported("2389-research/tracker#547", "compatible", 429, say("You exceeded it.", code="insufficient_quota"),
        e.QuotaExceededError),
    reported("UKGovernmentBEIS/inspect_ai#5340", "responses", 429,
        say("You have no credits remaining.", type="insufficient_quota", code="credit_balance_exhausted"),
        e.QuotaExceededError),
    reported("can1357/oh-my-pi#3102", "compatible", 401,
        say("Insufficient balance. Manage your billing here: https://x"),
        e.QuotaExceededError),
    reported("experientiallabs/experiential#958", "zai", 429, NO_BALANCE, e.QuotaExceededError),
    reported("adolfousier/opencrabs#1254", "compatible", 429, NO_BALANCE, e.QuotaExceededError),
    reported("anomalyco/opencode#50601", "compatible", 400, "", e.InvalidRequestError),
    reported("BerriAI/litellm#13825", "compatible", 400, say(GUARDED, type=None, param=None, code="400"),
        e.InvalidRequestError),
    reported("anthropics/claude-code#82539", "anthropic", 400, say("diagnostics: Extra inputs are not permitted"),
        e.InvalidRequestError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


FORBIDDEN = "For further information visit https://errors.pydantic.dev/2.7/v/extra_forbidden"
LEFT_OUT: list[Any] = [
    reported("mike-nott/mcp-assist#21", "vllm",
        {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice', "code": 400}, "tools"),
    reported("runpod-workers/worker-vllm#85", "compatible",
        {"object": "error", "code": 400, "param": None, "type": "BadRequestError",
            "message": "2 validation errors for ChatCompletionRequest\ntool_choice\n  Extra inputs are not permitted "
            f"[type=extra_forbidden, input_value='auto', input_type=str]\n    {FORBIDDEN}\ntools\n  Extra inputs are "
            "not permitted [type=extra_forbidden, input_value=[], input_type=list]"}, "tools"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, body: Any, path: str) -> None:
    assert at(second(wire, body, asking(wire)), path) is None


ROOM: list[Any] = [
    reported("MoonshotAI/kimi-code#476",
        "This endpoint's maximum context length is 262144 tokens. However, you requested about 264896 tokens (52139 "
        "of text input, 12757 of tool input, 200000 in the output). Please reduce the length of either one.", 200_000),
    reported("0xku/kon#91", VLLM_LONG, 16_384),
]  # fmt: skip


@pytest.mark.parametrize(("words", "wanted"), ROOM)
def test_the_output_has_the_room_that_is_left(words: str, wanted: int) -> None:
    request = asking("openrouter", max_output_tokens=wanted)
    sent = second("openrouter", say(words, code=400), request)
    assert 0 < (sent.get("max_tokens") or sent.get("max_completion_tokens")) < wanted


COUNTS: list[Any] = [
    reported("api7/aisix#712", {}, {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 5},
        (150, 50, 5)),
    reported("BerriAI/litellm#41406",
        {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        {"input_tokens": 11, "output_tokens": 5}, (11, 0, 5)),
    reported("envoyproxy/ai-gateway#2290", {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 4522, "cache_creation_input_tokens": 4511, "output_tokens": 5}, (9033, 0, 5)),
    reported("raine/claude-code-proxy#86", {"input_tokens": 11, "output_tokens": 0},
        {"input_tokens": 12, "output_tokens": 7}, (12, 0, 7)),
    reported("router-for-me/CLIProxyAPI#1700", {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 10, "output_tokens": 17}, (10, 0, 17)),
    reported("anthropics/anthropic-sdk-csharp#74",
        {"input_tokens": 3, "cache_read_input_tokens": 1000, "output_tokens": 1},
        {"input_tokens": 3, "cache_read_input_tokens": 1000, "output_tokens": 9}, (1003, 1000, 9)),
    reported("ollama/ollama#13934", {"input_tokens": 74, "output_tokens": 0}, {"output_tokens": 62}, (74, 0, 62)),
]  # fmt: skip


@pytest.mark.parametrize(("started", "ended", "expected"), COUNTS)
def test_tokens_are_counted_once(started: Any, ended: Any, expected: tuple[int, int, int]) -> None:
    usage = counted(started, ended)
    assert (usage.input_tokens, usage.cache_read_tokens or 0, usage.output_tokens) == expected


STOPS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
STREAMS: list[Any] = [
    reported("LibreChat-AI/agents#40",
        [*(piece(content=text) for text in ("<", "thinking", ">", " hm", " ", "</", "thinking", ">", " 42")), STOPS],
        ("42", []), "hm"),
    reported("earendil-works/pi#303", [piece(content="<thinking>hm</thinking>\n\nHi"), STOPS], ("Hi", []), "hm"),
    reported("ephraimduncan/opencode-cursor#12", [piece(content="<think_intent>hm</think_intent>Hi"), STOPS],
        ("Hi", []), "hm"),
    reported("nbramia/LifeOS#568", [piece(content="Use `<think>draft</think>` as the example tag."), STOPS],
        ("Use `<think>draft</think>` as the example tag.", []), ""),
    reported("ogx-ai/ogx#5462",
        [call_piece(0, "c", "read", None), call_piece(0, None, None, '{"p": '), call_piece(0, None, None, '"B"}'),
            CALLS],
        ("", [("read", {"p": "B"})]), ""),
    reported("langchain-ai/langchain#38682",
        [call_piece(0, "c", "read", ""), call_piece(0, None, None, '{"loc'), call_piece(0, None, None, '": 1}'), CALLS],
        ("", [("read", {"loc": 1})]), ""),
    reported("open-webui/open-webui#22189", [call_piece(0, "c", "get_time", ""), CALLS], ("", [("get_time", {})]), ""),
    reported("vllm-project/vllm#6432", [piece(content="hi", tool_calls=[]), {"choices": [{"index": 0, "delta":
        {"tool_calls": []}, "finish_reason": "stop"}]}], ("hi", []), ""),
    reported("vllm-project/vllm#13078",
        [piece(role="assistant", content=""),
            *(piece(tool_calls=[{"index": 0, "function": {"name": "read", "arguments": text}}])
                for text in ('{"q": "你', '好"}')), STOPS],
        ("", [("read", {"q": "你好"})]), ""),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "result", "reasoning"), STREAMS)
def test_a_stream_of_chat_completions_is_read(chunks: list[Any], result: Any, reasoning: str) -> None:
    response = chat_answer(*chunks)
    assert (said(response), response.message.reasoning.strip()) == (result, reasoning)


UNOPENED: list[Any] = [
    reported("sgl-project/sglang#36285", ["Let me reconcile it.", "</think>", "The cause is x"]),
    reported("nbramia/LifeOS#568", ["internal", " reasoning</thi", "nk>The cause is x"]),
    reported("QwenLM/qwen-code#6033", ["hm\n", "</think>\n\nThe cause is x"]),
]  # fmt: skip


@pytest.mark.parametrize("texts", UNOPENED)
def test_a_closing_tag_alone_is_not_shown(texts: list[str]) -> None:
    text = chat_answer(*(piece(content=text) for text in texts), STOPS).text
    assert "think>" not in text and text.endswith("The cause is x")


FUNCTION = {"id": "fc", "type": "function_call", "call_id": "c", "name": "f"}
ARGS = "response.function_call_arguments.delta"
RESPONSES: list[Any] = [
    reported("NousResearch/hermes-agent#92764",
        [added(0, {**FUNCTION, "arguments": ""}), {"type": ARGS, "output_index": 0, "item_id": "fc", "delta": '{"c": '},
            {"type": ARGS, "output_index": 0, "item_id": "fc", "delta": '"SF"}'}, final()],
        ("", [("f", {"c": "SF"})])),
    reported("router-for-me/CLIProxyAPI#4742",
        [added(0, {**FUNCTION, "arguments": ""}), done(0, {**FUNCTION, "arguments": '{"c": 1}'}), final()],
        ("", [("f", {"c": 1})])),
    reported("BerriAI/litellm#31332",
        [done(0, {"id": "m", "type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}]}),
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}],
        ("hi", [])),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), RESPONSES)
def test_a_stream_of_responses_is_read(events: list[Any], expected: Any) -> None:
    assert said(responses_answer(CREATED, *events)) == expected


@pytest.mark.report("OpenRouterTeam/openrouter-examples#67")  # fmt: skip
def test_a_malformed_call_is_no_empty_answer() -> None:
    ended = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": "error",
        "native_finish_reason": "MALFORMED_FUNCTION_CALL"}]}  # fmt: skip
    with pytest.raises(e.LlmError) as told:
        response = chat_answer(ended, provider="openrouter")
        assert response.finish_reason.kind not in ("stop", "tool_calls")
        raise e.StreamError("cut")
    assert told.value.retryable


@pytest.mark.report("OpenRouterTeam/ai-sdk-provider#273")  # fmt: skip
@pytest.mark.report("anomalyco/opencode#4832")  # fmt: skip
def test_a_corrupt_signature_is_refused_reasoning() -> None:
    inner = {"error": {"code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"}}
    body = say("Corrupted thought signature.", type="api_error", upstreamStatus=400, upstreamResponse=inner)
    assert refuses_reasoning(refused("openrouter", 400, body))
    assert refuses_reasoning(refused("openrouter", 400, say("Corrupted thought signature.", code=400)))


NO_SIGNATURE = (
    "Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error: {\n  "
    '"error": {\n    "code": 400,\n    "message": "Function call is missing a thought_signature in functionCall '
    'parts.",\n    "status": "INVALID_ARGUMENT"\n  }\n}\n'
)


@pytest.mark.parametrize("status", [
    reported("massgen/MassGen#624", 400),
    reported("LibreChat-AI/agents#37", 400),
    reported("musistudio/claude-code-router#1081", 400),
])  # fmt: skip
def test_calls_without_signatures_get_one_that_is_accepted(status: int) -> None:
    body = say("Provider returned error", code=400, metadata={"raw": NO_SIGNATURE, "provider_name": "G"})
    messages = second("openrouter", body, Request("m", SAID), status)["messages"]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    assert calls[0]["extra_content"]["google"]["thought_signature"]


@pytest.mark.report("langchain-ai/langchain#38682")  # fmt: skip
def test_each_result_follows_its_call() -> None:
    turn = (
        Message(Role.ASSISTANT, (TextPart("ok"), ToolCallPart("a", "read", "{}"))),
        tool_results([ToolResultPart("a", "read", "x")]),
    )
    sent = body_of(codec().encode(Request("m", (user("hi"), *turn)), stream=True))["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]


@pytest.mark.report("odysseus-dev/odysseus#103")  # fmt: skip
def test_messages_have_only_fields_of_the_api() -> None:
    sent = body_of(codec("vllm").encode(asking("vllm"), stream=True))["messages"]
    assert {key for message in sent for key in message} <= {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "name",
    }
    words = (
        f"1 validation error for UserMessage metadata Extra inputs are not permitted [type=extra] {FORBIDDEN}"
    )
    check_error("vllm", 400, say(words), e.InvalidRequestError, "metadata")
