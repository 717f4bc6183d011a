"""Providers and profiles that a program registers under its own name."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import agent_ls
from agent_ls.llm import (
    FinishReason,
    Price,
    RateLimitError,
    ReasoningDelta,
    StreamEvent,
    StreamFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallPart,
    ToolCallStart,
    Usage,
)
from agent_ls.llm.messages import Role, TextPart
from agent_ls.llm.requests import Request
from agent_ls.own_code import BLOCKED_S
from agent_ls.services.errors import BadChoiceError
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.sessions import DEADLINE_S

pytestmark = pytest.mark.req("H13", "P1")


def own(tmp_path: Path, adapter: FakeProvider, **more: Any) -> dict[str, Any]:
    return options(tmp_path, adapter) | {"provider": "mine", "adapters": {"mine": adapter}} | more


@agent_ls.tool
async def look_up(word: str) -> str:
    """Looks a word up."""
    return word.upper()


def profile(model: str = "m-1") -> agent_ls.ProviderProfile:
    return agent_ls.ProviderProfile(
        id="anything",
        model=model,
        base_prompt="You are a dictionary.",
        registry=agent_ls.ToolRegistry([look_up]),
        context_window_tokens=8_000,
        provider_options={"mine": {"seed": 7}},
        supports_reasoning=False,
    )


async def test_a_new_provider_name_without_a_profile_gets_the_general_profile(tmp_path: Path) -> None:
    model = FakeProvider([text("Hello."), text("Again.")])
    async with agent_ls.open_session(**own(tmp_path, model, model="m-2")) as session:
        assert await session.ask("Hi") == "Hello."
        assert "read_file" in session.tools
        kept = session.id
    async with agent_ls.open_session(**own(tmp_path, model, provider=""), resume=kept) as session:
        assert await session.ask("Hi") == "Again."
    assert [(request.provider, request.model) for request in model.requests] == [("mine", "m-2")] * 2


@pytest.mark.parametrize("made", [profile, profile()], ids=["function", "ready"])
async def test_a_custom_profile_defines_the_tools_options_and_system_prompt_of_the_request(
    made: Any, tmp_path: Path
) -> None:
    model = FakeProvider([text("Yes.")])
    given = own(tmp_path, model, profiles={"mine": made}, model="m-9", without_tools=["shell"])
    async with agent_ls.open_session(**given, effort="high") as session:
        assert await session.ask("Hi") == "Yes."
    (request,) = model.requests
    assert (request.provider, request.model, request.reasoning_effort) == ("mine", "m-9", None)
    assert [tool.name for tool in request.tools] == ["look_up"]
    assert request.provider_options["mine"] == {"seed": 7}
    prompt = next(message.text for message in request.messages if message.role is Role.SYSTEM)
    assert prompt.startswith("You are a dictionary.") and "<environment>" in prompt


async def test_tools_of_one_session_do_not_appear_in_the_next_session_with_the_same_profile(
    tmp_path: Path,
) -> None:
    shared = profile()

    @agent_ls.tool
    async def second(word: str) -> str:
        """Another."""
        return word

    for more, expected in (([second], ("look_up", "second")), ([], ("look_up",))):
        given = own(tmp_path, FakeProvider(), profiles={"mine": shared}, tools=more)
        async with agent_ls.open_session(**given) as session:
            assert session.tools == expected


async def test_the_price_of_a_profile_counts_for_the_provider_of_a_program(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel("Yes.", usage=agent_ls.Usage(1_000_000, 1_000_000))
    made = agent_ls.create_profile("compatible", "m", price=Price.of([2, 3]))
    given = own(tmp_path, FakeProvider(), profiles={"mine": made}) | {"adapters": {"mine": model}}
    async with agent_ls.open_session(**given) as session:
        await session.ask("Hi")
        assert session.cost_usd == 5


async def test_a_built_in_profile_can_be_the_base_of_a_custom_profile(tmp_path: Path) -> None:
    model = FakeProvider([text("Yes.")])
    given = own(tmp_path, model, profiles={"mine": lambda name: agent_ls.create_profile("openai", name)})
    async with agent_ls.open_session(**given) as session:
        await session.ask("Hi")
        assert "apply_patch" in session.tools


async def test_without_a_provider_name_the_provider_in_the_adapters_argument_is_used(tmp_path: Path) -> None:
    model = FakeProvider([text("Me.")])
    async with agent_ls.open_session(**own(tmp_path, model, provider="")) as session:
        assert await session.ask("Who?") == "Me."


async def test_a_profile_without_an_adapter_is_refused_with_a_hint(tmp_path: Path) -> None:
    given = own(tmp_path, FakeProvider(), provider="other", profiles={"other": profile})
    with pytest.raises(agent_ls.AppError, match="no adapter") as refused:
        async with agent_ls.open_session(**given):
            pass
    assert "adapters={'other'" in refused.value.hint


@pytest.mark.req("X4")
async def test_environment_wrappers_log_and_forbid_writes_in_a_session(tmp_path: Path) -> None:
    said: list[str] = []
    model = FakeProvider([call("write_file", file_path="a.txt", content="a"), text("No.")])
    place = agent_ls.MemoryEnvironment({}, working_directory="/notes")
    wrapped = agent_ls.LoggingEnvironment(agent_ls.ReadOnlyEnvironment(place), said.append)
    given = options(tmp_path, model, environment=wrapped, mode="full", trusted=True)
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    assert "read-only mode" in str(model.requests[-1].messages)
    assert any(line.startswith("write /notes/a.txt: ") for line in said)


@pytest.mark.req("X4", "X10")
async def test_changes_of_commands_below_a_wrapper_are_recorded_and_rolled_back(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    said: list[str] = []
    place = agent_ls.LoggingEnvironment(agent_ls.LocalEnvironment(str(folder)), said.append)
    model = FakeProvider([call("shell", command="echo b >> a.txt; echo x > new.txt"), text("Done.")])
    given = options(tmp_path, model, environment=place, mode="full", trusted=True)
    async with agent_ls.open_session(**given) as session:
        events: list[Any] = [event async for event in session.run("go")]
        changed = {Path(event.path).name: event.action for event in events if event.kind == "file_change"}
        assert changed == {"a.txt": "modify", "new.txt": "create"}
        await session.roll_back(events[-1].turn_id)
    assert [path.name for path in folder.iterdir()] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "a\n"
    assert any(line.startswith("run ") for line in said)


def costing(cost_usd: float) -> Usage:
    return Usage(10, 5, reported_cost_usd=cost_usd)


WRONG_VALUE: Any = 5
GOOD_END = StreamFinish(FinishReason("stop"), Usage(), {})
CALLS_END = StreamFinish(FinishReason("tool_calls"), Usage(), {})
WRONG_EVENTS: dict[str, tuple[StreamEvent, ...]] = {
    "TextDelta.text": (TextStart(0), TextDelta(0, WRONG_VALUE), GOOD_END),
    "StreamFinish.finish_reason": (StreamFinish("stop", None, {}),),  # type: ignore[arg-type]
    "StreamFinish.usage": (StreamFinish(FinishReason("stop"), {}, {}),),  # type: ignore[arg-type]
    "StreamFinish.finish_reason.kind": (StreamFinish(FinishReason("end"), Usage(), {}),),  # type: ignore[arg-type]
    "TextEnd.part": (TextStart(0), TextEnd(0, WRONG_VALUE), GOOD_END),
    "ToolCallEnd.part.arguments": (ToolCallEnd(0, ToolCallPart("c", "shell", WRONG_VALUE)), GOOD_END),
    "usage.input_tokens is -10": (StreamFinish(FinishReason("stop"), Usage(-10), {}),),
    "usage.reported_cost_usd is nan": (StreamFinish(FinishReason("stop"), costing(math.nan), {}),),
    "usage.reported_cost_usd is inf": (StreamFinish(FinishReason("stop"), costing(math.inf), {}),),
    "usage.reported_cost_usd is -0.1": (StreamFinish(FinishReason("stop"), costing(-0.1), {}),),
    "without TextStart": (TextDelta(0, "lost"), GOOD_END),
    "without ReasoningStart": (TextStart(0), ReasoningDelta(0, "lost"), GOOD_END),
    "without ToolCallStart": (ToolCallDelta(0, "{}"), GOOD_END),
    "no ToolCallEnd": (ToolCallStart(0, "c", "read_file"), ToolCallDelta(0, "{}"), CALLS_END),
    "no TextEnd": (TextStart(0), TextDelta(0, "lost"), GOOD_END),
}  # fmt: skip


@pytest.mark.parametrize("named", WRONG_EVENTS)
async def test_a_wrong_event_of_an_own_provider_is_an_error_that_names_it(tmp_path: Path, named: str) -> None:
    async def stream(self: object, request: object) -> AsyncGenerator[Any]:
        for event in WRONG_EVENTS[named]:
            yield event

    model = type("Odd", (FakeProvider,), {"stream": stream})()
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        with pytest.raises(agent_ls.TurnFailedError, match=rf"Odd\.stream: .*{re.escape(named)}"):
            await session.ask("go")
        assert session.state == "IDLE"


@pytest.mark.parametrize("events", [(), (TextStart(0), TextDelta(0, "x"), TextEnd(0, TextPart("x")))])
async def test_an_answer_of_an_own_provider_without_its_end_is_an_error_that_names_it(
    tmp_path: Path, events: tuple[StreamEvent, ...]
) -> None:
    async def stream(self: object, request: object) -> AsyncGenerator[Any]:
        for event in events:
            yield event

    model = type("Odd", (FakeProvider,), {"stream": stream})()
    given = options(tmp_path, model, settings={"retry": {"maxRetries": 0}})
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(agent_ls.TurnFailedError) as caught:
            await session.ask("go")
    assert "Odd.stream" in str(caught.value) and "StreamFinish" in str(caught.value)


@pytest.mark.parametrize("asked_s", [-5, math.nan, math.inf])
async def test_a_delay_of_an_own_provider_that_is_no_time_is_ignored(asked_s: float, tmp_path: Path) -> None:
    slow = RateLimitError("slow", retry_after_s=asked_s)
    slow.retryable = False
    async with agent_ls.open_session(**options(tmp_path, agent_ls.ScriptedModel(slow, "ok"))) as session:
        with pytest.raises(agent_ls.TurnFailedError) as failed:
            await session.ask("Hi")
        assert failed.value.kind == "rate_limit" and " wait " not in failed.value.hint


class Closing(FakeProvider):
    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_a_shared_adapter_is_closed_with_the_last_session_that_has_it(tmp_path: Path) -> None:
    adapter = Closing([text("One."), text("Two.")])
    first = await agent_ls.open_session(**own(tmp_path, adapter))
    second = await agent_ls.open_session(**own(tmp_path, adapter))
    await first.close()
    assert adapter.closed is False
    assert await second.ask("go") == "One."
    await second.close()
    assert bool(adapter.closed)


async def test_a_profile_of_a_provider_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadChoiceError) as refused:
        await agent_ls.open_session(**own(tmp_path, FakeProvider([]), profiles={"mien": profile}))
    assert "mine" in str(refused.value) + refused.value.hint


class Blocking(FakeProvider):
    """A provider whose plain generator waits in a blocking call until the test sets `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on, self.closed = threading.Event(), threading.Event(), threading.Event()

    def stream(self, request: Request) -> Iterator[StreamEvent]:  # type: ignore[override]
        try:
            yield TextStart(0)
            self.begun.set()
            self.go_on.wait(DEADLINE_S)
            yield TextDelta(0, "Hello.")
            yield TextEnd(0, TextPart("Hello."))
            yield StreamFinish(FinishReason("stop"), Usage(1, 1), {})
        finally:
            self.closed.set()


async def read_turn(session: agent_ls.AgentSession) -> list[agent_ls.Event]:
    events: list[agent_ls.Event] = []
    async for event in session.events(since=0):
        events.append(event)
        if isinstance(event, agent_ls.ProcessingEnd):
            break
    return events


async def test_a_plain_generator_of_a_provider_blocks_no_other_session(tmp_path: Path) -> None:
    slow = Blocking()
    async with agent_ls.open_session(**own(tmp_path, slow)) as session:
        session.send("go")
        assert await anyio.to_thread.run_sync(slow.begun.wait, DEADLINE_S)
        async with agent_ls.open_session(**own(tmp_path, FakeProvider([text("Me first.")]))) as other:
            assert await other.ask("go") == "Me first."
        slow.go_on.set()
        events = await read_turn(session)
    assert [it.text for it in events if isinstance(it, agent_ls.AssistantTextEnd)] == ["Hello."]
    assert slow.closed.wait(DEADLINE_S)


async def test_an_interrupt_does_not_wait_for_a_blocked_generator(tmp_path: Path) -> None:
    slow = Blocking()
    async with agent_ls.open_session(**own(tmp_path, slow)) as session:
        events = session.run("go")
        assert await anyio.to_thread.run_sync(slow.begun.wait, DEADLINE_S)
        session.interrupt()
        ended = [event async for event in events][-1]
        assert isinstance(ended, agent_ls.ProcessingEnd) and ended.reason == "interrupted"
        assert not slow.closed.is_set()
        slow.go_on.set()
        assert await anyio.to_thread.run_sync(slow.closed.wait, DEADLINE_S)


class Sleepy(FakeProvider):
    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        time.sleep(BLOCKED_S * 1.1)  # noqa: ASYNC251
        async for event in super().stream(request):
            yield event


async def test_a_provider_that_blocks_the_event_loop_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with agent_ls.open_session(**own(tmp_path, Sleepy())) as session:
        await session.ask("go")
        await session.ask("again")
    (record,) = [it for it in caplog.records if it.name == "agent_ls.own_code"]
    assert record.levelname == "WARNING" and "Sleepy.stream" in record.getMessage()


@pytest.mark.parametrize("price", ["0.1", -1.0, math.nan, math.inf, True])
@pytest.mark.parametrize("is_made", [True, False])
async def test_a_cost_that_is_no_amount_is_refused_when_the_session_is_opened(
    price: Any, is_made: bool, tmp_path: Path
) -> None:
    wrong = replace(profile(), cost_usd=lambda usage: price)
    given = own(tmp_path, FakeProvider(), profiles={"mine": (lambda model: wrong) if is_made else wrong})
    with pytest.raises(BadChoiceError, match="cost_usd returned"):
        async with agent_ls.open_session(**given):
            pass


async def test_a_cost_that_becomes_wrong_later_is_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prices: Any = iter([0.5, "0.5"])
    wrong = replace(profile(), cost_usd=lambda usage: next(prices))
    given = own(tmp_path, FakeProvider([text("Hi.")]), profiles={"mine": wrong})
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Hi."
        assert session.cost_usd is None
    assert any("cost_usd" in it.getMessage() for it in caplog.records)


@pytest.mark.parametrize("wrong", [{"resume": "s-none"}, {"without_tools": ["none"]}, {"beside": ["/none"]}])
async def test_a_session_that_cannot_be_opened_keeps_no_shared_adapter_open(
    wrong: dict[str, Any], tmp_path: Path
) -> None:
    model = Closing()
    async with agent_ls.open_session(**own(tmp_path, model)) as session:
        with pytest.raises(agent_ls.AppError):
            await agent_ls.open_session(**own(tmp_path, model, **wrong))
        assert not model.closed and await session.ask("go") == "done"
    assert model.closed


class Late:
    """Begins an answer and does not end it."""

    name = "late"

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        yield TextStart(0)
        yield TextDelta(0, "So")
        await anyio.sleep_forever()

    async def complete(self, request: Request) -> agent_ls.llm.Response:
        await anyio.sleep_forever()
        raise AssertionError

    async def close(self) -> None:
        return None


class LateInThread(Late):
    def stream(self, request: Request) -> Iterator[StreamEvent]:  # type: ignore[override]
        yield TextStart(0)
        threading.Event().wait()


@pytest.mark.parametrize("later", [False, True], ids=["opened with", "configured"])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "complete"])
@pytest.mark.parametrize("kind", [Late, LateInThread])
async def test_the_total_timeout_of_a_provider_holds_for_an_adapter_of_the_program(
    tmp_path: Path, kind: type[Late], streams: bool, later: bool
) -> None:
    settings: dict[str, Any] = {"providers": {"mine": {"totalTimeoutMs": 50}}, "retry": {"maxRetries": 0}}
    given = options(tmp_path, kind()) | {"provider": "mine", "adapters": {"mine": kind()}}
    given["profiles"] = {"mine": lambda model: replace(profile(model), supports_streaming=streams)}
    async with agent_ls.open_session(**given, settings=None if later else settings) as session:
        if later:
            await session.configure(settings=settings)
        with pytest.raises(agent_ls.TurnFailedError) as failed:
            await session.ask("go")
        assert failed.value.kind in ("timeout", "stream_cut")  # the latter after the first words
