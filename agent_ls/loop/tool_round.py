"""The calls of one response, in the order that their effects demand (L10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.dispatch import NOT_RUN, Call, Dispatcher, Outcome, Parsed, parse_call
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.paths import are_apart


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call may touch. `paths` None: anything. `is_last`: it ends the loop, so that it comes in its own turn."""

    has_effect: bool = False
    paths: Sequence[str] | None = ()
    is_last: bool = False


def reach_of(parsed: Parsed, environment: ExecutionEnvironment) -> Reach:
    """A call that will not run at all touches nothing."""
    tool = parsed.tool
    if tool is None or parsed.arguments is None:
        return Reach()
    paths: Sequence[str] | None = None
    if tool.touches:
        try:
            paths = tool.touches(parsed.arguments, environment)
        except Exception:  # arguments that its own preparation will refuse in better words
            paths = None
    return Reach(tool.category != "read", paths, tool.terminal)


def must_wait(later: Reach, earlier: Reach, environment: ExecutionEnvironment) -> bool:
    """Whether a call waits for the end of one before it in the response."""
    if later.is_last or earlier.is_last:
        return True
    if not (later.has_effect or earlier.has_effect):
        return False
    if later.paths is None or earlier.paths is None:
        # What touches no file at all is apart from everything (subagents, plans).
        return later.paths != () and earlier.paths != ()
    return not are_apart(later.paths, earlier.paths, environment)


async def run_round(
    calls: Sequence[Call],
    dispatcher: Dispatcher,
    profile: ProviderProfile,
    config: SessionConfig,
    environment: ExecutionEnvironment,
) -> None:
    """Sets the outcome of each call that has none, also when it is cancelled on the way.

    Only a round that is cancelled while a person is asked leaves calls without: it is suspended (R4).
    """
    reaches = [reach_of(parse_call(call.part, profile), environment) for call in calls]
    done = [anyio.Event() for _ in calls]
    for call, event in zip(calls, done, strict=True):
        if call.outcome:
            event.set()

    def waits_for(place: int, before: int) -> bool:
        # No pause for what is done: a call that a person is asked about must come to where it hears of a stop.
        if done[before].is_set():
            return False
        in_order = not profile.supports_parallel_tool_calls
        return in_order or must_wait(reaches[place], reaches[before], environment)

    async def in_its_turn(place: int) -> None:
        for before in range(place):
            if waits_for(place, before):
                await done[before].wait()
        if not calls[place].outcome and not _ended_by(calls):
            await dispatcher.dispatch(calls[place], profile, config)
        done[place].set()

    try:
        if len(calls) == 1:
            await in_its_turn(0)
        else:
            async with anyio.create_task_group() as group:
                for place in range(len(calls)):
                    group.start_soon(in_its_turn, place)
    finally:
        ended_by = _ended_by(calls)
        reason = f"Not run: {ended_by.part.name} ended the task." if ended_by else NOT_RUN
        is_suspended = any(dispatcher.is_asked(call) for call in calls)
        for call in calls:
            if call.outcome is None and not is_suspended:
                dispatcher.answer(call, profile, config, reason, "not_run" if ended_by else "interrupted")


def outcomes(calls: Sequence[Call]) -> list[Outcome]:
    return [call.outcome for call in calls if call.outcome]


def _ended_by(calls: Sequence[Call]) -> Call | None:
    return next((call for call in calls if call.outcome and call.outcome.ends_loop), None)
