"""Providers and profiles that a program registers under its own name."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.llm import (
    FinishReason,
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
    Usage,
)
from agent_ls.llm.messages import Role
from agent_ls.services.errors import BadChoiceError
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

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
