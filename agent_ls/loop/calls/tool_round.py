"""Run the calls of one response. A call that may depend on the effect of an earlier call waits for that call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.calls.dispatch import Call, Dispatcher, ParsedCall, reuse_parsed
from agent_ls.loop.calls.outcome import CallOutcome
from agent_ls.loop.config import SessionConfig
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.paths import are_disjoint

MAX_CALLS = 500
"""Maximum number of calls in one answer.

Each call is compared with all calls before it, so the cost grows with the square of the number of calls.
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """The files that a call may touch.

    `paths` is None for "any file". `is_last` is True if the call ends the loop; such a call waits for all
    calls before it.
    """

    has_effect: bool = False
    paths: Sequence[str] | None = ()
    is_last: bool = False


def reach_of(parsed: ParsedCall, environment: ExecutionEnvironment) -> Reach:
    """Return which files a call may touch. A call that fails validation touches no files."""
    tool = parsed.tool
    if tool is None or parsed.arguments is None:
        return Reach()
    paths: Sequence[str] | None = None
    if tool.touches:
        try:
            paths = tool.touches(parsed.arguments, environment)
        # the arguments are invalid: the preparation of the call reports the error in detail
        except Exception:
            paths = None
    return Reach(tool.category != "read", paths, tool.terminal)


def must_wait(later: Reach, earlier: Reach, environment: ExecutionEnvironment) -> bool:
    """Return whether a call must wait until an earlier call of the same response has ended."""
    if later.is_last or earlier.is_last:
        return True
    if not (later.has_effect or earlier.has_effect):
        return False
    if later.paths is None or earlier.paths is None:
        # Calls that touch no file at all (subagents, plans) are independent of all other calls.
        return later.paths != () and earlier.paths != ()
    return not are_disjoint(later.paths, earlier.paths, environment)


async def run_round(
    calls: Sequence[Call],
    dispatcher: Dispatcher,
    profile: ProviderProfile,
    config: SessionConfig,
    environment: ExecutionEnvironment,
) -> None:
    """Run all calls that have no outcome, and set their outcomes, even on cancellation.

    Calls after the first MAX_CALLS get an error. If the round is cancelled while a call waits for the user, the
    round is suspended: unfinished calls then get no outcome.
    """
    for call in calls[MAX_CALLS:]:
        if not call.outcome:
            dispatcher.answer(call, profile, config, _refuse_too_many(len(calls)), "not_run")
    calls = calls[:MAX_CALLS]
    reaches = [reach_of(reuse_parsed(call, profile), environment) for call in calls]
    done = [anyio.Event() for _ in calls]
    for call, event in zip(calls, done, strict=True):
        if call.outcome:
            event.set()

    def waits_for(place: int, before: int) -> bool:
        # Do not await an event that is already set, because any await can raise a cancellation. A restored
        # call that waits for the user must start waiting before a stop can arrive.
        if done[before].is_set():
            return False
        in_order = not profile.supports_parallel_tool_calls
        return in_order or must_wait(reaches[place], reaches[before], environment)

    async def in_its_turn(place: int) -> None:
        for before in range(place):
            if waits_for(place, before):
                await done[before].wait()
        if not calls[place].outcome and not _find_ending_call(calls):
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
        ended_by = _find_ending_call(calls)
        reason = f"Not run: {ended_by.part.name} ended the task." if ended_by else dispatcher.not_run
        is_suspended = any(dispatcher.is_asked(call) for call in calls)
        for call in calls:
            if call.outcome is None and not is_suspended:
                dispatcher.answer(call, profile, config, reason, "not_run" if ended_by else "interrupted")


def _refuse_too_many(count: int) -> str:
    return (
        f"Not run: only the first {MAX_CALLS} of the {count} calls in this answer are run. Make the other "
        "calls in later answers."
    )


def outcomes(calls: Sequence[Call]) -> list[CallOutcome]:
    return [call.outcome for call in calls if call.outcome]


def _find_ending_call(calls: Sequence[Call]) -> Call | None:
    return next((call for call in calls if call.outcome and call.outcome.ends_loop), None)
