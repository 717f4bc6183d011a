"""Reports about answers, errors and lists of model servers, each in its smallest form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.providers.wire_json import parse_object
from agent_ls.llm.requests import Request, Response
from tests.llm.providers.test_anthropic_stream import block, end, sse as anthropic_sse, start, text_block
from tests.llm.providers.test_chat_stream import wire
from tests.llm.providers.test_gemini_stream import STOP as GEMINI_STOP, chunk
from tests.llm.providers.test_openai_stream import CREATED, MESSAGE, added, done, final, sse
from tests.llm.reports.chat import ASK, answer, codec, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC, USE, answer as anthropic_answer
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_counts import STOP
from tests.llm.reports.test_error_kinds import exhausted, rate, refused
from tests.llm.reports.test_gemini import CALL, answer as gemini_answer
from tests.llm.reports.test_odd_answers import ends
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES, BARE, answer as responses_answer
from tests.support.codec_runs import ANTHROPIC, OPENAI, response_of
from tests.support.reports import reported

BOTH = [("read", {"a": 1}), ("list", {"b": 2})]
PARIS = {**BARE, "arguments": '{"city":"Paris"}'}
PARTIAL = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"city":"Par'}


def raw_delta(delta: str) -> str:
    return f'{{"choices":[{{"index":0,"delta":{delta}}}]}}'


def raw_call(arguments: str) -> str:
    return raw_delta(f'{{"tool_calls":[{{"index":0,"function":{{"arguments":{arguments}}}}}]}}')


def raw_answer(*chunks: Any) -> Response:
    texts = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in (*chunks, "[DONE]")]
    return response_of(codec(), "".join(f"data: {text}\n\n" for text in texts).encode(), ASK)


def raw_text(text: str) -> str:
    return raw_delta(f'{{"content":"{text}"}}')


def unended(*piece: Any) -> Any:
    return ends("", **call_piece(0, *piece)["choices"][0]["delta"])


def used(reason: str, *pieces: str) -> Response:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return anthropic_answer(*block(0, USE, *deltas), *end(reason))


ANSWERS: list[Any] = [
    reported("vllm-project/vllm#30866", lambda: answer(piece(role="assistant", content="", reasoning_content=None),
        piece(content=None, reasoning_content=None), piece(content="UB"), STOP), ("UB", [])),
    reported("vllm-project/vllm#31501", lambda: answer(ends("tool_calls", tool_calls=[
        {"index": 0, "id": "a", "function": {"name": "read", "arguments": '{"a": 1}'}},
        {"index": 1, "id": "b", "function": {"name": "list", "arguments": '{"b": 2}'}}])), ("", BOTH)),
    reported("adolfousier/opencrabs#1499", lambda: answer(unended("a", "read", '{"a"'),
        unended(None, None, ": 1}"), ENDS), ("", BOTH[:1])),
    reported("LibreChat-AI/agents#260", lambda: answer(call_piece(0, "a", "read", '{"a"'),
        call_piece(0, "a", None, ": 1}"), call_piece(0, "b", "list", '{"b"'), call_piece(0, "b", None, ": 2}"), ENDS),
        ("", BOTH)),
    reported("openclaw/openclaw#97994", lambda: answer(call_piece(0, "a", "read", ""),
        call_piece(0, None, None, '{"a"'), call_piece(0, None, None, ": 1}")), ("", BOTH[:1])),
    reported("diegosouzapw/OmniRoute#7800", lambda: answer(piece(content="hi")), ("hi", [])),
    reported("elizaOS/eliza#30904", lambda: raw_answer(raw_text(r"a \ud83d"), raw_text(r"\ude00 b"), STOP),
        ("a \U0001f600 b", [])),
    (lambda: raw_answer(call_piece(0, "a", "read", '{"a": "'), raw_call(r'"\ud83d"'), raw_call(r'"\ude00\"}"'), ENDS),
        ("", [("read", {"a": "\U0001f600"})])),
    reported("activeagents/activeagent#299", lambda: used("tool_use", ""), ("", [("f", {})])),
    reported("anomalyco/opencode#44893", lambda: responses_answer(CREATED, added(0, BARE), PARTIAL,
        final(output=[PARIS])), ("", [("f", {"city": "Paris"})])),
    reported("brekkylab/ailoy#334", lambda: gemini_answer(chunk(CALL, finish="STOP")), ("", [("f", {"a": 1})])),
    reported("su-kaka/gcli2api#406", lambda: gemini_answer(chunk(CALL), chunk(CALL), GEMINI_STOP),
        ("", [("f", {"a": 1})] * 2)),
]  # fmt: skip


@pytest.mark.parametrize(("read", "expected"), ANSWERS)
def test_answers_of_servers_are_read(read: Any, expected: Any) -> None:
    response = read()
    assert said(response) == expected
    assert response.finish_reason.kind == ("tool_calls" if expected[1] else "stop")


def overloaded(**more: Any) -> Any:
    return {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, **more}


def event_error(**error: Any) -> Any:
    return {"type": "error", **error}


BROKEN: list[Any] = [
    reported("anomalyco/opencode#39968", codec(), wire(call_piece(0, "a", "read", '{"path": "x'), done=False), ASK,
        e.StreamError),
    reported("unslothai/unsloth#10811", ANTHROPIC, anthropic_sse(start(), *block(0, USE), overloaded()), ASK_ANTHROPIC,
        e.OverloadedError),
    reported("karthink/gptel#1512", ANTHROPIC, anthropic_sse(start(), overloaded(request_id="req_1")), ASK_ANTHROPIC,
        e.OverloadedError),
    reported("openclaw/openclaw#108989", OPENAI, sse(CREATED, added(0, BARE), done(0, PARIS)), ASK_RESPONSES,
        e.StreamError),
    reported("openai/codex#32659", OPENAI, sse(CREATED, added(0, {**BARE, "arguments": ""})), ASK_RESPONSES,
        e.StreamError),
    reported("XiaomiMiMo/MiMo-Code#2083", OPENAI, sse(CREATED, event_error(error={"type": "service_unavailable_error",
        "code": "server_is_overloaded", "message": "Our servers are busy."})), ASK_RESPONSES, e.OverloadedError),
    reported("openai/openai-python#2699", OPENAI, sse(CREATED, event_error(code="too_many_requests",
        message="Rate limit is exceeded. Try again in 26 seconds.", param=None)), ASK_RESPONSES, e.RateLimitError),
]  # fmt: skip


@pytest.mark.parametrize(("spoken", "data", "request_", "kind"), BROKEN)
def test_a_broken_answer_is_asked_for_again(spoken: Codec, data: bytes, request_: Request, kind: Any) -> None:
    with pytest.raises(kind) as caught:
        response_of(spoken, data, request_)
    assert caught.value.retryable


def test_the_output_limit_of_a_response_is_told() -> None:
    cut = final("incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert responses_answer(CREATED, added(0, MESSAGE), done(0, MESSAGE), cut).finish_reason.kind == "length"


@pytest.mark.report("NousResearch/hermes-agent#109324")
def test_malformed_arguments_stay_as_they_are() -> None:
    assert used("tool_use", '{"a": "b', '"c}').tool_calls[0].arguments == '{"a": "b"c}'


@pytest.mark.report("vllm-project/vllm#53270")
def test_arguments_of_a_cut_call_are_not_completed() -> None:
    (call,) = answer(call_piece(0, "a", "read", '{"path": "x", "content": "y'), ENDS).tool_calls
    assert parse_object(call.arguments) is None


@pytest.mark.report("use-brian/use-brian#258")
@pytest.mark.parametrize("reason", ["LANGUAGE", "TOO_MANY_TOOL_CALLS", "A_NEW_ONE"])
def test_an_unknown_end_is_no_complete_answer(reason: str) -> None:
    assert gemini_answer(chunk({"text": "a"}, finish=reason)).finish_reason.kind not in ("stop", "tool_calls")


BLOCKED = "Response content blocked by label 'X'."
FILTERED = {"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter",
    "content_filter_results": {"error": {"code": "content_filter", "message": BLOCKED}}}]}  # fmt: skip
USED_UP = "You exceeded your current quota, please check your plan and billing details."
HELP = [{"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://x"}]}]
FULL = json.dumps(exhausted("Resource has been exhausted (e.g. check quota)."))
SIGNED = {
    "type": "invalid_request_error",
    "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
}
FIELD = {"error": {"code": 400, "message": "Unknown name x", "status": "INVALID_ARGUMENT"}}


def limited(words: str) -> Any:
    return say(f"Rate limit reached for model `m` on {words}", code="rate_limit_exceeded")


def plan(code: str) -> Any:
    return say("This is not in your plan.", code=code)


KINDS: list[Any] = [
    reported("ollama/ollama#18107", "ollama", 500, say("no user query found in messages", type="api_error"),
        e.ContextLengthError, "no user query"),
    ("vllm", 400, say("No user query found in messages."), e.ContextLengthError, ""),
    reported("blogminhquy/javis-os#66", "groq", 429, limited("requests per day (RPD): Limit 14, Used 14, Requested 1."),
        e.QuotaExceededError, "per day"),
    ("groq", 429, limited("requests per minute (RPM): Limit 30, Used 30, Requested 1."), e.RateLimitError, ""),
    ("groq", 429, rate("Limit 12000, Used 8812, Requested 4701."), e.RateLimitError, ""),
    ("groq", 413, rate("Limit 12000, Requested 21446."), e.ContextLengthError, ""),
    reported("tetsuo-ai/agenc-core#2491", "zai", 429, plan("1316"), e.QuotaExceededError, ""),
    ("zai", 429, plan("1311"), e.PermissionDeniedError, ""),
    ("zai", 429, plan("1312"), e.OverloadedError, ""),
    ("anthropic", 429, say("x", type="rate_limit_error", code="1321"), e.QuotaExceededError, ""),
    ("zai", 401, say("Authorization Token is not valid", code="1002"), e.AuthenticationError, ""),
    reported("KenKaiii/gg-framework#5", "compatible", 429, say("Insufficient balance. Please recharge.", code="1113"),
        e.QuotaExceededError, "recharge"),
    reported("zai-org/feedback#789", "anthropic", 429, {"error": {"type": "rate_limit_error", "code": "1113",
        "message": "[1113][Insufficient balance or no resource package.][2026]"}}, e.QuotaExceededError, ""),
    reported("experientiallabs/experiential#967", "compatible", 400, FILTERED, e.ContentFilterError, BLOCKED),
    reported("ding113/claude-code-hub#518", "anthropic", 400, {"error": {"type": "request_fail",
        "upstream_error": {"type": "error", "error": SIGNED}}}, e.InvalidRequestError, "Invalid `signature`"),
    ("compatible", 400, {"error": {"code": 400, "cause": {"errors": [{"detail": "bad tool"}]}}}, e.InvalidRequestError,
        "bad tool"),
    ("responses", 429, {"error": {"innererror": {"message": USED_UP}}}, e.QuotaExceededError, USED_UP),
    ("compatible", 400, {"error": {"type": "x", "inner": {"deep": []}}}, e.InvalidRequestError, ""),
    reported("continuedev/continue#10560", "gemini", 429, say(FULL, code=429, status="Too Many"),
        e.RateLimitError, "Resource has been exhausted"),
    reported("gke-labs/gemini-for-kubernetes-development#1215", "gemini", 429, exhausted(USED_UP, details=HELP),
        e.QuotaExceededError, ""),
    ("gemini", 429, exhausted(f"{USED_UP} Please retry in 8.5s."), e.RateLimitError, ""),
    ("gemini", 429, exhausted(USED_UP, details=[*HELP, {"retryDelay": "8s"}]), e.RateLimitError, ""),
    reported("openclaw/openclaw#78183", "gemini", 400, f"data: {json.dumps(FIELD)}\n\n", e.InvalidRequestError,
        "Unknown name x"),
    reported("openclaw/openclaw#76444", "gemini", 400, "", e.InvalidRequestError, "HTTP 400"),
    reported("earendil-works/pi#401", "anthropic", 413, say("Too large", type="request_too_large"),
        e.RequestTooLargeError, ""),
]  # fmt: skip


@pytest.mark.parametrize(("server", "status", "body", "kind", "words"), KINDS)
def test_refusals_have_their_kind_and_reason(
    server: str, status: int, body: Any, kind: type[e.LlmError], words: str
) -> None:
    error = refused(server, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)
    assert words in str(error)


def counted(*chunks: Any) -> tuple[int, int, int | None, int | None]:
    usage = gemini_answer(*chunks).usage
    return usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens


def gemini_usage(**counts: int) -> Any:
    return {"usageMetadata": {"promptTokenCount": 41, **counts}}


@pytest.mark.report("langchain-ai/langchainjs#11423")
def test_thoughts_are_counted_as_output() -> None:
    told = gemini_usage(candidatesTokenCount=5, thoughtsTokenCount=343, totalTokenCount=389)
    assert counted(chunk({"text": "a"}, finish="STOP", **told)) == (41, 348, 343, None)


@pytest.mark.report("ankit373/hydra#858")
def test_the_last_counts_of_a_stream_are_taken() -> None:
    first, second = gemini_usage(candidatesTokenCount=2), gemini_usage(candidatesTokenCount=64)
    chunks = (chunk({"text": "a"}, **first), chunk({"text": "b"}, **second), GEMINI_STOP)
    assert counted(*chunks)[:2] == (41, 64)


@pytest.mark.report("askui/python-sdk#303")
def test_cached_tokens_are_a_part_of_the_input() -> None:
    told = {"prompt_tokens": 1000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 400}}
    usage = answer(piece(content="a"), STOP, {"choices": [], "usage": told}).usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (1000, 400)


@pytest.mark.report("maximhq/bifrost#5885")
def test_usage_may_be_in_the_last_event_only() -> None:
    begin = {"type": "message_start", "message": {"id": "m", "model": "m", "content": []}}
    last, stopped = end()
    last["usage"] = {"input_tokens": 7, "output_tokens": 3}
    data = anthropic_sse(begin, *text_block(0, "hi"), last, stopped)
    response = response_of(ANTHROPIC, data, ASK_ANTHROPIC)
    assert (response.text, response.usage.total_tokens) == ("hi", 10)


LISTS: list[Any] = [
    reported("doable-team/heyflare#6", {"models": [{"name": "a"}]}, None),
    ({"data": [{"name": "a"}]}, None),
    reported("NousResearch/hermes-agent#81442", {"data": [{"id": "a", "max_context": 524288}]}, 524288),
    reported("NousResearch/hermes-agent#89392", {"data": [{"id": "a", "capabilities": {"contextWindow": 65536}}]},
        65536),
    ({"data": [{"id": "a", "capabilities": {"limits": {"max_context_window_tokens": 64000}}}]}, 64000),
    ({"data": [{"id": "a", "limit": {"context": "262144", "output": 4096}}]}, 262144),
    ({"data": [{"id": "a", "capabilities": ["tools"], "meta": {"n_ctx_train": 9, "n_ctx": 4096}}]}, 4096),
    ({"data": [{"id": "a", "details": {"context_length": True}, "owner": {"context": 5}}]}, None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "window"), LISTS)
def test_listed_models_have_their_window(body: Any, window: int | None) -> None:
    (model,) = codec().decode_models(json.dumps(body).encode())
    assert (model.id, model.context_window_tokens) == ("a", window)


def ollama(request: Request, read_tokens: int, spoken: Any = None) -> Response:
    told = {"choices": [], "usage": {"prompt_tokens": read_tokens, "completion_tokens": 5}}
    return response_of(spoken or codec("ollama"), wire(piece(content="a"), STOP, told), request)


@pytest.mark.report("esengine/DeepSeek-Reasonix#10245")
def test_a_request_that_the_server_has_cut_is_told_once() -> None:
    long, spoken = Request("m", (user("some words " * 3000),)), codec("ollama")
    warned = [ollama(long, 2051, spoken).warnings for _ in range(2)]
    assert "2,051 tokens" in warned[0][0] and not warned[1]
    assert not ollama(long, 7000).warnings  # read as a whole
    assert not ollama(long, 0).warnings  # not reported
    assert not ollama(Request("m", (user("hi"),)), 1).warnings
