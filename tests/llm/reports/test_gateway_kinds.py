"""Made-up inputs of the kinds of faults that the reports on gateways have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import system, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.providers.test_refusals import FORCED, JSON, asking, at, second
from tests.llm.reports.chat import answer, calls_of, codec, say
from tests.llm.reports.test_broken_streams import piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_framed_answers import END, call, event, read
from tests.llm.reports.test_resent_requests import called, sent

PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>"


def tried(**last: Any) -> Any:
    return say(
        "All providers failed",
        causes=[{"message": "Upstream request failed"}, {"provider": "b", "error": last}],
    )


KINDS: list[Any] = [
    # a template that raises an exception
    ("compatible", 500, say("Unexpected message at row 3, column 7:\n {{- raise_exception('no') }}"),
        e.InvalidRequestError, "row 3"),
    ("lmstudio", 200, {"error": "Error: raise_exception(\"Only user and assistant\")"}, e.InvalidRequestError, "Only"),
    ("compatible", 500, say("the table has a fault at row 3"), e.ServerError, "row 3"),
    # a gateway that lists what others said
    ("compatible", 502, tried(message="You have no credits left", code=402), e.QuotaExceededError, "credits"),
    ("anthropic", 503, tried(message="Rate limit exceeded", status=429), e.RateLimitError, "Rate limit"),
    ("compatible", 400, say("Every model failed", attempts=[{"details": {"message": "prompt is too long"}}]),
        e.ContextLengthError, "too long"),
    ("compatible", 502, say("All providers failed"), e.ServerError, "All providers"),
    # a page within JSON
    ("compatible", 502, say(f"upstream said {PAGE}"), e.ServerError, "502 Bad Gateway"),
    ("anthropic", 404, {"detail": f"Error: {PAGE}"}, e.NotFoundError, "Error: 502"),
    # the code of a filter for another error
    ("responses", 400, say("invalid params, function name is empty", code="invalid_prompt"), e.InvalidRequestError,
        "empty"),
    ("responses", 400, say("Your prompt was flagged for its content", code="invalid_prompt"), e.ContentFilterError,
        "flagged"),
    # a backend that is called by gRPC
    ("compatible", 500, say("rpc error: code = Unimplemented desc = no method"), e.InvalidRequestError, "no method"),
    ("compatible", 500, say("rpc error: code = Unavailable desc = error reading from server: EOF"), e.ServerError,
        "EOF"),
    ("compatible", 500, say("rpc error: code = InvalidArgument desc = prompt is too long: 9000 tokens > 8192"),
        e.ContextLengthError, "too long"),
    # an account that was closed, which no wait opens
    ("compatible", 429, say("This account has been deactivated."), e.PermissionDeniedError, "deactivated"),
    ("anthropic", 429, {"error": {"message": "Your access has been terminated"}}, e.PermissionDeniedError,
        "terminated"),
    ("responses", 429, say("See your mail.", code="account_deactivated"), e.PermissionDeniedError, "mail"),
    ("compatible", 429, say("the connection was terminated after 100 requests"), e.RateLimitError, "terminated"),
    # a key that is missing
    ("compatible", 403, "No authentication token found for this route", e.AuthenticationError, "No authentication"),
    ("compatible", 403, {"message": "missing authentication header sent"}, e.AuthenticationError, "missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "body", "kind", "words"), KINDS)
def test_an_error_of_a_kind_has_its_class(
    name: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    error = refused(name, status, body)
    assert (type(error), words in str(error), "<" in str(error)) == (kind, True, False)


OTHER_API: list[Any] = [
    ("compatible", say("The model does not support ChatCompletions"), "anthropic (Messages)"),
    ("responses", say("a is not available via the Responses API"), "compatible (Chat Completions)"),
    ("anthropic", say("model a is not available on this endpoint"), "openai (Responses)"),
    ("compatible", say("no", code="unsupported_api_for_model"), "openai (Responses)"),
]


@pytest.mark.parametrize(("name", "body", "other"), OTHER_API)
def test_the_other_apis_are_named(name: str, body: Any, other: str) -> None:
    assert other in refused(name, 400, body).hint


FIELDS: list[Any] = [
    ("Reasoning models do not support the temperature parameter", {}, "temperature"),
    ("With thinking, the server cannot accept `tool_choice`", FORCED, "tool_choice"),
    ("Thinking is on: it doesn't allow top_p", {}, "top_p"),
    ("gemma3 does not support thinking", {}, "reasoning_effort"),
    ("one or more parameters specified are not valid. Request id: 02a1", {}, "reasoning_effort"),
    ("invalid params, invalid chat setting (2013)", {}, "reasoning_effort"),
    ("Bad Request (request id: 2024)", {}, "stream_options"),
]


@pytest.mark.parametrize(("words", "more", "field"), FIELDS)
def test_the_field_that_is_refused_is_left_out(words: str, more: Any, field: str) -> None:
    assert at(second("compatible", say(words), asking("compatible", **more)), field) is None


@pytest.mark.parametrize(
    "words", ["body.response_format: Input should be 'text'", "literal_error: response_format"]
)
def test_a_field_that_makes_a_server_fail_is_left_out(words: str) -> None:
    assert at(second("compatible", say(words), asking("compatible", **JSON), 500), "response_format") is None


RANGES = [
    "max_tokens range is [1, 4096] (request id: 9999)",
    "max_tokens must be at most 4096, request_id: 7777",
]


@pytest.mark.parametrize("words", RANGES)
def test_the_id_of_a_request_is_no_limit(words: str) -> None:
    assert second("compatible", say(words), asking("compatible"))["max_tokens"] == 4096


NO_EFFORT = [
    "Set reasoning_effort to 'none' to use tools with this model.",
    "tools and reasoning exclude each other: please set `reasoning_effort` to `none`",
]


@pytest.mark.parametrize("words", NO_EFFORT)
@pytest.mark.parametrize("effort", [None, "high"])
def test_an_effort_is_switched_off_where_the_server_asks_for_it(words: str, effort: str | None) -> None:
    again = second("compatible", say(words), asking("compatible", reasoning_effort=effort))
    assert again["reasoning_effort"] == "none"


UNKNOWN = ["Unknown field: reasoning_content", "messages.1.reasoning_content: Extra inputs are not permitted"]


@pytest.mark.parametrize("words", UNKNOWN)
def test_reasoning_that_a_server_demanded_is_left_out_once_it_does_not_know_it(words: str) -> None:
    speaker, request = codec(), called("c1")
    for refusal in (say("reasoning_content is missing in assistant message"), say(words)):
        speaker.encode(request, stream=True)
        error = speaker.decode_error(request, ReplyHead(400), json.dumps(refusal).encode())
        assert speaker.adapt_encoding(request, error)
    assert b"reasoning_content" not in speaker.encode(request, stream=True).content


TOOLLESS = ["tools: not implemented", "'tools': not supported yet", "Tool calling: not available"]


@pytest.mark.parametrize("words", TOOLLESS)
def test_a_server_without_tools_gets_none(words: str) -> None:
    assert not second("compatible", say(words), asking("compatible")).get("tools")


FRAMES = [
    f"data: {event(content='o')}\ndata: {event(content='k')}\ndata: {END}\ndata: [DONE]\n",
    f"data:{event(content='o')}\ndata:{event(content='k')}\ndata:{END}\n\n",
    f"data: null\ndata: {event(content='ok')}\n\ndata: {END}\n\n",
    f"data:\n {event(content='ok')}\n\ndata:\n {END}\n\n",
]


@pytest.mark.parametrize("data", FRAMES)
def test_events_without_blank_lines_are_read(data: str) -> None:
    response = read(data)
    assert (response.text, response.finish_reason.kind) == ("ok", "stop")


JOINED: list[Any] = [
    ('{"a": 1}\n{"a": 2}', ['{"a": 1}', '{"a": 2}']),
    ('{"a": "}{"}', ['{"a": "}{"}']),
    ('{"a": {"b": 1}}{"a": {}}', ['{"a": {"b": 1}}', '{"a": {}}']),
]


@pytest.mark.parametrize(("arguments", "each"), JOINED)
@pytest.mark.parametrize("index", [0, None])
def test_each_object_of_arguments_is_a_call(arguments: str, each: list[str], index: int | None) -> None:
    chunks = [call("read", arguments, index=index, call_id="c1"), json.loads(END)]
    assert calls_of(answer(*chunks)) == [("read", one) for one in each]


def test_messages_in_place_of_deltas_may_repeat_the_text_so_far() -> None:
    chunks = [
        {"choices": [{"message": {"content": it}, "finish_reason": None}]}
        for it in ("I l", "I look", "I look.")
    ]
    assert answer(*chunks, json.loads(END)).text == "I look."


def test_a_message_after_deltas_repeats_them() -> None:
    whole = {"choices": [{"message": {"content": "I look."}, "finish_reason": "stop"}]}
    assert answer(piece(content="I "), piece(content="look."), whole).text == "I look."


@pytest.mark.parametrize(
    "words", ["the number of messages must be an odd number", "messages must be an odd number"]
)
def test_roles_alternate_where_the_number_of_messages_counts(words: str) -> None:
    talk = Request("m", (system("Be brief."), user("hi"), user("more")))
    assert [it["role"] for it in sent("compatible", talk, 400, say(words))[-1]["messages"]] == ["user"]
