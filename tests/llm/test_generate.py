"""generate(), stream() and their objects, over real HTTP and every wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, strategies as st

from agent_ls.library.scripted_model import ScriptedModel
from agent_ls.llm import errors as e
from agent_ls.llm.client import Client
from agent_ls.llm.generate import (
    GenerateOptions,
    GenerateStepFinish,
    build_request,
    default_client,
    generate,
    generate_object,
    parse_partial,
    set_default_client,
    stream,
    stream_object,
)
from agent_ls.llm.messages import Message, ToolCallPart, user
from agent_ls.llm.object_errors import NoObjectGeneratedError
from agent_ls.llm.requests import Request
from agent_ls.llm.retry import RetryPolicy
from agent_ls.llm.schema_check import check_schema, find_schema_error
from agent_ls.llm.stream import StreamStart
from agent_ls.llm.tools import CallableTool
from tests.llm.test_end_to_end import Server, connected, every_wire
from tests.support.loopback import Answer, ErrorReply, Gate, MidStreamError, Text, ToolCall

MODELS = {
    "anthropic": "claude-sonnet-5",
    "openai": "gpt-6-sol",
    "openrouter": "m",
    "gemini": "gemini-4-argon",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
WEATHER: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(city: str, messages: Sequence[Message], tool_call_id: str) -> Any:
    assert messages and tool_call_id
    if city == "Atlantis":
        raise LookupError("no such city")
    return {"city": city, "degrees": 20}


async def slow_weather(city: str) -> str:
    await anyio.lowlevel.checkpoint()
    return f"20 degrees in {city}"


SYNC = CallableTool("weather", "Tells.", WEATHER, weather)
ASYNC = CallableTool("slow_weather", "Tells.", WEATHER, slow_weather)
PASSIVE = CallableTool("show", "Shows.", WEATHER)


def call(city: Any, name: str = "weather") -> ToolCall:
    return ToolCall(name, {"city": city})


def question(provider: str) -> Request:
    return build_request(MODELS[provider], "How warm is it?", system_text="Be brief.", provider=provider)


@pytest.mark.req("U9")
@every_wire
async def test_generate_runs_called_tools_and_continues_with_the_tool_results(
    server: Server, provider: str
) -> None:
    script: list[Answer] = [[call("Oslo"), call("Rome", "slow_weather")], "It is warm."]
    async with connected(server, provider, script) as (client, running):
        result = await generate(question(provider), tools=[SYNC, ASYNC], client=client)
    assert result.text == "It is warm."
    first, last = result.steps
    assert [r.content for r in first.tool_results] == [
        '{"city": "Oslo", "degrees": 20}',
        "20 degrees in Rome",
    ]
    assert last.tool_results == ()
    assert result.total_usage == first.response.usage + last.response.usage
    assert len(running.requests) == 2


@pytest.mark.req("U9")
@every_wire
async def test_generate_sends_tool_errors_to_the_model(server: Server, provider: str) -> None:
    script: list[Answer] = [[call("Atlantis"), call(3), call("x", "nobody")], "Sorry."]
    async with connected(server, provider, script) as (client, _):
        result = await generate(question(provider), tools=[SYNC], client=client)
    results = result.steps[0].tool_results
    assert [r.is_error for r in results] == [True] * 3
    words = ("LookupError: no such city", "city must be string", "Unknown tool")
    assert all(word in r.content for word, r in zip(words, results, strict=True))


@pytest.mark.req("U9")
@every_wire
async def test_generate_returns_pending_tool_calls_after_the_last_tool_round(
    server: Server, provider: str
) -> None:
    for rounds in (0, 1, 2):
        async with connected(server, provider, lambda _: [call("Oslo")]) as (client, running):
            result = await generate(
                question(provider),
                tools=[SYNC],
                options=GenerateOptions(max_tool_rounds=rounds),
                client=client,
            )
            assert len(running.requests) == rounds + 1
            assert [c.name for c in result.tool_calls] == ["weather"]


@pytest.mark.req("U9")
@every_wire
async def test_generate_ends_at_a_passive_tool_or_if_stop_when_returns_true(
    server: Server, provider: str
) -> None:
    async with connected(server, provider, lambda _: [call("Oslo", "show")]) as (client, running):
        result = await generate(question(provider), tools=[SYNC, PASSIVE], client=client)
        assert (result.tool_results, len(running.requests)) == ((), 1)
    async with connected(server, provider, lambda _: [call("Oslo")]) as (client, running):
        rules = GenerateOptions(max_tool_rounds=9, stop_when=lambda steps: len(steps) == 2)
        result = await generate(question(provider), tools=[SYNC], options=rules, client=client)
        assert (len(result.steps), len(running.requests)) == (2, 2)


@pytest.mark.req("U8", "U9")
@every_wire
async def test_generate_when_a_request_fails_temporarily_then_it_is_retried(
    server: Server, provider: str
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    rules = GenerateOptions(retry=RetryPolicy(), sleep=sleep, random=lambda: 0.5)
    async with connected(server, provider, [ErrorReply(500), ErrorReply(503), "Fine."] * 2) as (client, _):
        assert (await generate(question(provider), options=rules, client=client)).text == "Fine."
        streamed = stream(question(provider), options=rules, client=client)
        assert [text async for text in streamed.text_stream] == ["Fine."]
    assert slept == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.req("U8")
@every_wire
async def test_a_stream_that_fails_before_its_first_text_is_retried(server: Server, provider: str) -> None:
    rules = GenerateOptions(retry=RetryPolicy(), sleep=lambda _: anyio.lowlevel.checkpoint())
    async with connected(server, provider, [[MidStreamError("overloaded_error")], "Fine."]) as (
        client,
        running,
    ):
        events = [event async for event in stream(question(provider), options=rules, client=client)]
    assert [type(event) for event in events].count(StreamStart) == 1 and len(running.requests) == 2


@pytest.mark.req("U9")
@every_wire
async def test_stream_when_tools_run_then_a_step_is_reported_between_the_answers(
    server: Server, provider: str
) -> None:
    script: list[Answer] = [
        [Text("I look."), call("Oslo")],
        "It is ",
    ]
    async with connected(server, provider, script) as (client, _):
        streamed = stream(question(provider), tools=[SYNC], client=client)
        events = [event async for event in streamed]
    (step,) = [event.step for event in events if isinstance(event, GenerateStepFinish)]
    assert (step.response.text, step.tool_results[0].is_error) == ("I look.", False)
    assert (streamed.response().text, streamed.partial.text) == ("It is ", "It is ")
    assert streamed.steps == [step]


@pytest.mark.req("U3")
async def test_streamed_responses_name_the_provider_of_the_request() -> None:
    adapters = {name: ScriptedModel([("slow_weather", {"city": "Oslo"})], "Cold.") for name in ("one", "two")}
    client = Client(adapters, "one")
    for asked, named in (("", "one"), ("two", "two")):
        streamed = stream(build_request("m", "Hi.", provider=asked), tools=[ASYNC], client=client)
        assert [event async for event in streamed]
        assert [it.response.provider for it in streamed.steps] == [named]
        assert streamed.response().provider == named


@pytest.mark.req("U9")
@pytest.mark.parametrize("limit", ["total_timeout_s", "step_timeout_s"])
@every_wire
async def test_generate_and_stream_raise_a_timeout_error_at_the_time_limit(
    server: Server, provider: str, limit: str
) -> None:
    async with connected(server, provider, lambda _: [Text("x"), Gate()]) as (client, running):
        rules = GenerateOptions(**{limit: 0.2})  # type: ignore[arg-type]  # one of its limits
        with pytest.raises(e.RequestTimeoutError, match="took longer"):
            await generate(question(provider), options=rules, client=client)
        with pytest.raises(e.RequestTimeoutError, match="took longer"):
            [event async for event in stream(question(provider), options=rules, client=client)]
        assert len(running.requests) <= 2  # none is repeated; the limit may end a call before it connects


@pytest.mark.req("U9")
@every_wire
async def test_generate_object_parses_a_valid_answer_and_raises_an_error_for_an_invalid_answer(
    server: Server, provider: str
) -> None:
    script = [
        '{"name": "Ada", "age": 36}',
        '```json\n{"name": "Ada", "age": 36}\n```',
        "Ada",
        '{"name": "Ada"}',
    ]
    async with connected(server, provider, script) as (client, running):
        for _ in range(2):
            result = await generate_object(question(provider), SCHEMA, client=client)
            assert result.output == {"name": "Ada", "age": 36}
        for problem in ("not valid JSON", "age is missing"):
            with pytest.raises(NoObjectGeneratedError, match=problem) as raised:
                await generate_object(question(provider), SCHEMA, client=client)
            assert "Ada" in raised.value.text
            assert not raised.value.retryable
        assert len(running.requests) == 4
        assert '"name"' in str(running.requests[0].body).replace("'", '"')


@pytest.mark.req("U9")
@every_wire
async def test_stream_object_yields_the_growing_object(server: Server, provider: str) -> None:
    async with connected(server, provider, [[Text('{"name": "A', 'da", "a', 'ge": 36}')]]) as (client, _):
        growing = stream_object(question(provider), SCHEMA, client=client)
        seen = [partial async for partial in growing]
    assert seen == [{"name": "A"}, {"name": "Ada"}, {"name": "Ada", "age": 36}]
    assert growing.object() == {"name": "Ada", "age": 36}


@pytest.mark.req("U9")
async def test_invalid_tool_arguments_can_be_repaired_by_the_repair_option() -> None:
    async def repair(call: ToolCallPart, problem: str) -> str | None:
        assert "city" in problem
        return '{"city": "Oslo"}'

    from tests.support.loopback import AnthropicServer

    async with connected(AnthropicServer, "anthropic", [[call(3)], "Good."]) as (client, _):
        result = await generate(
            question("anthropic"), tools=[SYNC], options=GenerateOptions(repair=repair), client=client
        )
    assert not result.steps[0].tool_results[0].is_error


@pytest.mark.req("U12")
async def test_default_client_when_none_is_set_then_it_is_created_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_default_client(None)
    with pytest.raises(e.ConfigurationError):
        default_client()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    made = default_client()
    assert made.default == "openai"
    assert default_client() is made
    other = type(made)({}, "")
    set_default_client(other)
    assert default_client() is other
    set_default_client(None)


@pytest.mark.req("U9")
def test_build_request_requires_either_prompt_or_messages() -> None:
    for given_both in ({}, {"prompt": "a", "messages": [user("b")]}):
        with pytest.raises(e.ConfigurationError, match="prompt or messages"):
            build_request("m", **given_both)  # type: ignore[arg-type]


@pytest.mark.req("U15")
@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "a.b", "ä", "a" * 65, "_a"])
def test_callable_tool_with_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(e.ConfigurationError, match="valid tool name"):
        CallableTool(name, "", {"type": "object"})


@pytest.mark.req("U15")
def test_callable_tool_with_a_non_object_or_invalid_schema_is_refused() -> None:
    with pytest.raises(e.ConfigurationError, match="not an object"):
        CallableTool("a", "", {"type": "string"})
    with pytest.raises(e.ConfigurationError, match="JSON Schema cannot be used"):
        CallableTool("a", "", {"type": "object", "properties": {"n": {"type": "number or none"}}})


MISFITS: list[tuple[Any, Any, str]] = [
    ({"name": "a", "age": 1}, SCHEMA, ""),
    ({"name": "a", "age": 1.5}, SCHEMA, "age must be integer"),
    ({"name": "a", "age": True}, SCHEMA, "age must be integer"),
    ({"name": "a", "age": 1, "x": 1}, SCHEMA, "x is not known"),
    ([], SCHEMA, "the value must be object"),
    ([1, "a"], {"type": "array", "items": {"type": "integer"}}, "[1] must be integer"),
    ("c", {"enum": ["a", "b"]}, "the value must be one of 'a', 'b'"),
    (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
    (
        1,
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "the value matches none of the allowed schemas",
    ),
    (2, {"const": 1}, "the value must be 1"),
    ("x", True, ""),
    ({"name": "a"}, SCHEMA, "age is missing"),
    ({"name": 1, "age": "x", "y": 1}, SCHEMA, "y is not known"),
    (4, {"minimum": 5}, "the value must be at least 5"),
    ({"n": 6}, {"properties": {"n": {"maximum": 5}}}, "n must be at most 5"),
    (5, {"exclusiveMaximum": 5}, "the value must be less than 5"),
    ("ab", {"pattern": "^a$"}, "the value must match the pattern ^a$"),
    ("", {"minLength": 1}, "the value must have at least 1 characters"),
    ({"a": [1, 1]}, {"properties": {"a": {"uniqueItems": True}}}, "a must not contain duplicate items"),
    (
        {"a": {"b": 1}},
        {
            "$defs": {"s": {"type": "string"}},
            "properties": {"a": {"properties": {"b": {"$ref": "#/$defs/s"}}}},
        },
        "a.b must be string",
    ),
    (
        3,
        {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
        "the value must match exactly one of the allowed schemas",
    ),
    ({"x-a": 1, "b": 1}, {"patternProperties": {"^x-": {}}, "additionalProperties": False}, "b is not known"),
    (2, {"not": {"const": 2}}, "the value: 2 should not be valid under {'const': 2}"),
]


@pytest.mark.parametrize(("value", "schema", "problem"), MISFITS)
@pytest.mark.req("U9")
def test_find_schema_error_describes_the_mismatch(value: Any, schema: Any, problem: str) -> None:
    assert find_schema_error(value, schema) == problem


@pytest.mark.req("U9")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"minimum": "x"},
        {"pattern": "["},
        {"$ref": "#/$defs/none"},
        {"$ref": "http://127.0.0.1:9/x"},
    ],
    ids=str,
)
def test_an_unusable_schema_is_reported_and_no_reference_is_fetched(schema: Any) -> None:
    with pytest.raises(e.ConfigurationError, match="JSON Schema"):
        check_schema(schema)
        find_schema_error("x", schema)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("end", ["\\", "\\u", "\\u00e"])
def test_parse_partial_keeps_a_text_that_ends_within_an_escape(end: str) -> None:
    assert parse_partial('{"a": "x' + end) == {"a": "x"}


@given(VALUES)
def test_parse_partial_returns_the_value_of_complete_json_and_accepts_every_prefix(value: Any) -> None:
    import json

    text = json.dumps(value)
    for end in range(len(text)):
        parse_partial(text[:end])
    assert parse_partial(text) == value
