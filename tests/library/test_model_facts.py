"""Profiles that a program derives from ours keep the facts of their model, so limits hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.llm.requests import Usage
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, end, text

OPUS = "claude-opus-4-6"


def derived() -> agent_ls.ProviderProfile:
    return replace(agent_ls.create_profile("anthropic", OPUS), base_prompt="mine")


def by_hand() -> agent_ls.ProviderProfile:
    made = derived()
    return agent_ls.ProviderProfile("anthropic", OPUS, "mine", made.registry, made.context_window_tokens)


PROFILES: list[tuple[str, Callable[[], dict[str, agent_ls.ProviderProfile]]]] = [
    ("plain", dict),
    ("derived", lambda: {"anthropic": derived()}),
    ("by_hand", lambda: {"anthropic": by_hand()}),
    ("of_another_model", lambda: {"anthropic": replace(agent_ls.create_profile("anthropic", "claude-3"))}),
]


@pytest.mark.req("H18", "P1")
@pytest.mark.report("garrytan/gbrain#2149")  # fmt: skip
@pytest.mark.parametrize("profiles", [made for _, made in PROFILES], ids=[name for name, _ in PROFILES])
async def test_a_cost_limit_stops_the_run_whatever_profile_the_program_gives(
    profiles: Callable[[], dict[str, agent_ls.ProviderProfile]], tmp_path: Path
) -> None:
    used = end("tool_calls", Usage(1_000, 10))  # 0.00525 dollars
    rounds = [[call("glob", pattern="*.py" + "x" * n), used] for n in range(9)]
    model = FakeProvider([*rounds, text("Done.")])
    limits = {"limits": {"costUsdPerInput": 0.02}}
    given = options(tmp_path, model, profiles=profiles(), settings=limits) | {"model": OPUS}
    async with agent_ls.open_session(**given) as session:
        kinds = [event.kind async for event in session.run("go")]
    assert len(model.requests) == 4
    assert "turn_limit" in kinds


@pytest.mark.parametrize(
    ("provider", "model", "effort"),
    [("anthropic", OPUS, "ultra"), ("anthropic", "claude-opus-4-6", "xhigh"), ("openai", "gpt-5", "max")],
)
async def test_an_effort_that_the_model_does_not_know_is_refused_with_the_known_ones(
    provider: str, model: str, effort: str, tmp_path: Path
) -> None:
    fake = FakeProvider()
    given = options(tmp_path, fake) | {"provider": provider, "model": model, "adapters": {provider: fake}}
    with pytest.raises(agent_ls.AppError) as refused:
        async with agent_ls.open_session(**given, effort=effort):
            pass
    assert "low, medium, high" in refused.value.hint
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(agent_ls.AppError):
            await session.configure(effort=effort)
        await session.configure(effort="low")


@pytest.mark.req("P1")
@pytest.mark.parametrize("name", ["compaction", "titles", "subagents", "suggestions", "fallbacks"])
async def test_an_unknown_provider_of_another_model_is_found_before_its_first_use(
    tmp_path: Path, name: str
) -> None:
    def models(model: str) -> dict[str, Any]:
        return {"models": {name: [model] if name == "fallbacks" else model}}

    given = options(tmp_path, agent_ls.ScriptedModel("Hi.")) | {"stored": False, "state_dir": None}
    given["adapters"] |= {"own": agent_ls.ScriptedModel("Hi.")}
    with pytest.raises(agent_ls.BadChoiceError) as refused:
        await agent_ls.open_session(**given, settings=models("anthrpic/x"))
    assert name in str(refused.value) and "own" in refused.value.hint
    for known in ("own/x", "gemini/x", "walkthrough/x"):
        async with agent_ls.open_session(**given, settings=models(known)) as session:
            with pytest.raises(agent_ls.BadChoiceError):
                await session.configure(settings=models("anthrpic/x"))
            await session.configure(settings=models("own/y"))
