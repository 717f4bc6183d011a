"""Bodies with status 200 that are no answer: errors in any form, pages, lines without an end. On every wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.test_end_to_end import Server, ask, connected, every_wire, failure, streamed
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, events_of
from tests.support.loopback import ErrorReply

STREAM = {"content-type": "text/event-stream"}


def event(**fields: Any) -> str:
    return f"data: {json.dumps(fields)}\n\n"


# text of the body, words of the server that are shown, class of the error, and whether the call is tried again
STRAY: dict[str, tuple[str, str, type[e.LlmError], bool]] = {
    "no choices": (
        event(choices=None, error_message="41000 tokens but the limit is 32768"),
        "41000 tokens but the limit",
        e.ContextLengthError,
        False,
    ),
    "object error": (
        event(object="error", message="no such thing", code=400),
        "no such thing",
        e.InvalidRequestError,
        False,
    ),
    "detail": (event(detail="model m does not exist"), "does not exist", e.NotFoundError, False),
    "status in the body": (event(message="slow down", status=429), "slow down", e.RateLimitError, True),
    "base_resp": (
        event(base_resp={"status_code": 1008, "status_msg": "insufficient balance"}),
        "insufficient balance",
        e.QuotaExceededError,
        False,
    ),
    "bare JSON without line end": (
        json.dumps(
            {"error": {"code": 400, "message": "context size exceeded", "type": "invalid_request_error"}}
        ),
        "context size exceeded",
        e.ContextLengthError,
        False,
    ),
    "page of a proxy": (
        "<!DOCTYPE html>\n<html><head><title>Log in to the network</title></head><body>x</body></html>",
        "Log in to the network",
        e.StreamError,
        False,
    ),
    "page of a broken gateway": (
        "<html><head><title>502 Bad Gateway</title></head></html>\n",
        "502 Bad Gateway",
        e.ServerError,
        True,
    ),
    "plain line": ("upstream request timeout", "upstream request timeout", e.ServerError, True),
    "plain data": ("data: Internal Server Error\n\n", "Internal Server Error", e.ServerError, True),
    "errors of Cloudflare": (
        event(success=False, errors=[{"code": 10000, "message": "Authentication error"}]),
        "Authentication error",
        e.AuthenticationError,
        False,
    ),
    "error as text": (event(error="model is overloaded"), "model is overloaded", e.OverloadedError, True),
    "error of AWS": (
        event(
            Output={"__type": "com.amazon.coral.service#UnrecognizedClientException", "message": "bad token"}
        ),
        "bad token",
        e.ProviderError,
        True,
    ),
    "error inside a message": (
        event(
            error={"message": 'upstream said: {"error": {"message": "quota is gone", "code": "402"}} (sorry)'}
        ),
        "quota is gone",
        e.QuotaExceededError,
        False,
    ),
}


@pytest.mark.req("U8", "R1")
@pytest.mark.parametrize(("body", "words", "kind", "retryable"), STRAY.values(), ids=STRAY)
@every_wire
async def test_an_error_in_any_form_inside_status_200_is_shown_in_the_words_of_the_server(
    server: Server, provider: str, body: str, words: str, kind: type[e.LlmError], retryable: bool
) -> None:
    async with connected(server, provider, [ErrorReply(200, body, STREAM)]) as (client, _):
        error = await failure(client, ask(provider))
    assert words in str(error)
    assert (type(error), error.retryable) == (kind, retryable)


@every_wire
async def test_a_stream_without_a_known_event_is_quoted_in_its_error(server: Server, provider: str) -> None:
    body = ": keep-alive\n\n" + event(kind="greeting", hello="I am another service " + "x" * 300)
    async with connected(server, provider, [ErrorReply(200, body, STREAM)]) as (client, _):
        error = await failure(client, ask(provider))
    assert "another service" in str(error)
    assert len(str(error)) < 400


@every_wire
async def test_keep_alives_and_comments_alone_are_an_interrupted_answer(
    server: Server, provider: str
) -> None:
    async with connected(
        server, provider, [ErrorReply(200, ": PROCESSING\n\ndata: null\n\n: x\n\n", STREAM)]
    ) as (
        client,
        _,
    ):
        error = await failure(client, ask(provider))
    assert (type(error), error.retryable) == (e.StreamError, True)
    assert "PROCESSING" not in str(error)


WHOLE = {
    "anthropic": (
        ANTHROPIC,
        (
            'data: {"type":"message_start","message":{"id":"m"}}\n\n'
            'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}\n\n'
            'data: {"type":"content_block_stop","index":0}\n\n'
            'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
            'data: {"type":"message_stop"}'
        ),
    ),
    "openai": (
        OPENAI,
        (
            'data: {"type":"response.output_text.delta","output_index":0,"delta":"Hi"}\n\n'
            'data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}'
        ),
    ),
    "chat": (
        CHAT,
        'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}',
    ),
    "gemini": (
        GEMINI,
        (
            'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n\n'
            'data: {"candidates":[{"finishReason":"STOP"}]}'
        ),
    ),
}


@pytest.mark.parametrize("wire", WHOLE)
def test_a_whole_answer_whose_last_event_has_no_line_end_is_complete(wire: str) -> None:
    codec, data = WHOLE[wire]
    events = events_of(codec, [data.encode()], Request("m", (user("hi"),)))
    assert type(events[-1]).__name__ == "StreamFinish"


@every_wire
async def test_a_whole_json_answer_without_its_content_type_is_read(server: Server, provider: str) -> None:
    bodies: dict[str, Any] = {
        "anthropic": {
            "id": "m",
            "type": "message",
            "content": [{"type": "text", "text": "Hi"}],
            "stop_reason": "end_turn",
        },
        "openai": {
            "id": "r",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
        },
        "openrouter": {"id": "c", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
    }
    reply = ErrorReply(200, "\n " + json.dumps(bodies[provider], indent=1), {"content-type": "text/plain"})
    async with connected(server, provider, [reply]) as (client, _):
        assert (await streamed(client, ask(provider))).text == "Hi"


def test_the_tool_at_a_position_that_an_error_names_is_named() -> None:
    from agent_ls.llm.providers.refused_tools import name_refused_tools
    from agent_ls.llm.requests import ToolDefinition

    tools = [ToolDefinition(f"tool_{n}", "", {"type": "object"}) for n in range(95)]
    for text in (
        "tools[0].function_declarations[93].parameters: bad",
        "tools.93.custom.input_schema: bad",
        "tools[93].x",
    ):
        error = e.InvalidRequestError(text)
        name_refused_tools(error, tools)
        assert "tool_93" in str(error) and "tool_93" in error.hint


def test_an_http_error_with_plain_text_shows_it() -> None:
    error = CHAT.decode_error(Request("m", ()), ReplyHead(503, {}), b"no healthy upstream")
    assert type(error) is e.OverloadedError
    assert "no healthy upstream" in str(error)
