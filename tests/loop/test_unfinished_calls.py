"""Tool calls of an answer that was cut: shown as not run, and answered, so that the model knows, on every wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from agent_ls.llm.messages import Role, ToolResultPart
from agent_ls.loop.events.types import ToolCallEnd, ToolCallStart
from tests.llm.test_end_to_end import WIRES, Server, connected
from tests.loopback.script import Reasoning
from tests.support.fake_provider import FakeProvider, end, problem_of, tool_call
from tests.support.loopback import CutStream, MidStreamError, Text, ToolCall
from tests.support.sessions import RunningSession, running_session, tool

pytestmark = pytest.mark.req("L17")

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-sol",
    "openrouter": "a/model",
    "gemini": "gemini-4-argon",
}
BIG = {"path": "a.py", "content": "x" * 40}
UNFINISHED: dict[str, Sequence[Any]] = {
    "length": [Reasoning("Hm."), Text("I write."), ToolCall("look", BIG, unfinished=True)],
    "length, second": [ToolCall("look", {}), ToolCall("look", BIG, unfinished=True)],
}
BROKEN: dict[str, Sequence[Any]] = {
    "cut": [Text("I write."), ToolCall("look", BIG, unfinished=True), CutStream()],
    "error": [Reasoning("Hm."), Text("I write."), ToolCall("look", BIG), MidStreamError()],
}


def rows() -> Iterator[Any]:
    """Yield wire, whether it streams, and answer. Nothing arrives of an unstreamed answer that breaks; the wire of
    Gemini has no half calls (tests/llm/providers/test_gemini_stream.py).
    """
    for wire in WIRES:
        for name, answer in {**UNFINISHED, **BROKEN}.items():
            if wire.id != "gemini" or name not in ("length", "cut"):
                yield pytest.param(*wire.values, True, answer, id=f"{wire.id}, {name}")
                if name in UNFINISHED:
                    yield pytest.param(*wire.values, False, answer, id=f"{wire.id}, {name}, whole")


def results_in(messages: Sequence[Any]) -> list[ToolResultPart]:
    parts = [part for message in messages if message.role is Role.TOOL for part in message.parts]
    return [part for part in parts if isinstance(part, ToolResultPart)]


def assert_none_ran(b: RunningSession, ran: list[str]) -> None:
    starts, ends = b.recorder.of(ToolCallStart), b.recorder.of(ToolCallEnd)
    assert [start.call_id for start in starts] == [ended.call_id for ended in ends] != []
    assert {ended.error_kind for ended in ends} == {"not_run"}
    assert all(ended.output.startswith("Not run.") for ended in ends)
    assert ran == []


@pytest.mark.parametrize(("server", "provider", "streams", "answer"), [*rows()])
async def test_a_call_that_was_cut_is_shown_and_answered_as_not_run(
    server: Server, provider: str, streams: bool, answer: Sequence[Any]
) -> None:
    ran: list[str] = []

    async def run(arguments: Any, context: Any) -> Any:
        ran.append("look")

    async with connected(server, provider, [answer, [Text("ok")]]) as (client, running):
        options = {"id": provider, "model": MODELS[provider], "supports_streaming": streams}
        async with running_session(client, tool("look", run), **options) as b:
            await b.say("go")
            assert_none_ran(b, ran)
            await b.say("go on")
        sent = repr(running.requests[-1].body)
    assert sent.count("Not run.") == len(b.recorder.of(ToolCallEnd))


async def test_an_unfinished_call_of_an_answer_that_ended_by_itself_does_not_run() -> None:
    ran: list[str] = []

    async def run(arguments: Any, context: Any) -> Any:
        ran.append("look")
        raise AssertionError

    class Unfinished(FakeProvider):
        async def stream(self, request: Any) -> Any:
            from agent_ls.llm.stream import ToolCallEnd as Ended

            async for event in super().stream(request):
                if not (isinstance(event, Ended) and event.part.id == "cut"):
                    yield event

    provider = Unfinished([[tool_call("look", "", "cut"), end("tool_calls")]])
    async with running_session(provider, tool("look", run)) as b:
        await b.say("go")
    assert ran == []
    assert [ended.is_error for ended in b.recorder.of(ToolCallEnd)] == [True]
    assert problem_of(provider.requests[-1].messages) == ""
