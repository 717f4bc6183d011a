"""All wires over real HTTP: answers arrive, are sent back unchanged, and errors are clear."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.requests import Request, Response, ToolDefinition
from agent_ls.llm.stream import ProviderEvent, StreamEvent, StreamStart, TextDelta, ToolCallEnd
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ChatServer,
    CutStream,
    DropConnection,
    ErrorReply,
    Event,
    Gate,
    GeminiServer,
    LoopbackProvider,
    MidStreamError,
    OpenAIResponsesServer,
    Reasoning,
    Script,
    Text,
    ToolCall,
)

Server: TypeAlias = Callable[..., LoopbackProvider]

WIRES = [
    pytest.param(AnthropicServer, "anthropic", id="anthropic"),
    pytest.param(OpenAIResponsesServer, "openai", id="openai"),
    pytest.param(ChatServer, "openrouter", id="chat"),
    pytest.param(GeminiServer, "gemini", id="gemini"),
]
every_wire = pytest.mark.parametrize(("server", "provider"), WIRES)

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolDefinition("read_file", "Reads.", SCHEMA), ToolDefinition("ls", "Lists.", {"type": "object"}))
KEY = "sk-secret-of-the-test"


def ask(provider: str, *messages: Message) -> Request:
    model = {
        "anthropic": "claude-sonnet-5-5",
        "openai": "gpt-6.1-sol",
        "openrouter": "a/model",
        "gemini": "gemini-4-argon",
    }[provider]
    return Request(model, messages or (user("hi"),), tools=TOOLS, reasoning_effort="low", cache_key="session")


@asynccontextmanager
async def connected(
    server: Callable[..., LoopbackProvider], provider: str, script: Script, **options: Any
) -> AsyncIterator[tuple[Client, LoopbackProvider]]:
    with server(script, **options) as running:
        settings = {provider: ConnectionSettings(base_url=running.base_url, silence_timeout_s=30)}
        client = build_client(Credentials({provider: KEY}), settings)
        try:
            yield client, running
        finally:
            await client.close()


async def events_of(client: Client, request: Request) -> list[StreamEvent]:
    async with aclosing(client.stream(request)) as events:
        return [event async for event in events]


async def streamed(client: Client, request: Request) -> Response:
    folded = Accumulator(client.default, request.model)
    for event in await events_of(client, request):
        folded.feed(event)
    return folded.response()


def results_for(response: Response) -> Message:
    return tool_results(
        [ToolResultPart(call.id, call.name, f"result of {call.name}") for call in response.tool_calls]
    )


async def failure(client: Client, request: Request, *, stream: bool = True) -> e.LlmError:
    with pytest.raises(e.LlmError) as raised:
        await (events_of(client, request) if stream else client.complete(request))
    assert KEY not in str(raised.value)
    return raised.value


WHOLE: Sequence[Any] = [
    Reasoning("Think ", "hard."),
    Text("I look ", "at it. 👋"),
    ToolCall("read_file", {"path": "ä b.py"}, id="call_a"),
    ToolCall("ls", {}, id="call_b"),
]


@pytest.mark.req("U2", "U3", "U4", "L17")
@pytest.mark.parametrize("chunk_bytes", [0, 1, 7])
@every_wire
async def test_tool_loop_sends_back_signed_parts_unchanged_and_continues(
    server: Server, provider: str, chunk_bytes: int
) -> None:
    async with connected(server, provider, [WHOLE, [Text("Done.")]], chunk_bytes=chunk_bytes) as (
        client,
        running,
    ):
        first = await streamed(client, ask(provider))
        assert [type(part) for part in first.message.parts] == [
            ReasoningPart,
            TextPart,
            ToolCallPart,
            ToolCallPart,
        ]
        assert (first.text, first.reasoning) == ("I look at it. 👋", "Think hard.")
        assert [(c.id, c.name, c.arguments) for c in first.tool_calls] == [
            ("call_a", "read_file", '{"path": "ä b.py"}'),
            ("call_b", "ls", "{}"),
        ]
        assert first.finish_reason.kind == "tool_calls"
        second = await streamed(client, ask(provider, user("hi"), first.message, results_for(first)))
        assert (second.text, second.finish_reason.kind) == ("Done.", "stop")
        assert second.usage.cache_read_tokens
        sent = repr(running.requests[1].body)
        # Gemini signs the call, the others the thoughts before it.
        part = first.message.parts[2 if provider == "gemini" else 0]
        assert isinstance(part, ReasoningPart | ToolCallPart)
        assert part.origin is not None
        raw = part.origin.raw.get("parts", [part.origin.raw])
        assert repr(raw)[2:-2] in sent


@pytest.mark.req("U4")
@every_wire
async def test_history_of_another_provider_is_accepted(server: Server, provider: str) -> None:
    is_anthropic = provider == "anthropic"
    other = ("openai", OpenAIResponsesServer) if is_anthropic else ("anthropic", AnthropicServer)
    async with connected(other[1], other[0], [WHOLE]) as (client, _):
        foreign = await streamed(client, ask(other[0]))
    async with connected(server, provider, ["Thanks."]) as (client, running):
        history = (user("hi"), foreign.message, results_for(foreign), user("go on"))
        assert (await streamed(client, ask(provider, *history))).text == "Thanks."
        assert "Think hard." not in repr(running.requests[0].body)


@pytest.mark.req("U4")
@every_wire
async def test_history_of_another_model_is_accepted(server: Server, provider: str) -> None:
    async with connected(server, provider, [WHOLE, "Thanks."]) as (client, _):
        first = await streamed(client, ask(provider))
        history = ask(provider, user("hi"), first.message, results_for(first))
        assert (await streamed(client, replace(history, model="other-model"))).text == "Thanks."


@pytest.mark.req("L16", "L17")
@every_wire
async def test_a_history_with_unpaired_calls_and_lone_surrogates_is_accepted(
    server: Server, provider: str
) -> None:
    call = ToolCallPart("c1", "read_file", '{"path": "a')
    turns = [
        [Message(Role.ASSISTANT, (call,)), user("never answered")],
        [
            Message(Role.ASSISTANT, (replace(call, id="c2"),)),
            user("steer"),
            tool_results([ToolResultPart("c2", "f", "")]),
        ],
        [Message(Role.ASSISTANT, ()), user("\ud83d lone surrogate"), user("")],
        [tool_results([ToolResultPart("nobody", "f", "x")]), Message(Role.DEVELOPER, (TextPart("d"),))],
    ]
    async with connected(server, provider, ["Fine."]) as (client, running):
        messages = [user("hi"), *(message for turn in turns for message in turn)]
        assert (await streamed(client, ask(provider, *messages))).text == "Fine."
        assert "\ufffd lone surrogate" in repr(running.requests[0].body)


@pytest.mark.req("U7")
@every_wire
async def test_most_of_the_input_is_read_from_the_cache_from_turn_five(server: Server, provider: str) -> None:
    script: list[Answer] = [[Reasoning("hm"), ToolCall("ls")] for _ in range(5)]
    async with connected(server, provider, script) as (client, _):
        history: list[Message] = [user("a task that takes several rounds " * 20)]
        usages = []
        for _ in script:
            response = await streamed(client, ask(provider, *history))
            history += [response.message, results_for(response)]
            usages.append(response.usage)
        assert usages[0].cache_read_tokens == 0
        assert (usages[4].cache_read_tokens or 0) > usages[4].input_tokens / 2


@every_wire
async def test_unknown_stream_events_are_passed_on_as_provider_events(server: Server, provider: str) -> None:
    async with connected(server, provider, [[Event({"type": "brand.new", "x": 1}), Text("hi")]]) as (
        client,
        _,
    ):
        events = await events_of(client, ask(provider))
        assert ProviderEvent({"type": "brand.new", "x": 1}) in [_without_number(event) for event in events]


def _without_number(event: StreamEvent) -> StreamEvent:
    if not isinstance(event, ProviderEvent):
        return event
    return ProviderEvent({key: value for key, value in event.raw.items() if key != "sequence_number"})


ERRORS: list[tuple[ErrorReply, type[e.LlmError], bool]] = [
    (ErrorReply(400, message="the field n is wrong"), e.InvalidRequestError, False),
    (ErrorReply(401), e.AuthenticationError, False),
    (ErrorReply(404), e.NotFoundError, False),
    (ErrorReply(429), e.RateLimitError, True),
    (ErrorReply(500), e.ServerError, True),
    (ErrorReply(529, kind="overloaded_error"), e.OverloadedError, True),
    (ErrorReply(502, "<html>Bad gateway</html>"), e.ServerError, True),
    (ErrorReply(302, "", {"location": "http://127.0.0.1:1/"}), e.ConfigurationError, False),
    (ErrorReply(200, "<html>a login page</html>", {"content-type": "text/html"}), e.StreamError, False),
    (ErrorReply(401, message=f"Incorrect API key provided: {KEY}"), e.AuthenticationError, False),
]


@pytest.mark.req("U8")
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "complete"])
@every_wire
async def test_error_responses_are_mapped_to_error_classes(
    server: Server, provider: str, stream: bool
) -> None:
    async with connected(server, provider, [reply for reply, *_ in ERRORS]) as (client, _):
        for reply, expected, retryable in ERRORS:
            error = await failure(client, ask(provider), stream=stream)
            assert (type(error), error.retryable) == (expected, retryable), reply
            assert (error.provider, error.model) == (provider, ask(provider).model)
            assert "html" not in str(error)


BROKEN: list[tuple[str, Sequence[Any], type[e.LlmError]]] = [
    ("cut in text", [Text("half"), CutStream()], e.StreamError),
    ("cut after text", [Text("half"), ToolCall("ls"), CutStream()], e.StreamError),
    ("cut at once", [CutStream()], e.StreamError),
    ("reset", [Text("half"), DropConnection()], e.NetworkError),
    ("error", [Text("half"), MidStreamError()], e.ServerError),
]


@pytest.mark.req("U3", "U8")
@pytest.mark.parametrize(("parts", "expected"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
@every_wire
async def test_a_broken_stream_keeps_the_received_parts_and_raises(
    server: Server, provider: str, parts: Sequence[Any], expected: type[e.LlmError]
) -> None:
    async with connected(server, provider, [parts]) as (client, _):
        folded = Accumulator(provider)
        with pytest.raises(e.LlmError) as raised:
            async with aclosing(client.stream(ask(provider))) as events:
                async for event in events:
                    folded.feed(event)
        assert isinstance(raised.value, expected)
        assert raised.value.retryable
        assert folded.message.text == ("half" if isinstance(parts[0], Text) else "")


@every_wire
async def test_a_reset_is_a_network_error_and_an_empty_answer_a_stream_error(
    server: Server, provider: str
) -> None:
    async with connected(server, provider, [DropConnection(), [CutStream()]]) as (client, _):
        assert type(await failure(client, ask(provider))) is e.NetworkError
        assert type(await failure(client, ask(provider), stream=False)) is e.StreamError


@every_wire
async def test_an_unstreamed_answer_to_a_stream_request_is_read(server: Server, provider: str) -> None:
    content = [{"type": "text", "text": "whole"}]
    items = [{"type": "message", "content": [{"type": "output_text", "text": "whole"}]}]
    choices = [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]
    body: dict[str, Any] = {
        "id": "r",
        "status": "completed",
        "content": content,
        "output": items,
        "choices": choices,
    }
    if provider == "gemini":
        parts = {"parts": [{"text": "whole"}]}
        body = {"responseId": "r", "candidates": [{"content": parts, "finishReason": "STOP"}]}
    async with connected(server, provider, [ErrorReply(200, body)]) as (client, _):
        response = await streamed(client, ask(provider))
        assert (response.id, response.text) == ("r", "whole")


@pytest.mark.req("L16", "U8")
@every_wire
async def test_cancel_closes_the_connection_at_once(server: Server, provider: str) -> None:
    gate = Gate()
    async with connected(server, provider, [[Text("first", gate, "never")]]) as (client, running):

        async def read() -> None:
            async with aclosing(client.stream(ask(provider))) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        came.set()

        came = anyio.Event()
        with anyio.fail_after(240):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await came.wait()
                tasks.cancel_scope.cancel()
            await anyio.to_thread.run_sync(running.requests[0].wait_disconnected)


@pytest.mark.req("L16")
@every_wire
async def test_closing_the_generator_closes_the_connection(server: Server, provider: str) -> None:
    async with connected(server, provider, [[Text("first", Gate(), "never")]]) as (client, running):
        events = client.stream(ask(provider))
        assert isinstance(await anext(events), StreamStart)
        await events.aclose()
        with anyio.fail_after(240):
            await anyio.to_thread.run_sync(running.requests[0].wait_disconnected)


@pytest.mark.req("L11")
@every_wire
async def test_a_tool_call_is_reported_when_its_arguments_are_complete(server: Server, provider: str) -> None:
    gate = Gate()
    script: list[Answer] = [[ToolCall("read_file", {"path": "a"}, id="call_a"), gate, ToolCall("ls")]]
    async with connected(server, provider, script) as (client, _):
        async with aclosing(client.stream(ask(provider))) as events:
            with anyio.fail_after(240):
                ended = [event async for event in events if _open_after(event, gate)]
        assert [event.part.name for event in ended if isinstance(event, ToolCallEnd)] == [
            "read_file",
            "ls",
        ]


def _open_after(event: StreamEvent, gate: Gate) -> bool:
    """Open the gate at the first complete call. The stream continues only if the call is reported before its end."""
    if isinstance(event, ToolCallEnd):
        gate.open()
        return True
    return False


@every_wire
async def test_concurrent_model_calls_do_not_mix_their_answers(server: Server, provider: str) -> None:
    def echo(body: Any) -> Answer:
        last = (body.get("messages") or body.get("input") or body["contents"])[-1]
        content = last.get("content") or last["parts"]
        return [Text(*(content if isinstance(content, str) else content[-1]["text"]))]

    async with connected(server, provider, echo) as (client, _):
        found: dict[str, str] = {}

        async def one(word: str) -> None:
            found[word] = (await streamed(client, ask(provider, user(word)))).text

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(one, f"word number {number}")
        assert found == {word: word for word in found}
        assert len(found) == 8


@pytest.mark.req("U11", "U13")
async def test_headers_of_the_settings_replace_those_of_the_provider_in_any_case() -> None:
    given = {"X-Api-Key": "gateway", "Anthropic-Version": "2024-01-01", "User-Agent": "me"}
    with AnthropicServer(["hi"]) as running:
        settings = ConnectionSettings(running.base_url, {**given, "Anthropic-Beta": "mine"})
        credentials = Credentials.from_environment({"ANTHROPIC_API_KEY": "k"})
        client = build_client(credentials, {"anthropic": settings}, default="anthropic")
        options: dict[str, Any] = {"beta_headers": ["own"]}
        await streamed(client, replace(ask("anthropic"), provider_options={"anthropic": options}))
        await client.close()
        headers = running.requests[0].headers
        assert {name: headers[name.lower()] for name in given} == given
        assert headers["anthropic-beta"] == "own,mine"


@pytest.mark.req("U11")
@every_wire
async def test_connection_settings_are_sent_as_request_headers(server: Server, provider: str) -> None:
    names = ("OPENAI", "ANTHROPIC", "OPENROUTER", "GEMINI")
    environ = {**{f"{name}_API_KEY": "k" for name in names}, "OPENAI_ORG_ID": "org"}
    with server(["hi"]) as running:
        settings = ConnectionSettings(
            running.base_url, {"X-Team": "blue"}, version="2026-10-21", betas=["new-thing"]
        )
        client = build_client(Credentials.from_environment(environ), {provider: settings}, default=provider)
        await streamed(client, ask(provider))
        headers = running.requests[0].headers
        assert headers["x-team"] == "blue"
        assert headers["user-agent"].startswith("agent-ls/")
        expected = {
            "anthropic": ("anthropic-version", "2026-10-21"),
            "openai": ("openai-organization", "org"),
            "openrouter": ("authorization", "Bearer k"),
            "gemini": ("x-goog-api-key", "k"),
        }[provider]
        assert headers[expected[0]] == expected[1]
        if provider == "anthropic":
            assert headers["anthropic-beta"] == "new-thing"
        await client.close()
