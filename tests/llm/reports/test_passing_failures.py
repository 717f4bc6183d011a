"""Reports on failures that pass, fields that servers forbid, and text that comes twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, TextPart, user
from agent_ls.llm.requests import Request
from tests.llm.providers.test_refusals import asking, at, second
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_quoted_overflow import rescued
from tests.llm.reports.test_resent_requests import called, sent
from tests.support.codec_runs import body_of
from tests.support.reports import reported

STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
RETRY = "An error occurred while processing your request. You can retry your request, or contact us."
PASSING: list[Any] = [
    reported("archestra-ai/archestra#6418", "openrouter", 200, say("Upstream error from Chutes: Internal error")),
    reported("intent-hq/intent#3007", "compatible", 200,
        {"apiStatus": "unavailable", "message": "fetch failed (EPIPE: connect EPIPE 34.36.229.120:443)"}),
    reported("Cloudgeni-ai/opengeni#372", "responses", 200, say(RETRY, type="server_error", code="server_error")),
    reported("preloop/preloop#116", "compatible", 500, say("litellm.APIConnectionError: Connection error.")),
    reported("elizaOS/eliza#10122", "cerebras", 400,
        {"message": "Encountered a server error, please try again", "type": "server_error", "param": "", "code": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), PASSING)
def test_a_failure_that_may_pass_is_tried_again(wire: str, status: int, body: Any) -> None:
    error = refused(wire, status, body)
    assert isinstance(error, e.ProviderError)
    assert error.retryable


@pytest.mark.report("vastsa/PI-Desktop#30")
def test_a_refusal_that_a_gateway_calls_a_failure_is_not_tried_again() -> None:
    words = "Error from provider (Console Go): Upstream request failed: [1214] Incorrect role information"
    error = refused("compatible", 400, {"message": words, "type": "server_error", "param": "", "code": None})
    assert (type(error), error.retryable) == (e.InvalidRequestError, False)


TOLD = Request("m", (user("hi"), Message(Role.DEVELOPER, (TextPart("Be brief."),)), user("more")))


@pytest.mark.report("earendil-works/pi#5117")
@pytest.mark.report("earendil-works/pi#6238")
@pytest.mark.parametrize("provider", ["openrouter", "compatible"])
def test_there_is_no_developer(provider: str) -> None:
    messages = body_of(codec(provider).encode(TOLD, stream=True))["messages"]
    assert {message["role"] for message in messages} == {"user", "system"}


@pytest.mark.report("browser-use/jev-ultrafast#37")
def test_reasoning_that_a_server_does_not_know_is_left_out() -> None:
    body = say("Unknown parameter: 'reasoning'.", code="unknown_parameter")
    assert at(second("openrouter", body, asking("openrouter")), "reasoning") is None


@pytest.mark.report("microsoft/copilot-intellij-feedback#1874")
def test_calls_have_only_known_fields() -> None:
    messages = body_of(codec("openrouter").encode(called("a", "b"), stream=True))["messages"]
    keys = {key for message in messages for call in message.get("tool_calls", ()) for key in call}
    assert keys == {"id", "type", "function"}


@pytest.mark.report("langgenius/dify-official-plugins#2350")
def test_reasoning_that_deepseek_misses_is_sent() -> None:
    words = "Missing `reasoning_content` field in the assistant message at message index 4."
    inner = json.dumps(say(words, type="invalid_request_error", param=None, code="invalid_request_error"))
    _, body = sent("compatible", called("a"), 400, say(f"API request failed with status code 400: {inner}"))
    assert all("reasoning_content" in it for it in body["messages"] if it["role"] == "assistant")


@pytest.mark.report("lofcz/LLMTornado#18")
def test_nothing_about_calls_is_sent_without_tools() -> None:
    body = body_of(codec("compatible").encode(Request("m", (user("hi"),)), stream=True))
    assert not {"parallel_tool_calls", "tool_choice", "tools"} & set(body)


def beside(text: str) -> Any:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text, "reasoning_content": ""},
        "message": {"role": None, "content": "", "reasoning_content": ""}}]}  # fmt: skip


def counted(text: str) -> Any:
    return {**piece(content=text), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


LONG = ["The first part of an answer, ", "the second part of it, ", "and the third part of it."]
TEXTS: list[Any] = [
    reported("VicBilibily/GCMP#407", [beside("你好"), beside("！")], "你好！"),
    reported("posit-dev/chatlas#435", [piece(content="a"), piece(content="a"), piece(content=" b")], "aa b"),
    reported("Quorinex/Kiro-Go#138", [piece(content=it) for it in ("666", "666", "666", "6")], "6666666666"),
    reported("QwenLM/qwen-code#3896", [piece(content=it) for it in ("He", "Hello", "Hello world", "Hello world.")],
        "Hello world."),
    reported("memex-lab/dart_agent_core#23", [counted("Hel"), counted("lo")], "Hello"),
    reported("openclaw/openclaw#142888", [*(piece(content=it) for it in LONG), piece(content="".join(LONG)),
        piece(content=" More.")], "".join(LONG) + " More."),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "text"), TEXTS)
def test_a_text_is_shown_once(chunks: list[Any], text: str) -> None:
    assert chat_answer(*chunks, STOP).text == text


PLAIN: list[Any] = [
    (["6", "66", "666"], "666666"),
    (["a", "apple", "s"], "aapples"),
    (["I", "I", "I"], "III"),
    (["Hel", "Hello"], "HelHello"),
    (["Say ", "Say again", "Say again, please", " now"], "Say again, please now"),
    (["你", "你好", "你好，我是", "你好，我是"], "你好，我是"),
]


@pytest.mark.parametrize(("pieces", "text"), PLAIN)
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_only_pieces_that_repeat_the_text_so_far_are_cut(pieces: list[str], text: str, field: str) -> None:
    response = chat_answer(*(piece(**{field: it}) for it in pieces), piece(content="."), STOP)
    assert (response.text, response.reasoning) in ((text + ".", ""), (".", text))


def test_text_that_was_held_back_comes_before_a_call() -> None:
    call = call_piece(0, "c", "read", "{}")
    response = chat_answer(piece(content="I "), piece(content="I look."), call, STOP)
    assert (response.text, [type(part).__name__ for part in response.message.parts]) == ("I I look.",
        ["TextPart", "ToolCallPart"])  # fmt: skip


CODES: list[Any] = [
    (400, "Upstream request failed: [1301] The input is sensitive", e.ContentFilterError),
    (400, "[1113][Insufficient balance]", e.QuotaExceededError),
    (500, "Error from provider: [1261] Prompt exceeds max length", e.ContextLengthError),
    (529, "[1305][The service may be temporarily overloaded]", e.OverloadedError),
    (400, "messages[1214] has no content", e.ServerError),
]


@pytest.mark.parametrize(("status", "words", "kind"), CODES)
def test_a_code_in_brackets_is_read(status: int, words: str, kind: type[e.ProviderError]) -> None:
    assert (
        type(refused("compatible", status, say(words, type="server_error" if status < 529 else ""))) is kind
    )


@pytest.mark.report("tashfeenahmed/freellmapi#291")
def test_a_call_in_the_error_is_used() -> None:
    assert said(rescued('<function=read={"path": "a.txt"}</function>')) == ("", [("read", {"path": "a.txt"})])


BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."


@pytest.mark.report("JohnnyZ93/oai-compatible-copilot#202")
def test_reasoning_that_deepseek_wants_back_is_sent() -> None:
    body = say(BACK, type="invalid_request_error", param=None, code="invalid_request_error")
    _, again = sent("compatible", called("a"), 400, body)
    assert all("reasoning_content" in it for it in again["messages"] if it["role"] == "assistant")
