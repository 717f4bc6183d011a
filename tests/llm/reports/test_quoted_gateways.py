"""Reports on errors that gateways quote from other servers, and requests that follow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import assistant, system, user
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import asking, at, second
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import called, has_short_ids, sent
from tests.support.reports import reported

BUSY = 'Invalid response received from deepinfra: {"error":{"message":"Model busy, retry later"}}'
PREDICTION = (
    "Error from provider(sambanova,DeepSeek-V3.1: 500): Something went wrong! Unknown error when running prediction "
    "service."
)
SUSPENDED = (
    '<!DOCTYPE html><html lang="en"><head><title>Service Suspended</title></head><body>This service has been '
    "suspended by "
    "its owner.</body></html>"
)
CONSOLE = (
    "Error from provider (Console Go): Upstream request failed: [invalid_request_error] `input[26]` missing required "
    "field "
    "`arguments`"
)
UNDEFINED = "Object of type Undefined is not JSON serializable"
ERRORS: list[Any] = [
    reported("truefoundry/models#862", "compatible", 429, {"status": "failure", "message": BUSY,
        "error": {"message": BUSY, "type": "APIError", "code": "429"}}, e.RateLimitError, "Model busy"),
    reported("heyhuynhgiabuu/proxypal#189", "compatible", 502, say("unknown provider for model "
        "gemini-claude-sonnet-4-5",
        type="server_error", code="internal_server_error"), e.NotFoundError, "unknown provider"),
    reported("musistudio/claude-code-router#731", "anthropic", 500, say(PREDICTION, type="api_error",
        code="provider_response_error"), e.ServerError, "Something went wrong"),
    reported("OEvortex/llm4free#50", "compatible", 503, SUSPENDED, e.ServerError, "Service Suspended"),
    reported("musistudio/claude-code-router#1485", "compatible", 400, say(CONSOLE), e.InvalidRequestError, "arguments"),
    reported("sgl-project/sglang#20700", "compatible", 500, {"object": "error",
        "message": f"Internal server error: {UNDEFINED}",
        "type": "InternalServerError", "code": 500}, e.InvalidRequestError, "Undefined"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), ERRORS)
def test_quoted_errors_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


def raw(message: str, name: str) -> Any:
    return say(
        "Provider returned error",
        code=400,
        metadata={"raw": json.dumps({"message": message}), "provider_name": name},
    )


@pytest.mark.parametrize("body", [
    reported("linanwx/nagobot#21", raw("messages.7.content.2: Invalid signature in thinking block", "Amazon Bedrock")),
    reported("anomalyco/opencode#4608",
        raw("The encrypted content for item rs_0aa9cdb85cd2 could not be verified.", "OpenAI")),
])  # fmt: skip
def test_earlier_reasoning_is_refused_through_a_broker(body: Any) -> None:
    assert refuses_reasoning(refused("openrouter", 400, body))


@pytest.mark.report("can1357/oh-my-pi#955")
def test_minimax_gets_one_system_message() -> None:
    talk = Request("m", (system("Be brief."), user("a"), system("Be kind."), user("b")))
    body = {"type": "error", "error": {"type": "bad_request_error", "message": "invalid params, invalid chat setting "
        "(2013)",
        "http_code": "400"}, "request_id": "066"}  # fmt: skip
    again = sent("compatible", talk, 400, body)[-1]
    assert [message["role"] for message in again["messages"]].count("system") <= 1


@pytest.mark.report(
    "aws-solutions-library-samples/guidance-for-multi-provider-generative-ai-gateway-on-aws#123"
)
def test_a_conversation_starts_with_the_user_for_bedrock() -> None:
    words = (
        'litellm.BadRequestError: BedrockException - {"message":"A conversation must start with a user message. Try '
        "again "
        'with a conversation that starts with a user message."}\n. Pass in default user message via '
        "`completion(..,user_continue_message=)` or enable `litellm.modify_params=True`."
    )
    talk = Request("m", (assistant("Hello."), user("a")))
    again = sent("compatible", talk, 400, say(words, type=None, param=None, code="400"))[-1]
    assert again["messages"][0]["role"] == "user"


@pytest.mark.report("Alishahryar1/free-claude-code#1548")
def test_a_field_that_gemini_behind_a_proxy_does_not_know_is_left_out() -> None:
    inner = [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "metadata": Cannot find '
        'field.',
        "status": "INVALID_ARGUMENT"}}]  # fmt: skip
    words = (
        "Upstream provider GEMINI returned HTTP 400.\n  Category: invalid_request\n  Mapped message: Invalid request "
        "sent to "
        f"provider.\n\n  Upstream error:\n  {json.dumps(inner)}\n\n  Request ID: req_f105a88f"
    )
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    assert at(second("anthropic", body, asking("anthropic")), "metadata") is None


@pytest.mark.report("open-webui/open-webui#14955")
def test_a_proxy_that_only_says_bad_request_gives_no_reason() -> None:
    body = {"detail": "Ollama: 400, message='Bad Request', url='http://host.docker.internal:11434/api/chat'"}
    assert "reason" in (refused("compatible", 400, body).hint or "")


@pytest.mark.report("lobehub/lobehub#12845")
def test_a_refusal_without_a_body_is_tried_without_optional_fields() -> None:
    again = second("compatible", "", asking("compatible"), 422)
    assert "temperature" not in again


@pytest.mark.report("ggml-org/llama.cpp#11402")
def test_ids_have_nine_letters_for_a_template_of_mistral() -> None:
    words = "Tool call IDs should be alphanumeric strings with length 9! at row 40, column 63"
    again = sent("compatible", called("call_1", "call_2"), 500, say(words, code=500, type="server_error"))[-1]
    assert has_short_ids(again)


# Relatives of the failed reports, made up.
RELATIVES: list[Any] = [
    (500, say("no provider for the model x", type="server_error"), e.NotFoundError),
    (502, say("unknown provider", type="server_error"), e.ServerError),
    (500, say("'dict object' has no attribute 'split'"), e.InvalidRequestError),
    (500, say("'NoneType' object has no attribute 'split'"), e.ServerError),
]


@pytest.mark.parametrize(("status", "body", "kind"), RELATIVES)
def test_relatives_of_quoted_errors_have_their_kind(
    status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    assert type(refused("compatible", status, body)) is kind


@pytest.mark.parametrize(("words", "is_unstated"), [
    ("Proxy: 400, message='Bad Request', url=URL('http://a/b')", True),
    ("400 Client Error: Bad Request for url: http://a/b", True),
    ("Bad Request: url=http://a is not an image", False),
])  # fmt: skip
def test_relatives_of_a_bad_request_with_its_address(words: str, is_unstated: bool) -> None:
    hint = refused("compatible", 400, {"detail": words}).hint or ""
    assert ("does not say what it refuses" in hint) == is_unstated
