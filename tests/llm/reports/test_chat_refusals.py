"""Requests that Chat Completions servers refused in reports, and what is sent instead."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.reports.chat import TOOLS, codec, refusal, say
from tests.support.codec_runs import body_of
from tests.support.reports import reported


def replayed(spoken: ChatCodec, request: Request, status: int, body: Any) -> dict[str, Any]:
    """Return the body that is sent after the server has refused the first one."""
    spoken.encode(request, stream=True)
    error = spoken.decode_error(request, ReplyHead(status), json.dumps(body).encode())
    assert spoken.adapt_encoding(request, error)
    sent = body_of(spoken.encode(request, stream=True))
    assert [spoken.adapt_encoding(request, error) for _ in range(3)][-1] is False, (
        "it is not sent again for ever"
    )
    return sent


LOOPED = (
    system("Be brief."),
    user("hi"),
    Message(Role.ASSISTANT, (ReasoningPart("hm"), ToolCallPart("functions.read:0", "read", "{}"))),
    tool_results([ToolResultPart("functions.read:0", "read", "x")]),
    user("go on"),
)


@pytest.mark.report("abhigyanpatwari/GitNexus#43", "qwersyk/Newelle#404")
@pytest.mark.parametrize(
    "message",
    [
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
def test_reasoning_is_passed_back_to_a_server_that_demands_it(message: str) -> None:
    sent = replayed(codec(), Request("m", LOOPED, tools=TOOLS), 400, say(message))
    assert all(item["reasoning_content"] for item in sent["messages"] if item["role"] == "assistant")


@pytest.mark.report("mistralai/mistral-vibe#1006", "eclipse-theia/theia#17104")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            500,
            "After the optional system message, conversation roles must alternate user and assistant roles",
        ),
        (400, "System role not supported"),
        (500, "Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
)
def test_roles_alternate_for_a_template_that_demands_it(status: int, message: str) -> None:
    messages = (*LOOPED, user("and more"), assistant("ok"), user("end"))
    sent = replayed(codec(), Request("m", messages, tools=TOOLS), status, say(message))
    roles = [item["role"] for item in sent["messages"]]
    assert "system" not in roles and "Be brief." in sent["messages"][0]["content"]
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert roles[roles.index("tool") + 1] == "assistant"


@pytest.mark.report("liliMozi/openhanako#701", "nesquena/hermes-webui#2297")
@pytest.mark.parametrize(
    "words",
    [
        "Failed to deserialize the JSON body: messages[3]: unknown variant `image_url`, expected `text`",
        "messages.5.content.1.image.source.base64: image exceeds 5 MB maximum",
        "This model does not support image input",
    ],
)
def test_a_refusal_of_images_is_recognised(words: str) -> None:
    assert refuses_images(refusal(400, say(words), "deepseek"))


@pytest.mark.report("cline/cline#8942")
def test_ids_of_calls_fit_the_pattern_that_the_service_demands() -> None:
    raw = json.dumps(
        say(
            "messages.23.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            type="invalid_request_error",
        )
    )
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    sent = replayed(codec("openrouter"), Request("m", LOOPED, tools=TOOLS), 400, body)
    made = [item["tool_calls"][0]["id"] for item in sent["messages"] if item.get("tool_calls")]
    assert [item["tool_call_id"] for item in sent["messages"] if item["role"] == "tool"] == made
    assert ":" not in made[0]


def _limited() -> Request:
    return Request("m", (user("hi"),), max_output_tokens=9, temperature=0.5, reasoning_effort="high")


DROPPED: list[Any] = [
    reported(
        "openai/openai-agents-python#442",
        "compatible",
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "stream_options", "include_usage"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
        },
        "stream_options",
        "",
        id="stream_options",
    ),
    reported(
        "anomalyco/opencode#31156",
        "compatible",
        400,
        say("Unknown field: stream_options"),
        "stream_options",
        "",
        id="unknown field",
    ),
    reported(
        "owndev/Open-WebUI-Functions#136",
        "compatible",
        400,
        say(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        "max_tokens",
        "max_completion_tokens",
        id="max_tokens",
    ),
    pytest.param(
        "compatible",
        400,
        say(
            "Unsupported value: 'temperature' does not support 0.5 with this model. "
            "Only the default (1) value is supported."
        ),
        "temperature",
        "",
        id="temperature",
    ),
    pytest.param(
        "groq", 400, say("property 'reasoning_effort' is unsupported"), "reasoning_effort", "", id="effort"
    ),
    reported(
        "RooCodeInc/Roo-Code#274",
        "compatible",
        400,
        say("Unsupported value: 'stream' does not support true with this model.", param="stream"),
        "stream",
        "",
        id="stream",
    ),
]


@pytest.mark.parametrize(("provider", "status", "body", "gone", "instead"), DROPPED)
def test_an_optional_field_that_is_refused_is_left_out(
    provider: str, status: int, body: Any, gone: str, instead: str
) -> None:
    spoken = codec(provider)
    assert gone in body_of(spoken.encode(_limited(), stream=True))
    sent = replayed(spoken, _limited(), status, body)
    assert gone not in sent
    assert not instead or sent[instead] == 9


def test_a_refused_field_of_the_users_own_options_is_reported() -> None:
    spoken, request = (
        codec(),
        Request("m", (user("hi"),), temperature=1, provider_options={"compatible": {"temperature": 2}}),
    )
    error = spoken.decode_error(
        request, ReplyHead(400), json.dumps(say("Unsupported parameter: 'temperature'")).encode()
    )
    assert not spoken.adapt_encoding(request, error)
