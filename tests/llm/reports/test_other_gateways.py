"""Reports on clouds, gateways and local servers with words of their own."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import assistant, system, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.call_names import offered_name
from agent_ls.llm.providers.plain_schemas import with_plain_schemas
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_chat_stream import call, chunk as chat_chunk
from tests.llm.providers.test_refusals import second
from tests.llm.reports.chat import ASK, answer, calls_of, codec, say
from tests.llm.reports.test_broken_streams import call_piece
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import called, sent
from tests.support.reports import reported

HUNYUAN = (
    "messages 中 user（tool） 和 assistant 角色需交替出现 (一问一答)，以 user 提问开始， user（tool）提问结束"
)
RUNNER = (
    "unable to load runner: error waiting for runner to be ready: llama.cpp terminated unexpectedly: llama.cpp exit "
    "status: exit status 0xc0000135."
)
NEEDED = (
    "Token rate limit exceeded. Request requires 900 tokens but only 100 remain. Please wait 42 seconds before "
    "retrying."
)
WRITER = {
    "tpe": "fail.input.generic",
    "errors": [{"description": "Invalid value for 'tool_choice'", "key": "a", "extras": None}],
}
EXPIRED = {
    "message": "Your authentication token has expired. Please try signing in again.",
    "type": "invalid_request_error", "param": None, "code": "token_expired",
}  # fmt: skip
ERRORS: list[Any] = [
    reported("writer/writer-framework#1013", "compatible", 400, WRITER, e.InvalidRequestError,
        "Invalid value for 'tool_choice'"),
    reported("microsoft/vscode#279495", "compatible", 400,
        {"message": "The requested model is not supported.", "code": "model_not_supported", "param": "model"},
            e.NotFoundError, "not supported"),
    reported("kortix-ai/suna#5986", "compatible", 400, {"message": "context length exceeded from messages",
        "code": "upstream_error",
        "upstream_code": 400}, e.ContextLengthError, "from messages"),
    reported("higress-group/higress#3678", "compatible", 400,
        say('json: unknown field "messages" Request id: 0217', code="InvalidParameter", type="BadRequest"),
            e.InvalidRequestError, "messages"),
    reported("docker/model-runner#608", "compatible", 500, RUNNER, e.ServerError, "terminated unexpectedly"),
    reported("acon96/home-llm#308", "compatible", 400, say("the request exceeds the available context size. try "
        "increasing the "
        "context size or enable context shift"), e.ContextLengthError, "context size"),
    reported("XpressAI/xaibo#36", "compatible", 200, {"code": "rate_limit_daily",
        "message": "Error code: 429 - too many"},
        e.RateLimitError, "429"),
    reported("sgl-project/sglang#28175", "compatible", 200, {"error": {"object": "error",
        "message": "The request queue is full.",
        "type": "Service Unavailable", "param": None, "code": 503}}, e.OverloadedError, "queue is full"),
    reported("membrane/api-gateway#2965", "compatible", 429, say(NEEDED, type="rate_limit_error",
        code="token_limit_exceeded"),
        e.RateLimitError, "42 seconds"),
    reported("cocacola-lab/ChatIE#8", "compatible", 401, {"detail": EXPIRED}, e.AuthenticationError, "has expired"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), ERRORS)
def test_late_errors_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


@pytest.mark.report("BerriAI/litellm#5592")
def test_a_refusal_that_only_says_validation_error_has_a_hint() -> None:
    error = refused(
        "compatible", 400, {"message": "The model returned the following errors: Validation Error"}
    )
    assert isinstance(error, e.InvalidRequestError)
    assert error.hint


@pytest.mark.report("machine-theory/lm-council#14")
def test_a_model_without_places_for_images_takes_none() -> None:
    words = (
        "Cannot preprocess image len(combined_imgs) = 1, len(image_ranges) = 0, please provide valid images"
    )
    assert refuses_images(
        refused("compatible", 400, say(words, object="error", type="invalid_request_error"))
    )


@pytest.mark.report("FoundationAgents/OpenManus#894")
def test_roles_alternate_for_hunyuan() -> None:
    talk = Request(
        "m", (system("Be brief."), user("a"), user("b"), assistant("c"), assistant("d"), user("e"))
    )
    again = sent(
        "compatible", talk, 400, say(HUNYUAN, id="3d", type="invalid_request_error", param=None, code="1001")
    )[-1]
    assert [it["role"] for it in again["messages"] if it["role"] != "system"] == ["user", "assistant", "user"]


@pytest.mark.report("NousResearch/hermes-agent#80265")
def test_two_answers_at_the_end_become_one() -> None:
    talk = Request("m", (user("a"), assistant("b"), assistant("c")))
    words = "Cannot have 2 or more assistant messages at the end of the list."
    again = sent("ollama", talk, 400, say(words))[-1]
    roles = [it["role"] for it in again["messages"]]
    assert roles[-2:] != ["assistant", "assistant"]


@pytest.mark.report("IBM/watsonx-ai-samples#87")
def test_a_type_of_a_schema_is_one_word_for_watsonx() -> None:
    words = (
        "Json document validation error: tools[0].function.parameters: at '/properties/a/type': value must be one of "
        "'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"
    )
    body = {
        "errors": [{"code": "json_validation_error", "message": words, "more_info": "https://a/b"}],
        "trace": "f9",
        "status_code": 400,
    }
    schema: Any = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}
    again = second("compatible", body, Request("m", (user("hi"),), tools=(ToolDefinition("t", "", schema),)))
    assert isinstance(again["tools"][0]["function"]["parameters"]["properties"]["a"].get("type", ""), str)


@pytest.mark.report("editor-code-assistant/eca#231")
def test_the_limit_of_the_output_has_the_name_that_mistral_knows() -> None:
    detail = [
        {
            "type": "extra_forbidden",
            "loc": ["body", "max_tokens"],
            "msg": "Extra inputs are not permitted",
            "input": 9,
        }
    ]
    body = {
        "object": "error",
        "message": {"detail": detail},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    first, again = sent("compatible", Request("m", (user("hi"),), max_output_tokens=9), 422, body)
    assert (first["max_tokens"], again.get("max_tokens")) == (9, None)


@pytest.mark.report("vllm-project/vllm#57082")
def test_an_answer_that_the_server_aborts_is_no_good_end() -> None:
    response = answer(chat_chunk({"content": "Half a"}), chat_chunk({}, "abort"))
    assert (response.text, response.finish_reason.kind) == ("Half a", "error")


@pytest.mark.report("Kong/kong#14903")
def test_half_an_answer_is_a_failure_to_try_again() -> None:
    with pytest.raises(e.LlmError) as caught:
        codec().decode(ASK, ReplyHead(200), b"{")
    assert caught.value.retryable


@pytest.mark.report("quarkiverse/quarkus-langchain4j#2569")
def test_arguments_that_are_a_text_of_json_are_read() -> None:
    response = answer(call_piece(0, "c", "read", json.dumps('{\n  "n": 2\n}')), chat_chunk({}, "tool_calls"))
    assert [(name, json.loads(args)) for name, args in calls_of(response)] == [("read", {"n": 2})]


@pytest.mark.parametrize("pieces", [
    reported("vllm-project/vllm#51697", ['{"city": "Seattle",', ' "unit": "c"}', '{"city": "Seattle", "unit": "c"}']),
    reported("vllm-project/vllm#51698", ["{", '{"city": "Seattle", "unit": "c"}']),
])  # fmt: skip
def test_arguments_that_a_parser_sends_twice_are_read_once(pieces: list[str]) -> None:
    first, *others = pieces
    chunks = [call_piece(0, "c", "read", first), *(call_piece(0, None, None, one) for one in others)]
    response = answer(*chunks, chat_chunk({}, "tool_calls"))
    assert [(name, json.loads(args)) for name, args in calls_of(response)] == [
        ("read", {"city": "Seattle", "unit": "c"})
    ]


@pytest.mark.report("vllm-project/vllm#44098")
def test_the_last_piece_of_a_call_may_name_it_again() -> None:
    last = call_piece(0, "c", "read", "1}")
    last["choices"][0]["finish_reason"] = "tool_calls"
    response = answer(call_piece(0, "c", "read", '{"a": '), last)
    assert calls_of(response) == [("read", '{"a": 1}')]


@pytest.mark.report("onnxruntime/mobius#520")
def test_a_name_with_a_part_behind_it_is_that_of_the_tool() -> None:
    response = answer(
        chat_chunk({"tool_calls": [call(0, "c", "read.filePath", '{"filePath": "a"}')["tool_calls"][0]]}),
        chat_chunk({}, "tool_calls"),
    )
    assert [name for name, _ in calls_of(response)] == ["read"]


# Relatives of the failed reports, made up.
RELATIVES: list[Any] = [
    (400, {"errors": [{"description": "Invalid value for 'n'", "key": "b"}]}, e.InvalidRequestError,
        "Invalid value for 'n'"),
    (401, {"error": "invalid_client", "error_description": "The client secret has expired"}, e.AuthenticationError,
        "has expired"),
    (200, {"code": "rate_limited", "message": "Slow down"}, e.RateLimitError, "Slow down"),
    (200, {"error": {"code": "rateLimitExceeded", "message": "Wait"}}, e.RateLimitError, "Wait"),
    (429, say("Your tokens are used up. Please retry after 5 seconds.", code="token_limit_exceeded"), e.RateLimitError,
        "5 seconds"),
    (429, say("The conversation is too long.", code="token_limit_exceeded"), e.ContextLengthError, "too long"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "words"), RELATIVES)
def test_relatives_of_late_errors_have_their_kind(
    status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    error = refused("compatible", status, body)
    assert (type(error), words in str(error)) == (kind, True)


@pytest.mark.parametrize("words", [
    "user 和 assistant 必须交替", "There are two or more user messages in the list.", "roles must be alternating",
])  # fmt: skip
def test_relatives_of_neighbours_are_joined(words: str) -> None:
    made = called("x").messages
    talk = Request(
        "m",
        (user("a"), user("b"), assistant("c"), *made[1:], assistant("d"), assistant("e")),
        tools=ASK.tools,
    )
    again = sent("compatible", talk, 400, say(words))[-1]["messages"]
    roles = [it["role"] for it in again]
    assert not any(one == other and one != "tool" for one, other in itertools.pairwise(roles))
    assert next(it["content"] for it in again if it["role"] == "user") == "a\n\nb"
    assert again[1]["content"].startswith("c")
    assert again[1]["tool_calls"][0]["function"]["name"] == "read"
    assert again[-1]["content"] == "d\n\ne"


@pytest.mark.parametrize(("kinds", "plain"), [
    (["string", "null"], {"type": "string"}),
    (["null"], {"type": "null"}),
    (["string", "array"], {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
])  # fmt: skip
def test_relatives_of_a_list_of_types_are_words(kinds: list[str], plain: Any) -> None:
    part: Any = {"type": kinds, "description": "A", "items": {"type": "string", "minLength": 1}}
    body: Any = with_plain_schemas(
        {"tools": [{"input_schema": {"type": "object", "properties": {"a": part}}}]}
    )
    found = body["tools"][0]["input_schema"]["properties"]["a"]
    wanted = plain if "anyOf" in plain else {**plain, "items": {"type": "string"}}
    assert found == {**wanted, "description": "A"}


@pytest.mark.parametrize(("name", "meant"), [("read/path", "read"), ("a.read", "read"), ("x.y", "x.y")])
def test_relatives_of_a_name_with_another_part(name: str, meant: str) -> None:
    assert offered_name(name, {"read", "list"}) == meant
