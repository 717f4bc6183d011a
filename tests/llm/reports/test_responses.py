"""Reports of users about the Responses API and of its proxies, each in its smallest form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import Message, Origin, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, Response, ToolDefinition
from agent_ls.llm.stream import ReasoningDelta, TextDelta
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_openai_stream import CALL, CREATED, MESSAGE, added, delta, done, final, sse
from tests.support.codec_runs import OPENAI, body_of, events_of, response_of
from tests.support.reports import reported

ASK = Request("m", (user("hi"),), tools=(ToolDefinition("f", "", {"type": "object"}),))


def answer(*events: Any) -> Response:
    return response_of(OPENAI, sse(*events), ASK)


def without(event: Any, *keys: str) -> Any:
    return {key: value for key, value in event.items() if key not in keys}


def calls_of(response: Response) -> list[tuple[str, str, Any]]:
    return [(part.id, part.name, json.loads(part.arguments)) for part in response.tool_calls]


BARE = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": ""}
ARGS_DONE = {
    "type": "response.function_call_arguments.done",
    "output_index": 0,
    "item_id": "fc_1",
    "arguments": '{"a": 1}',
}
CALLS: list[Any] = [
    reported(
        "router-for-me/CLIProxyAPI#1004",
        [
            CREATED,
            added(0, BARE),
            delta("function_call_arguments", 0, '{"a": 1}'),
            done(0, {**BARE, "name": "", "arguments": '{"a": 1}'}),
            final(),
        ],
        id="name missing at the end",
    ),
    reported(
        "lidge-jun/opencodex#4652",
        [CREATED, added(0, BARE), ARGS_DONE, done(0, BARE), final()],
        id="arguments in done only",
    ),
    reported(
        "yunionio/cloudpods#25157",
        [CREATED, added(0, BARE), delta("function_call_arguments", 0, '{"a": 1}'), final()],
        id="no end of the item",
    ),
    reported(
        "tombii/better-ccflare#233",
        [CREATED, added(0, BARE), ARGS_DONE, final()],
        id="no end, arguments at once",
    ),
    *(
        reported(
            "pydantic/pydantic-ai#6079",
            [
                CREATED,
                added(0, BARE),
                delta("function_call_arguments", 0, '{"a": 1}'),
                ARGS_DONE,
                delta("function_call_arguments", 0, "}"),
                *ends,
                final(),
            ],
            id="piece after",
        )
        for ends in ([], [done(0, BARE)], [done(0, {**BARE, "arguments": '{"a": 1}'})])
    ),
    *(
        reported(
            "MoonshotAI/kimi-code#1455",
            [
                CREATED,
                added(0, BARE),
                delta("function_call_arguments", 0, '{"a": 2'),
                ARGS_DONE,
                *ends,
                final(),
            ],
            id=f"other arguments at the end, {len(ends)}",
        )
        for ends in ([], [done(0, {**BARE, "arguments": '{"a": 1}'})])
    ),
    reported(
        "router-for-me/CLIProxyAPI#3798",
        [
            {"type": "codex.rate_limits", "rate_limits": {"limit_reached": True}},
            CREATED,
            added(0, {**BARE, "arguments": '{"a": 1}'}),
            done(0, {**BARE, "arguments": '{"a": 1}'}),
            final(),
        ],
        id="limit reached",
    ),
    reported(
        "NVIDIA-NeMo/Switchyard#777",
        [CREATED, final(output=[{**BARE, "arguments": '{"a": 1}', "status": "completed"}])],
        id="final response only",
    ),
    reported(
        "mcowger/plexus#644",
        [
            CREATED,
            added(0, BARE),
            delta("function_call_arguments", 0, '{"a": 1}'),
            done(0, {**BARE, "arguments": '{"a": 1}'}),
            final(output=[]),
        ],
        id="final response empty",
    ),
    reported(
        "LibreChat-AI/agents#164",
        [
            added(0, BARE),
            delta("function_call_arguments", 0, '{"a": 1}'),
            done(0, {**BARE, "arguments": '{"a": 1}'}),
            final(),
        ],
        id="no created",
    ),
    pytest.param(
        [
            without(event, "output_index")
            for event in (
                CREATED,
                added(0, BARE),
                {**delta("function_call_arguments", 0, '{"a": 1}'), "item_id": "fc_1"},
                done(0, {**BARE, "arguments": '{"a": 1}'}),
            )
        ]
        + [final()],
        id="no output_index",
    ),
]


@pytest.mark.req("U3")
@pytest.mark.parametrize("events", CALLS)
def test_calls_of_incomplete_streams_run(events: Sequence[Any]) -> None:
    response = answer(*events)
    assert calls_of(response) == [("call_1", "f", {"a": 1})]
    assert response.finish_reason.kind == "tool_calls"


def test_two_items_without_output_index_stay_apart() -> None:
    other = {**BARE, "id": "fc_2", "call_id": "call_2"}
    events = [
        added(0, BARE),
        added(1, other),
        {**delta("function_call_arguments", 0, '{"a": 1}'), "item_id": "fc_1"},
    ]
    events += [
        {**delta("function_call_arguments", 1, '{"a": 2}'), "item_id": "fc_2"},
        done(0, BARE),
        done(1, other),
    ]
    found = calls_of(answer(CREATED, *(without(event, "output_index") for event in events), final()))
    assert found == [("call_1", "f", {"a": 1}), ("call_2", "f", {"a": 2})]


TEXTS: list[Any] = [
    reported(
        "Oaklight/llm-rosetta#56",
        [
            without(delta("output_text", 0, "Grüße"), "output_index"),
            without(delta("output_text", 0, " 👋"), "output_index"),
            final(),
        ],
        id="pieces alone",
    ),
    reported(
        "diegosouzapw/OmniRoute#14008",
        [
            CREATED,
            added(0, {**MESSAGE, "content": []}),
            delta("output_text", 0, "Grüße"),
            done(0, {**MESSAGE, "content": [{"type": "output_text", "text": "Grüße"}]}),
            delta("output_text", 0, " 👋"),
            final(),
        ],
        id="pieces after the end of the item",
    ),
    pytest.param([CREATED, added(0, MESSAGE), done(0, MESSAGE), final()], id="whole item"),
    pytest.param(
        [CREATED, {"type": "response.output_text.done", "output_index": 0, "text": "Grüße 👋"}, final()],
        id="text in done only",
    ),
    pytest.param(
        [CREATED, delta("output_text", 0, "Grüße 👋"), done(0, {**MESSAGE, "content": []}), final()],
        id="empty at the end",
    ),
]


@pytest.mark.req("U2")
@pytest.mark.parametrize("events", TEXTS)
def test_texts_of_incomplete_streams_are_read_once(events: Sequence[Any]) -> None:
    assert answer(*events).text == "Grüße 👋"


@pytest.mark.report("chenyme/grok2api#960")
@pytest.mark.parametrize("first", ["reasoning_summary_text", "reasoning_text"])
def test_a_thought_that_comes_in_two_forms_is_read_once(first: str) -> None:
    forms = sorted(["reasoning_summary_text", "reasoning_text"], key=lambda it: it != first)
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    ended = {
        **item,
        "summary": [{"type": "summary_text", "text": "I think"}],
        "content": [{"type": "reasoning_text", "text": "I think"}],
    }
    pieces = [delta(form, 0, text) for text in ("I ", "think") for form in forms]
    events = events_of(OPENAI, [sse(CREATED, added(0, item), *pieces, done(0, ended), final())], ASK)
    assert "".join(it.text for it in events if isinstance(it, ReasoningDelta)) == "I think"


THOUGHT = {"id": "r9", "type": "reasoning", "summary": [{"type": "summary_text", "text": "I think"}]}
TOLD = {
    "id": "m9",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello"}],
}
CALLED = {"type": "function_call", "id": "f9", "call_id": "c9", "name": "f", "arguments": '{"a": 1}'}
THINKS = [
    {**delta("reasoning_summary_text", 0, it), "item_id": f"r{at}"} for at, it in enumerate(("I ", "think"))
]
TELLS = [{**delta("output_text", 0, it), "item_id": "m1"} for it in ("Hel", "lo")]
COUNTS_ON: list[Any] = [
    added(7, {**THOUGHT, "summary": []}),
    *({**delta("reasoning_text", 7, it, content_index=4), "item_id": "r9"} for it in ("I ", "think")),
    done(8, {**THOUGHT, "summary": [], "content": [{"type": "reasoning_text", "text": "I think"}]}),
    added(8, {**TOLD, "content": []}),
    *({**delta("output_text", 8, it, content_index=5), "item_id": "m9"} for it in ("Hel", "lo")),
    done(9, TOLD),
]
BOTH = "I think|Hello|"
ONE_INDEX: list[Any] = [
    reported("BerriAI/litellm#36375", [*THINKS, *TELLS, final(output=[THOUGHT, TOLD])], BOTH),
    reported("vllm-project/vllm#31761", [*COUNTS_ON, final(output=[THOUGHT, TOLD])], BOTH),
    ([*THINKS, *TELLS, final()], BOTH),
    ([*COUNTS_ON, final()], BOTH),
    ([added(0, {**THOUGHT, "summary": []}), THINKS[0], THINKS[1], added(0, {**TOLD, "content": []}), *TELLS,
        done(0, TOLD), final(output=[THOUGHT, TOLD])], BOTH),
    ([*TELLS, final(output=[THOUGHT, TOLD, CALLED])], "|Hello|f"),
    ([*TELLS, delta("function_call_arguments", 0, '{"a": 1}'), done(0, CALLED), final()], "|Hello|f"),
    ([*TELLS, added(0, {**CALLED, "arguments": ""}), delta("function_call_arguments", 0, '{"a": 1}'),
        done(0, CALLED), final(output=[TOLD, CALLED])], "|Hello|f"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), ONE_INDEX)
def test_each_kind_of_item_is_read_once_whatever_its_index(events: Sequence[Any], expected: str) -> None:
    found = events_of(OPENAI, [sse(CREATED, *events)], ASK)
    thought, text = (
        "".join(it.text for it in found if isinstance(it, kind)) for kind in (ReasoningDelta, TextDelta)
    )
    response = answer(CREATED, *events)
    assert "|".join((thought, text, "".join(it.name for it in response.tool_calls))) == expected
    assert (response.message.reasoning, response.text) == (thought, text)


@pytest.mark.report("pjq/sap-ai-core-llm-proxy#35")
def test_a_response_in_place_of_its_event_is_read() -> None:
    whole = {
        "id": "r",
        "status": "completed",
        "output": [MESSAGE],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    data = f"event: response.created\ndata: {json.dumps({'id': 'r', 'status': 'in_progress'})}\n\n"
    data += f"event: response.completed\ndata: {json.dumps(whole)}\n\n"
    response = response_of(OPENAI, data.encode(), ASK)
    assert (response.id, response.text, response.usage.input_tokens) == ("r", "Grüße 👋", 3)
    assert response.finish_reason.kind == "stop"


ERRORS: list[Any] = [
    reported(
        "openai/codex#24973",
        {
            "type": "response.failed",
            "response": {"status": "failed", "error": None},
            "error": {"message": "Upstream provider error", "type": "server_error"},
        },
        e.ServerError,
        id="beside the response",
    ),
    reported(
        "openai/codex#1597",
        {
            "type": "response.failed",
            "response": {
                "status": "failed",
                "error": {"code": "invalid_api_key", "message": "Upstream provider error"},
            },
        },
        e.AuthenticationError,
        id="wrong key",
    ),
    pytest.param(
        {"type": "error", "message": "Upstream provider error", "code": "server_is_overloaded"},
        e.OverloadedError,
        id="flat",
    ),
    pytest.param(
        {"type": "", "error": {"message": "Upstream provider error", "code": 429}},
        e.RateLimitError,
        id="without a type",
    ),
]


@pytest.mark.req("U8")
@pytest.mark.parametrize(("event", "kind"), ERRORS)
def test_errors_of_the_stream_are_shown_in_the_words_of_the_server(
    event: Any, kind: type[e.LlmError]
) -> None:
    with pytest.raises(kind, match="Upstream provider error"):
        answer(CREATED, event)


@pytest.mark.report("openai/codex#8119", "openai/codex#8100")
@pytest.mark.parametrize(
    "body",
    [
        {
            "error": {
                "message": "The encrypted content gAAA...c90= could not be verified.",
                "type": "invalid_request_error",
                "code": "invalid_encrypted_content",
            }
        },
        {
            "error": {
                "message": 'litellm.BadRequestError: OpenAIException - {\n "error": '
                '{"message": "The encrypted content gAAA could not be verified."}}. '
                "Received Model Group=x",
                "code": "400",
            }
        },
        {
            "error": {
                "message": "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
            }
        },
        {
            "error": {
                "message": "Item 'rs_1' of type 'reasoning' was provided without its required following item."
            }
        },
    ],
    ids=["plain", "wrapped", "not found", "without the next item"],
)
def test_a_refusal_of_earlier_reasoning_is_recognised(body: Any) -> None:
    error = OPENAI.decode_error(ASK, ReplyHead(400), json.dumps(body).encode())
    assert refuses_reasoning(error)


DROPPED: list[Any] = [
    reported(
        "OpenHands/software-agent-sdk#987",
        {
            "message": "Your organization must be verified to generate reasoning summaries.",
            "param": "reasoning.summary",
            "code": "unsupported_value",
        },
        ("reasoning", "summary"),
        id="unverified organisation",
    ),
    reported(
        "CherryHQ/cherry-studio#20284",
        {"message": "InvalidParameter: json: unknown field summary"},
        ("reasoning", "summary"),
        id="unknown field",
    ),
    reported(
        "carloslfu/slotstream#19",
        {"message": "unsupported request field(s): store", "type": "invalid_request_error"},
        ("store",),
        id="store",
    ),
    pytest.param(
        {"message": "Unsupported parameter: 'prompt_cache_key'"}, ("prompt_cache_key",), id="cache key"
    ),
    pytest.param(
        {"message": "parallel_tool_calls is not supported"}, ("parallel_tool_calls",), id="parallel calls"
    ),
]


@pytest.mark.parametrize(("error", "path"), DROPPED)
def test_an_optional_field_that_is_refused_is_left_out(error: Any, path: tuple[str, ...]) -> None:
    spoken = OpenAIResponsesCodec(capabilities_lookup("openai"))
    request = Request("gpt-6.1-sol", (user("hi"),), tools=ASK.tools, reasoning_effort="low", cache_key="k")
    refused = spoken.decode_error(request, ReplyHead(400), json.dumps({"error": error}).encode())
    assert spoken.adapt_encoding(request, refused)
    body: Any = body_of(spoken.encode(request, stream=True))
    for step in path[:-1]:
        body = body[step]
    assert path[-1] not in body and body


def test_arguments_as_an_object_and_content_as_text_are_read() -> None:
    call, message = {**BARE, "arguments": {"a": 1}}, {"type": "message", "content": "Hi"}
    response = answer(CREATED, done(0, call), done(1, message), final())
    assert (calls_of(response), response.text) == ([("call_1", "f", {"a": 1})], "Hi")


def test_a_final_response_without_status_is_completed() -> None:
    event = {"type": "response.completed", "response": {"id": "r", "output": [MESSAGE]}}
    assert answer(CREATED, event).finish_reason.kind == "stop"


def test_a_call_that_is_cut_by_the_output_limit_is_not_run() -> None:
    cut = {**CALL, "status": "incomplete", "arguments": '{"pa'}
    events = [CREATED, added(0, {**CALL, "arguments": ""}), done(0, cut)]
    response = answer(*events, final("incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert not response.tool_calls and response.finish_reason.kind == "length"


THOUGHTS = {"id": "rs_1", "type": "reasoning", "summary": []}


@pytest.mark.report("lsdefine/GenericAgent#718")
@pytest.mark.parametrize("output", [[THOUGHTS], []])
def test_an_answer_that_was_cut_while_it_thought_is_cut_at_its_limit(output: list[Any]) -> None:
    counts = {"input_tokens": 5, "output_tokens": 100, "output_tokens_details": {"reasoning_tokens": 100}}
    cut = final("incomplete", incomplete_details={"reason": "max_output_tokens"}, output=output, usage=counts)
    response = answer(CREATED, added(0, THOUGHTS), done(0, THOUGHTS), cut)
    assert (response.finish_reason.kind, response.text) == ("length", "")
    assert (response.usage.input_tokens, response.usage.reasoning_tokens) == (5, 100)


@pytest.mark.report("code-yeongyu/senpi#271")
def test_calls_of_another_provider_have_no_ids_of_items() -> None:
    ids = ("custom", "toolu_1", "call_1|custom")
    calls = tuple(ToolCallPart(it, "f", "{}", Origin("other", "m", {"id": it})) for it in ids)
    results = tool_results([ToolResultPart(it, "f", "x") for it in ids])
    request = Request("m", (user("hi"), Message(Role.ASSISTANT, calls), results))
    sent = body_of(OPENAI.encode(request, stream=True))["input"][1:]
    assert not any("id" in it for it in sent)
    made, answered = sent[: len(ids)], sent[len(ids) :]
    assert [it["call_id"] for it in made] == [it["call_id"] for it in answered]


EARLY = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
WHOLE = {**MESSAGE, "content": [{"type": "output_text", "text": "hello", "annotations": []}]}


@pytest.mark.report("SaladDay/cc-switch-cli#387")
@pytest.mark.parametrize("announced", [1, 2, 3, None])
def test_text_before_its_item_is_read_once(announced: int | None) -> None:
    events = [CREATED, {**EARLY, "delta": "hel"}, {**EARLY, "delta": "lo"}]
    if announced is not None:
        events.insert(announced + 1, added(0, MESSAGE))
        events.append(done(0, WHOLE))
    assert answer(*events, final(output=[WHOLE] if announced else [])).text == "hello"


@pytest.mark.report("GaussianGuaicai/Codex-For-Copilot#83")
def test_a_limit_in_a_stream_is_tried_again_after_the_time_that_it_names() -> None:
    words = "Rate limit reached for gpt-5.1. Please try again in 1.5s."
    failed = {"id": "r", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": words}}
    with pytest.raises(e.RateLimitError) as raised:
        answer(CREATED, {"type": "response.failed", "response": failed})
    assert (raised.value.retryable, raised.value.retry_after_s) == (True, 1.5)
