"""Reports on plans, limits, roles and fields."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import assistant, system, user
from agent_ls.llm.requests import Request
from tests.llm.providers.test_refusals import asking, at, second, spoken
from tests.llm.reports.chat import answer, say
from tests.llm.reports.test_broken_streams import piece
from tests.llm.reports.test_error_kinds import check_exact_error
from tests.llm.reports.test_resent_requests import called, has_answers, sent
from tests.support.codec_runs import body_of
from tests.support.reports import reported

TERMINATED = (
    "Your access was terminated due to violation of our policies, please check your email for more information. If you "
    "believe this is in error and would like to appeal, please contact us through our help center at help.openai.com."
)
CODING = (
    "Kimi For Coding is currently only available for Coding Agents such as Kimi CLI, Claude Code, Roo Code, Kilo Code, "
    "etc."
)
DENIED = (
    "Access to the chat endpoint is denied. Please ensure you're using the correct credentials. If you believe this "
    "is a "
    "mistake, please log into console.x.ai and update the permissions, or contact support."
)
NGINX = (
    "<html>\n<head><title>403 Forbidden</title></head>\n<body>\n<center><h1>403 Forbidden</h1></center>\n"
    "</body></html>"
)

KINDS: list[Any] = [
    reported("strnad/CrewAI-Studio#58", "compatible", 400,
        say("litellm.BadRequestError: LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You "
            "passed model=a/b"), e.NotFoundError, "NOT provided"),
    reported("continuedev/continue#3881", "compatible", 400,
        {"message": "invalid request: provided raw prompt is invalid, you message must contain valid chat turns."},
        e.InvalidRequestError, "valid chat turns"),
    reported("elastic/elasticsearch#131238", "compatible", 422,
        {"detail": "The provided model is not supported. See the docs for a list of supported models"}, e.NotFoundError,
        "provided model"),
    reported("SAP/ai-sdk-js#1453", "compatible", 400, say("Unused parameters: ['question']", code=400),
        e.InvalidRequestError, "question"),
    reported("danny-avila/LibreChat#2402", "compatible", 400,
        say("Prompt token count of 5677 exceeds max token count of 4095."), e.ContextLengthError, "5677"),
    reported("continuedev/continue#9233", "ollama", 429,
        {"error": "you've reached your hourly usage limit, please wait or upgrade to continue"}, e.QuotaExceededError,
        "hourly"),
    reported("MoonshotAI/kimi-code#413", "moonshot", 403, say(CODING, type="access_terminated_error"),
        e.PermissionDeniedError, "Coding Agents"),
    reported("MoonshotAI/kimi-code#3176", "moonshot", 429,
        say("The engine is currently overloaded, please try again later", type="engine_overloaded_error"),
        e.OverloadedError, "overloaded"),
    reported("QuantumNous/new-api#462", "compatible", 429,
        say(TERMINATED, type="access_terminated", param=None, code="access_terminated"), e.PermissionDeniedError,
        "terminated"),
    reported("QwenLM/qwen-code#1742", "compatible", 429, say("Free allocated quota exceeded.",
        code="insufficient_quota"),
        e.QuotaExceededError, "Free"),
    reported("microsoft/vscode-copilot-release#13468", "compatible", 402, say("You have no quota",
        code="quota_exceeded"),
        e.QuotaExceededError, "no quota"),
    reported("Wei-Shaw/sub2api#4069", "responses", 403,
        {"code": "permission-denied", "error": "You have run out of credits or need a Grok subscription. Add credits "
            "at "
            "https://grok.com/?_s=usage or upgrade at https://grok.com/supergrok."}, e.QuotaExceededError, "run out"),
    reported("lingxiaoyiyu-hub/grok-register-win#4", "responses", 403, {"code": "permission-denied", "error": DENIED},
        e.PermissionDeniedError, "denied"),
    reported("dairoot/Grok-Mirror#28", "compatible", 403, NGINX, e.PermissionDeniedError, "403 Forbidden"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


AZURE = (
    'litellm.BadRequestError: Azure_aiException - {"error":{"code":"Invalid input","message":"{"detail":[{"type":'
    '"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not '
    'permitted","input":true'
    '}]}","status":422}}. Received Model Group=mistral-small-2503'
)
FIELDS: list[Any] = [
    reported("promptfoo/promptfoo#914", "compatible", 400,
        say("Malformed input request:\n#: extraneous key [top_p] is not permitted\n#: extraneous key [stop] is not "
            "permitted, please reformat your input and try again."), "top_p"),
    reported("BerriAI/litellm#11696", "compatible", 400, say(AZURE, code="400"), "stream_options"),
    reported("microsoft/sample-app-aoai-chatGPT#1260", "openai", 400,
        {"error": {"requestid": "b", "code": 400, "message": "Validation error at #/store: Extra inputs are not "
            "permitted"}}, "store"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "field"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, field: str) -> None:
    request = asking(wire)
    assert at(body_of(spoken(wire).encode(request, stream=True)), field) is not None
    again = second(wire, body, request, status)
    assert at(again, field) is None and again["tools"]


@pytest.mark.report("kwaroran/Risuai#453")
def test_each_message_has_a_text_for_cohere() -> None:
    words = "invalid request: all elements in history must have a message."
    assert all(
        it["content"] for it in sent("compatible", called("a"), 400, {"message": words})[-1]["messages"]
    )


@pytest.mark.report("huggingface/chat-ui#1404")
def test_results_and_a_message_are_apart_for_cohere() -> None:
    words = "invalid request: cannot specify both message and tool_results in multistep mode"
    assert has_answers(sent("compatible", called("a"), 400, {"message": words})[-1])


@pytest.mark.report("bieniu/ha-perplexity#117")
def test_roles_alternate_for_perplexity() -> None:
    words = "After the optional system message(s), user or tool message(s) should alternate with assistant message(s)"
    talk = Request("m", (system("Be brief."), user("a"), user("b"), assistant("c"), user("d")))
    again = sent("compatible", talk, 400, say(words, type="invalid_message", code=400))[-1]
    roles = [it["role"] for it in again["messages"] if it["role"] != "system"]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.report("BerriAI/litellm#3918")
def test_a_message_of_the_user_is_the_last_for_perplexity() -> None:
    words = "PerplexityException - Error code: 400 - {'error': {'message': 'Last message must have role `user`.'}}"
    talk = Request("m", (user("a"), assistant("b")))
    assert sent("compatible", talk, 400, say(words))[-1]["messages"][-1]["role"] == "user"


@pytest.mark.report("giuseppe/git-chronicler#3")
def test_a_server_that_was_started_without_templates_gets_no_tools() -> None:
    body = say("tools param requires --jinja flag", code=500, type="server_error")
    assert not second("llamacpp", body, asking("llamacpp"), 500).get("tools")


@pytest.mark.report("n4ze3m/page-assist#614")
def test_an_empty_list_of_calls_beside_text_is_none() -> None:
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    response = answer(piece(content="Hm", tool_calls=[]), piece(content=",", tool_calls=[]), end)
    assert (response.text, response.tool_calls, response.finish_reason.kind) == ("Hm,", (), "stop")
