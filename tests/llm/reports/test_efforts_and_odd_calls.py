"""Reports on calls in odd pieces, efforts, and errors of gateways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.providers.test_chat_stream import chunk
from tests.llm.providers.test_refusals import asking, at, second, spoken
from tests.llm.reports.chat import answer, calls_of, say
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import sent
from tests.support.codec_runs import body_of
from tests.support.reports import reported

MODERATED = (
    'data:{"error":{"code":"421","message":"Moderation Block","param":"The request was rejected because it was '
    "considered "
    'high risk","type":"content_filter"}}'
)
NO_ROUTE = (
    "<!DOCTYPE html><html><head><title>Error</title></head><body><pre>Cannot POST /v1/chat/completions</pre></body>"
    "</html>"
)
PUBLISHER = (
    "Publisher model `projects/p/locations/us-west1/publishers/google/models/gemini-3.1-flash-lite` was not found or "
    "your "
    "project does not have access to it"
)
ERRORS: list[Any] = [
    reported("XiaomiMiMo/MiMo-V2-Flash#18", "compatible", 400, MODERATED, e.ContentFilterError, "high risk"),
    reported("mostlygeek/llama-swap#146", "compatible", 503, say("Loading model", code=503, type="unavailable_error"),
        e.ModelLoadingError, "Loading"),
    reported("mostlygeek/llama-swap#853", "compatible", 404, NO_ROUTE, e.NotFoundError, ""),
    reported("GoogleCloudPlatform/generative-ai#3004", "gemini", 404, {"error": {"code": 404, "message": PUBLISHER}},
        e.NotFoundError, "us-west1"),
    reported("Gitlawb/openclaude#1344", "compatible", 404, say("Not found. Use /v1/<provider>/<path>",
        type="not_found", code=None),
        e.NotFoundError, "Use /v1/"),
    reported("Gitlawb/openclaude#1372", "compatible", 401, say("Invalid API key", type="authentication_error",
        code="api_key_invalid"),
        e.AuthenticationError, "Invalid API key"),
    reported("MetaGLM/zhipuai-sdk-python-v4#8", "compatible", 401,
        say("Authorization Token已过期，请重新生成/获取。", code="1003"), e.AuthenticationError, "已过期"),
    reported("microsoft/vscode#259392", "compatible", 400, say("You may not include more than 128 tools in your "
        "request."),
        e.InvalidRequestError, "128 tools"),
    reported("can1357/oh-my-pi#826", "anthropic", 400, "Generate one or more predicted (chat) completions by "
        "VertexGenAI returned "
        "BadRequest. Reason: tools.2.custom.strict: Extra inputs are not permitted", e.InvalidRequestError, "strict"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), ERRORS)
def test_last_errors_have_their_kind(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


def test_a_route_that_is_missing_is_no_missing_model() -> None:
    error = refused("compatible", 404, NO_ROUTE)
    assert "base" in (error.hint or "").lower()


LITERAL = (
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be "
    "'low', "
    "'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}"
)


@pytest.mark.parametrize(("effort", "body", "wanted"), [
    reported("router-for-me/CLIProxyAPI#1572", "xhigh", {"object": "error", "message": LITERAL, "type": "Bad Request",
        "code": 400},
        "high"),
    reported("RooCodeInc/Roo-Code#11001", "medium", say("Invalid combination of reasoning_effort and thinking type: "
        "medium + disabled"),
        None),
])  # fmt: skip
def test_an_effort_that_a_server_refuses_is_not_sent_twice(
    effort: str, body: Any, wanted: str | None
) -> None:
    first, again = sent("compatible", Request("m", (user("hi"),), reasoning_effort=effort), 400, body)
    assert (first["reasoning_effort"], again.get("reasoning_effort")) == (effort, wanted)


def pieces(*calls: dict[str, Any]) -> Any:
    return chunk({"tool_calls": list(calls)})


def of(name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


BOTH = [("read", '{"a": 1}'), ("read", '{"b": 2}')]
PIECES: list[Any] = [
    reported("noho/dayu-agent#57", [[of("read", '{"a": 1}', id="x")], [of("read", '{"b": 2}', id="y")]], BOTH),
    reported("anomalyco/opencode#40969",
        [[of("read", "", id="x", index=0)], [of(None, '{"a": ', id="", index=0)], [of(None, "1}", id="", index=0)]],
            BOTH[:1]),
    reported("NVIDIA-NeMo/Switchyard#785",
        [[of("re", "", id="x", index=0)], [of("ad", "", index=0)], [of(None, '{"a": 1}', index=0)]], BOTH[:1]),
    reported("openai/openai-python#3201", [[of("read", "", id="x", index=0), of(None, '{"a": 1}', index=0)]], BOTH[:1]),
    reported("omnigent-ai/omnigent#28", [[of("read", '{"a": 1}', id="x", index=0), of("read", '{"b": 2}', id="y",
        index=0)]], BOTH),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "calls"), PIECES)
def test_calls_in_odd_pieces_are_read(
    parts: list[list[dict[str, Any]]], calls: list[tuple[str, str]]
) -> None:
    response = answer(*(pieces(*part) for part in parts), chunk({}, "tool_calls"))
    assert calls_of(response) == calls


# Relatives of the failed report, made up: the nearest effort is sent.
NEAREST: list[Any] = [
    ("openai", "reasoning.effort", "xhigh", say("Unsupported value: 'xhigh' is not supported with the 'm' model. "
        "Supported values are: "
        "'low', 'medium', and 'high'.", param="reasoning.effort", code="unsupported_value"), "high"),
    ("anthropic", "output_config.effort", "high", say("output_config.effort: Input should be 'low' or 'medium'"),
        "medium"),
    ("ollama", "reasoning_effort", "high", say("invalid reasoning value: 'high' (must be \"low\")"), "low"),
    ("compatible", "reasoning_effort", "minimal", say("reasoning_effort must be one of: low | high | none"), "low"),
    ("compatible", "reasoning_effort", "medium", say("Invalid effort. Only low and high are allowed for this model."),
        "low"),
    ("compatible", "reasoning_effort", "max", say("Unsupported reasoning_effort; this model supports low, medium, "
        "high"), "high"),
    ("compatible", "reasoning_effort", "high", say("`reasoning_effort` must be one of `none` or `default`"), None),
    ("compatible", "reasoning_effort", "high", say("reasoning_effort must be one of low, medium, high; it is not "
        "supported with tools"), None),
    ("compatible", "reasoning_effort", "none", say("Invalid value: 'none'. Supported values are: 'low' and 'high'.",
        param="reasoning_effort"), None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "path", "effort", "body", "wanted"), NEAREST)
def test_the_nearest_effort_is_sent(wire: str, path: str, effort: str, body: Any, wanted: str | None) -> None:
    assert at(second(wire, body, asking(wire, reasoning_effort=effort)), path) == wanted


def test_another_effort_is_named_and_left_out_if_it_is_refused_too() -> None:
    speaker, request = spoken("compatible"), asking("compatible", reasoning_effort="xhigh")
    first = speaker.decode_error(
        request, ReplyHead(400), json.dumps(say("effort must be one of low, high")).encode()
    )
    assert speaker.adapt_encoding(request, first)
    assert speaker.take_notices("m") == [
        "The server does not accept the effort xhigh for this model: high is used."
    ]
    other = speaker.decode_error(
        request, ReplyHead(400), json.dumps(say("reasoning_effort must be one of low")).encode()
    )
    assert speaker.adapt_encoding(request, other)
    assert "reasoning_effort" not in body_of(speaker.encode(request, stream=True))
